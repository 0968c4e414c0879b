//! Memory accesses: the instructions, and the addresses that they touched.
//!
//! Source: Ball & Larus 1994, section 4.2, which keeps addresses in a file of their own, because among the witnesses
//! they would need blocking; the blocks then determine the instructions that the addresses belong to.

use serde::{Deserialize, Serialize};

use crate::BlockId;

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// The instruction reads memory.
    Load,
    /// The instruction writes memory.
    Store,
}

/// An access that a block makes each time it runs. An instruction that copies makes two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// Block that makes the access.
    pub block: BlockId,
    /// Byte offset of the instruction in the module.
    pub site: u32,
    /// Direction of the access.
    pub kind: AccessKind,
    /// Index of the memory.
    pub memory: u32,
    /// Constant that is added to the index that the program computes.
    pub offset: u64,
    /// Number of bytes; `None` if the program determines it each time.
    pub bytes: Option<u8>,
}

/// One execution of an [`Access`], completed or attempted: the last one of a frame that trapped may be the one that
/// trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataReference {
    /// Index of the function.
    pub function: u32,
    /// The access.
    pub access: Access,
    /// Address of the first byte: index and offset added, modulo 2^64. Only a reference that traps can wrap.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u64,
}
