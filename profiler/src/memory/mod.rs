//! Memory: data references (a simulated cache, and repeated access streams), allocations, the garbage
//! collector, and a simulated branch predictor.

pub mod allocations;
pub mod cache_levels;
pub mod collector;
pub mod data_cache;
pub mod data_streams;
pub mod predictor;
