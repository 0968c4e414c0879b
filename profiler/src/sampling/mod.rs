//! Bursts: their lengths, their cost, and bounded storage of what they see.

pub mod accuracy;
pub mod allowance;
pub mod burst_budget;
pub mod burst_policy;
pub mod bursts;
pub mod downsampled;
pub mod extended_paths;
pub mod hot_path_table;
pub mod timeline;
pub mod trial;
