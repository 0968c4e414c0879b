//! Plans of path profiles that count interesting paths without a table.
//!
//! Input: a [`Cfg`], [`EdgeWeights`], and the interesting paths. Output: a [`PreferentialPlan`]: a [`PathPlan`] whose
//! register holds two numbers at once, and *cells*, which map the preferential number of an interesting path to its
//! Ball-Larus number.
//! Invariant: the plan tells for every path whether it is interesting and which one it is; the prefix that led to a
//! block is known as in a [`PathPlan`].
//! Source: Vaswani 2007, sections 3.2.3 and 3.6. Oracle: random walks, in `tests/it/preferential_plan.rs`.
//!
//! **One register.** The thesis has two registers, changed on the same edges. Ours are halves of one: the
//! preferential number in the upper half, the Ball-Larus number in the lower half. Sums of whole words modulo 2^64
//! are right for both, although an amount may borrow from the upper half: at the end of a path both are numbers of 32
//! bits again. One addition serves where either number changes, and frames, OSR and queries need nothing new.
//!
//! **One comparison.** The thesis compares the preferential number with the range, and then the Ball-Larus number.
//! Here there are 2^k cells, one of which the preferential number's low bits select: a path whose cell holds its
//! Ball-Larus number is interesting.

use std::sync::Arc;

use crate::limits::MAX_INTERESTING_CELLS;
use crate::{BlockId, Cfg, EdgeWeights, PathNumbering, PathPlan, PreferentialNumbering};

/// The plan that counts the paths of one function, interesting ones by a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferentialPlan {
    /// The effect of each edge on the register, which holds both numbers.
    pub paths: PathPlan,
    /// The preferential numbers.
    pub numbering: PreferentialNumbering,
    /// By preferential number: the Ball-Larus number of the interesting path that has it, or [`Self::NO_PATH`]. The
    /// number of cells is a power of two.
    pub cells: Arc<[u32]>,
}

impl PreferentialPlan {
    /// A value that is no path's Ball-Larus number.
    pub const NO_PATH: u32 = u32::MAX;

    /// Plans additions on the chords of a maximum spanning tree. `interesting` are path numbers of `numbering`.
    /// Returns `None` if none of them has a path, or if the numbers do not fit 32 bits.
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

    /// Splits the register, complete at the end of a path, into the index of its cell and the Ball-Larus number.
    pub fn split(&self, register: u64) -> (usize, u64) {
        let mask = self.cells.len() as u64 - 1;
        ((register >> 32 & mask) as usize, register & u64::from(u32::MAX))
    }

    /// Returns the Ball-Larus sum of the prefix that led to `block`; see [`PathPlan::prefix_sum`].
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
