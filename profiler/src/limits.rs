//! All limits of profile and trace files in one place.
//!
//! Invariant: what is written obeys them too, so a file that was written can be read.
//! Invariant: the memory that a file takes to read is at most a constant times its length.

/// What a profile file may take to read; files come from anywhere. A file that takes more is an error.
///
/// Compressed bytes can expand ten thousand times, and what is decoded from one unpacked byte takes some 20 bytes of
/// memory, at worst 60. So the unpacked bytes are limited twice: for the whole file, and for each byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The length of the file (default: 1 GiB). The largest modules known (70 MB of code) stay far below.
    pub file_bytes: u64,
    /// What all sections together unpack to (default: 1 GiB).
    pub unpacked_bytes: u64,
    /// How many unpacked bytes there may be for each byte of the file (default: 100), besides the first MiB.
    pub expansion: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, unpacked_bytes: 1 << 30, expansion: 100 }
    }
}

impl ReadLimits {
    /// So many bytes may be unpacked of any file, however short.
    const ALWAYS: u64 = 1 << 20;

    /// How many bytes may be unpacked of a file of this length.
    pub(crate) fn unpacked_of(&self, file_bytes: u64) -> u64 {
        file_bytes.saturating_mul(self.expansion).saturating_add(Self::ALWAYS).min(self.unpacked_bytes)
    }

    /// How long a file must be so that so many bytes of it may be unpacked.
    pub(crate) fn length_for(&self, unpacked: u64) -> u64 {
        unpacked.saturating_sub(Self::ALWAYS).div_ceil(self.expansion)
    }
}

/// One section of a trace may unpack to this many bytes: the bits or the references of the longest chunk that can be
/// recorded. A chunk is read when it is replayed, and forgotten then. What all chunks need obeys [`ReadLimits`].
pub(crate) const MAX_SECTION_BYTES: u64 = 256 << 20;

/// The history that compressed bytes may refer to has at most two to the power of this many bytes: four times as many
/// as are written at [`COMPRESSION_LEVEL`].
pub(crate) const MAX_WINDOW_LOG: u32 = 23;

/// A file may have this many sections.
pub(crate) const MAX_SECTIONS: usize = 256;

/// zstd's level for sections: the fastest that finds most of the redundancy.
pub(crate) const COMPRESSION_LEVEL: i32 = 3;

/// The paths of one function's profile may cross this many edges together, each path counted once: a second's work.
pub(crate) const MAX_PATH_STEPS: usize = 1 << 28;

/// The same of all functions of a profile.
pub(crate) const MAX_ALL_PATH_STEPS: usize = 1 << 30;

/// So many paths of a function can be interesting; the others are counted as all others are.
pub(crate) const MAX_INTERESTING_PATHS: usize = 1 << 14;

/// Interesting paths of one function may cross this many edges together: 64 MiB while they are numbered.
pub(crate) const MAX_INTERESTING_STEPS: usize = 1 << 22;

/// Interesting paths of one function with a higher number than this have no counter: where the code is planned, that is
/// 256 KiB of memory.
pub(crate) const MAX_INTERESTING_CELLS: u64 = 1 << 16;

/// A regenerated run may have this many live frames: more than any native stack holds.
pub(crate) const MAX_FRAMES: usize = 1 << 22;
