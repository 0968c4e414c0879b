//! The decisions of the reoptimizer, and their reasons.

use std::fmt;

use wprof_profiler::TrialResult;

use super::Estimate;
use super::SideExits;
use crate::abi::stream;
use crate::code::NoVectors;

/// A decision about one place in a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The index of the function that contains the place, which may be inlined.
    pub func: u32,
    /// The byte offset in the module of the place.
    pub offset: u32,
    /// The decision.
    pub verdict: Verdict,
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A path from here has blocks of its own.
    Superblock {
        /// The number of its blocks.
        blocks: u32,
        /// The number of copies among them.
        copies: u32,
        /// The share of the function's instructions that it executes.
        share: f64,
        /// Its contribution to [`Estimate::saved`] of the function without inlined calls: those of all superblocks add
        /// up to what they save together.
        saved: f64,
    },
    /// A path from here has no blocks of its own, because all superblocks of the function together would save too
    /// little.
    NoSuperblock {
        /// The number of its blocks.
        blocks: u32,
        /// The share of the function's instructions that it executes.
        share: f64,
        /// The saving of blocks of its own: see [`Verdict::Superblock`].
        saved: f64,
    },
    /// A call is inlined.
    Inlined {
        /// The called function.
        callee: u32,
        /// Calls per 1000 instructions that the program executes.
        calls: f64,
        /// For a call through a table, the share of its calls that reach that function.
        guess: Option<f64>,
    },
    /// A call is not inlined.
    Refused {
        /// The function that would be inlined, if it is known.
        callee: Option<u32>,
        /// The reason.
        why: Refusal,
    },
    /// The expected saving of the version.
    Predicted(Estimate),
    /// In recent bursts, side exits left the previous version so often that this one was made from these bursts alone.
    PhaseChange {
        /// The kind of side exits.
        what: SideExits,
        /// The share of side exits in the advice from which the previous version was made.
        predicted: f64,
        /// The share of side exits in recent bursts.
        measured: f64,
    },
    /// A loop that begins here does rounds side by side.
    Vectorized {
        /// The number of values in a vector.
        lanes: u32,
        /// The number of rounds that the loop makes each time.
        rounds: f64,
        /// The share of the function's instructions that it executes.
        share: f64,
    },
    /// A loop that seemed worth it is not vectorised.
    NotVectorized(NoVectors),
    /// A loop that begins here loads what it will need some rounds later, if it repeats itself.
    Prefetched,
    /// The version was timed against the previous one.
    Tried {
        /// The result of the trial.
        result: TrialResult,
        /// Whether the previous version was restored.
        reverted: bool,
    },
}

/// The reason why no better version of a function is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittleGain {
    /// The expected saving of a new version: see [`Estimate::saved`].
    pub saved: f64,
    /// The expected saving of the current version.
    pub before: f64,
    /// Whether the saving suffices, but the program has not run long enough to repay the compilation.
    pub is_too_soon: bool,
}

impl fmt::Display for LittleGain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [saved, before] =
            [self.saved, self.before].map(|saved| change(saved * 100.0, "% less", "% more"));
        write!(f, "predicted: {saved} work than plain code; {before} in the version that there is")?;
        match self.is_too_soon {
            true => f.write_str("; the program has not run long enough to repay it"),
            false => Ok(()),
        }
    }
}

/// The reason why a call is not inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The callee is not a function of the module.
    Host,
    /// No function receives most of the calls.
    ManyCallees,
    /// The callee executes so many instructions per call that the call itself does not matter.
    Long(u64),
    /// The callee ends in a tail call, or does not return.
    NoReturn,
    /// The callee has this many instructions, too many for the number of calls.
    TooLarge(u32),
    /// The recursion, or the chain of inlined calls, has reached its maximum depth.
    TooDeep,
    /// The function has reached its maximum size.
    NoRoom,
}

impl Verdict {
    /// Turns a superblock into one that is not formed.
    pub(super) fn refuse_superblock(&mut self) {
        if let Verdict::Superblock { blocks, share, saved, .. } = *self {
            *self = Verdict::NoSuperblock { blocks, share, saved };
        }
    }

    /// Describes the verdict in words, with functions named by `name`.
    pub fn named(&self, name: impl Fn(u32) -> String) -> String {
        match self {
            Verdict::Superblock { blocks, copies, share, saved } => {
                let (share, saved) = (share * 100.0, change(saved * 100.0, "% less", "% more"));
                format!(
                    "superblock of {blocks} blocks, {copies} of them copied, {share:.1}% of the function; predicted: {saved} work"
                )
            }
            Verdict::NoSuperblock { blocks, share, saved } => {
                let (share, saved) = (share * 100.0, change(saved * 100.0, "% less", "% more"));
                format!(
                    "no superblock of {blocks} blocks, {share:.1}% of the function; predicted: {saved} work"
                )
            }
            Verdict::Inlined { callee, calls, guess } => {
                let share = guess.map_or_else(String::new, |share| format!("{:.1}% of ", share * 100.0));
                format!("{} inlined, {share}{calls:.2} calls per 1000 instructions", name(*callee))
            }
            Verdict::Refused { callee: Some(callee), why } => format!("{} not inlined: {why}", name(*callee)),
            Verdict::Refused { callee: None, why } => format!("call not inlined: {why}"),
            Verdict::Predicted(estimate) => estimate.to_string(),
            Verdict::PhaseChange { what, predicted, measured } => {
                let (predicted, measured) = (predicted * 100.0, measured * 100.0);
                format!(
                    "a new phase: {measured:.1}% {what} left the version before, {predicted:.1}% were expected"
                )
            }
            Verdict::Vectorized { lanes, rounds, share } => {
                let share = share * 100.0;
                format!(
                    "vectorized, {lanes} values at once: {rounds:.0} rounds each time, {share:.1}% of the function"
                )
            }
            Verdict::NotVectorized(why) => format!("not vectorized: {why}"),
            Verdict::Prefetched => {
                format!("prefetched: what comes {} rounds later, if the loop repeats itself", stream::AHEAD)
            }
            Verdict::Tried { result, reverted } => {
                let what = match (reverted, result.ratio() > 1.0) {
                    (true, true) => "slower, reverted",
                    (true, false) => "hardly faster, reverted",
                    (false, _) => "kept",
                };
                let TrialResult { before, after, calls, .. } = result;
                let change = change(100.0 * (1.0 - result.ratio()), "% less", "% more");
                format!(
                    "{what}: {after:.0} cycles a call, {before:.0} before ({change}), in {calls} calls of each"
                )
            }
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "predicted: {} work", change(100.0 * self.saved, "% less", "% more"))?;
        let calls = change(self.calls, " calls fewer", " calls more");
        let joins = change(self.joins, " joins fewer", " joins more");
        let changed: Vec<String> =
            [calls, joins].into_iter().filter(|change| !change.starts_with("0.0 ")).collect();
        match changed.is_empty() {
            true => Ok(()),
            false => write!(f, "; {} per 1000 instructions", changed.join(" and ")),
        }
    }
}

/// Describes a saving as `less`, or an addition as `more`.
fn change(saved: f64, less: &str, more: &str) -> String {
    let tenths = (10.0 * saved).round();
    format!("{:.1}{}", tenths.abs() / 10.0, if tenths < 0.0 { more } else { less })
}

impl fmt::Display for SideExits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SideExits::Paths => "of the instructions",
            SideExits::Callees => "of the calls",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Host => f.write_str("it belongs to the host"),
            Refusal::ManyCallees => f.write_str("no function gets most of the calls"),
            Refusal::Long(ops) => {
                write!(f, "beside the {ops} instructions of each call the call itself is nothing")
            }
            Refusal::NoReturn => f.write_str("it does not return here"),
            Refusal::TooLarge(ops) => write!(f, "its {ops} instructions are too many for so few calls"),
            Refusal::TooDeep => f.write_str("it is nested deep enough"),
            Refusal::NoRoom => f.write_str("the function is large enough"),
        }
    }
}
