//! All limits of the profile file in one place.
//!
//! Invariant: what is written obeys them too, so a file that was written can be read.

/// A profile file may be this long. The largest modules known (70 MB of code) stay far below.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 30;

/// One section may unpack to this many bytes; what is decoded from it takes some 20 times as much memory.
pub(crate) const MAX_SECTION_BYTES: u64 = 256 << 20;

/// A file may have this many sections.
pub(crate) const MAX_SECTIONS: usize = 256;

/// zstd's level for sections: the fastest that finds most of the redundancy.
pub(crate) const COMPRESSION_LEVEL: i32 = 3;

/// The paths of one function's profile may cross this many edges together, each path counted once: a second's work.
pub(crate) const MAX_PATH_STEPS: usize = 1 << 28;

/// So many paths of a function can be interesting; the others are counted as all others are.
pub(crate) const MAX_INTERESTING_PATHS: usize = 1 << 14;

/// Interesting paths of one function may cross this many edges together: 64 MiB while they are numbered.
pub(crate) const MAX_INTERESTING_STEPS: usize = 1 << 22;

/// Interesting paths of one function with a higher number than this have no counter: where the code is planned, that is
/// 256 KiB of memory.
pub(crate) const MAX_INTERESTING_CELLS: u64 = 1 << 16;

/// A regenerated run may have this many live frames: more than any native stack holds.
pub(crate) const MAX_FRAMES: usize = 1 << 22;
