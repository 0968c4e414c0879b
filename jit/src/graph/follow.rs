//! Loops that follow pointers, in a graph with all its copies.

use super::{BlockGraph, Node};
use crate::CompileError;
use crate::abi::stream;
use crate::cfg::Cfg;
use crate::module::ModuleInfo;
use crate::plan::{Chase, Follow, Probe, chases};

/// The maximum number of streams of a function. Each takes memory when its loop runs.
const MOST_STREAMS: usize = 4;

/// The loops of a graph that follow pointers: frames of the graph, and pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chases(Vec<(u32, Chase)>);

impl Chases {
    /// Returns the number of counters of the streams of all loops; 0 if no loop follows pointers.
    pub fn counters(&self) -> u32 {
        self.0.len() as u32 * stream::COUNTERS
    }

    /// Returns the place of each loop: its function, and the byte offset in the module, given the graph and the function's
    /// own blocks.
    pub fn places<'a>(
        &'a self,
        graph: &'a BlockGraph,
        own: &'a Cfg,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        self.0.iter().map(move |(frame, chase)| {
            let cfg = graph.cfg_of(own, *frame);
            (cfg.func, cfg.blocks[chase.header as usize].start)
        })
    }

    /// Reports whether no loop follows pointers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl BlockGraph {
    /// Returns the loops that follow pointers, given the function's own blocks. A function in which exceptions are
    /// caught has none.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn chases(&self, info: &ModuleInfo, own: &Cfg) -> Result<Chases, CompileError> {
        let mut found = Vec::new();
        for frame in 0..=self.inlined.len() as u32 {
            let cfg = self.cfg_of(own, frame);
            let is_known = |chase: &Chase| self.nodes.iter().any(|node| follows(node, cfg, (frame, chase)));
            found.extend(chases(info, cfg)?.into_iter().filter(is_known).map(|chase| (frame, chase)));
        }
        found.truncate(MOST_STREAMS);
        Ok(Chases(found))
    }

    /// Returns the graph with prefetching code in the loops that follow pointers; their streams begin at counter
    /// `first`.
    #[must_use]
    pub fn prefetching(mut self, own: &Cfg, chases: &Chases, first: u32) -> BlockGraph {
        for (&(frame, chase), number) in chases.0.iter().zip(0..) {
            let stream = first + number * stream::COUNTERS;
            let cfg = self.call_of(frame).map(|call| call.cfg.clone());
            let cfg = cfg.as_deref().unwrap_or(own);
            for node in self.nodes.iter_mut().filter(|node| follows(node, cfg, (frame, &chase))) {
                node.probes.push(Probe::Follow(Follow { chase, stream }));
            }
        }
        self
    }
}

/// Reports whether a node begins a round of a loop that follows a pointer.
fn follows(node: &Node, cfg: &Cfg, (frame, chase): (u32, &Chase)) -> bool {
    let start = cfg.blocks[chase.header as usize].start;
    node.elsewhere.is_none() && (node.frame, node.block, node.start) == (frame, chase.header, start)
}
