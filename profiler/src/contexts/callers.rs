//! The tree from one function up: who called it, who called them, …
//!
//! Invariant: a row's weight is the part of the function's that came through it, so the rows one step further up add up
//! to no more than it; what they lack came from the host.

use std::collections::HashMap;

use super::ContextTree;

/// A caller as it is met on the way up; the first row is the function itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerRow {
    /// Its routine.
    pub routine: u32,
    /// Where it makes the call; 0 for the function itself, and for callers without call sites.
    pub site: u32,
    /// Calls between it and the function.
    pub depth: u32,
    /// How much of the function's weight came through it.
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
    /// The callers of all records of some routines, taken for one, that account for at least `least` of their weight, depth first, the
    /// heavier of two first. Records are told apart by function and call site. `weights` has one of each record.
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
        let of_routine =
            self.records.iter().zip(weights).filter(|(record, _)| routines.contains(&record.routine));
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
