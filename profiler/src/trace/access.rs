//! Instructions that touch memory, and what they touched.
//!
//! Source: Ball & Larus 1994, section 4.2, keep addresses in a file of their own, because among the
//! witnesses they would need blocking; the blocks then tell which instructions they are of.

use serde::{Deserialize, Serialize};

use crate::BlockId;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Memory is read.
    Load,
    /// Memory is written.
    Store,
}

/// An access that a block makes each time it runs. An instruction that copies makes two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The block.
    pub block: BlockId,
    /// Byte offset in the module of the instruction.
    pub site: u32,
    /// What it does.
    pub kind: AccessKind,
    /// Index of the memory.
    pub memory: u32,
    /// What is added to the index that the program gives.
    pub offset: u64,
    /// How many bytes; `None` if the program says it each time.
    pub bytes: Option<u8>,
}

/// One execution of an [`Access`]. It was made, or tried: the last one of a frame that trapped may be the one that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataReference {
    /// The function.
    pub function: u32,
    /// The instruction.
    pub access: Access,
    /// The first byte: index and offset added, modulo 2^64. Only a reference that traps can wrap.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
}
