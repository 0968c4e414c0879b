//! Sums of sampled time.
//!
//! Invariant: a routine or place that is on a stack several times counts once, so no total exceeds the total time.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::{TimeProfile, Timed};
use crate::Callee;

/// A routine with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutineTime<'a> {
    /// The routine.
    pub callee: &'a Callee,
    /// Time in the routine itself.
    pub own: Timed,
    /// Time while the routine was on the stack.
    pub total: Timed,
}

/// A place with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceTime<P> {
    /// The place, as the caller of [`TimeProfile::places`] names it.
    pub place: P,
    /// Time at the place itself.
    pub own: Timed,
    /// Time while the place was on the stack.
    pub total: Timed,
}

impl TimeProfile {
    /// Returns the routines, most own time first, then by total time.
    pub fn routines(&self) -> Vec<RoutineTime<'_>> {
        let sums = self.places(|node| vec![self.nodes[node].callee]);
        let routine = |sum: PlaceTime<u32>| RoutineTime {
            callee: &self.callees[sum.place as usize],
            own: sum.own,
            total: sum.total,
        };
        sums.into_iter().map(routine).collect()
    }

    /// Returns the own and total time of a function of the profile's module; zeros if it was never sampled.
    pub fn of_function(&self, index: u32) -> (Timed, Timed) {
        let is_it = |callee: &Callee| matches!(callee, Callee::Function { index: of, .. } if *of == index);
        let found = self.routines().into_iter().find(|routine| is_it(routine.callee));
        found.map(|routine| (routine.own, routine.total)).unwrap_or_default()
    }

    /// Sums time by place. `places` names the places that a node belongs to: several if places are nested, the
    /// innermost first, which alone gets the node's own time. Places with the most own time come first.
    pub fn places<P: Clone + Eq + Hash + Ord>(
        &self,
        mut places: impl FnMut(usize) -> Vec<P>,
    ) -> Vec<PlaceTime<P>> {
        let of_node: Vec<Vec<P>> = (0..self.nodes.len()).map(&mut places).collect();
        let mut sums: BTreeMap<&P, (Timed, Timed)> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.own != Timed::default()) {
            if let Some(innermost) = of_node[at].first() {
                let (own, _) = sums.entry(innermost).or_default();
                *own = own.plus(node.own);
            }
            let mut seen: Vec<&P> = self.stack(at).flat_map(|node| &of_node[node]).collect();
            seen.sort_unstable();
            seen.dedup();
            for place in seen {
                let (_, total) = sums.entry(place).or_default();
                *total = total.plus(node.own);
            }
        }
        let sum =
            |(place, (own, total)): (&P, (Timed, Timed))| PlaceTime { place: place.clone(), own, total };
        let mut sums: Vec<PlaceTime<P>> = sums.into_iter().map(sum).collect();
        sums.sort_by_key(|sum| std::cmp::Reverse((sum.own, sum.total)));
        sums
    }
}
