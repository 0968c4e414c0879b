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

mod comparison;
mod contexts;
mod counts;
#[cfg(feature = "exporters")]
pub mod export;
mod file;
mod fnv;
mod grammar;
mod graph;
mod inlined;
mod json;
mod limits;
mod memory;
mod name_section;
mod packed;
mod plan;
mod profile;
mod sampling;
mod time;
mod trace;

pub use comparison::*;
pub use contexts::*;
pub use counts::edge_counts::EdgeCounts;
pub use counts::edge_weights::{EdgeWeights, LIKELY_SHARE, LOOP_MULTIPLIER};
pub use counts::figure_kind::{FigureKind, Rate};
pub use counts::metric::{INSTRUCTIONS, Metric};
pub use counts::path_counts::{PathCount, UnfinishedExit, UnfinishedPath};
pub use file::{FileError, replace_file};
pub use grammar::{Compressor, Grammar, Items, OutsideStreams, Part, Parts, Stream, Symbol};
pub use graph::call_graph::{Broken, CallGraph, DirectCallee};
pub use graph::cfg::{Cfg, CfgError, Edge};
pub use graph::depth_first::DepthFirst;
pub use graph::dominators::Dominators;
pub use graph::id::{BlockId, EdgeId, LoopId};
pub use graph::loops::{Loop, Loops};
pub use json::LineFigures;
pub use limits::ReadLimits;
pub use memory::allocations::{
    AllocationProfile, BYTES_OF, Blocks, COLUMNS as ALLOCATION_COLUMNS, LIVES, MemorySize, ObjectCount, life,
};
pub use memory::cache_levels::{AccessEnergy, CacheLevels, LevelMisses};
pub use memory::collector::Collector;
pub use memory::data_cache::{BadCacheShape, CacheShape, DataCache};
pub use memory::data_streams::{AccessSignature, DataStreams, DataStreamsBuilder};
pub use memory::predictor::{BranchOutcome, BranchPredictor, HISTORY, mixed};
pub use name_section::NameSection;
pub use plan::block_counters::propagate_block_counters;
pub use plan::block_plan::{BlockPlan, CounterCost, CounterCosts};
pub use plan::block_weights::BlockWeights;
pub use plan::edge_plan::EdgePlan;
pub use plan::event_plan::{EventPlan, EventTree, longest_acyclic};
pub use plan::optimal_numbering::optimal_range;
pub use plan::path_model::{PathModel, entropy};
pub use plan::path_numbering::{MAX_PATHS, Path, PathNumbering};
pub use plan::path_plan::{PathPlan, PathStep};
pub use plan::placement_costs::{OtherWeightings, PlacementCosts, WeightedCosts};
pub use plan::preferential_numbering::{InterestingPath, PreferentialNumbering};
pub use plan::preferential_plan::PreferentialPlan;
pub use plan::propagate::{PropagateError, propagate};
pub use plan::propagate_blocks::{BlockCounts, propagate_blocks, propagate_contracted};
pub use plan::spanning_tree::{RootedForest, SpanningTree};
pub use plan::vertex_plan::VertexPlan;
pub use profile::*;
pub use sampling::accuracy::{Accuracy, BurstSpread};
pub use sampling::allowance::Allowance;
pub use sampling::burst_budget::{BurstBudget, Overhead, Phase};
pub use sampling::burst_policy::{BurstPolicy, BurstSite, RareSites};
pub use sampling::bursts::{BurstLengths, Bursts, Version};
pub use sampling::downsampled::Downsampled;
pub use sampling::extended_paths::{ExtendedPath, ExtendedPaths, ExtendedProfile, Extension, PathOf};
pub use sampling::hot_path_table::{Branch, HotPathTable, PathDescriptor, PathName, TableShape};
pub use sampling::timeline::{
    Benefit, BurstSpan, CodeDecision, CodeTier, CodeVersion, DecisionKind, Timeline,
};
pub use sampling::trial::{Side, Trial, TrialResult};
pub use time::{Interval, InvalidTime, PlaceTime, RoutineTime, TimeLog, TimeNode, TimeProfile, Timed};
pub use trace::*;
