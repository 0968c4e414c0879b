//! The trace file.
//!
//! Input: chunks of the stream with the stacks between them, while the program runs. Output: a self-contained file
//! that can be replayed from its beginning or from any chunk.
//! Invariant: a file that is truncated anywhere, by a crash or by its limit, gives a prefix of the run and says so. A
//! changed byte is an error, or ends the prefix before it.
//! Source: Ball & Larus 1994, section 4. Oracle: every truncation and every flipped byte, in
//! `tests/it/trace_file.rs`.
//!
//! Layout, integers little-endian:
//!
//! ```text
//! magic     8 bytes  77 70 72 74 0d 0a 1a 0a   "wprt", then bytes that text transfer would damage
//! major     u16      a reader refuses another major version
//! minor     u16      a newer minor version may add sections, which an older reader skips
//! sections  each: tag (4 bytes), unpacked length u64, stored length u64, FNV-64 of these 20 bytes,
//!           stored bytes (zstd), FNV-64 of the stored bytes and the first checksum
//! ```
//!
//! | section | content | place |
//! |---|---|---|
//! | `HEAD` | [`TraceHead`] | first |
//! | `STCK` | number of the next bit, live frames | after `HEAD`, and after each chunk |
//! | `FUNC` | [`FunctionTable`]s | before the first chunk that needs them |
//! | `BITS` | a chunk: number of bits, unwinds, bits | after a `STCK`, `FUNC`s between |
//! | `ADDR` | [`References`] of the chunk before | one for each chunk, or for none |
//! | `DONE` | why the recording ended | last |
//!
//! All sections are in postcard's encoding; data references are bytes within it. A chunk counts only if the stack
//! after it is there, too.

mod error;
mod function_table;
pub(super) mod head;
mod reader;
mod references;
mod replay;
pub(super) mod section;
mod stats;
mod writer;

pub use error::TraceFileError;
pub use function_table::FunctionTable;
pub use head::{TraceEnding, TraceHead};
pub use reader::TraceReader;
pub use references::{Reference, References};
pub use replay::Replay;
pub use stats::{MethodStats, TraceStats};
pub use writer::{TraceChunk, TraceWriter};
