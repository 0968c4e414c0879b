//! Sampled time: a tree of stacks that a timer has sampled.
//!
//! Input: stacks of code places, each with its samples. Output: a canonical tree, merged, verified, and summed by
//! function, by line and by context; each figure with its number of samples, which gives its confidence interval.
//! Invariant: [`TimeProfile::verify`]. Two trees with the same stacks and figures are equal.
//! Time is the processor time of the program's thread, so waiting takes none. Each sample stands for the time since
//! the previous one, so that sums are right whatever the rate, and times of several rates may be added.
//! Oracle: stacks counted one by one, in `tests/it/time.rs`.

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
    /// The routines that ran, ascending.
    pub callees: Vec<Callee>,
    /// Places on stacks: callers before their callees, and the callees of one caller by callee and offset.
    pub nodes: Vec<TimeNode>,
    /// Requested samples per second; 0 if samples of several rates were merged.
    pub rate: u32,
    /// Number of samples that were taken and lost.
    pub lost: u64,
    /// Sum of the squares of the times that the samples stand for, in square microseconds; 0 if that is unknown, and all
    /// samples are taken for equally long. See [`TimeProfile::basis`].
    #[serde(skip)]
    pub squares: u64,
}

/// A code place on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeNode {
    /// Node of the caller; none if the host is the caller.
    pub caller: Option<u32>,
    /// The routine that runs, as a position in the list of callees.
    pub callee: u32,
    /// Byte offset in its module of the instruction that makes the call, or of the executed instruction itself; 0 if
    /// the routine has no code in a module.
    pub offset: u32,
    /// Whether the place was not called, but is part of its caller's code: we may have inlined its function there.
    pub is_inlined: bool,
    /// Time sampled at the place itself.
    pub own: Timed,
}

/// An amount of sampled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timed {
    /// Nanoseconds of processor time.
    pub time_ns: u64,
    /// Number of samples.
    pub samples: u64,
}

impl Timed {
    /// Returns the sum; saturates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            time_ns: self.time_ns.saturating_add(other.time_ns),
            samples: self.samples.saturating_add(other.samples),
        }
    }
}

impl TimeProfile {
    /// Returns the total time.
    pub fn total(&self) -> Timed {
        self.nodes.iter().map(|node| node.own).fold(Timed::default(), Timed::plus)
    }

    /// Returns the total time, with the effective number of samples (Kish, *Survey Sampling*, 1965): the number of equally
    /// long ones that would tell as much. Confidence intervals of shares follow from it. A run's first samples stand for
    /// less time than later ones, and so tell less.
    pub fn basis(&self) -> Timed {
        let all = self.total();
        let squared = u128::from(all.time_ns / 1000).pow(2);
        let effective =
            squared.checked_div(self.squares.into()).and_then(|samples| u64::try_from(samples).ok());
        let samples = effective.map_or(all.samples, |samples| samples.clamp(all.samples.min(1), all.samples));
        Timed { samples, ..all }
    }

    /// Returns the sum of squares, or that of equally long samples if it is unknown.
    fn known_squares(&self) -> u64 {
        let all = self.total();
        let of_equal = || u128::from(all.time_ns / 1000).pow(2).checked_div(all.samples.into()).unwrap_or(0);
        if self.squares > 0 { self.squares } else { of_equal().try_into().unwrap_or(u64::MAX) }
    }

    /// Returns the routine that runs at a node.
    ///
    /// # Panics
    /// Panics if there is no such node.
    pub fn callee(&self, node: usize) -> &Callee {
        &self.callees[self.nodes[node].callee as usize]
    }

    /// Iterates over the nodes of a stack, innermost first.
    pub fn stack(&self, node: usize) -> impl Iterator<Item = usize> {
        let caller = |&at: &usize| self.nodes.get(at)?.caller.map(|caller| caller as usize);
        std::iter::successors(Some(node), caller)
    }

    /// Returns by node its time plus the time of all that it calls.
    pub fn inclusive(&self) -> Vec<Timed> {
        let mut sums: Vec<Timed> = self.nodes.iter().map(|node| node.own).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                sums[caller as usize] = sums[caller as usize].plus(sums[at]);
            }
        }
        sums
    }

    /// Returns the sum of two trees of one module.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut log = TimeLog::new(if self.rate == other.rate { self.rate } else { 0 });
        log.lost = self.lost.saturating_add(other.lost);
        if self.squares > 0 || other.squares > 0 {
            log.squares = self.known_squares().saturating_add(other.known_squares());
        }
        log.add_tree(self);
        log.add_tree(other);
        log.tree()
    }
}
