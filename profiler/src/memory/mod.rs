//! Memory: data references, which are a simulated cache and streams of accesses that repeat, and allocations.

pub mod allocations;
pub mod data_cache;
pub mod data_streams;
