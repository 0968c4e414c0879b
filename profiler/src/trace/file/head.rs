//! The head and the ending of a trace.

use serde::{Deserialize, Serialize};

use super::super::Frame;

pub(in crate::trace) const MAGIC: [u8; 8] = *b"wprt\r\n\x1a\n";
pub(in crate::trace) const MAJOR: u16 = 1;
pub(in crate::trace) const MINOR: u16 = 0;

/// The program that was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHead {
    /// Name of the program.
    pub program: String,
    /// The hash of the module: see [`Profile::module_hash`](crate::Profile::module_hash).
    pub module_hash: [u8; 32],
}

/// The end of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceEnding {
    /// The recording finished: the whole run is there.
    Finished,
    /// The limit was reached: only the beginning of the run is there.
    LimitReached,
    /// The file ends, or is damaged, at this byte: only the beginning of the run is there.
    CutOff {
        /// Byte offset of the first incomplete section.
        byte: u64,
    },
}

impl TraceEnding {
    /// Returns the message for users who replay an incomplete trace.
    pub fn notice(self) -> Option<String> {
        match self {
            Self::Finished => None,
            Self::LimitReached => {
                Some("the trace reached its size limit: only the beginning of the run is here".to_owned())
            }
            Self::CutOff { byte } => Some(format!(
                "the trace breaks off at byte {byte}: only the chunks before it can be replayed"
            )),
        }
    }
}

/// Content of the section `STCK`.
#[derive(Serialize, Deserialize)]
pub(in crate::trace) struct Stack {
    pub first_bit: u64,
    pub frames: Vec<Frame>,
}
