//! One run of the program that a profile was taken from.
//!
//! Invariant: nothing here is asked of the system; the caller gives it, so a profile is reproducible.

use serde::{Deserialize, Serialize};

/// When, where and how the program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Start of the run, in seconds since 1970-01-01 UTC; 0 if not told.
    pub started: u64,
    /// Name and version of the tool that took the profile.
    pub tool: String,
    /// The machine, for people.
    pub machine: String,
    /// The command line of the program.
    pub args: Vec<String>,
    /// How it ended.
    pub ending: Ending,
    /// Duration in nanoseconds of real time.
    pub wall_ns: Option<u64>,
}

/// How a run ended.
///
/// Stored by position: append only.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ending {
    /// It had not: the profile is of a program that was still running.
    #[default]
    Running,
    /// The program ended itself, or returned (code 0).
    Exited {
        /// Exit code.
        code: i32,
    },
    /// It trapped.
    Trapped {
        /// What the trap says.
        message: String,
    },
    /// Someone interrupted it.
    Interrupted,
    /// It ran out of its budget.
    OutOfBudget,
}
