//! Errors of writing and reading trace files.

use super::super::TraceError;
use super::head::MAJOR;

/// Why a trace file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// The operating system reported an error.
    #[error("cannot read or write the trace: {0}")]
    Io(#[from] std::io::Error),
    /// The file does not begin like a trace.
    #[error(
        "this is not a wprof trace: give one that `wprof trace record`, or for bursts `wprof run --bursts`, wrote"
    )]
    Foreign,
    /// The file does not begin like that of a whole program path.
    #[error("this is no whole program path: give a file that `wprof trace compress` wrote")]
    NoWholePath,
    /// The file does not begin like a packed trace.
    #[error("this is no packed trace: give a file that `wprof trace pack` wrote")]
    NotPacked,
    /// The trace unpacks to more bytes than allowed.
    #[error(
        "the trace unpacks to more than {0} bytes: if you trust whoever packed it, give `wprof trace unpack --max-size` more"
    )]
    UnpacksTo(u64),
    /// The file has a format that this version does not know.
    #[error("the trace has format {major}.{minor}, and this wprof reads {MAJOR}.x: use another wprof")]
    OtherVersion {
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
    },
    /// A checksum fails, or the content is invalid.
    #[error("the trace is damaged in the section {section:?} at byte {byte}: record it again")]
    Damaged {
        /// Tag of the section.
        section: String,
        /// Byte offset at which the section begins.
        byte: u64,
    },
    /// A section is larger than the limits allow.
    #[error("a section of the trace has more than {0} bytes: write smaller chunks")]
    TooLarge(u64),
    /// Reading the file would take more memory than [`ReadLimits`](crate::ReadLimits) allow.
    #[error(
        "the functions of the trace unpack to too many bytes for a file of its length: if you trust whoever made it, \
         raise the limit of unpacked bytes"
    )]
    Expands,
    /// The chunk does not exist.
    #[error("the trace has {chunks} chunks, and chunk {chunk} is none of them")]
    NoChunk {
        /// Number of the requested chunk.
        chunk: usize,
        /// Number of chunks.
        chunks: usize,
    },
    /// The content of the trace contradicts itself.
    #[error("the trace contradicts itself: {0}")]
    Contradiction(#[from] TraceError),
}
