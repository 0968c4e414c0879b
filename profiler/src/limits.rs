//! Limits of profile and trace files.
//!
//! Invariant: writers obey the limits too, so every written file can be read.
//! Invariant: reading a file takes at most a constant times its length in memory.

/// Limits for reading a profile file, which may come from anywhere. A file that exceeds one is an error.
///
/// Compressed bytes can expand ten thousand times, and decoding an unpacked byte takes about 20 bytes of memory, at
/// worst 60. The unpacked bytes are therefore limited twice: in total, and per byte of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Length of the file (default: 1 GiB). The largest modules known (70 MB of code) stay far below.
    pub file_bytes: u64,
    /// Unpacked bytes of all sections together (default: 1 GiB).
    pub unpacked_bytes: u64,
    /// Unpacked bytes per byte of the file (default: 100), in addition to the first MiB.
    pub expansion: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, unpacked_bytes: 1 << 30, expansion: 100 }
    }
}

impl ReadLimits {
    /// Unpacked bytes that any file may have, however short.
    const ALWAYS: u64 = 1 << 20;

    /// Returns how many bytes a file of this length may unpack to.
    pub(crate) fn unpacked_of(&self, file_bytes: u64) -> u64 {
        file_bytes.saturating_mul(self.expansion).saturating_add(Self::ALWAYS).min(self.unpacked_bytes)
    }

    /// Returns the least length of a file that may unpack to `unpacked` bytes.
    pub(crate) fn length_for(&self, unpacked: u64) -> u64 {
        unpacked.saturating_sub(Self::ALWAYS).div_ceil(self.expansion)
    }
}

/// Unpacked bytes of one section of a trace: the bits or the references of the longest chunk that can be recorded. A
/// chunk is read when it is replayed, and dropped afterwards. All chunks together obey [`ReadLimits`].
pub(crate) const MAX_SECTION_BYTES: u64 = 256 << 20;

/// Logarithm to base 2 of the bytes of history that compressed data may refer to: four times what the writer uses at
/// [`COMPRESSION_LEVEL`].
pub(crate) const MAX_WINDOW_LOG: u32 = 23;

/// Number of sections of a file.
pub(crate) const MAX_SECTIONS: usize = 256;

/// The zstd level for sections: the fastest that finds most of the redundancy.
pub(crate) const COMPRESSION_LEVEL: i32 = 3;

/// Number of edges that the distinct paths of one function's profile may cross together: a second's work.
pub(crate) const MAX_PATH_STEPS: usize = 1 << 28;

/// Number of edges that the distinct paths of all functions of a profile may cross together.
pub(crate) const MAX_ALL_PATH_STEPS: usize = 1 << 30;

/// Number of interesting paths of a function; further ones are counted like uninteresting paths.
pub(crate) const MAX_INTERESTING_PATHS: usize = 1 << 14;

/// Number of edges that the interesting paths of one function may cross together: 64 MiB while they are numbered.
pub(crate) const MAX_INTERESTING_STEPS: usize = 1 << 22;

/// Interesting paths of one function with a number above this have no counter: 256 KiB of memory where the code is
/// planned.
pub(crate) const MAX_INTERESTING_CELLS: u64 = 1 << 16;

/// Number of live frames of a regenerated run: more than any native stack holds.
pub(crate) const MAX_FRAMES: usize = 1 << 22;
