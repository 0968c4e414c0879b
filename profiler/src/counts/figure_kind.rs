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
    /// The share that was counted, if it was a share.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Sampled { rate } => Some(rate),
            Self::Exact | Self::Derived | Self::Selected => None,
        }
    }

    /// What a figure of this kind is of the whole run, if only a share was counted; otherwise the figure itself.
    pub fn scaled_up(self, figure: u64) -> u64 {
        match self {
            Self::Sampled { rate } => rate.scaled_up(figure),
            Self::Exact | Self::Derived | Self::Selected => figure,
        }
    }

    /// The kind of a sum of two figures; that of two samples is a sample of both.
    pub fn merged(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sampled { rate }, Self::Sampled { rate: other }) => {
                Self::Sampled { rate: rate.plus(other) }
            }
            _ if self == other => self,
            _ => Self::Derived,
        }
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
    /// The share of both together; saturates.
    pub fn plus(self, other: Self) -> Self {
        let [counted, of] = [(self.counted, other.counted), (self.of, other.of)]
            .map(|(ours, theirs)| ours.saturating_add(theirs));
        Self { counted, of }
    }

    /// What a count of this share is of the whole: the count itself if nothing was counted; saturates.
    pub fn scaled_up(self, count: u64) -> u64 {
        match u128::from(count) * u128::from(self.of) {
            _ if self.counted == 0 => count,
            product => u64::try_from(product / u128::from(self.counted)).unwrap_or(u64::MAX),
        }
    }

    /// The share as a number from 0 to 1; 0 if it is of nothing.
    pub fn as_f64(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.counted as f64 / self.of as f64 }
    }
}
