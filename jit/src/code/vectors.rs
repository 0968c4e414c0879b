//! What became of a loop that might be vectorised.

use std::fmt;

/// What a vectorised loop does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The number of values in a vector.
    pub lanes: u32,
    /// The number of rounds that are done side by side.
    pub rounds: u32,
}

/// The reason why a loop is not vectorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoVectors {
    /// It is not one block that branches back to itself.
    Shape,
    /// It is not known how many rounds are certain to come.
    Test,
    /// A round hands on a value that is not a count.
    Carried,
    /// It stores nothing.
    Nothing,
    /// An address does not move by a constant.
    Address,
    /// It does what vectors cannot, or what could be noticed.
    Instruction,
    /// Accesses of consecutive rounds are not side by side.
    Strides,
    /// Values that are side by side are not computed in the same way.
    Lanes,
    /// A round uses what a round shortly before it stores.
    Dependence,
    /// It is too large.
    TooLarge,
    /// It makes few rounds each time that it is entered, by a profile.
    FewRounds,
}

impl fmt::Display for NoVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoVectors::Shape => "it is not a single block",
            NoVectors::Test => "it is not known how many rounds come",
            NoVectors::Carried => "a round hands a value on to the next",
            NoVectors::Nothing => "it stores nothing",
            NoVectors::Address => "an address does not move by a constant",
            NoVectors::Instruction => "it does what vectors cannot",
            NoVectors::Strides => "accesses of consecutive rounds are not side by side",
            NoVectors::Lanes => "values side by side are not computed in the same way",
            NoVectors::Dependence => "a round uses what another stores",
            NoVectors::TooLarge => "it is too large",
            NoVectors::FewRounds => "it makes few rounds each time",
        })
    }
}

/// A loop that might be vectorised: the byte offset in the module of its first instruction, and what became of it.
pub type Vectorized = (u32, Result<Lanes, NoVectors>);

/// Returns the loops that are not vectorised, with the reasons.
pub fn not_vectorized(loops: &[Vectorized]) -> Vec<(u32, NoVectors)> {
    loops.iter().filter_map(|&(at, outcome)| Some((at, outcome.err()?))).collect()
}
