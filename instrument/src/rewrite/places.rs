//! Placement of the code of each edge.

use wprof_profiler::{EdgeId, EdgeWeights};

use crate::cfg::{Cfg, End};
use crate::events::FunctionEvents;
use crate::plan::{FunctionPlan, Probe};

/// The place of an edge's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the instruction that ends the source block.
    Before,
    /// At the start of the target block.
    Start,
    /// On a path of its own.
    Apart,
}

/// An edge that is expected to be crossed less often in a call is rare. More rare edges make modules smaller, and slower
/// where a loop has a switch with many cases, as in interpreters.
const RARE: f64 = 0.05;

/// The probes of a function's edges, and their places.
pub struct Places {
    /// For each edge, its probes and their place.
    probes: Vec<(Vec<Probe>, Place)>,
    /// For each edge, how often it is expected to be crossed in a call.
    weights: Vec<f64>,
    /// For each block, the id of its first edge.
    first: Vec<usize>,
    /// For each block, the edges whose code stands at its start.
    starts: Vec<Vec<usize>>,
}

impl Places {
    pub fn new(cfg: &Cfg, plan: &FunctionPlan, events: Option<&FunctionEvents>) -> Places {
        let weights = EdgeWeights::estimate(&cfg.shape());
        let weights = weights.as_slice();
        let calls = weights.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
        let weights = weights.iter().map(|weight| weight / calls).collect();
        let edges: usize = cfg.blocks.iter().map(|block| block.edges.len()).sum();
        let probes = plan.probes(edges).into_iter().enumerate().map(|(edge, probe)| {
            let added = events.and_then(|events| events.on_edge.get(&EdgeId::new(edge)));
            let added = added.into_iter().flatten().map(|&(kind, amount)| Probe::Event(kind, amount));
            probe.into_iter().chain(added).collect()
        });
        let mut probes: Vec<Vec<Probe>> = probes.collect();
        let mut arrivals = vec![0_u32; cfg.blocks.len()];
        for to in cfg.blocks.iter().flat_map(|block| &block.edges).filter_map(|edge| edge.to) {
            arrivals[to as usize] += 1;
        }
        let mut starts = vec![Vec::new(); cfg.blocks.len()];
        let (mut placed, mut first) = (Vec::with_capacity(edges), Vec::with_capacity(cfg.blocks.len()));
        for block in &cfg.blocks {
            first.push(placed.len());
            let call = plan.trace().and_then(|plan| plan.behind_call(block.end)).map(Probe::from);
            for edge in &block.edges {
                let id = placed.len();
                // An exception crosses the edge of the call, too, which other code does behind the call.
                let call = call.filter(|_| edge.clause.is_some());
                probes[id].splice(..0, call);
                let place = match (&block.how, edge.to) {
                    (End::Jump | End::TailCall, _) => Place::Before,
                    (_, Some(to)) if arrivals[to as usize] == 1 => Place::Start,
                    _ => Place::Apart,
                };
                if let (Place::Start, Some(to), false) = (place, edge.to, probes[id].is_empty()) {
                    starts[to as usize].push(id);
                }
                placed.push((probes[id].clone(), place));
            }
        }
        Places { probes: placed, weights, first, starts }
    }

    /// Returns the edges whose code stands at the start of a block.
    pub fn at_start(&self, block: u32) -> Vec<usize> {
        self.starts[block as usize].clone()
    }

    /// Returns the id of an edge of a block, if its code stands at `place`.
    pub fn edge_at(&self, block: u32, edge: usize, place: Place) -> Option<usize> {
        let id = self.first[block as usize] + edge;
        let (probes, found) = &self.probes[id];
        (!probes.is_empty() && *found == place).then_some(id)
    }

    /// Reports whether an edge of hot code seems to be crossed seldom.
    pub fn is_rare(&self, edge: usize) -> bool {
        self.weights[edge] < RARE
    }

    /// Returns the probes of an edge.
    pub fn probes(&self, edge: usize) -> Vec<Probe> {
        self.probes[edge].0.clone()
    }
}
