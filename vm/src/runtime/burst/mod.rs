//! Bursts: the handling of checks that fire, the counts and the cost of bursts, and trials of code.

pub mod burst_contexts;
pub mod burst_cost;
pub mod burst_log;
pub mod burst_pacing;
pub mod burst_phase;
pub mod burst_spans;
pub mod burst_spread;
pub mod burst_time;
pub mod call_targets;
pub mod check_place;
pub mod checks;
pub mod skipped_bursts;
pub mod store_bursts;
pub mod timed_calls;
