//! Sums of sampled time.
//!
//! Invariant: what is on a stack several times has its time once, so no total exceeds all time.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::{TimeProfile, Timed};
use crate::Callee;

/// What runs, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutineTime<'a> {
    /// What it is.
    pub callee: &'a Callee,
    /// The time in itself.
    pub own: Timed,
    /// The time while it was on the stack.
    pub total: Timed,
}

/// A place with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceTime<P> {
    /// What the caller says that it is.
    pub place: P,
    /// The time right there.
    pub own: Timed,
    /// The time while it was on the stack.
    pub total: Timed,
}

impl TimeProfile {
    /// What runs, that with most time in itself first, then by total.
    pub fn routines(&self) -> Vec<RoutineTime<'_>> {
        let sums = self.places(|node| vec![self.nodes[node].callee]);
        let routine = |sum: PlaceTime<u32>| RoutineTime {
            callee: &self.callees[sum.place as usize],
            own: sum.own,
            total: sum.total,
        };
        sums.into_iter().map(routine).collect()
    }

    /// The time of a function of the profile's module; nothing if it was never seen.
    pub fn of_function(&self, index: u32) -> (Timed, Timed) {
        let is_it = |callee: &Callee| matches!(callee, Callee::Function { index: of, .. } if *of == index);
        let found = self.routines().into_iter().find(|routine| is_it(routine.callee));
        found.map(|routine| (routine.own, routine.total)).unwrap_or_default()
    }

    /// Sums by whatever a node is a place of: several if places are within each other, the innermost first, which alone
    /// gets the node's own time. Those with most time of their own come first.
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
