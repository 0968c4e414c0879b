//! Data references: a simulated cache, and streams of accesses that repeat.

pub mod data_cache;
pub mod data_streams;
