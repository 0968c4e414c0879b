//! How code is made, cached and replaced: tiers, lazy parts, superblocks, trials.

mod addresses;
mod code_cache;
mod constant_divisors;
mod constant_tables;
mod demand;
mod jump_tables;
mod loop_entries;
mod many_results;
mod parts;
mod passes;
mod prefetching;
#[path = "../shared/random.rs"]
mod random;
mod reoptimized;
mod single_pass;
mod speculation;
mod strips;
mod symbols;
mod tiers;
mod trials;
mod unrolled;
mod vector_addresses;
mod vectors;
