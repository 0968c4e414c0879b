//! Determines which witnesses may share a word.
//!
//! Input: a [`TraceGraph`], the emitting edges, weights. Output: components of blocks, within which all words come
//! from one code; and colours, such that two witnesses which can be read at the same predicate have different
//! colours.
//! Invariant: witnesses that the same predicate may read next are in one component, with different colours.
//! Source: Ball & Larus 1994, section 6.2, leaves the reuse of witnesses open. Any two witnesses that can be read at
//! p diverge at p or at a predicate behind it, so the witnesses of p are a clique; every clique is part of that of a
//! **root**, a predicate that no other one reaches without a witness. The colouring is greedy, heaviest witness
//! first; if the cliques are too large to list, every witness has a colour of its own.

use super::graph::TraceGraph;
use crate::graph::union_find::UnionFind;
use crate::{BlockId, EdgeId};

/// Greatest number of members of all cliques of one function.
const MAX_MEMBERS: usize = 1 << 20;

/// Returns by vertex the representative of its component: a predicate and all blocks that it reaches without a
/// witness, which the predicate may look ahead over, are in one component.
pub(super) fn components(graph: &TraceGraph, silent: impl Fn(EdgeId) -> bool) -> Vec<u32> {
    let mut sets = UnionFind::new(graph.cfg.vertex_count());
    let mut reached = vec![false; graph.cfg.vertex_count()];
    let mut work: Vec<_> = graph.cfg.blocks().filter(|&block| reads(graph, &silent, block)).collect();
    work.iter().for_each(|block| reached[block.index()] = true);
    while let Some(block) = work.pop() {
        for &edge in graph.cfg.out_edges(block).iter().filter(|&&edge| silent(edge)) {
            let to = graph.cfg.edge(edge).to;
            sets.unite(block.index(), to.index());
            if !std::mem::replace(&mut reached[to.index()], true) {
                work.push(to);
            }
        }
    }
    (0..graph.cfg.vertex_count()).map(|vertex| sets.find(vertex) as u32).collect()
}

/// Reports whether the stream must tell how a block is left. A silent trap door is not read: the run stops there.
fn reads(graph: &TraceGraph, silent: impl Fn(EdgeId) -> bool, block: BlockId) -> bool {
    choices(graph, silent, block).nth(1).is_some()
}

/// Iterates over the edges between which the stream decides; a single one is taken without reading.
pub(super) fn choices<'a>(
    graph: &'a TraceGraph,
    silent: impl Fn(EdgeId) -> bool + 'a,
    block: BlockId,
) -> impl Iterator<Item = EdgeId> + 'a {
    let edges = graph.cfg.out_edges(block).iter().copied();
    edges.filter(move |&edge| !(silent(edge) && graph.is_trap_door(edge)))
}

/// Returns the colour of each edge that carries a witness, and 0 for the others.
pub(super) fn colors(graph: &TraceGraph, chosen: &[bool], weights: &[f64]) -> Vec<u32> {
    let Some(cliques) = cliques(graph, chosen) else {
        return (0..chosen.len() as u32).collect();
    };
    let mut memberships = vec![Vec::new(); chosen.len()];
    for (clique, members) in cliques.iter().enumerate() {
        members.iter().for_each(|edge| memberships[edge.index()].push(clique));
    }
    let mut order: Vec<_> = graph.cfg.edges().filter(|edge| chosen[edge.index()]).collect();
    order.sort_by(|&a, &b| weights[b.index()].total_cmp(&weights[a.index()]).then(a.cmp(&b)));
    let mut used = vec![Palette::default(); cliques.len()];
    let mut colors = vec![0; chosen.len()];
    for edge in order {
        let around = &memberships[edge.index()];
        let mut color = around.iter().map(|&clique| used[clique].least).max().unwrap_or(0);
        while around.iter().any(|&clique| used[clique].has(color)) {
            color += 1;
        }
        around.iter().for_each(|&clique| used[clique].take(color));
        colors[edge.index()] = color as u32;
    }
    colors
}

/// The colours taken in one clique.
#[derive(Clone, Default)]
struct Palette {
    taken: Vec<bool>,
    /// All colours below this one are taken.
    least: usize,
}

impl Palette {
    fn has(&self, color: usize) -> bool {
        self.taken.get(color).copied().unwrap_or(false)
    }

    fn take(&mut self, color: usize) {
        if self.taken.len() <= color {
            self.taken.resize(color + 1, false);
        }
        self.taken[color] = true;
        while self.has(self.least) {
            self.least += 1;
        }
    }
}

/// Returns for each root the witnesses that can be read there next.
fn cliques(graph: &TraceGraph, chosen: &[bool]) -> Option<Vec<Vec<EdgeId>>> {
    let mut budget = MAX_MEMBERS;
    roots(graph, chosen).into_iter().map(|root| readable(graph, chosen, root, &mut budget)).collect()
}

fn roots(graph: &TraceGraph, chosen: &[bool]) -> Vec<BlockId> {
    let mut behind = vec![false; graph.cfg.vertex_count()];
    let predicates = || graph.cfg.blocks().filter(|&block| graph.is_predicate(block));
    let mut work: Vec<_> = predicates().collect();
    while let Some(block) = work.pop() {
        for &edge in graph.cfg.out_edges(block).iter().filter(|edge| !chosen[edge.index()]) {
            let to = graph.cfg.edge(edge).to;
            if !std::mem::replace(&mut behind[to.index()], true) {
                work.push(to);
            }
        }
    }
    predicates().filter(|block| !behind[block.index()]).collect()
}

/// Returns the witnesses that can be read next at `root`. There are no diamonds, so no block is visited twice.
fn readable(graph: &TraceGraph, chosen: &[bool], root: BlockId, budget: &mut usize) -> Option<Vec<EdgeId>> {
    let mut found = Vec::new();
    let mut work = vec![root];
    while let Some(block) = work.pop() {
        for &edge in graph.cfg.out_edges(block) {
            *budget = budget.checked_sub(1)?;
            if chosen[edge.index()] {
                found.push(edge);
            } else {
                work.push(graph.cfg.edge(edge).to);
            }
        }
    }
    Some(found)
}
