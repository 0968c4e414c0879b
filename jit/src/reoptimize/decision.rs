//! What the reoptimizer decided, and why.

use std::fmt;

use wprof_profiler::TrialResult;

use super::Estimate;
use super::SideExits;

/// A decision about one place in a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Function index: that of the function that the place is in, which may be inlined.
    pub func: u32,
    /// Byte offset in the module of the place.
    pub offset: u32,
    /// What was decided.
    pub verdict: Verdict,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A path from here has blocks of its own.
    Superblock {
        /// How many blocks it has.
        blocks: u32,
        /// How many of them are copies.
        copies: u32,
        /// Its share of the instructions that the function executes.
        share: f64,
        /// What it adds to [`Estimate::saved`], of the function without inlined calls: those of all superblocks add
        /// up to what they save together.
        saved: f64,
    },
    /// A path from here has none, since all those of the function together would save too little.
    NoSuperblock {
        /// How many blocks it has.
        blocks: u32,
        /// Its share of the instructions that the function executes.
        share: f64,
        /// What blocks of its own would save: see [`Verdict::Superblock`].
        saved: f64,
    },
    /// A call is inlined.
    Inlined {
        /// The function that is called.
        callee: u32,
        /// Calls for each 1000 instructions that the program executes.
        calls: f64,
        /// Of a call through a table: the share of its calls that go to that function.
        guess: Option<f64>,
    },
    /// A call is not inlined.
    Refused {
        /// The function that would be, if it is known.
        callee: Option<u32>,
        /// Why not.
        why: Refusal,
    },
    /// What the version is expected to save.
    Predicted(Estimate),
    /// The version before was left by side exits so often in recent bursts that this one was made by them alone.
    PhaseChange {
        /// What left it.
        what: SideExits,
        /// The share that left it in what it was made by.
        predicted: f64,
        /// The share that left it of late.
        measured: f64,
    },
    /// The version was timed beside the one before it.
    Tried {
        /// What came out.
        result: TrialResult,
        /// Whether the one before it has its place again.
        reverted: bool,
    },
}

/// Why no better version of a function is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittleGain {
    /// What one would save: see [`Estimate::saved`].
    pub saved: f64,
    /// What the one that there is was expected to save.
    pub before: f64,
    /// Whether that is enough, but the program has not run long enough to repay what it takes.
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

/// Why a call is not inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The callee is no function of the module.
    Host,
    /// No function gets most of the calls.
    ManyCallees,
    /// The callee executes so many instructions each time that the call itself does not matter.
    Long(u64),
    /// The callee ends in a tail call, or does not return.
    NoReturn,
    /// It is so large, for the calls that there are.
    TooLarge(u32),
    /// The recursion, or the chain of inlined calls, is deep enough.
    TooDeep,
    /// The function is large enough.
    NoRoom,
}

impl Verdict {
    /// The same of a superblock that is not formed.
    pub(super) fn refuse_superblock(&mut self) {
        if let Verdict::Superblock { blocks, share, saved, .. } = *self {
            *self = Verdict::NoSuperblock { blocks, share, saved };
        }
    }

    /// In words, with functions called by `name`.
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
            Verdict::Tried { result, reverted } => {
                let what = if *reverted { "slower, reverted" } else { "kept" };
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

/// What is saved, with what stands behind it; otherwise what is added.
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
