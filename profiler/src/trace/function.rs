//! A function prepared for regeneration.
//!
//! Input: a [`Cfg`], its calls, its emits. Output: tables to decode tokens.
//! Invariant: no token of a component is a prefix of a different one of the same component, and every cycle writes,
//! so that regeneration cannot continue without reading.

use std::collections::{BTreeMap, BTreeSet};

use super::color::{choices, components};
use super::graph::TraceGraph;
use super::silent::closing_edges;
use super::{Access, BitStream, Call, Emit, TraceError};
use crate::{BlockId, Cfg, EdgeId};

/// A function whose runs can be regenerated.
#[derive(Clone, Debug)]
pub struct TracedFunction {
    graph: TraceGraph,
    /// By merged edge: its token, if it has one.
    tokens: Vec<Option<Token>>,
    /// By merged edge: its crossing.
    crossings: Vec<EdgeStep>,
    /// By vertex: how the run continues.
    ways: Vec<Way>,
    /// By vertex: its component.
    components: Vec<u32>,
    /// By component: the root of its tree of words.
    roots: BTreeMap<u32, usize>,
    nodes: Vec<[Node; 2]>,
    /// The accesses, ascending by block; none if they are not recorded.
    accesses: Vec<Access>,
}

/// The continuation of a run from a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// The run does not continue.
    End,
    /// The run continues with the only possible edge.
    Only(EdgeId),
    /// The run continues as the next bits of the stream say.
    Read,
}

/// The data of a merged edge that replay needs, in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeStep {
    pub to: BlockId,
    /// The word that the edge writes, of `bits` bits; 0 if it writes none.
    pub value: u32,
    pub bits: u8,
    /// Whether the source of the edge has other out-edges.
    pub is_branch: bool,
}

/// The word that a merged edge writes.
#[derive(Clone, Copy, Debug)]
struct Token {
    value: u32,
    bits: u8,
    /// Number of the word; equal for equal words of one component.
    symbol: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Nothing,
    Inner(usize),
    Word(u32),
}

impl TracedFunction {
    /// Prepares a function. `calls` is indexed by block; missing entries mean no call.
    ///
    /// # Errors
    /// Returns an error if the emits do not fit the graph or cannot be distinguished.
    pub fn new(cfg: &Cfg, calls: &[Option<Call>], emits: &[Emit]) -> Result<Self, TraceError> {
        let graph = TraceGraph::new(cfg, calls);
        let words = merged_words(&graph, emits)?;
        let silent = |edge: EdgeId| words[edge.index()].is_none();
        if let Some(&edge) = closing_edges(&graph, silent).first() {
            return Err(TraceError::SilentCycle(edge));
        }
        let components = components(&graph, silent);
        let mut function = Self {
            graph,
            tokens: Vec::new(),
            crossings: Vec::new(),
            ways: Vec::new(),
            components,
            roots: BTreeMap::new(),
            nodes: Vec::new(),
            accesses: Vec::new(),
        };
        let token = |(edge, word): (usize, &Option<(u32, u8)>)| {
            let Some((value, bits)) = *word else { return Ok(None) };
            let symbol = function.insert(EdgeId::new(edge), value, bits)?;
            Ok(Some(Token { value, bits, symbol }))
        };
        function.tokens = words.iter().enumerate().map(token).collect::<Result<_, _>>()?;
        function.crossings = function.cfg().edges().map(|edge| function.crossing_of(edge)).collect();
        let blocks = (0..function.cfg().vertex_count()).map(BlockId::new);
        function.ways = blocks.map(|block| function.way_of(block)).collect();
        Ok(function)
    }

    /// Adds the accesses of the function's blocks, ascending by block and, within a block, in the order of execution.
    ///
    /// # Errors
    /// Returns an error if the accesses are out of order or in a block that does not exist.
    pub fn with_accesses(self, accesses: &[Access]) -> Result<Self, TraceError> {
        let mut last = BlockId::ENTRY;
        for &Access { block, site, .. } in accesses {
            if block < std::mem::replace(&mut last, block) || block >= self.cfg().exit() {
                return Err(TraceError::BadAccess { site });
            }
        }
        Ok(Self { accesses: accesses.to_vec(), ..self })
    }

    /// Returns the accesses of a block.
    pub(super) fn accesses(&self, block: BlockId) -> &[Access] {
        let first = self.accesses.partition_point(|access| access.block < block);
        let rest = &self.accesses[first..];
        &rest[..rest.partition_point(|access| access.block == block)]
    }

    /// Adds a word to the tree of its edge's component; returns the symbol of the word.
    fn insert(&mut self, edge: EdgeId, value: u32, bits: u8) -> Result<u32, TraceError> {
        let component = self.components[self.graph.cfg.edge(edge).from.index()];
        let root = *self.roots.entry(component).or_insert(self.nodes.len());
        if root == self.nodes.len() {
            self.nodes.push([Node::Nothing; 2]);
        }
        let mut node = root;
        for bit in 0..bits - 1 {
            node = self.inner(node, side(value, bit)).ok_or(TraceError::Ambiguous(edge))?;
        }
        let leaf = &mut self.nodes[node][side(value, bits - 1)];
        if *leaf == Node::Nothing {
            *leaf = Node::Word(edge.0);
        }
        match *leaf {
            Node::Word(symbol) => Ok(symbol),
            _ => Err(TraceError::Ambiguous(edge)),
        }
    }

    /// Returns the inner node on one side, creating it if there was nothing; `None` if a word ends there.
    fn inner(&mut self, node: usize, side: usize) -> Option<usize> {
        if self.nodes[node][side] == Node::Nothing {
            self.nodes[node][side] = Node::Inner(self.nodes.len());
            self.nodes.push([Node::Nothing; 2]);
        }
        match self.nodes[node][side] {
            Node::Inner(inner) => Some(inner),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn cfg(&self) -> &Cfg {
        &self.graph.cfg
    }

    #[inline]
    pub(super) fn call(&self, block: BlockId) -> Option<Call> {
        self.graph.call(block)
    }

    fn crossing_of(&self, edge: EdgeId) -> EdgeStep {
        let ends = self.cfg().edge(edge);
        let (value, bits) = self.tokens[edge.index()].map_or((0, 0), |token| (token.value, token.bits));
        let is_branch = self.cfg().out_edges(ends.from).len() > 1;
        EdgeStep { to: ends.to, value, bits, is_branch }
    }

    fn way_of(&self, block: BlockId) -> Way {
        match self.cfg().out_edges(block) {
            [] => Way::End,
            [only] => Way::Only(*only),
            _ => self.forced(block).map_or(Way::Read, Way::Only),
        }
    }

    /// Returns what replay needs to know of an edge.
    #[inline]
    pub(super) fn crossing(&self, edge: EdgeId) -> EdgeStep {
        self.crossings[edge.index()]
    }

    /// Returns how the run continues from a block, if it does not stop first.
    #[inline]
    pub(super) fn way(&self, block: BlockId) -> Way {
        self.ways[block.index()]
    }

    /// Returns all words that can be read next at a block, each with the out-edge behind which it lies; `None` if
    /// there are more than `most`, or the search crosses more than twice as many edges.
    pub(super) fn next_words(&self, block: BlockId, most: usize) -> Option<Vec<((u32, u8), EdgeId)>> {
        let mut found = Vec::new();
        let mut work: Vec<_> = self.cfg().out_edges(block).iter().map(|&edge| (edge, edge)).collect();
        let mut left = 2 * most;
        while let Some((first, edge)) = work.pop() {
            left = left.checked_sub(1)?;
            match self.tokens[edge.index()] {
                Some(token) => found.push(((token.value, token.bits), first)),
                None => {
                    let next = self.cfg().out_edges(self.cfg().edge(edge).to).iter();
                    work.extend(next.map(|&edge| (first, edge)));
                }
            }
        }
        (found.len() <= most).then_some(found)
    }

    fn is_silent(&self, edge: EdgeId) -> bool {
        self.tokens[edge.index()].is_none()
    }

    /// Returns the only edge with which the run can continue from a block.
    fn forced(&self, block: BlockId) -> Option<EdgeId> {
        let mut choices = choices(&self.graph, |edge| self.is_silent(edge), block);
        choices.next().filter(|_| choices.next().is_none())
    }

    /// Reads the symbol of the word at `at`, which must end before `limit`.
    pub(super) fn symbol(&self, block: BlockId, bits: &BitStream, at: u64, limit: u64) -> Option<u32> {
        let mut node = *self.roots.get(&self.components[block.index()])?;
        for at in at..limit {
            match self.nodes[node][usize::from(bits.bit(at)?)] {
                Node::Inner(inner) => node = inner,
                Node::Word(symbol) => return Some(symbol),
                Node::Nothing => return None,
            }
        }
        None
    }

    /// Returns the out-edge of `block` behind which `symbol` is written next.
    pub(super) fn edge_to_symbol(&self, block: BlockId, symbol: u32) -> Option<EdgeId> {
        self.search(block, |_| false, |edge| self.tokens[edge.index()].is_some_and(|t| t.symbol == symbol))
    }

    /// Returns the out-edge of `block` that begins the silent path to `target`.
    pub(super) fn edge_to_block(&self, block: BlockId, target: BlockId) -> Option<EdgeId> {
        self.search(block, |block| block == target, |_| false)
    }

    /// Returns the first edge of a silent path from `block` to a block that satisfies `is_end`, or to an edge that
    /// satisfies `is_last`.
    fn search(
        &self,
        block: BlockId,
        is_end: impl Fn(BlockId) -> bool,
        is_last: impl Fn(EdgeId) -> bool,
    ) -> Option<EdgeId> {
        let cfg = &self.graph.cfg;
        let mut seen = BTreeSet::new();
        let mut work: Vec<_> = cfg.out_edges(block).iter().rev().map(|&edge| (edge, edge)).collect();
        while let Some((first, edge)) = work.pop() {
            let to = cfg.edge(edge).to;
            if is_last(edge) || (self.is_silent(edge) && is_end(to)) {
                return Some(first);
            }
            if self.is_silent(edge) && seen.insert(to) {
                work.extend(cfg.out_edges(to).iter().map(|&next| (first, next)));
            }
        }
        None
    }
}

fn side(value: u32, bit: u8) -> usize {
    (value >> bit & 1) as usize
}

/// Returns the word of each merged edge; parallel edges must write the same word.
fn merged_words(graph: &TraceGraph, emits: &[Emit]) -> Result<Vec<Option<(u32, u8)>>, TraceError> {
    let mut given = vec![None; graph.merged.len()];
    for emit in emits {
        let bad = TraceError::BadPlan(emit.edge);
        let place = given.get_mut(emit.edge.index()).ok_or(bad.clone())?;
        if place.is_some() || !(1..=32).contains(&emit.bits) {
            return Err(bad);
        }
        let mask = u32::MAX >> (32 - emit.bits);
        *place = Some((emit.value & mask, emit.bits));
    }
    let mut words = vec![None; graph.cfg.edge_count()];
    for (edge, &merged) in graph.merged.iter().enumerate() {
        words[merged.index()] = given[edge];
    }
    let differs = |(edge, merged): (usize, &EdgeId)| words[merged.index()] != given[edge];
    match graph.merged.iter().enumerate().position(differs) {
        Some(edge) => Err(TraceError::BadPlan(EdgeId::new(edge))),
        None => Ok(words),
    }
}
