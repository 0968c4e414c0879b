//! What is kept of instances for the next ones.

/// How much of instances that are gone an engine keeps for the next: address space with the pages of memories, so that an
/// instance takes microseconds, whatever data it begins with. What is kept takes address space and page tables, and
/// memory only for the images of modules.
///
/// Instances of the same module take what others have left; with many modules by turns the ones that were wanted last
/// stay. Memories of 64 bits, shared ones, and those that may move ([`Config::memory_reservation`](crate::Config::memory_reservation))
/// are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingConfig {
    /// Memories that are kept at most (default: 1000).
    pub memories: usize,
    /// Instances of which their own part is kept, without memories (default: 1000).
    pub instances: usize,
}

impl Default for PoolingConfig {
    fn default() -> PoolingConfig {
        PoolingConfig { memories: 1000, instances: 1000 }
    }
}

impl PoolingConfig {
    /// One that keeps what `count` instances with a memory each leave.
    pub fn for_instances(count: usize) -> PoolingConfig {
        PoolingConfig { memories: count, instances: count }
    }
}
