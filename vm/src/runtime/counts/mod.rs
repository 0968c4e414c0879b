//! The counts of machine code, and their layout in memory.

pub mod account;
pub mod allocations;
pub mod call_records;
pub mod context_tracking;
pub mod cpu_time;
pub mod event_counts;
pub mod host_clock;
pub mod live_blocks;
pub mod metrics;
pub mod path_table;
pub mod recording;
pub mod running_time;
pub mod simulations;
pub mod system_counter;
pub mod trace_buffer;
pub mod unfinished;
