//! Phases of a run: windows of time whose work is on the same paths.
//!
//! Input: a whole program path, what its blocks cost, and how many windows there are to be. Output: a phase for each
//! window, and what each phase did.
//! Theory: a window's signature is the share of each path in its cost. Signatures are compared by the sum of the
//! differences of shares, from 0 (the same) to 2 (nothing in common); a window belongs to the phase whose mean signature is
//! nearest, if that is near enough, and else begins a phase. So phases may come back, and are numbered in the order in
//! which they begin. Windows have equal cost, but that no path is divided.
//! Invariant: the costs of paths, summed over phases, are those of the whole run.
//! Source: Sherwood, Sair & Calder, *Phase tracking and prediction*, ISCA 2003, section 4, with paths instead of blocks as
//! in Vaswani 2007, section 6.2.3. Oracle: `tests/it/whole_path.rs`.

use std::collections::HashMap;

use super::{PathItem, WholePath};
use crate::BlockId;

/// The maximum number of phases; windows that begin none then belong to the nearest one.
const MOST: usize = 32;

/// The phases of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPhases {
    /// The phase of each window, in the order of time.
    pub windows: Vec<usize>,
    /// The phases, in the order in which they begin.
    pub phases: Vec<PathPhase>,
}

/// A phase: windows whose work is on the same paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPhase {
    /// Number of windows.
    pub windows: usize,
    /// Their cost.
    pub cost: u64,
    /// The cost of each path in them, the most expensive first. Calls, returns, and paths that cost nothing are left out.
    pub paths: Vec<(PathItem, u64)>,
}

/// Costs by item of the grammar.
type Signature = HashMap<u32, u64>;

/// A phase to which windows are still added.
#[derive(Default)]
struct Growing {
    windows: usize,
    sum: Signature,
    cost: u64,
}

impl WholePath {
    /// Divides the run into about `windows` windows of equal cost, and these into phases whose windows differ from their
    /// phase in at most `difference`, between 0 (in nothing) and 2 (in everything). `block` tells what a block of a
    /// function costs.
    pub fn phases(&self, windows: u64, difference: f64, block: impl Fn(u32, BlockId) -> u64) -> PathPhases {
        let costs = self.costs(&block);
        let all = self.grammar().items().map(|item| costs[item as usize]).fold(0, u64::saturating_add);
        let length = all.div_ceil(windows.max(1)).max(1);
        let mut found = Phases { difference, phases: Vec::new(), windows: Vec::new() };
        let (mut window, mut cost) = (Signature::new(), 0_u64);
        for item in self.grammar().items() {
            let more = costs[item as usize];
            if more > 0 {
                *window.entry(item).or_default() += more;
                cost = cost.saturating_add(more);
            }
            if cost >= length {
                found.add(&std::mem::take(&mut window), std::mem::take(&mut cost));
            }
        }
        if cost > 0 {
            found.add(&window, cost);
        }
        found.finish(self.items())
    }
}

/// Phases, and the windows so far.
struct Phases {
    difference: f64,
    phases: Vec<Growing>,
    windows: Vec<usize>,
}

impl Phases {
    /// Adds a window to the nearest phase.
    fn add(&mut self, window: &Signature, cost: u64) {
        let distances = self.phases.iter().map(|phase| distance((window, cost), (&phase.sum, phase.cost)));
        let nearest = distances.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        let is_full = self.phases.len() == MOST;
        let at = match nearest {
            Some((at, distance)) if distance <= self.difference || is_full => at,
            _ => {
                self.phases.push(Growing::default());
                self.phases.len() - 1
            }
        };
        let phase = &mut self.phases[at];
        phase.windows += 1;
        phase.cost = phase.cost.saturating_add(cost);
        window.iter().for_each(|(&item, &more)| *phase.sum.entry(item).or_default() += more);
        self.windows.push(at);
    }

    fn finish(self, items: &[PathItem]) -> PathPhases {
        let phase = |growing: Growing| {
            let mut paths: Vec<(PathItem, u64)> =
                growing.sum.into_iter().map(|(item, cost)| (items[item as usize], cost)).collect();
            paths.sort_unstable_by_key(|&(item, cost)| (std::cmp::Reverse(cost), item));
            PathPhase { windows: growing.windows, cost: growing.cost, paths }
        };
        PathPhases { windows: self.windows, phases: self.phases.into_iter().map(phase).collect() }
    }
}

/// Returns the sum of the differences of shares.
fn distance((a, all_of_a): (&Signature, u64), (b, all_of_b): (&Signature, u64)) -> f64 {
    let share = |of: &Signature, item: &u32, all: u64| {
        of.get(item).map_or(0.0, |&cost| cost as f64 / all.max(1) as f64)
    };
    let in_a = a.keys().map(|item| (share(a, item, all_of_a) - share(b, item, all_of_b)).abs());
    let only_b = b.keys().filter(|item| !a.contains_key(*item)).map(|item| share(b, item, all_of_b));
    in_a.chain(only_b).sum()
}
