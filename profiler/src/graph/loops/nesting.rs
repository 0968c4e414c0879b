//! Finds the loop of each block: the search behind [`Loops`](super::Loops).
//!
//! Input: a [`Cfg`] and its [`DepthFirst`] search. Output: headers, parents and innermost loops.
//! Invariant: headers are visited in reverse preorder, so inner loops come first. Each finished loop is collapsed
//! into its header, so a block is walked once per loop that is directly around it.
//! Source: Havlak, *Nesting of Reducible and Irreducible Loops*, TOPLAS 1997, after Tarjan, *Testing
//! Flow Graph Reducibility*, JCSS 1974.

use std::collections::BTreeMap;

use crate::graph::union_find::UnionFind;
use crate::{BlockId, Cfg, DepthFirst};

/// Loops in preorder of their headers, parents first.
pub(super) struct Nesting {
    pub(super) headers: Vec<BlockId>,
    pub(super) parents: Vec<Option<u32>>,
    pub(super) irreducible: Vec<bool>,
    /// By vertex: the innermost loop that contains it.
    pub(super) innermost: Vec<Option<u32>>,
}

impl Nesting {
    pub(super) fn new(cfg: &Cfg, search: &DepthFirst) -> Self {
        let mut state = Collapse::new(cfg, search);
        for &header in search.preorder().iter().rev() {
            state.find_loop(header);
        }
        state.finish()
    }
}

/// The graph in which the loops found so far are collapsed into their headers.
struct Collapse<'a> {
    cfg: &'a Cfg,
    search: &'a DepthFirst,
    collapsed: UnionFind,
    /// By vertex: the header of the loop directly around it (a header's own loop does not count).
    around: Vec<Option<BlockId>>,
    /// By vertex: whether it is a loop header, and whether its loop has another entry.
    heads: Vec<Option<Irreducible>>,
    /// Entries that bypass a header, attributed to that header so that outer loops still see them.
    bypasses: BTreeMap<BlockId, Vec<BlockId>>,
}

#[derive(Clone, Copy)]
struct Irreducible(bool);

impl<'a> Collapse<'a> {
    fn new(cfg: &'a Cfg, search: &'a DepthFirst) -> Self {
        let vertices = cfg.vertex_count();
        Self {
            cfg,
            search,
            collapsed: UnionFind::new(vertices),
            around: vec![None; vertices],
            heads: vec![None; vertices],
            bypasses: BTreeMap::new(),
        }
    }

    /// Finds the loop of `header`, if it has back edges, and collapses it.
    fn find_loop(&mut self, header: BlockId) {
        let mut members = Vec::new();
        for &edge in self.cfg.in_edges(header) {
            if self.search.is_back_edge(self.cfg, edge) {
                self.heads[header.index()] = Some(Irreducible(false));
                let from = self.cfg.edge(edge).from;
                self.add(header, from, &mut members);
            }
        }
        let mut walked = 0;
        while let Some(&member) = members.get(walked) {
            self.walk_back(header, member, &mut members);
            walked += 1;
        }
        for member in members {
            self.collapsed.absorb(header.index(), member.index());
        }
    }

    /// Adds the predecessors of `member` in the depth-first subtree of `header` to the loop.
    fn walk_back(&mut self, header: BlockId, member: BlockId, members: &mut Vec<BlockId>) {
        for &edge in self.cfg.in_edges(member) {
            if !self.search.is_back_edge(self.cfg, edge) {
                let from = self.cfg.edge(edge).from;
                self.enter_or_bypass(header, from, members);
            }
        }
        for from in self.bypasses.get(&member).cloned().unwrap_or_default() {
            self.enter_or_bypass(header, from, members);
        }
    }

    fn enter_or_bypass(&mut self, header: BlockId, from: BlockId, members: &mut Vec<BlockId>) {
        if self.search.is_ancestor(header, from) {
            self.add(header, from, members);
        } else if self.search.is_reachable(from) {
            self.heads[header.index()] = Some(Irreducible(true));
            self.bypasses.entry(header).or_default().push(from);
        }
    }

    /// Adds the collapsed vertex of `from` to the loop of `header`, unless it is already a member.
    fn add(&mut self, header: BlockId, from: BlockId, members: &mut Vec<BlockId>) {
        let vertex = BlockId::new(self.collapsed.find(from.index()));
        if vertex != header && self.around[vertex.index()] != Some(header) {
            self.around[vertex.index()] = Some(header);
            members.push(vertex);
        }
    }

    fn finish(self) -> Nesting {
        let is_header = |vertex: &&BlockId| self.heads[vertex.index()].is_some();
        let headers: Vec<BlockId> = self.search.preorder().iter().filter(is_header).copied().collect();
        let mut heads = vec![None; self.around.len()];
        for (found, header) in headers.iter().enumerate() {
            heads[header.index()] = Some(found as u32);
        }
        let loop_of = |header: Option<BlockId>| header.and_then(|header| heads[header.index()]);
        let irreducible = |header: &BlockId| matches!(self.heads[header.index()], Some(Irreducible(true)));
        Nesting {
            parents: headers.iter().map(|header| loop_of(self.around[header.index()])).collect(),
            irreducible: headers.iter().map(irreducible).collect(),
            innermost: self
                .around
                .iter()
                .zip(&heads)
                .map(|(&around, &own)| own.or(loop_of(around)))
                .collect(),
            headers,
        }
    }
}
