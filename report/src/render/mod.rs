//! Text output for people: numbers, tables, summaries of a profile.
//!
//! Input: a [`View`](view::View) of a profile. Output: text on a [`Page`](page::Page), laid out in its [`Style`](style::Style).
//! Invariant: rendering reads and writes no files; the same input produces the same text.

pub mod allocations;
pub mod annotation;
pub mod blocks;
pub mod branches;
pub mod call_targets;
pub mod comparison;
pub mod contexts;
pub mod counters;
pub mod distribution;
pub mod event_plan;
pub mod events;
pub mod extended_paths;
pub mod flow;
pub mod function_time;
pub mod functions;
pub mod host_calls;
pub mod html_text;
pub mod inlined;
pub mod interesting;
pub mod lines;
pub mod live;
pub mod loops;
pub mod metrics;
pub mod numbers;
pub mod page;
pub mod path_annotation;
pub mod path_lines;
pub mod path_plan;
pub mod path_text;
pub mod paths;
pub mod place;
pub mod plan;
pub mod predicted;
pub mod report;
pub mod residual;
pub mod run_shares;
pub mod runs;
pub mod sample;
pub mod style;
pub mod summary;
pub mod table;
pub mod threads;
pub mod time;
pub mod time_loops;
pub mod totals;
pub mod trace_plan;
pub mod tries;
pub mod view;
