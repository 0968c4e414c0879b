//! Pooling: resources of past instances, kept for later ones.

use super::Config;

/// Default maximum number of kept stacks.
pub(crate) const MOST_STACKS: usize = 256;

/// How much of past instances an engine keeps for later ones: their address space with the pages of memories, so
/// that creating an instance takes microseconds, whatever data it begins with. The pool takes address space and
/// page tables, and memory for the images of modules and for what stays of each memory, table and instance: at most
/// [`kept_bytes`](PoolingConfig::kept_bytes) each for memories and tables, and 16 KiB for instances.
///
/// A new instance reuses the resources of past instances of the same module; with many modules in turn, those
/// used last are kept. Memories with 64-bit addresses, shared memories, and memories that may move
/// ([`Config::memory_reservation`](crate::Config::memory_reservation)) are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingConfig {
    /// Maximum number of kept memories (default: 1000).
    pub memories: usize,
    /// Maximum number of kept instances, without their memories (default: 1000).
    pub instances: usize,
    /// Maximum number of kept tables (default: 1000). Those that have grown, or have more than
    /// [`kept_bytes`](PoolingConfig::kept_bytes), are not kept.
    pub tables: usize,
    /// Maximum number of kept stacks of calls that wait ([`TypedFunc::call_async`](crate::TypedFunc::call_async);
    /// default: 256, also without a pool). A kept stack has the memory that calls have used so far.
    pub stacks: usize,
    /// Maximum number of bytes that an instance has written to a memory and that stay in memory for the next one
    /// (default: 64 KiB). Where an instance has written to more pages, all are given back to the system. The next
    /// instance then has a page fault at each page that it touches, which takes longer than writing it anew. Needs
    /// Linux 6.7; older systems are always given the pages back.
    pub kept_bytes: usize,
}

impl Default for PoolingConfig {
    fn default() -> PoolingConfig {
        PoolingConfig {
            memories: 1000,
            instances: 1000,
            tables: 1000,
            stacks: MOST_STACKS,
            kept_bytes: 64 << 10,
        }
    }
}

impl PoolingConfig {
    /// Creates a configuration that keeps what `count` instances with one memory and one table each leave.
    pub fn for_instances(count: usize) -> PoolingConfig {
        PoolingConfig { memories: count, instances: count, tables: count, ..PoolingConfig::default() }
    }

    /// Sets the maximum number of kept tables.
    #[must_use]
    pub fn tables(self, tables: usize) -> PoolingConfig {
        PoolingConfig { tables, ..self }
    }

    /// Sets the maximum number of kept stacks.
    #[must_use]
    pub fn stacks(self, stacks: usize) -> PoolingConfig {
        PoolingConfig { stacks, ..self }
    }
}

/// Where the resources of instances come from: [`Config::pooling`], by the name that other engines use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceAllocationStrategy {
    /// From the system, to which they are given back.
    #[default]
    OnDemand,
    /// From past instances, as far as they have left any.
    Pooling(PoolingConfig),
}

impl From<PoolingConfig> for InstanceAllocationStrategy {
    fn from(pooling: PoolingConfig) -> InstanceAllocationStrategy {
        InstanceAllocationStrategy::Pooling(pooling)
    }
}

impl Config {
    /// Sets which resources of instances are kept for the next ones (default: `None`, none).
    pub fn pooling(&mut self, pooling: Option<PoolingConfig>) -> &mut Self {
        self.pooling = pooling;
        self
    }

    /// Sets which resources of instances are kept for the next ones, as [`Config::pooling`] does.
    pub fn allocation_strategy(&mut self, strategy: impl Into<InstanceAllocationStrategy>) -> &mut Self {
        self.pooling(match strategy.into() {
            InstanceAllocationStrategy::OnDemand => None,
            InstanceAllocationStrategy::Pooling(pooling) => Some(pooling),
        })
    }

    /// Sets whether instances begin with shared pages of their module's data, which are copied when they are first
    /// written to (default: yes). Otherwise data is copied into each memory. Without [`Config::pooling`] it always is.
    pub fn memory_init_cow(&mut self, enable: bool) -> &mut Self {
        self.shares_data = enable;
        self
    }
}
