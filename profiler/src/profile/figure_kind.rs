//! How a figure was come by.
//!
//! Invariant: merging kinds is commutative and associative, with `Derived` absorbing.

use serde::{Deserialize, Serialize};

/// Whether a figure was counted, sampled or computed, or is of a part only.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FigureKind {
    /// Every event was counted.
    #[default]
    Exact,
    /// Only some events were counted; the figure is not scaled up.
    Sampled {
        /// The share that was counted.
        rate: Rate,
    },
    /// Computed from figures of several kinds.
    Derived,
    /// Only chosen paths were counted, such as those that no test took, and what follows from them.
    Selected,
}

impl FigureKind {
    /// The kind of a sum of two figures.
    pub fn merged(self, other: Self) -> Self {
        if self == other { self } else { Self::Derived }
    }
}

/// A share as a fraction, exact where floating point is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Events counted…
    pub counted: u64,
    /// …of so many.
    pub of: u64,
}

impl Rate {
    /// The share as a number from 0 to 1; 0 if it is of nothing.
    pub fn as_f64(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.counted as f64 / self.of as f64 }
    }
}
