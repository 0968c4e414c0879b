//! What became of a program's code while it ran: which version of which function was compiled when and why, and when
//! bursts ran.
//!
//! Input: what the runtime has noted. Output: a value that profiles keep.
//! Invariant: versions and bursts are in the order of time. Times are real ones, in nanoseconds since the program's
//! store was made, and so never the same twice.
//! What happens when: ARCHITECTURE.md, "Tiers and versions".

use serde::{Deserialize, Serialize};

/// The time line of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// What was compiled, ascending by [`CodeVersion::began_ns`].
    pub versions: Vec<CodeVersion>,
    /// Bursts, ascending: of many some, evenly.
    pub bursts: Vec<BurstSpan>,
}

/// A version of a function that was compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeVersion {
    /// Function index.
    pub function: u32,
    /// Name of the function, as the module has it.
    pub name: Option<String>,
    /// What kind of code it is.
    pub tier: CodeTier,
    /// When the compiler began.
    pub began_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Bytes of machine code.
    pub bytes: u64,
    /// Bytes of the version whose place it took, if it took one's.
    pub bytes_before: Option<u64>,
    /// What was decided on the way, if a profile told anything.
    pub decisions: Vec<CodeDecision>,
    /// What it saves, as far as anything is known of it; kept in a section of its own.
    #[serde(skip)]
    pub benefit: Benefit,
}

/// What a better version saves, in millionths; negative if it is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benefit {
    /// Of the work of plain code, as estimated from the profile that led to it.
    pub predicted: Option<i32>,
    /// Of the time of a call of the version before it, as timed.
    pub measured: Option<i32>,
}

/// A kind of code.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CodeTier {
    /// Compiled as fast as can be.
    Baseline,
    /// Optimised, by nothing but itself.
    Optimized,
    /// Optimised, for a frame that goes on in a loop.
    Loop,
    /// For bursts: it counts.
    Burst,
    /// Optimised by what a profile tells.
    Reoptimized,
}

impl CodeTier {
    /// All of them, the first that a function comes to first.
    pub const ALL: [CodeTier; 5] =
        [CodeTier::Baseline, CodeTier::Optimized, CodeTier::Loop, CodeTier::Burst, CodeTier::Reoptimized];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Optimized => "optimised",
            Self::Loop => "for a loop",
            Self::Burst => "for bursts",
            Self::Reoptimized => "reoptimized",
        }
    }
}

/// What was decided about a place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeDecision {
    /// Byte offset of the place in the module. The function that it is in may be inlined.
    pub offset: u32,
    /// What kind of decision it is.
    pub kind: DecisionKind,
    /// The decision in words, with its share of what ran.
    pub text: String,
}

/// A kind of decision.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DecisionKind {
    /// A hot path has blocks of its own.
    Superblock,
    /// A call is inlined.
    Inlined,
    /// A call is not, for some reason.
    Declined,
    /// The version was timed beside the one before it.
    Tried,
    /// What the version is expected to save, which is an estimate.
    Predicted,
    /// The one before it was made for another phase of the program.
    PhaseChange,
}

impl DecisionKind {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock",
            Self::Inlined => "inlined",
            Self::Declined => "declined",
            Self::Tried => "tried",
            Self::Predicted => "predicted",
            Self::PhaseChange => "phase change",
        }
    }
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstSpan {
    /// When it began.
    pub began_ns: u64,
    /// How long it ran.
    pub took_ns: u64,
    /// How many checks the program had passed before: how far it had come. 0 where time begins bursts, and nobody
    /// counts them.
    pub checks: u64,
}

impl Timeline {
    /// The versions of which it is known what they save: position and benefit.
    pub(crate) fn benefits(&self) -> Vec<(u32, Benefit)> {
        let all = (0..).zip(self.versions.iter().map(|version| version.benefit));
        all.filter(|(_, benefit)| *benefit != Benefit::default()).collect()
    }

    /// Whether all is in the order of time.
    pub(crate) fn is_sorted(&self) -> bool {
        self.versions.is_sorted_by_key(|version| version.began_ns)
            && self.bursts.is_sorted_by_key(|burst| (burst.began_ns, burst.checks))
    }

    /// Brings all into the order of time.
    pub(crate) fn normalize(&mut self) {
        self.versions.sort_by_key(|version| version.began_ns);
        self.bursts.sort_by_key(|burst| (burst.began_ns, burst.checks));
    }

    /// How fast the program went between one burst and the next, where checks are counted: when, and checks passed in
    /// a millisecond.
    pub fn checks_per_ms(&self) -> Vec<(u64, f64)> {
        let speed = |pair: &[BurstSpan]| {
            let [before, after] = pair else { return None };
            let time = after.began_ns.checked_sub(before.began_ns).filter(|&time| time > 0)?;
            let checks = after.checks.checked_sub(before.checks).filter(|&checks| checks > 0)?;
            Some((after.began_ns, 1e6 * checks as f64 / time as f64))
        };
        self.bursts.windows(2).filter_map(speed).collect()
    }
}
