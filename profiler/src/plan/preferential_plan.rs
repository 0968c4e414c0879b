//! The plan of a path profile in which interesting paths are counted without a table.
//!
//! Input: a [`Cfg`], [`EdgeWeights`], and the interesting paths. Output: a [`PreferentialPlan`]: a [`PathPlan`] whose
//! register makes up two numbers at once, and *cells*, in which a path's preferential number finds its own Ball-Larus
//! number if it is interesting.
//! Invariant: every path is told to be interesting, and then which one, or not; the prefix that led to a block is known
//! as in a [`PathPlan`].
//! Source: Vaswani 2007, sections 3.2.3 and 3.6. Oracle: random walks, in `tests/it/preferential_plan.rs`.
//!
//! **One register.** The thesis has two, changed on the same edges. Ours are halves of one: the preferential number
//! in the upper half, the Ball-Larus number in the lower one. Sums of whole words modulo 2^64 are right for both,
//! though an amount may borrow from the upper half: where a path ends both are numbers of 32 bits again. So there is
//! one addition where either number changes, and frames, transfers and queries need nothing new.
//!
//! **One comparison.** The thesis compares the preferential number with the range, and then the other number. There
//! are 2^k cells here, of which the number's low bits choose one: a cell that holds the path's Ball-Larus number is
//! its own.

use std::sync::Arc;

use crate::limits::MAX_INTERESTING_CELLS;
use crate::{BlockId, Cfg, EdgeWeights, PathNumbering, PathPlan, PreferentialNumbering};

/// Where and how the paths of one function are counted, interesting ones by a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferentialPlan {
    /// What each edge does to the register, which holds both numbers.
    pub paths: PathPlan,
    /// The preferential numbers.
    pub numbering: PreferentialNumbering,
    /// By preferential number: the Ball-Larus number of the interesting path with it, or [`Self::NO_PATH`]. Their
    /// number is a power of two.
    pub cells: Arc<[u32]>,
}

impl PreferentialPlan {
    /// The Ball-Larus number of no path.
    pub const NO_PATH: u32 = u32::MAX;

    /// Adds on chords of a maximum spanning tree. `interesting` are numbers of `numbering`. `None` if none of them is
    /// that of a path, or numbers do not fit 32 bits.
    pub fn new(
        cfg: &Cfg,
        weights: &EdgeWeights,
        numbering: PathNumbering,
        interesting: &[u64],
    ) -> Option<Self> {
        if numbering.paths() > Self::NO_PATH.into() {
            return None;
        }
        let preferential = PreferentialNumbering::new(&numbering, interesting)?;
        let upper = preferential.weights().iter().chain([&0]);
        let both = numbering.values().iter().zip(upper);
        let values: Vec<u64> =
            both.map(|(&value, &weight)| value.wrapping_add_signed(weight << 32)).collect();
        let paths = PathPlan::of_values(cfg, weights, numbering, &values);
        let cells = cells(&preferential);
        Some(Self { paths, numbering: preferential, cells })
    }

    /// What the register, complete at the end of a path, says: the cell to look at, and the Ball-Larus number.
    pub fn split(&self, register: u64) -> (usize, u64) {
        let mask = self.cells.len() as u64 - 1;
        ((register >> 32 & mask) as usize, register & u64::from(u32::MAX))
    }

    /// The Ball-Larus number of the prefix that has led to `block`: see [`PathPlan::prefix_sum`].
    pub fn prefix_sum(&self, block: BlockId, register: Option<u64>) -> u64 {
        self.split(self.paths.prefix_sum(block, register)).1
    }
}

fn cells(numbering: &PreferentialNumbering) -> Arc<[u32]> {
    let range = numbering.range().min(MAX_INTERESTING_CELLS);
    let mut cells = vec![PreferentialPlan::NO_PATH; range.next_power_of_two() as usize];
    for path in numbering.paths().iter().filter(|path| path.preferential < range) {
        cells[path.preferential as usize] = path.id as u32;
    }
    cells.into()
}
