//! Where the time went: a tree of stacks that a timer has sampled.
//!
//! Input: stacks of places in the code, each with some samples. Output: a canonical tree, merged, verified, and summed up
//! by function, by line, by context; each figure with its number of samples, and so with an interval.
//! Invariant: [`TimeProfile::verify`]. Two trees with the same stacks and figures are equal.
//! Time is what a thread of the program has used of a processor: who waits takes none. Each sample stands for what has
//! passed since the one before, so that the sum is right whatever the rate, and times of several rates may be added.
//! Oracle: stacks that are counted one by one, in `tests/it/time.rs`.

mod build;
mod contexts;
mod interval;
mod totals;
mod verify;

use serde::{Deserialize, Serialize};

pub use build::TimeLog;
pub use interval::Interval;
pub use totals::{PlaceTime, RoutineTime};
pub use verify::InvalidTime;

use crate::Callee;

/// Sampled time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeProfile {
    /// What runs, ascending.
    pub callees: Vec<Callee>,
    /// Places on stacks: callers before what they call, and those of one caller by callee and offset.
    pub nodes: Vec<TimeNode>,
    /// How often a second samples were asked for; 0 if they are of several rates.
    pub rate: u32,
    /// Samples that were taken and lost.
    pub lost: u64,
}

/// A place in the code, on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeNode {
    /// The caller's node; none if the host has called it.
    pub caller: Option<u32>,
    /// What runs, a position in the list of callees.
    pub callee: u32,
    /// Byte offset of the instruction in its module: the call of what is called there, or what is executed itself; 0 if
    /// it has no code in a module.
    pub offset: u32,
    /// Whether it was not called, but is a part of its caller's code. Its function may have been inlined there by us.
    pub is_inlined: bool,
    /// What was sampled right there.
    pub own: Timed,
}

/// Some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timed {
    /// Nanoseconds of processor time.
    pub time_ns: u64,
    /// How many samples that is from.
    pub samples: u64,
}

impl Timed {
    /// The sum; saturates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            time_ns: self.time_ns.saturating_add(other.time_ns),
            samples: self.samples.saturating_add(other.samples),
        }
    }
}

impl TimeProfile {
    /// All time.
    pub fn total(&self) -> Timed {
        self.nodes.iter().map(|node| node.own).fold(Timed::default(), Timed::plus)
    }

    /// What runs at a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn callee(&self, node: usize) -> &Callee {
        &self.callees[self.nodes[node].callee as usize]
    }

    /// The nodes of a stack, the innermost first.
    pub fn stack(&self, node: usize) -> impl Iterator<Item = usize> {
        let caller = |&at: &usize| self.nodes.get(at)?.caller.map(|caller| caller as usize);
        std::iter::successors(Some(node), caller)
    }

    /// By node: its time with that of all that it calls.
    pub fn inclusive(&self) -> Vec<Timed> {
        let mut sums: Vec<Timed> = self.nodes.iter().map(|node| node.own).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                sums[caller as usize] = sums[caller as usize].plus(sums[at]);
            }
        }
        sums
    }

    /// The sum of two trees of one module.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut log = TimeLog::new(if self.rate == other.rate { self.rate } else { 0 });
        log.lost = self.lost.saturating_add(other.lost);
        log.add_tree(self);
        log.add_tree(other);
        log.tree()
    }
}
