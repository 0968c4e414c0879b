//! Metrics: what is measured while a function's own code runs, and where the measuring stops and goes on.
//!
//! Each metric has a reading that only grows. A frame keeps a sum for each: starting to measure takes the reading off, and
//! stopping adds it, so that in the end the sum is what was measured. Readings are above all sums, so the sum of a frame
//! that is measuring is negative, and of one that is not it is not.
//! Source: Ammons, Ball & Larus 1997, section 3.1; like theirs, paths do not pay for what their function calls. There the
//! callee keeps the counter of its caller; here the caller does, since callees may be the host.

use wasmparser::BinaryReaderError;
use wprof_profiler::CacheShape;

use super::split::SplitCfg;
use super::system_event::SystemEvent;
use crate::cfg::{Cfg, Target};
use crate::graph::{BlockGraph, Probe};
use crate::module::ModuleInfo;

/// Something that has a reading. Metrics of a collection are ascending, so that cycles are the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Ticks of the host's time-stamp counter.
    Cycles,
    /// Lines that loads and stores miss in a simulated data cache.
    CacheMisses(CacheShape),
    /// What the operating system counts of the thread that made the store, its own work not included.
    System(SystemEvent),
}

impl Metric {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Metric::Cycles => "cycles",
            Metric::CacheMisses(_) => "cache-misses",
            Metric::System(event) => event.metric(),
        }
    }

    /// Whether code must ask for its reading; otherwise that is always up to date.
    pub(crate) fn is_read(&self) -> bool {
        !matches!(self, Metric::CacheMisses(_))
    }

    /// The cache that it simulates.
    pub fn cache(&self) -> Option<CacheShape> {
        match self {
            Metric::CacheMisses(shape) => Some(*shape),
            Metric::Cycles | Metric::System(_) => None,
        }
    }
}

/// Where a function stops to measure.
#[derive(Clone, Debug)]
pub struct FunctionMetrics {
    /// Its calls but for tail calls: block and byte offset of each.
    pub calls: Vec<(u32, u32)>,
    /// Where it charges its call record, if paths do not: back edges and ways out, by block and edge, and whether the
    /// function goes on there.
    charges: Vec<(u32, u32, bool)>,
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
    /// Lets a graph that has each block once measure. Last of all that stands at a place, so that other probes there are not
    /// measured where that can be.
    pub fn add_probes(&self, graph: &mut BlockGraph) {
        graph.nodes[0].probes.push(Probe::StartMetrics);
        for &(block, call) in &self.calls {
            let inner = graph.nodes[block as usize].inner_at(call);
            inner.before.push(Probe::StopMetrics);
            inner.after.push(Probe::StartMetrics);
        }
        for &(block, edge, goes_on) in &self.charges {
            let wire = &mut graph.nodes[block as usize].wires[edge as usize];
            wire.probes.push(Probe::ChargeRecord { goes_on });
        }
    }
}

/// The edges that end what is charged as one: where paths would end. So long loops are charged while they run.
fn charges(cfg: &Cfg) -> Vec<(u32, u32, bool)> {
    let edges = (0..).zip(&cfg.blocks).flat_map(|(block, found)| {
        let edges = (0..).zip(&found.edges);
        edges.filter_map(move |(edge, found)| match found.target {
            Target::Exit => Some((block, edge, false)),
            // Blocks are in bytecode order.
            Target::Block(to) if to <= block => Some((block, edge, true)),
            Target::Block(_) => None,
        })
    });
    edges.collect()
}
