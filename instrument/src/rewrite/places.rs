//! Placement of the code of each edge.

use crate::cfg::{Cfg, End};
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

/// The probes of a function's edges, and their places.
pub struct Places {
    /// For each edge, its probe and place.
    probes: Vec<Option<(Probe, Place)>>,
    /// For each block, the id of its first edge.
    first: Vec<usize>,
    /// For each block, the edges whose code stands at its start.
    starts: Vec<Vec<usize>>,
}

impl Places {
    pub fn new(cfg: &Cfg, plan: &FunctionPlan) -> Places {
        let edges: usize = cfg.blocks.iter().map(|block| block.edges.len()).sum();
        let probes = plan.probes(edges);
        let mut arrivals = vec![0_u32; cfg.blocks.len()];
        for to in cfg.blocks.iter().flat_map(|block| &block.edges).filter_map(|edge| edge.to) {
            arrivals[to as usize] += 1;
        }
        let mut starts = vec![Vec::new(); cfg.blocks.len()];
        let (mut placed, mut first) = (Vec::with_capacity(edges), Vec::with_capacity(cfg.blocks.len()));
        for block in &cfg.blocks {
            first.push(placed.len());
            for edge in &block.edges {
                let id = placed.len();
                let place = match (&block.how, edge.to) {
                    (End::Jump | End::TailCall, _) => Place::Before,
                    (_, Some(to)) if arrivals[to as usize] == 1 => Place::Start,
                    _ => Place::Apart,
                };
                placed.push(probes[id].map(|probe| (probe, place)));
                if let (Place::Start, Some(to), Some(_)) = (place, edge.to, probes[id]) {
                    starts[to as usize].push(id);
                }
            }
        }
        Places { probes: placed, first, starts }
    }

    /// Returns the edges whose code stands at the start of a block.
    pub fn at_start(&self, block: u32) -> Vec<usize> {
        self.starts[block as usize].clone()
    }

    /// Returns the id of an edge of a block, if its code stands at `place`.
    pub fn edge_at(&self, block: u32, edge: usize, place: Place) -> Option<usize> {
        let id = self.first[block as usize] + edge;
        self.probes[id].filter(|(_, found)| *found == place).map(|_| id)
    }

    /// Returns the probe of an edge that has code.
    pub fn probe(&self, edge: usize) -> Probe {
        self.probes[edge].expect("an edge with code").0
    }
}
