//! The pure half of wprof: control-flow graphs, counter placement, propagation of counts, and the
//! [`Profile`] value with its file format and exporters.
//!
//! Input: block and edge lists, raw counters. Output: plans, exact counts, profiles.
//! Invariant: no knowledge of WebAssembly or of machine code; everything is a value, everything is
//! deterministic; no input makes it panic.
//! Source: Ball & Larus, *Optimally Profiling and Tracing Programs*, TOPLAS 1994.
//! Oracle: `tests/it`, which counts logged walks and demands equality.
//!
//! ```
//! use wprof_profiler::{BlockId, Cfg, EdgePlan, EdgeWeights, propagate};
//!
//! // 0: head, 1: then, 2: else, 3: join, 4: EXIT.
//! let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)])?;
//! let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
//! assert_eq!(plan.counted.len(), 2);
//! // Both counters fired thrice and twice; one frame trapped in the join.
//! let counts = propagate(&cfg, &plan, &[3, 2], &[(BlockId(3), 1)])?;
//! assert_eq!(counts.blocks[3], counts.entries);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod allowance;
mod block_counters;
mod block_plan;
mod block_weights;
mod burst_budget;
mod bursts;
mod call_graph;
mod cfg;
mod comparison;
mod contexts;
mod csr;
mod data_cache;
mod data_streams;
mod depth_first;
mod dominators;
mod downsampled;
mod edge_counts;
mod edge_plan;
mod edge_weights;
mod event_plan;
#[cfg(feature = "exporters")]
pub mod export;
mod extended_paths;
mod figure_kind;
mod file;
mod fnv;
mod forest;
mod grammar;
mod hot_path_table;
mod id;
mod inlined;
mod json;
mod limits;
mod loops;
mod metric;
mod packed;
mod path_counts;
mod path_model;
mod path_numbering;
mod path_plan;
mod path_plan_others;
mod placement_costs;
mod preferential_numbering;
mod preferential_plan;
mod profile;
mod propagate;
mod propagate_blocks;
mod spanning_tree;
mod split_graph;
mod time;
mod timeline;
mod trace;
mod trial;
mod union_find;
mod vertex_plan;

pub use allowance::Allowance;
pub use block_counters::propagate_block_counters;
pub use block_plan::{BlockPlan, CounterCost, CounterCosts};
pub use block_weights::BlockWeights;
pub use burst_budget::{BurstBudget, Overhead, Phase};
pub use bursts::{BurstLengths, Bursts, Version};
pub use call_graph::{Broken, CallGraph, DirectCallee};
pub use cfg::{Cfg, CfgError, Edge};
pub use comparison::*;
pub use contexts::*;
pub use data_cache::{BadCacheShape, CacheShape, DataCache};
pub use data_streams::{AccessSignature, DataStreams, DataStreamsBuilder};
pub use depth_first::DepthFirst;
pub use dominators::Dominators;
pub use downsampled::Downsampled;
pub use edge_counts::EdgeCounts;
pub use edge_plan::EdgePlan;
pub use edge_weights::{EdgeWeights, LIKELY_SHARE, LOOP_MULTIPLIER};
pub use event_plan::{EventPlan, EventTree, longest_acyclic};
pub use extended_paths::{ExtendedPath, ExtendedPaths, ExtendedProfile, Extension, PathOf};
pub use figure_kind::{FigureKind, Rate};
pub use file::{FileError, replace_file};
pub use grammar::{Compressor, Grammar, Items, Part, Parts, Stream, Symbol};
pub use hot_path_table::{Branch, HotPathTable, PathDescriptor, PathName, TableShape};
pub use id::{BlockId, EdgeId, LoopId};
pub use limits::ReadLimits;
pub use loops::{Loop, Loops};
pub use metric::{INSTRUCTIONS, Metric};
pub use path_counts::{PathCount, UnfinishedExit, UnfinishedPath};
pub use path_model::{PathModel, entropy};
pub use path_numbering::{MAX_PATHS, Path, PathNumbering};
pub use path_plan::{PathPlan, PathStep};
pub use placement_costs::{OtherWeightings, PlacementCosts, WeightedCosts};
pub use preferential_numbering::{InterestingPath, PreferentialNumbering};
pub use preferential_plan::PreferentialPlan;
pub use profile::*;
pub use propagate::{PropagateError, propagate};
pub use propagate_blocks::{BlockCounts, propagate_blocks};
pub use spanning_tree::{RootedForest, SpanningTree};
pub use time::{Interval, InvalidTime, PlaceTime, RoutineTime, TimeLog, TimeNode, TimeProfile, Timed};
pub use timeline::{Benefit, BurstSpan, CodeDecision, CodeTier, CodeVersion, DecisionKind, Timeline};
pub use trace::*;
pub use trial::{Side, Trial, TrialResult};
pub use vertex_plan::VertexPlan;
