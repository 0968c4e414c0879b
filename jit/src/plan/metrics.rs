//! Metrics: what is measured while a function's own code runs, and where the measuring stops and goes on.
//!
//! Each metric has a reading that only grows. A frame keeps a sum for each: starting to measure takes the reading
//! off, and stopping adds it, so that in the end the sum is what was measured. Readings are above all sums, so the
//! sum of a frame that is measuring is negative, and of one that is not it is not.
//! Source: Ammons, Ball & Larus 1997, section 3.1; like theirs, paths do not pay for what their function calls. There
//! the callee keeps the counter of its caller; here the caller does, since callees may be the host.
//!
//! Where control goes from one function to another, one reading ends what the one measures and begins what the other
//! does: that of the caller before the call, and that of the callee where it returns. The host reads when it returns,
//! enters wasm code or has compiled, so that its time is nobody's.

use wasmparser::BinaryReaderError;
use wprof_profiler::CacheShape;

use super::split::SplitCfg;
use super::system_event::SystemEvent;
use super::{Placement, Probe};
use crate::cfg::{Cfg, Target};
use crate::module::ModuleInfo;

/// Something that has a reading. Metrics of a collection are ascending, so that cycles are the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Ticks of the host's time-stamp counter.
    Cycles,
    /// Lines that loads and stores miss in a simulated data cache.
    CacheMisses(CacheShape),
    /// Conditional branches that a simulated predictor guesses wrong.
    Mispredictions,
    /// What the operating system counts of the thread that made the store, its own work not included.
    System(SystemEvent),
    /// What the lengths of bulk operations are as events of the kind with this name: their blocks do not tell it.
    Lengths(String),
}

impl Metric {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Metric::Cycles => "cycles",
            Metric::CacheMisses(_) => "cache-misses",
            Metric::Mispredictions => "mispredictions",
            Metric::System(event) => event.metric(),
            Metric::Lengths(kind) => kind,
        }
    }

    /// Whether code must ask for its reading; otherwise that is always up to date.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Metric::Cycles | Metric::System(_))
    }

    /// The cache that it simulates.
    pub fn cache(&self) -> Option<CacheShape> {
        match self {
            Metric::CacheMisses(shape) => Some(*shape),
            Metric::Cycles | Metric::Mispredictions | Metric::System(_) | Metric::Lengths(_) => None,
        }
    }
}

/// Where a function stops to measure.
#[derive(Clone, Debug)]
pub struct FunctionMetrics {
    /// Its calls but for tail calls: block and byte offset of each.
    pub calls: Vec<(u32, u32)>,
    /// Where it charges its call record, if paths do not: where it is left, by block and edge. The paper (section
    /// 4.3) reads at back edges too, for loops that do not end; here frames on the stack tell what they have
    /// measured.
    charges: Vec<(u32, u32)>,
}

impl FunctionMetrics {
    /// Finds the calls of a function.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg, has_paths: bool) -> Result<FunctionMetrics, BinaryReaderError> {
        let calls = SplitCfg::new(info, cfg)?.calls().collect();
        let charges = if has_paths { Vec::new() } else { charges(cfg) };
        Ok(FunctionMetrics { calls, charges })
    }

    /// Lets the function measure. Last of all that stands at a place, so that other probes there are not measured where
    /// that can be.
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

/// The edges by which the function is left.
fn charges(cfg: &Cfg) -> Vec<(u32, u32)> {
    let edges = (0..).zip(&cfg.blocks).flat_map(|(block, found)| {
        let exits = (0..).zip(&found.edges).filter(|(_, edge)| edge.target == Target::Exit);
        exits.map(move |(edge, _)| (block, edge))
    });
    edges.collect()
}
