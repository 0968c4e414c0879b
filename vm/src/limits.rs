//! How much a store may take.

use crate::{Error, ErrorKind, Result};

/// The limits of a store. What goes beyond at instantiation is an error; `memory.grow` and `table.grow` report
/// failure to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes per 32-bit memory (default: 4 GiB).
    pub memory_size: u64,
    /// Bytes per 64-bit memory (default: 64 GiB).
    pub memory64_size: u64,
    /// Elements per table (default: 10 million).
    pub table_elements: u64,
    /// Instances (default: 10,000).
    pub instances: usize,
    /// Memories (default: 10,000).
    pub memories: usize,
    /// Tables (default: 10,000).
    pub tables: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        StoreLimits {
            memory_size: 4 << 30,
            memory64_size: 64 << 30,
            table_elements: 10_000_000,
            instances: 10_000,
            memories: 10_000,
            tables: 10_000,
        }
    }
}

impl StoreLimits {
    pub(crate) fn memory_bytes(&self, is_64: bool) -> u64 {
        if is_64 { self.memory64_size } else { self.memory_size.min(4 << 30) }
    }
}

/// Fails if one more would be more than `limit`.
pub(crate) fn check_count(what: &str, have: usize, limit: usize) -> Result<()> {
    if have < limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Limit,
        format_args!("a store may hold {limit} {what}: raise StoreLimits::{what}"),
    ))
}
