//! The timeline of a program's code: which version of which function was compiled, when and why, and when bursts ran.
//!
//! Input: the events that the runtime recorded. Output: a value that profiles store.
//! Invariant: versions and bursts are in chronological order. Times are real time, in nanoseconds since the program's
//! store was created, and therefore differ between runs.
//! For the order of events see ARCHITECTURE.md, "Tiers and versions".

use serde::{Deserialize, Serialize};

/// The timeline of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The compiled versions, ascending by [`CodeVersion::began_ns`].
    pub versions: Vec<CodeVersion>,
    /// The bursts, ascending; an evenly spread sample if there were many.
    pub bursts: Vec<BurstSpan>,
}

/// A compiled version of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeVersion {
    /// Function index.
    pub function: u32,
    /// Name of the function, as in the module.
    pub name: Option<String>,
    /// Tier of the code.
    pub tier: CodeTier,
    /// When the compilation began.
    pub began_ns: u64,
    /// The time that the compilation took.
    pub took_ns: u64,
    /// Bytes of machine code.
    pub bytes: u64,
    /// Bytes of machine code of the version that it replaced, if any.
    pub bytes_before: Option<u64>,
    /// Decisions of the compilation, if it used a profile.
    pub decisions: Vec<CodeDecision>,
    /// The saving of the version, as far as it is known; stored in a section of its own.
    #[serde(skip)]
    pub benefit: Benefit,
}

/// The savings of a better version, in millionths; negative if it is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benefit {
    /// Share of the work of plain code that it saves, as estimated from the profile that led to the version.
    pub predicted: Option<i32>,
    /// Share of a call's time that it saves compared with the previous version, as timed.
    pub measured: Option<i32>,
}

/// The tier of code.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CodeTier {
    /// Compiled as fast as possible.
    Baseline,
    /// Optimised without a profile.
    Optimized,
    /// Optimised for OSR entry: a frame continues in it at a loop.
    Loop,
    /// Instrumented code for bursts.
    Burst,
    /// Optimised by a profile.
    Reoptimized,
}

impl CodeTier {
    /// All tiers, in the order in which a function reaches them.
    pub const ALL: [CodeTier; 5] =
        [CodeTier::Baseline, CodeTier::Optimized, CodeTier::Loop, CodeTier::Burst, CodeTier::Reoptimized];

    /// Returns the name of the tier.
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

/// A decision about a place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeDecision {
    /// Byte offset of the place in the module. The function that contains it may be inlined.
    pub offset: u32,
    /// Kind of the decision.
    pub kind: DecisionKind,
    /// The decision in words, with its share of the executions.
    pub text: String,
}

/// A kind of decision.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DecisionKind {
    /// A hot path was given blocks of its own.
    Superblock,
    /// A call was inlined.
    Inlined,
    /// A call was not inlined, for the reason given.
    Declined,
    /// The version was timed against the previous one.
    Tried,
    /// The estimated savings of the version.
    Predicted,
    /// The previous version was made for another phase of the program.
    PhaseChange,
    /// A loop prefetches.
    Prefetched,
    /// A loop does rounds side by side.
    Vectorized,
}

impl DecisionKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock",
            Self::Inlined => "inlined",
            Self::Declined => "declined",
            Self::Tried => "tried",
            Self::Predicted => "predicted",
            Self::PhaseChange => "phase change",
            Self::Prefetched => "prefetched",
            Self::Vectorized => "vectorized",
        }
    }
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstSpan {
    /// When it began.
    pub began_ns: u64,
    /// The time that it ran.
    pub took_ns: u64,
    /// Number of checks that the program had passed before: its progress. 0 where a timer begins bursts, as checks
    /// are not counted there.
    pub checks: u64,
}

impl Timeline {
    /// Returns the positions and benefits of the versions whose benefit is known.
    pub(crate) fn benefits(&self) -> Vec<(u32, Benefit)> {
        let all = (0..).zip(self.versions.iter().map(|version| version.benefit));
        all.filter(|(_, benefit)| *benefit != Benefit::default()).collect()
    }

    /// Reports whether versions and bursts are in chronological order.
    pub(crate) fn is_sorted(&self) -> bool {
        self.versions.is_sorted_by_key(|version| version.began_ns)
            && self.bursts.is_sorted_by_key(|burst| (burst.began_ns, burst.checks))
    }

    /// Sorts versions and bursts chronologically.
    pub(crate) fn normalize(&mut self) {
        self.versions.sort_by_key(|version| version.began_ns);
        self.bursts.sort_by_key(|burst| (burst.began_ns, burst.checks));
    }

    /// Returns the program's speed between consecutive bursts, where checks are counted: the time, and checks passed
    /// per millisecond.
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
