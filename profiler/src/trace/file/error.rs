//! Why a trace file cannot be written or read.

use super::super::TraceError;
use super::head::MAJOR;

/// Why a trace file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// The operating system refused.
    #[error("cannot read or write the trace: {0}")]
    Io(#[from] std::io::Error),
    /// It does not begin like a trace.
    #[error(
        "this is not a wprof trace: give one that `wprof trace record`, or for bursts `wprof run --bursts`, wrote"
    )]
    Foreign,
    /// It does not begin like the file of a whole program path.
    #[error("this is no whole program path: give a file that `wprof trace compress` wrote")]
    NoWholePath,
    /// It does not begin like a packed trace.
    #[error("this is no packed trace: give a file that `wprof trace pack` wrote")]
    NotPacked,
    /// The trace would be larger than it may be.
    #[error("the trace unpacks to more than {0} bytes: if you trust whoever packed it, give `wprof trace unpack --max-size` more")]
    UnpacksTo(u64),
    /// It is of a format that this version does not know.
    #[error("the trace has format {major}.{minor}, and this wprof reads {MAJOR}.x: use another wprof")]
    OtherVersion {
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
    },
    /// A checksum fails, or the content makes no sense.
    #[error("the trace is damaged in the section {section:?} at byte {byte}: record it again")]
    Damaged {
        /// Its tag.
        section: String,
        /// Where it begins.
        byte: u64,
    },
    /// A section is larger than the limits allow.
    #[error("a section of the trace has more than {0} bytes: write smaller chunks")]
    TooLarge(u64),
    /// It would take more memory to read than [`ReadLimits`](crate::ReadLimits) allow.
    #[error(
        "the functions of the trace unpack to too many bytes for a file of its length: if you trust whoever made it, \
         raise the limit of unpacked bytes"
    )]
    Expands,
    /// There is no such chunk.
    #[error("the trace has {chunks} chunks, and chunk {chunk} is none of them")]
    NoChunk {
        /// The one that was asked for.
        chunk: usize,
        /// How many there are.
        chunks: usize,
    },
    /// The content contradicts itself.
    #[error("the trace contradicts itself: {0}")]
    Contradiction(#[from] TraceError),
}
