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
    /// Bytes of garbage-collected objects, at most 64 GiB (default: 4 GiB). An allocation for which there is no room, with
    /// all that is reachable, traps.
    pub heap_bytes: u64,
    /// Whether the program traps if a memory or table cannot grow, instead of being told (default: no). For
    /// [`Store::limiter`](crate::Store::limiter) only.
    pub trap_on_grow_failure: bool,
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
            heap_bytes: 4 << 30,
            trap_on_grow_failure: false,
        }
    }
}

impl StoreLimits {
    pub(crate) fn memory_bytes(&self, is_64: bool) -> u64 {
        if is_64 { self.memory64_size } else { self.memory_size.min(4 << 30) }
    }
}

/// Who says how much a store may take: see [`Store::limiter`](crate::Store::limiter). Sizes are in bytes for memories and
/// in elements for tables.
pub trait ResourceLimiter: Send + Sync {
    /// Whether a memory may grow from `current` to `desired` bytes; `current` is 0 if it is to be made. `maximum` is what
    /// its type allows; it may be less than `desired`, and then the memory does not grow whatever the answer. If the answer
    /// is no the program is told, or else an instance, or a memory, cannot be made.
    ///
    /// # Errors
    /// To end the program with this error, instead of telling it.
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool>;

    /// A memory that was allowed to grow could not.
    ///
    /// # Errors
    /// To end the program with this error, instead of telling it.
    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// As [`memory_growing`](Self::memory_growing), for a table.
    ///
    /// # Errors
    /// As there.
    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool>;

    /// A table that was allowed to grow could not.
    ///
    /// # Errors
    /// To end the program with this error, instead of telling it.
    fn table_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// How many instances the store may have (default: 10,000).
    fn instances(&self) -> usize {
        StoreLimits::default().instances
    }

    /// How many memories the store may have (default: 10,000).
    fn memories(&self) -> usize {
        StoreLimits::default().memories
    }

    /// How many tables the store may have (default: 10,000).
    fn tables(&self) -> usize {
        StoreLimits::default().tables
    }
}

/// As a limiter, the lesser of both sizes of memories holds for each, as a limiter is not told which kind it is.
impl ResourceLimiter for StoreLimits {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let limit = self.memory_size.min(self.memory64_size);
        self.decide("memory", desired, limit)
    }

    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        if self.trap_on_grow_failure { Err(error.context("memory")) } else { Ok(()) }
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        self.decide("table", desired, self.table_elements)
    }

    fn table_grow_failed(&mut self, error: Error) -> Result<()> {
        if self.trap_on_grow_failure { Err(error.context("table")) } else { Ok(()) }
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.memories
    }

    fn tables(&self) -> usize {
        self.tables
    }
}

impl StoreLimits {
    fn decide(&self, what: &str, desired: usize, limit: u64) -> Result<bool> {
        let fits = desired as u64 <= limit;
        if fits || !self.trap_on_grow_failure {
            return Ok(fits);
        }
        let message = format!("a {what} of {desired} is above the limit of {limit}");
        Err(Error::new(ErrorKind::Limit, message))
    }
}

/// Makes [`StoreLimits`] from what is to be limited.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreLimitsBuilder(StoreLimits);

impl StoreLimitsBuilder {
    /// The limits that stores have by default.
    pub fn new() -> StoreLimitsBuilder {
        StoreLimitsBuilder::default()
    }

    /// Bytes per memory, of either kind.
    #[must_use]
    pub fn memory_size(mut self, bytes: usize) -> Self {
        (self.0.memory_size, self.0.memory64_size) = (bytes as u64, bytes as u64);
        self
    }

    /// Elements per table.
    #[must_use]
    pub fn table_elements(mut self, elements: usize) -> Self {
        self.0.table_elements = elements as u64;
        self
    }

    /// Instances.
    #[must_use]
    pub fn instances(mut self, count: usize) -> Self {
        self.0.instances = count;
        self
    }

    /// Memories.
    #[must_use]
    pub fn memories(mut self, count: usize) -> Self {
        self.0.memories = count;
        self
    }

    /// Tables.
    #[must_use]
    pub fn tables(mut self, count: usize) -> Self {
        self.0.tables = count;
        self
    }

    /// Whether the program traps if a memory or table cannot grow, instead of being told.
    #[must_use]
    pub fn trap_on_grow_failure(mut self, trap: bool) -> Self {
        self.0.trap_on_grow_failure = trap;
        self
    }

    /// The limits.
    pub fn build(self) -> StoreLimits {
        self.0
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
