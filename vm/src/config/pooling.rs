//! Pooling: resources of past instances, kept for later ones.

/// How much of past instances an engine keeps for later ones: their address space with the pages of memories, so
/// that creating an instance takes microseconds, whatever data it begins with. The pool takes address space and
/// page tables, and memory only for the images of modules.
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
}

impl Default for PoolingConfig {
    fn default() -> PoolingConfig {
        PoolingConfig { memories: 1000, instances: 1000 }
    }
}

impl PoolingConfig {
    /// Creates a configuration that keeps what `count` instances with one memory each leave.
    pub fn for_instances(count: usize) -> PoolingConfig {
        PoolingConfig { memories: count, instances: count }
    }
}
