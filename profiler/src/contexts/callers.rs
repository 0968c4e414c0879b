//! Walks the tree of callers: from one function up to its callers, their callers, and so on.
//!
//! Invariant: the weight of a row is the part of the function's weight that came through that caller. The rows one
//! level up therefore add up to at most the row's weight; the remainder came from the host.

use std::collections::HashMap;

use super::ContextTree;

/// A row of the caller tree; the first row is the function itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerRow {
    /// Routine of the caller.
    pub routine: u32,
    /// Call site in the caller; 0 for the function itself, and for callers without call sites.
    pub site: u32,
    /// Number of calls between the caller and the function.
    pub depth: u32,
    /// The part of the function's weight that came through the caller.
    pub weight: u64,
}

/// A node of the tree of callers.
struct Caller {
    routine: u32,
    site: u32,
    weight: u64,
    above: Vec<usize>,
}

impl ContextTree {
    /// Returns, by record, the inclusive weight of `routines`, which are treated as one function: at the outermost of
    /// their records, each of which includes those below it, and 0 elsewhere. `weights` has one entry per record.
    pub fn outermost(&self, routines: &[u32], weights: &[u64]) -> Vec<u64> {
        let inclusive = self.inclusive(weights);
        let mut is_inside = vec![false; self.records.len()];
        let mut found = vec![0; self.records.len()];
        for (number, record) in self.records.iter().enumerate() {
            // A parent comes before its children; the root is its own parent.
            let is_below = is_inside[record.parent as usize];
            let is_one = routines.contains(&record.routine);
            is_inside[number] = is_below || is_one;
            found[number] = if is_one && !is_below { inclusive[number] } else { 0 };
        }
        found
    }

    /// Returns the callers of all records of `routines`, which are treated as one function, that account for at least
    /// `least` of its weight: depth first, heavier callers first. Callers are identified by function and call site.
    /// `weights` has one entry per record.
    pub fn callers(&self, routines: &[u32], weights: &[u64], least: u64) -> Vec<CallerRow> {
        let callers = self.caller_tree(routines, weights);
        let mut rows = Vec::new();
        let mut pending = vec![(0, 0)];
        while let Some((index, depth)) = pending.pop() {
            let caller: &Caller = &callers[index];
            rows.push(CallerRow { routine: caller.routine, site: caller.site, depth, weight: caller.weight });
            let mut above: Vec<usize> =
                caller.above.iter().copied().filter(|&above| callers[above].weight >= least).collect();
            above.sort_by_key(|&above| (callers[above].weight, std::cmp::Reverse(above)));
            pending.extend(above.into_iter().map(|above| (above, depth + 1)));
        }
        rows
    }

    fn caller_tree(&self, routines: &[u32], weights: &[u64]) -> Vec<Caller> {
        let routine = routines.first().copied().unwrap_or(Self::ROOT);
        let mut callers = vec![Caller { routine, site: 0, weight: 0, above: Vec::new() }];
        let mut known: HashMap<(usize, u32, u32), usize> = HashMap::new();
        let of_routine = self.records.iter().zip(weights);
        let of_routine =
            of_routine.filter(|(record, weight)| **weight > 0 && routines.contains(&record.routine));
        for (mut record, &weight) in of_routine {
            let mut at = 0;
            callers[at].weight = callers[at].weight.saturating_add(weight);
            while record.parent != Self::ROOT {
                let (parent, site) = (&self.records[record.parent as usize], record.site);
                at = *known.entry((at, parent.routine, site)).or_insert_with(|| {
                    let new = callers.len();
                    callers[at].above.push(new);
                    callers.push(Caller { routine: parent.routine, site, weight: 0, above: Vec::new() });
                    new
                });
                callers[at].weight = callers[at].weight.saturating_add(weight);
                record = parent;
            }
        }
        callers
    }
}
