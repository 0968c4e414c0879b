//! The graph of a function with its blocks split at calls, on which events are counted.
//!
//! A block with n calls becomes n + 1 *parts*, with an edge for each call from the part that ends with it to the part
//! behind its return; throws count as calls. Control crosses the edge of a call before the call itself.
//! Invariant: this is the engine's graph (`wprof-jit`, `plan/split.rs`), so its plans are the engine's.

use wasmparser::{FunctionBody, Operator};
use wprof_profiler::{self as profiler, EdgeCounts, EdgeId, EdgeWeights, Profile};

use crate::Error;
use crate::cfg::{Cfg, is_call, is_structure};
use crate::event_kind::{EventKind, Sums};
use crate::sites::is_throw;

/// A stretch of a block whose only call may be its last instruction.
#[derive(Clone, Debug)]
pub struct Part {
    /// The byte offset of the call that ends the part; `None` for the last part of a block.
    pub call: Option<u32>,
    /// The events of its instructions, by kind.
    pub events: Sums,
}

/// The place of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An edge of the graph of blocks, by its number there.
    Edge(EdgeId),
    /// Before the call at this byte offset.
    Call(u32),
}

/// A graph split at calls.
#[derive(Clone, Debug)]
pub struct Split {
    /// The graph. Vertices are parts, in bytecode order.
    pub shape: profiler::Cfg,
    /// The part of each vertex.
    pub parts: Vec<Part>,
    /// The place of each edge.
    pub places: Vec<Place>,
    /// The first part of each block.
    pub first_part: Vec<u32>,
}

impl Split {
    /// Splits the blocks of a graph, and sums up the events of each part.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(cfg: &Cfg, body: &FunctionBody<'_>, kinds: &[EventKind]) -> Result<Split, Error> {
        let mut reader = body.get_operators_reader()?;
        let (mut parts, mut first_part) = (Vec::new(), Vec::with_capacity(cfg.blocks.len()));
        let empty = || Part { call: None, events: vec![0; kinds.len()] };
        let mut blocks = cfg.blocks.iter().peekable();
        let mut part: Option<Part> = None;
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            let at = at as u32;
            while blocks.next_if(|block| block.limit <= at).is_some() {
                first_part.resize(first_part.len() + usize::from(part.is_none()), parts.len() as u32);
                parts.push(part.take().unwrap_or_else(empty));
            }
            if blocks.peek().is_none_or(|block| at < block.start) {
                continue;
            }
            if part.is_none() {
                first_part.push(parts.len() as u32);
            }
            let current = part.get_or_insert_with(empty);
            add(&mut current.events, kinds, &op);
            if is_left_at(&op) {
                parts.push(Part { call: Some(at), ..std::mem::replace(current, empty()) });
            }
        }
        for _ in blocks {
            first_part.resize(first_part.len() + usize::from(part.is_none()), parts.len() as u32);
            parts.push(part.take().unwrap_or_else(empty));
        }
        let (pairs, places) = edges(cfg, &parts, &first_part);
        let shape = profiler::Cfg::from_pairs(parts.len() as u32, &pairs);
        let shape = shape.expect("edges lead to parts or the exit");
        Ok(Split { shape, parts, places, first_part })
    }

    /// Returns the weights of edges: the counts of an earlier run if its profile knows the function, or an estimate.
    pub fn weights(&self, cfg: &Cfg, earlier: Option<&Profile>) -> EdgeWeights {
        let function = earlier.and_then(|profile| profile.function(cfg.func));
        let function = function.filter(|function| function.fingerprint == cfg.shape().fingerprint());
        match function.and_then(|function| function.edge_counts()) {
            Some(counts) => EdgeWeights::measured(&self.shape, &self.counts(cfg, &counts)),
            None => EdgeWeights::estimate(&self.shape),
        }
    }

    /// Converts counts of the graph of blocks: each part, and each call, ran as often as its block.
    fn counts(&self, cfg: &Cfg, counts: &EdgeCounts) -> EdgeCounts {
        let mut of_part = Vec::with_capacity(self.parts.len());
        for (block, count) in counts.blocks.iter().enumerate().take(cfg.blocks.len()) {
            let first = self.first_part[block] as usize;
            let end = self.first_part.get(block + 1).map_or(self.parts.len(), |part| *part as usize);
            of_part.extend((first..end).map(|_| *count));
        }
        let of_block = |edge| of_part.get(self.shape.edge(EdgeId::new(edge)).from.index());
        let edge = |(edge, place): (usize, &Place)| match place {
            Place::Edge(edge) => counts.edges.get(edge.index()).copied().unwrap_or(0),
            Place::Call(_) => of_block(edge).copied().unwrap_or(0),
        };
        let edges = self.places.iter().enumerate().map(edge).collect();
        EdgeCounts { edges, blocks: of_part, entries: counts.entries }
    }

    /// Returns the part in which a frame is at the instruction at byte `offset` of a block, and whether that is the call
    /// before the part.
    pub fn position(&self, block: u32, offset: u32) -> (u32, bool) {
        let mut part = self.first_part[block as usize];
        while let Some(call) = self.parts[part as usize].call.filter(|call| *call <= offset) {
            part += 1;
            if call == offset {
                return (part, true);
            }
        }
        (part, false)
    }
}

/// Adds the events of an instruction.
pub fn add(sums: &mut Sums, kinds: &[EventKind], op: &Operator<'_>) {
    if !is_structure(op) {
        sums.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind.cost(op));
    }
}

/// Reports whether control leaves the frame at `op` and may return to it, perhaps with an exception.
pub fn is_left_at(op: &Operator<'_>) -> bool {
    is_call(op) || is_throw(op)
}

/// Returns the ends and places of all edges. Edges of the blocks keep their order.
fn edges(cfg: &Cfg, parts: &[Part], first_part: &[u32]) -> (Vec<(u32, u32)>, Vec<Place>) {
    let exit = parts.len() as u32;
    let (mut pairs, mut places) = (Vec::new(), Vec::new());
    let mut blocks = cfg.blocks.iter();
    let mut number = 0;
    for (part, index) in parts.iter().zip(0..) {
        if let Some(call) = part.call {
            pairs.push((index, index + 1));
            places.push(Place::Call(call));
            continue;
        }
        for edge in blocks.next().into_iter().flat_map(|block| &block.edges) {
            pairs.push((index, edge.to.map_or(exit, |to| first_part[to as usize])));
            places.push(Place::Edge(EdgeId(number)));
            number += 1;
        }
    }
    (pairs, places)
}
