//! The kind of a figure: how it was obtained.
//!
//! Invariant: merging kinds is commutative and associative, with `Derived` absorbing.

use serde::{Deserialize, Serialize};

/// Whether a figure was counted, sampled or computed, or covers only selected paths.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FigureKind {
    /// Every event was counted.
    #[default]
    Exact,
    /// Only some events were counted; the figure is not scaled up.
    Sampled {
        /// The share of events that was counted.
        rate: Rate,
    },
    /// Computed from figures of several kinds.
    Derived,
    /// Only selected paths were counted, such as those that no test covered, and what follows from them.
    Selected,
}

impl FigureKind {
    /// Returns the sampling rate of a sampled figure.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Sampled { rate } => Some(rate),
            Self::Exact | Self::Derived | Self::Selected => None,
        }
    }

    /// Returns the estimate for the whole run if the figure was sampled, otherwise the figure itself.
    pub fn scaled_up(self, figure: u64) -> u64 {
        match self {
            Self::Sampled { rate } => rate.scaled_up(figure),
            Self::Exact | Self::Derived | Self::Selected => figure,
        }
    }

    /// Returns the kind of the sum of two figures. The sum of two samples is a sample at their joint rate.
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

/// A share as a fraction, which stays exact where floating point does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Number of events counted.
    pub counted: u64,
    /// Number of events that happened.
    pub of: u64,
}

impl Rate {
    /// Returns the joint rate of two samples; saturates.
    pub fn plus(self, other: Self) -> Self {
        let [counted, of] = [(self.counted, other.counted), (self.of, other.of)]
            .map(|(ours, theirs)| ours.saturating_add(theirs));
        Self { counted, of }
    }

    /// Scales a count at this rate up to the whole; returns the count itself if nothing was counted. Saturates.
    pub fn scaled_up(self, count: u64) -> u64 {
        match u128::from(count) * u128::from(self.of) {
            _ if self.counted == 0 => count,
            product => u64::try_from(product / u128::from(self.counted)).unwrap_or(u64::MAX),
        }
    }

    /// Returns the share as a number from 0 to 1; 0 if no events happened.
    pub fn as_f64(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.counted as f64 / self.of as f64 }
    }
}
