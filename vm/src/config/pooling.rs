//! Pooling: resources of past instances, kept for later ones.

/// How much of past instances an engine keeps for later ones: their address space with the pages of memories, so
/// that creating an instance takes microseconds, whatever data it begins with. The pool takes address space and
/// page tables, and memory for the images of modules and for what stays of each memory and instance: at most
/// [`kept_bytes`](PoolingConfig::kept_bytes) and 16 KiB.
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
    /// Maximum number of bytes that an instance has written to a memory and that stay in memory for the next one
    /// (default: 64 KiB). Where an instance has written to more pages, all are given back to the system. The next
    /// instance then has a page fault at each page that it touches, which takes longer than writing it anew. Needs
    /// Linux 6.7; older systems are always given the pages back.
    pub kept_bytes: usize,
}

impl Default for PoolingConfig {
    fn default() -> PoolingConfig {
        PoolingConfig { memories: 1000, instances: 1000, kept_bytes: 64 << 10 }
    }
}

impl PoolingConfig {
    /// Creates a configuration that keeps what `count` instances with one memory each leave.
    pub fn for_instances(count: usize) -> PoolingConfig {
        PoolingConfig { memories: count, instances: count, ..PoolingConfig::default() }
    }
}
