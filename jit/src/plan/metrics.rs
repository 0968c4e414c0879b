//! Metrics: what is measured while a function's own code runs, and where measuring pauses and resumes.
//!
//! Each metric has a monotonically increasing reading. A frame keeps a sum per metric: starting to measure subtracts
//! the reading, and stopping adds it, so that the sum ends up as the measurement. Readings exceed all sums, so the sum
//! is negative exactly while the frame is measuring.
//! Source: Ammons, Ball & Larus 1997, section 3.1; as in the paper, paths are not charged for the callees of their
//! function. In the paper the callee saves the counter of its caller; here the caller does, since callees may be the
//! host.
//!
//! Where control passes from one function to another, a single reading ends the measurement of one and begins that of
//! the other: the caller's reading before the call, and the callee's where it returns. The host takes a reading when it
//! returns, enters wasm code or has compiled, so that its time is charged to no function.

use wasmparser::BinaryReaderError;
use wprof_profiler::{AccessEnergy, CacheShape};

use super::split::SplitCfg;
use super::system_event::SystemEvent;
use super::{Placement, Probe};
use crate::cfg::{Cfg, Target};
use crate::module::ModuleInfo;

/// A quantity with a reading. The metrics of a collection are ascending, so that cycles come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Ticks of the host's time-stamp counter.
    Cycles,
    /// Lines that loads and stores miss in a simulated data cache.
    CacheMisses(CacheShape),
    /// Lines that this cache misses, which sees what the cache of [`Metric::CacheMisses`] misses.
    SecondLevelMisses(CacheShape),
    /// Energy that the accesses take by the levels of the cache that have their lines, in picojoules.
    Energy(AccessEnergy),
    /// Conditional branches that a simulated predictor mispredicts.
    Mispredictions,
    /// An event that the operating system counts for the thread that created the store, excluding the kernel's own
    /// work.
    System(SystemEvent),
    /// The event counts of bulk-operation lengths for the kind with this name, which block counts do not determine.
    Lengths(String),
}

impl Metric {
    /// Returns the metric's name.
    pub fn name(&self) -> &str {
        match self {
            Metric::Cycles => "cycles",
            Metric::CacheMisses(_) => "cache-misses",
            Metric::SecondLevelMisses(_) => "second-level-misses",
            Metric::Energy(_) => "picojoules",
            Metric::Mispredictions => "mispredictions",
            Metric::System(event) => event.metric(),
            Metric::Lengths(kind) => kind,
        }
    }

    /// Reports whether code must request a reading; otherwise the reading is always up to date.
    pub(crate) fn is_read(&self) -> bool {
        !matches!(self, Metric::Lengths(_))
    }

    /// Returns the first level of the simulated cache.
    pub fn cache(&self) -> Option<CacheShape> {
        match self {
            Metric::CacheMisses(shape) => Some(*shape),
            _ => None,
        }
    }

    /// Returns the second level of the simulated cache.
    pub fn second_level(&self) -> Option<CacheShape> {
        match self {
            Metric::SecondLevelMisses(shape) => Some(*shape),
            _ => None,
        }
    }

    /// Reports whether it tells what a simulated cache does beyond [`Metric::CacheMisses`].
    pub fn needs_cache(&self) -> bool {
        matches!(self, Metric::SecondLevelMisses(_) | Metric::Energy(_))
    }
}

/// The places where a function stops measuring.
#[derive(Clone, Debug)]
pub struct FunctionMetrics {
    /// The function's calls except tail calls: block and byte offset of each.
    pub calls: Vec<(u32, u32)>,
    /// Where the function charges its call record, if paths do not: its exits, by block and edge. The paper (section
    /// 4.3) also reads at back edges, for loops that do not end; here the frames on the stack provide their
    /// measurements.
    charges: Vec<(u32, u32)>,
}

impl FunctionMetrics {
    /// Finds the calls of a function.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn new(info: &ModuleInfo, cfg: &Cfg, has_paths: bool) -> Result<FunctionMetrics, BinaryReaderError> {
        let calls = SplitCfg::new(info, cfg)?.calls().collect();
        let charges = if has_paths { Vec::new() } else { charges(cfg) };
        Ok(FunctionMetrics { calls, charges })
    }

    /// Places the probes that measure, after all other probes at a place, so that these are not measured where
    /// that is possible.
    pub(super) fn place(&self, to: &mut Placement) {
        to.entry().push(Probe::StartMetrics);
        for &(block, call) in &self.calls {
            let inner = to.around(block, call);
            inner.before.push(Probe::StopMetrics);
            inner.after.push(Probe::StartMetrics);
        }
        for &(block, edge) in &self.charges {
            to.edge(block, edge).push(Probe::ChargeRecord);
        }
    }
}

/// Returns the edges that leave the function.
fn charges(cfg: &Cfg) -> Vec<(u32, u32)> {
    let edges = (0..).zip(&cfg.blocks).flat_map(|(block, found)| {
        let exits = (0..).zip(&found.edges).filter(|(_, edge)| edge.target == Target::Exit);
        exits.map(move |(edge, _)| (block, edge))
    });
    edges.collect()
}
