//! What Linux perf is told.

/// The form of a file for perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfFormat {
    /// `/tmp/perf-PID.map`: addresses and names; `perf report` finds it by itself.
    Map,
    /// `jit-PID.dump` in the current folder: also code and source lines, for `perf record -k mono` and `perf inject
    /// --jit`.
    Jitdump,
}
