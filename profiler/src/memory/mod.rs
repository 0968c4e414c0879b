//! Memory: data references, which are a simulated cache and streams of accesses that repeat, allocations, and a simulated
//! branch predictor.

pub mod allocations;
pub mod data_cache;
pub mod data_streams;
pub mod predictor;
