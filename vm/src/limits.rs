//! The limits of what a store may take.

use crate::{Error, ErrorKind, Result};

/// The limits of a store. Exceeding them at instantiation is an error; `memory.grow` and `table.grow` report the
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
    /// Bytes of garbage-collected objects, at most 64 GiB (default: 4 GiB). An allocation that does not fit
    /// beside all reachable objects traps.
    pub heap_bytes: u64,
    /// Bytes of host memory for the values that components and the host pass to each other, in all calls that have not
    /// ended (default: 256 MiB). A call that needs more fails.
    pub component_values: usize,
    /// Resources that each instance of a component may hold, its handles (default: 2^20). One more is an error.
    pub component_handles: usize,
    /// Whether the program traps if a memory or table cannot grow, instead of `memory.grow` or `table.grow`
    /// reporting the failure (default: no). For [`Store::limiter`](crate::Store::limiter) only.
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
            component_values: 256 << 20,
            component_handles: 1 << 20,
            trap_on_grow_failure: false,
        }
    }
}

impl StoreLimits {
    pub(crate) fn memory_bytes(&self, is_64: bool) -> u64 {
        if is_64 { self.memory64_size } else { self.memory_size.min(4 << 30) }
    }
}

/// Decides how much a store may take: see [`Store::limiter`](crate::Store::limiter). Sizes are in bytes for
/// memories and in elements for tables.
///
/// It is asked by the thread that runs the store's code, while that waits, and at each `memory.grow` and `table.grow`, so
/// what an answer costs is part of these. It lies in the store's data and needs no lock of its own; one that several
/// stores share does.
pub trait ResourceLimiter: Send + Sync {
    /// Returns whether a memory may grow from `current` to `desired` bytes; `current` is 0 when the memory is
    /// created. `maximum` is the maximum of its type; it may be less than `desired`, and then the memory does not
    /// grow whatever the answer. After a refusal `memory.grow` reports failure, or the instance or memory is not
    /// created.
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool>;

    /// Notifies the limiter that a memory that was allowed to grow could not.
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// Returns whether a table may grow, as [`memory_growing`](Self::memory_growing) does for a memory.
    ///
    /// # Errors
    /// Returns an error as [`memory_growing`](Self::memory_growing) does.
    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool>;

    /// Notifies the limiter that a table that was allowed to grow could not.
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn table_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// Returns how many instances the store may have (default: 10,000).
    fn instances(&self) -> usize {
        StoreLimits::default().instances
    }

    /// Returns how many memories the store may have (default: 10,000).
    fn memories(&self) -> usize {
        StoreLimits::default().memories
    }

    /// Returns how many tables the store may have (default: 10,000).
    fn tables(&self) -> usize {
        StoreLimits::default().tables
    }
}

/// Decides how much a store may take, as [`ResourceLimiter`] does, but may wait before it answers: see
/// [`Store::limiter_async`](crate::Store::limiter_async).
pub trait ResourceLimiterAsync: Send + Sync {
    /// Returns whether a memory may grow: see [`ResourceLimiter::memory_growing`].
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Box<dyn Future<Output = Result<bool>> + Send + '_>;

    /// Notifies the limiter that a memory that was allowed to grow could not.
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// Returns whether a table may grow: see [`ResourceLimiter::table_growing`].
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Box<dyn Future<Output = Result<bool>> + Send + '_>;

    /// Notifies the limiter that a table that was allowed to grow could not.
    ///
    /// # Errors
    /// An error ends the program, instead of reporting the failure to it.
    fn table_grow_failed(&mut self, error: Error) -> Result<()> {
        let _ = error;
        Ok(())
    }

    /// Returns how many instances the store may have (default: 10,000).
    fn instances(&self) -> usize {
        StoreLimits::default().instances
    }

    /// Returns how many memories the store may have (default: 10,000).
    fn memories(&self) -> usize {
        StoreLimits::default().memories
    }

    /// Returns how many tables the store may have (default: 10,000).
    fn tables(&self) -> usize {
        StoreLimits::default().tables
    }
}

/// A limiter is not told which kind of memory grows, so the lesser of the two memory sizes holds for both kinds.
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

/// A builder of [`StoreLimits`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreLimitsBuilder(StoreLimits);

impl StoreLimitsBuilder {
    /// Starts with the default limits of stores.
    pub fn new() -> StoreLimitsBuilder {
        StoreLimitsBuilder::default()
    }

    /// Sets the bytes per memory, of either kind.
    #[must_use]
    pub fn memory_size(mut self, bytes: usize) -> Self {
        (self.0.memory_size, self.0.memory64_size) = (bytes as u64, bytes as u64);
        self
    }

    /// Sets the elements per table.
    #[must_use]
    pub fn table_elements(mut self, elements: usize) -> Self {
        self.0.table_elements = elements as u64;
        self
    }

    /// Sets the number of instances.
    #[must_use]
    pub fn instances(mut self, count: usize) -> Self {
        self.0.instances = count;
        self
    }

    /// Sets the number of memories.
    #[must_use]
    pub fn memories(mut self, count: usize) -> Self {
        self.0.memories = count;
        self
    }

    /// Sets the number of tables.
    #[must_use]
    pub fn tables(mut self, count: usize) -> Self {
        self.0.tables = count;
        self
    }

    /// Sets whether the program traps if a memory or table cannot grow, instead of `memory.grow` or `table.grow`
    /// reporting the failure.
    #[must_use]
    pub fn trap_on_grow_failure(mut self, trap: bool) -> Self {
        self.0.trap_on_grow_failure = trap;
        self
    }

    /// Returns the limits.
    pub fn build(self) -> StoreLimits {
        self.0
    }
}

/// Checks that one more item does not exceed `limit`.
pub(crate) fn check_count(what: &str, have: usize, limit: usize) -> Result<()> {
    if have < limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Limit,
        format_args!("a store may hold {limit} {what}: raise StoreLimits::{what}"),
    ))
}
