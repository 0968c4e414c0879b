//! What profiles say: exact counts, samples, contexts, events, time, traces.

mod allocations;
mod async_time;
mod branches;
mod burst_contexts;
mod burst_log;
mod burst_policies;
mod bursts;
mod call_sites;
mod call_targets;
mod context_events;
mod contexts;
mod deep_time;
mod events;
mod interesting_paths;
#[path = "../shared/memory_file.rs"]
mod memory_file;
mod metrics;
mod paths;
mod phases;
mod profile;
mod profiling_cost;
mod round_paths;
mod shares;
mod threads;
mod time;
mod trace;
mod unbiased;
mod unbiased_default;
#[cfg(feature = "wasi")]
mod unbiased_programs;
