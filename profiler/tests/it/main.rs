//! The oracle: every clever result must equal what a stupid, obviously right way gives.
//!
//! How to write a test here: take graphs from `random_cfg` (random, structured, or all small ones), run
//! them with `walk` (which logs every executed edge and instruction, and bumps the counters that the plan
//! asks for), compute what you expect from the log or by exhaustive search, and demand equality. A test
//! names the behaviour. Before you keep it, break the code it tests and see it fail.

mod accuracy;
mod allowance;
mod block_counters;
mod burst_budget;
mod burst_file;
mod bursts;
mod call_graph;
mod cfg;
mod comparison;
mod contexts;
mod data_cache;
mod data_streams;
mod density;
mod depth_first;
mod distribution;
mod dominators;
mod edge_profile;
mod edge_weights;
mod event_plan;
mod event_walk;
#[cfg(feature = "exporters")]
mod export;
mod extended_paths;
mod file;
mod grammar;
mod hot_path_table;
mod json;
mod linear;
mod loops;
mod merge;
mod packing;
mod parts;
mod path_model;
mod path_numbering;
mod path_plan;
mod path_profile;
mod path_stack;
mod placement_costs;
mod predictor;
mod preferential_numbering;
mod preferential_plan;
mod profile;
mod random_cfg;
mod rank;
mod residual;
mod rng;
mod significance;
mod spanning_tree;
mod threads;
mod time;
mod timeline;
mod trace;
mod trace_file;
mod trace_machine;
mod trace_plan;
mod trace_steps;
mod vertex_profile;
mod walk;
mod whole_path;
