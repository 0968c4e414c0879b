//! Plans of event counters: which edges add how much to one running count, and what a query adds to it.
//!
//! Input: a [`Cfg`], [`EdgeWeights`], the blocks where the counter must be exact without a query (because they
//! contain a call or a check of a budget), and `events`, the number of events of each edge, the closing edge last. An
//! edge's events happen when it is crossed, those of the closing edge when the function is called. The caller
//! attributes a block's events to its out-edges; a block without out-edges has none.
//! Output: an [`EventPlan`]. One [`EventTree`] serves all kinds of events.
//! Invariant: `counter + queries[block]` is the exact number of events whenever control is at the start of `block`,
//! and `counter` alone when it is at EXIT, however the function continues: no path to EXIT is needed. All arithmetic
//! is modulo 2^64, so the count is exact modulo 2^64 and increments may be negative. Code that ENTRY cannot reach
//! gets no updates. O(E log E) for the tree, O(E) for each plan.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994, sections 3 and
//! 4; restated below. Ours: the choice of the tree, and forced blocks.
//! Oracle: counting the events of logged walks, in `tests/it/event_plan.rs`.
//!
//! **Increments** (section 3.1). EXIT has the potential 0, and each tree edge raises the potential by its events: the
//! potential of ENTRY is then the number of events of the closing edge, and so on along the tree. A chord `v -> w`
//! adds `events + potential(v) - potential(w)`. This is the signed sum of the events around its fundamental cycle,
//! where the chord's direction counts as positive, which the paper computes by a search of the tree. Tree edges add
//! nothing. As the sum telescopes, a walk from EXIT to any `v` adds its events minus `potential(v)`.
//!
//! **Queries** (section 3.2). The paper closes an unfinished walk by a pseudo chord from its last vertex to the root,
//! whose increment is the query increment; in terms of potentials, that is `potential(v)`. Our pseudo edges lead to
//! EXIT instead of ENTRY, since in our graph the closing edge has events too.
//!
//! **Calls** (section 4). A callee must find an exact count. The paper adds the query increment before the call and
//! subtracts it after, or updates "nearby chords" instead. Here the tree decides: the pseudo edge of a block with a
//! call may itself be a tree edge, which makes the block's potential 0. As a chord it costs two updates each time the
//! block runs, so its weight is twice the block's. If nothing is known of the events, this is the cheapest plan: a
//! plan that is right for every choice of events updates some edge of each undirected cycle of the graph with the
//! pseudo edges (every block has a query, so directed cycles over query edges span all cycles, and events and updates
//! must agree on them). The edges without updates are therefore a forest, and a maximum spanning tree leaves the
//! least cost to the chords. The closing edge is treated like any other: an amount added at entry can be cheaper than
//! two updates around a call in a loop; among edges of equal weight it enters the tree first. For particular events
//! another tree may do better, if more of its increments happen to be zero; we do not search for it.
//!
//! Example: ENTRY branches to b1 or b2, which meet in EXIT; the edges through b1 have 1 and 5 events, those through
//! b2 0 and 2. With the tree {EXIT -> ENTRY, ENTRY -> b2, b1 -> EXIT} the chord ENTRY -> b1 adds `1 + 0 - (-5) = 6`
//! and b2 -> EXIT adds 2; the query at b1 is -5, at b2 0.

use serde::{Deserialize, Serialize};

use crate::graph::csr::Adjacency;
use crate::graph::union_find::UnionFind;
use crate::{BlockId, Cfg, CounterCost, DepthFirst, Edge, EdgeCounts, EdgeId, EdgeWeights};

/// The plan that counts one kind of event in one function, and reads the count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventPlan {
    /// The amounts that crossing edges adds, ascending by edge, without zeros. The closing edge stands for an amount that is
    /// added at entry.
    pub increments: Vec<(EdgeId, i64)>,
    /// By real block: what to add to the counter while control is at the block's start. The corrections of outer
    /// frames come on top, unless their calls are exact; a frame whose block is in `around` needs none during the
    /// call. When a frame is discarded, its correction must be added for good.
    pub queries: Vec<i64>,
    /// Blocks that should be exact but are not, ascending, with the query increment that is added before the call and
    /// subtracted after it.
    pub around: Vec<(BlockId, i64)>,
    /// The amounts that leaving blocks adds, over any edge, ascending by block. Only [`EventPlan::per_block`] uses it.
    pub ends: Vec<(BlockId, i64)>,
}

impl EventPlan {
    /// Plans the counting of `events` with the fewest updates such that calls at the start of the blocks `exact_at`
    /// find an exact count. Missing entries of `events` count as 0.
    pub fn new(cfg: &Cfg, weights: &EdgeWeights, events: &[u64], exact_at: &[BlockId]) -> Self {
        EventTree::new(cfg, weights, exact_at).plan(events)
    }

    /// Plans as [`EventPlan::new`] does, but with a query increment of zero at the blocks `forced`, where a budget is
    /// checked, at any cost.
    pub fn with_exact(
        cfg: &Cfg,
        weights: &EdgeWeights,
        events: &[u64],
        exact_at: &[BlockId],
        forced: &[BlockId],
    ) -> Self {
        EventTree::with_exact(cfg, weights, exact_at, forced).plan(events)
    }

    /// Adds each edge's own events on the edge, so that the counter is exact at every block: a plan for comparison.
    pub fn per_edge(cfg: &Cfg, events: &[u64]) -> Self {
        let increments = cfg.closed_edges().map(|edge| (edge, count(events, edge)));
        Self { increments: nonzero(increments), ..Self::empty(cfg) }
    }

    /// Adds the events that all out-edges of a block share when control leaves the block, and the remaining events of
    /// an edge on the edge: the usual way, for comparison. The counter is exact at every block.
    pub fn per_block(cfg: &Cfg, events: &[u64]) -> Self {
        let shared = |block| cfg.out_edges(block).iter().map(|&edge| count(events, edge)).min().unwrap_or(0);
        let own = |edge| count(events, edge) - shared(cfg.edge(edge).from);
        Self {
            increments: nonzero(cfg.closed_edges().map(|edge| (edge, own(edge)))),
            ends: nonzero(cfg.blocks().map(|block| (block, shared(block)))),
            ..Self::empty(cfg)
        }
    }

    fn empty(cfg: &Cfg) -> Self {
        let queries = vec![0; cfg.block_count()];
        Self { increments: Vec::new(), queries, around: Vec::new(), ends: Vec::new() }
    }

    /// Returns the greatest distance between the counter and the true count at the start of any block that this frame
    /// contributes. It can exceed [`longest_acyclic`], as the tree may follow edges backwards. Queries are taken
    /// modulo 2^64, so this is a bound if the sums along the tree fit 63 bits.
    pub fn max_correction(&self) -> u64 {
        self.queries.iter().map(|query| query.unsigned_abs()).max().unwrap_or(0)
    }

    /// Returns the plan's cost in the run that `counts` describes: places in the code that update the counter, and
    /// updates executed. A call with an update around it has two. Blocks in which a frame ended count as if they had
    /// been left.
    pub fn cost(&self, counts: &EdgeCounts) -> CounterCost {
        let crossed = |edge: EdgeId| match edge.index() {
            closing if closing == counts.edges.len() => counts.entries,
            real => counts.edges.get(real).copied().unwrap_or(0),
        };
        let began = |block: BlockId| counts.blocks.get(block.index()).copied().unwrap_or(0);
        let edges = CounterCost::new(self.increments.iter().map(|&(edge, _)| crossed(edge)));
        let around = CounterCost::new(self.around.iter().map(|&(block, _)| began(block)));
        let ends = CounterCost::new(self.ends.iter().map(|&(block, _)| began(block)));
        edges.plus(around).plus(around).plus(ends)
    }
}

/// The part of a plan that is independent of the events.
#[derive(Clone, Debug)]
pub struct EventTree {
    /// Number of real blocks, which is the index of EXIT, the root.
    exit: usize,
    /// The tree's edges, each after the edge that its upper end hangs from.
    hung: Vec<Hung>,
    /// The reachable chords, ascending.
    chords: Vec<(EdgeId, Edge)>,
    /// The blocks whose pseudo edge is not in the tree, ascending.
    around: Vec<BlockId>,
}

/// An edge of the closed graph, or the pseudo edge of a block that must be exact.
#[derive(Clone, Copy, Debug)]
struct Link {
    ends: Edge,
    /// The edge; none for a pseudo edge, which has no events.
    edge: Option<EdgeId>,
}

/// A tree edge and its end away from the root.
#[derive(Clone, Copy, Debug)]
struct Hung {
    link: Link,
    below: BlockId,
}

impl EventTree {
    /// Grows the tree whose plans update least; see the module's documentation. Blocks of `exact_at` that do not
    /// exist or that ENTRY does not reach are ignored.
    pub fn new(cfg: &Cfg, weights: &EdgeWeights, exact_at: &[BlockId]) -> Self {
        Self::with_exact(cfg, weights, exact_at, &[])
    }

    /// Grows the tree whose plans update least while the counter is exact at the blocks `forced` without updates
    /// around them: their pseudo edges enter the tree first, which contracts the blocks with EXIT.
    pub fn with_exact(cfg: &Cfg, weights: &EdgeWeights, exact_at: &[BlockId], forced: &[BlockId]) -> Self {
        let search = DepthFirst::new(cfg);
        let (forced, exact_at) = (distinct(cfg, forced), distinct(cfg, exact_at));
        let seeds = forced.into_iter().map(|block| Link::pseudo(cfg, block));
        let candidates = heaviest_first(cfg, weights, &search, &exact_at);
        let (members, mut left_out) = kruskal(cfg, seeds.chain(candidates));
        left_out.sort_unstable_by_key(|link| (link.edge, link.ends.from));
        Self {
            exit: cfg.block_count(),
            hung: hang(cfg, &members),
            chords: left_out.iter().filter_map(|link| Some((link.edge?, link.ends))).collect(),
            around: left_out.iter().filter(|link| link.edge.is_none()).map(|link| link.ends.from).collect(),
        }
    }

    /// Returns the reachable edges outside the tree, ascending, without the blocks with updates around them.
    pub fn chords(&self) -> Vec<EdgeId> {
        self.chords.iter().map(|(edge, _)| *edge).collect()
    }

    /// Restores a tree that was grown without exact blocks from its [`chords`](Self::chords); `None` if the other
    /// reachable edges are no spanning tree.
    pub fn of_chords(cfg: &Cfg, chords: &[EdgeId]) -> Option<Self> {
        let search = DepthFirst::new(cfg);
        let is_chord = |link: &Link| link.edge.is_some_and(|edge| chords.binary_search(&edge).is_ok());
        let real = cfg.edges().filter(|&edge| search.is_reachable(cfg.edge(edge).from));
        let links = real.chain([cfg.closing_edge()]).map(|edge| Link::real(cfg, edge));
        let (chords_here, tree): (Vec<_>, Vec<_>) = links.partition(is_chord);
        let (members, left_out) = kruskal(cfg, tree.into_iter().chain(chords_here));
        let left_out: Vec<(EdgeId, Edge)> =
            left_out.iter().filter_map(|link| Some((link.edge?, link.ends))).collect();
        let is_its = left_out.iter().map(|(edge, _)| edge).eq(chords);
        is_its.then(|| Self {
            exit: cfg.block_count(),
            hung: hang(cfg, &members),
            chords: left_out,
            around: Vec::new(),
        })
    }

    /// Plans the counting of one kind of events, given by edge, the closing edge last. Missing entries count as 0.
    pub fn plan(&self, events: &[u64]) -> EventPlan {
        let mut potentials = self.potentials(events);
        let potential = |block: BlockId| potentials[block.index()];
        let increment = |(edge, ends): (EdgeId, Edge)| {
            let around_cycle = count(events, edge).wrapping_add(potential(ends.from));
            (edge, around_cycle.wrapping_sub(potential(ends.to)))
        };
        let increments = nonzero(self.chords.iter().copied().map(increment));
        let around = nonzero(self.around.iter().map(|&block| (block, potential(block))));
        potentials.truncate(self.exit);
        let queries = potentials.into_iter().map(u64::cast_signed).collect();
        EventPlan { increments, queries, around, ends: Vec::new() }
    }

    /// Returns by vertex what its query adds; 0 for a vertex that is not in the tree.
    fn potentials(&self, events: &[u64]) -> Vec<u64> {
        let mut potentials = vec![0_u64; self.exit + 1];
        for Hung { link, below } in &self.hung {
            let events = link.edge.map_or(0, |edge| count(events, edge));
            potentials[below.index()] = if link.ends.to == *below {
                potentials[link.ends.from.index()].wrapping_add(events)
            } else {
                potentials[link.ends.to.index()].wrapping_sub(events)
            };
        }
        potentials
    }
}

impl Link {
    fn real(cfg: &Cfg, edge: EdgeId) -> Self {
        Self { ends: cfg.edge(edge), edge: Some(edge) }
    }

    fn pseudo(cfg: &Cfg, block: BlockId) -> Self {
        Self { ends: Edge { from: block, to: cfg.exit() }, edge: None }
    }
}

/// Returns the reachable edges and the pseudo edges of `exact_at`, heaviest first. Ties are ordered: the closing
/// edge, pseudo edges, critical edges (an update there would need a block of its own), lower numbers.
fn heaviest_first(
    cfg: &Cfg,
    weights: &EdgeWeights,
    search: &DepthFirst,
    exact_at: &[BlockId],
) -> impl Iterator<Item = Link> {
    let real = cfg.edges().filter(|&edge| search.is_reachable(cfg.edge(edge).from));
    let ranked_real = real.map(|edge| {
        let rank = if cfg.is_critical(edge) { 2 } else { 3 };
        (weight(weights, edge), rank, Link::real(cfg, edge))
    });
    let pseudo =
        exact_at.iter().map(|&block| (2.0 * block_weight(cfg, weights, block), 1, Link::pseudo(cfg, block)));
    let closing = cfg.closing_edge();
    let mut links = vec![(weight(weights, closing), 0, Link::real(cfg, closing))];
    links.extend(pseudo.chain(ranked_real));
    links.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    links.into_iter().map(|(_, _, link)| link)
}

/// Returns how often a block is expected to begin.
fn block_weight(cfg: &Cfg, weights: &EdgeWeights, block: BlockId) -> f64 {
    let called = (block == BlockId::ENTRY).then(|| cfg.closing_edge());
    cfg.in_edges(block).iter().copied().chain(called).map(|edge| weight(weights, edge)).sum()
}

fn weight(weights: &EdgeWeights, edge: EdgeId) -> f64 {
    weights.as_slice().get(edge.index()).copied().unwrap_or(0.0)
}

/// Splits edges into those that a forest takes, as early as possible in their order, and the others.
fn kruskal(cfg: &Cfg, links: impl Iterator<Item = Link>) -> (Vec<Link>, Vec<Link>) {
    let mut sets = UnionFind::new(cfg.vertex_count());
    links.partition(|link| sets.unite(link.ends.from.index(), link.ends.to.index()))
}

/// Roots a tree at EXIT, breadth first. All edges belong to this tree: control reaches a block only along a path from
/// ENTRY, and the closing edge leads from EXIT to ENTRY.
fn hang(cfg: &Cfg, members: &[Link]) -> Vec<Hung> {
    let ends = members.iter().enumerate().flat_map(|(position, link)| {
        [(link.ends.from, EdgeId::new(position)), (link.ends.to, EdgeId::new(position))]
    });
    let adjacency = Adjacency::new(cfg.vertex_count(), ends);
    let mut reached = vec![false; cfg.vertex_count()];
    reached[cfg.exit().index()] = true;
    let (mut hung, mut above) = (Vec::<Hung>::with_capacity(members.len()), Some(cfg.exit()));
    let mut done = 0;
    while let Some(vertex) = above {
        for position in adjacency.row(vertex) {
            let link = members[position.index()];
            let below = if link.ends.from == vertex { link.ends.to } else { link.ends.from };
            if !std::mem::replace(&mut reached[below.index()], true) {
                hung.push(Hung { link, below });
            }
        }
        above = hung.get(done).map(|next| next.below);
        done += 1;
    }
    debug_assert_eq!(hung.len(), members.len());
    hung
}

/// Returns the greatest number of events between two checks of a budget, if budgets are checked at the entries of
/// functions and at loop headers (targets of a [`DepthFirst`]'s back edges, among which is every retreating edge of
/// an irreducible graph). This is the maximum over walks that cross a back edge only as their last edge. Each frame
/// can exceed its budget by this much; after a callee has returned, the caller's events up to its next check are
/// added to the excess. Saturates.
pub fn longest_acyclic(cfg: &Cfg, events: &[u64]) -> u64 {
    let search = DepthFirst::new(cfg);
    let mut before = vec![0_u64; cfg.vertex_count()];
    before[BlockId::ENTRY.index()] = count(events, cfg.closing_edge());
    let mut longest = before[BlockId::ENTRY.index()];
    for &block in search.reverse_postorder() {
        for &edge in cfg.out_edges(block) {
            let there = before[block.index()].saturating_add(count(events, edge));
            longest = longest.max(there);
            if !search.is_back_edge(cfg, edge) {
                let to = &mut before[cfg.edge(edge).to.index()];
                *to = there.max(*to);
            }
        }
    }
    longest
}

/// Returns the events of an edge.
fn count(events: &[u64], edge: EdgeId) -> u64 {
    events.get(edge.index()).copied().unwrap_or(0)
}

/// Returns the nonzero amounts, in two's complement.
fn nonzero<Id>(amounts: impl Iterator<Item = (Id, u64)>) -> Vec<(Id, i64)> {
    amounts.filter(|&(_, amount)| amount != 0).map(|(id, amount)| (id, amount.cast_signed())).collect()
}

/// Returns the distinct real blocks of a list.
fn distinct(cfg: &Cfg, blocks: &[BlockId]) -> Vec<BlockId> {
    let mut blocks: Vec<_> = blocks.iter().copied().filter(|&block| block < cfg.exit()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}
