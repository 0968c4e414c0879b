//! The run of the program that a profile was taken from.
//!
//! Invariant: nothing here is queried from the system; the caller provides it, so profiles are reproducible.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// When, where and how the program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Start of the run, in seconds since 1970-01-01 UTC; 0 if unknown.
    pub started: u64,
    /// Name and version of the tool that took the profile.
    pub tool: String,
    /// Description of the machine, for people.
    pub machine: String,
    /// The command line of the program.
    pub args: Vec<String>,
    /// The end of the run.
    pub ending: Ending,
    /// Duration in nanoseconds of real time.
    pub wall_ns: Option<u64>,
}

impl Run {
    /// Describes a run, or a part of one, by its time alone: what an embedder knows of the profile of an instance, which
    /// has no run of its own.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use wprof_profiler::{Profile, Run};
    ///
    /// let mut profile = Profile::default();
    /// profile.runs = vec![Run::lasting(SystemTime::now(), Duration::from_millis(3))];
    /// ```
    pub fn lasting(started: SystemTime, wall: Duration) -> Run {
        let started = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Run { started, wall_ns: Some(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)), ..Run::default() }
    }
}

/// The end of a run.
///
/// Stored by position: append only.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ending {
    /// The run had not ended: the profile is of a program that was still running.
    #[default]
    Running,
    /// The program exited, or returned (code 0).
    Exited {
        /// Exit code.
        code: i32,
    },
    /// The program trapped.
    Trapped {
        /// Message of the trap.
        message: String,
    },
    /// The run was interrupted from outside.
    Interrupted,
    /// The program exhausted its budget.
    OutOfBudget,
}
