//! Output for Linux perf.

/// The format of a file for perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PerfFormat {
    /// `/tmp/perf-PID.map`: addresses and names; `perf report` finds the file by itself.
    Map,
    /// `jit-PID.dump` in the current folder: also code and source lines, for `perf record -k mono` and `perf
    /// inject --jit`.
    Jitdump,
}
