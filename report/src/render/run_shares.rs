//! Shares of the whole run.
//!
//! Input: a profile, and the instructions of a part of a function, such as a loop or a path. Output: the part's share of all
//! instructions. Invariant: the parts of a function have its share together, which in a sample includes what bursts would
//! have seen that were skipped in the function.

use wprof_profiler::Shares;

use super::numbers::share;
use super::page::{Ink, Span, span};
use super::view::View;

/// The shares of a profile.
#[derive(Debug)]
pub struct RunShares<'a> {
    view: View<'a>,
    /// The shares of functions, if they are sampled.
    sampled: Option<Shares>,
}

impl<'a> RunShares<'a> {
    /// Computes the shares of a profile.
    pub fn new(view: &View<'a>) -> Self {
        let sampled = view.profile.sampled().map(|_| Shares::new(view.profile));
        Self { view: *view, sampled }
    }

    /// Formats the share of a part of function `index` that has `ops` of its instructions.
    pub fn span(&self, index: u32, ops: u64) -> Span {
        span(share(self.part(index, ops)), Ink::of_share(ops, self.view.ops))
    }

    fn part(&self, index: u32, ops: u64) -> f64 {
        let Some(shares) = &self.sampled else { return ratio(ops, self.view.ops) };
        let all = self.view.profile.function(index).map_or(0, |function| function.ops());
        shares.function(index).share * ratio(ops, all)
    }
}

fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use wprof_profiler::{
        BlockCounts, BlockProfile, CodeRange, CounterCost, FigureKind, FunctionCounts, FunctionProfile,
        Profile, Rate, SkippedBursts, SkippedIn,
    };

    use super::*;

    /// A function of one block of one instruction.
    fn function(index: u32, kind: FigureKind, count: u64) -> FunctionProfile {
        FunctionProfile {
            index,
            name: None,
            code: CodeRange::default(),
            fingerprint: 0,
            kind,
            blocks: vec![BlockProfile { code: CodeRange::default(), ops: 1 }],
            edges: Vec::new(),
            exits: Vec::new(),
            cost: CounterCost::default(),
            counts: FunctionCounts::Blocks(BlockCounts { blocks: vec![count], entries: 1 }),
        }
    }

    #[test]
    fn parts_have_the_share_of_their_function_together() {
        let of = |kind| vec![function(0, kind, 60), function(1, kind, 40)];
        let skipped = SkippedIn { function: 1, name: None, bursts: 9, ops: 300 };
        let sample = Profile {
            functions: of(FigureKind::Sampled { rate: Rate { counted: 1, of: 100 } }),
            skipped: Some(SkippedBursts { bursts: 9, functions: vec![skipped] }),
            bursts: Some(10),
            ..Profile::default()
        };
        let shares = RunShares::new(&View::new(&sample, None));
        let of_run = |index, ops| (1000.0 * shares.part(index, ops)).round();
        // 60 of 400 and 340 of 400; half of a function has half of that.
        assert_eq!([of_run(0, 60), of_run(1, 40), of_run(1, 20)], [150.0, 850.0, 425.0]);
        let exact = Profile { functions: of(FigureKind::Exact), ..Profile::default() };
        assert!((RunShares::new(&View::new(&exact, None)).part(1, 20) - 0.2).abs() < 0.001);
    }
}
