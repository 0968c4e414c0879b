//! Weights that say how often each edge is expected to run.
//!
//! Input: a [`Cfg`], or the counts of an earlier run. Output: one weight per edge.
//! Invariant: weights are finite and at least 0. Estimated weights obey the flow law at every reached block, back
//! edges aside, unless the loop exits of a block outweigh the block.
//! Source: Ball & Larus 1994, section 5: a loop runs [`LOOP_MULTIPLIER`] times, the successors of a predicate are
//! equally likely, and an edge that leaves several loops takes its weight from the outermost ("the first rule that
//! applies"). Ours: edges may be hinted; where the fixed loop exits claim all of a block's weight, its other edges
//! get a small share instead of zero or less, so that the edges below stay ordered; weights are capped, so that deep
//! nests stay finite.
//! Oracle: a slow restatement of the rules in `tests/it/edge_weights.rs`.
//!
//! Example: a loop whose header has two exits, entered once: each exit weighs 1/2, the header's other edges share the
//! rest of its weight 10.

use crate::{BlockId, Cfg, DepthFirst, EdgeCounts, EdgeId, LoopId, Loops};

/// Assumed iterations of a loop each time it is entered.
pub const LOOP_MULTIPLIER: f64 = 10.0;

/// Upper bound of the weight that enters a block; it takes a hundred nested loops to reach it.
const HEAVIEST: f64 = 1e100;

/// Share of a block's weight that its other edges get when loop exits claim all of it.
const STARVED_SHARE: f64 = 1.0 / 1024.0;

/// Share of a block's free weight that hinted edges get: roughly the likelihood at which compilers emit hints.
pub const LIKELY_SHARE: f64 = 0.9;

/// A weight for each edge, the closing edge last.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeWeights(Vec<f64>);

impl EdgeWeights {
    /// Estimates weights without a profile.
    pub fn estimate(cfg: &Cfg) -> Self {
        Self::hinted(cfg, &[])
    }

    /// Estimates weights of a graph some of whose edges are known to be likely. The `likely` edges, given in
    /// ascending order, get [`LIKELY_SHARE`] of their block's free weight. Loop exits keep the weight that their loop
    /// gives them.
    pub fn hinted(cfg: &Cfg, likely: &[EdgeId]) -> Self {
        let search = DepthFirst::new(cfg);
        let loops = Loops::new(cfg, &search);
        let mut walk = Estimate::new(cfg, &loops, likely);
        for &block in search.reverse_postorder() {
            walk.visit(block, &search);
        }
        Self(walk.edges)
    }

    /// Goldberg's weighting, for comparison: an edge weighs as much as the postorder number of its source, and a back
    /// edge additionally as much as the graph has vertices. Code that runs earlier weighs more; loops hardly count.
    ///
    /// Source: Ball & Larus 1994, section 7.4.
    pub fn goldberg(cfg: &Cfg) -> Self {
        let search = DepthFirst::new(cfg);
        let mut numbers = vec![0.0; cfg.vertex_count()];
        for (&block, number) in search.reverse_postorder().iter().rev().zip(1..) {
            numbers[block.index()] = f64::from(number);
        }
        let weight = |edge: EdgeId| {
            let more = if search.is_back_edge(cfg, edge) { cfg.vertex_count() as f64 } else { 0.0 };
            more + numbers[cfg.edge(edge).from.index()]
        };
        Self(cfg.edges().map(weight).chain([numbers[cfg.exit().index()]]).collect())
    }

    /// Wall's weighting, for comparison: code in n nested loops runs ten to the power of n times, regardless of
    /// branches.
    ///
    /// Source: Ball & Larus 1994, section 7.4.
    pub fn wall(cfg: &Cfg) -> Self {
        let search = DepthFirst::new(cfg);
        let loops = Loops::new(cfg, &search);
        let depth = |vertex: BlockId| if vertex == cfg.exit() { 0 } else { loops.depth(vertex) };
        let weight = |edge: EdgeId| {
            let ends = cfg.edge(edge);
            LOOP_MULTIPLIER.powi(depth(ends.from).min(depth(ends.to)) as i32).min(HEAVIEST)
        };
        Self(cfg.edges().map(weight).chain([1.0]).collect())
    }

    /// Forman's weighting, for comparison: how often each edge is crossed if all edges out of a block are equally
    /// likely. A maximum spanning tree under it is in Forman's partial order.
    ///
    /// Source: Ball & Larus 1994, section 7.4, by "matrix operations": a system of equations, solved here by
    /// iteration. Ours: each execution of a block ends the run with a probability of 1/1000, so that endless loops
    /// stay finite.
    pub fn forman(cfg: &Cfg) -> Self {
        const GOES_ON: f64 = 0.999;
        const ROUNDS: usize = 2_000;
        const SETTLED: f64 = 1e-6;
        let search = DepthFirst::new(cfg);
        let mut blocks = vec![0.0_f64; cfg.vertex_count()];
        let share = |blocks: &[f64], edge: EdgeId| {
            let from = cfg.edge(edge).from;
            blocks[from.index()] * GOES_ON / cfg.out_edges(from).len() as f64
        };
        for _ in 0..ROUNDS {
            let mut moved = 0.0_f64;
            for &block in search.reverse_postorder() {
                let called = if block == BlockId::ENTRY { 1.0 } else { 0.0 };
                let sum = called + cfg.in_edges(block).iter().map(|&edge| share(&blocks, edge)).sum::<f64>();
                moved = moved.max((sum - blocks[block.index()]).abs() / sum.max(1.0));
                blocks[block.index()] = sum;
            }
            if moved < SETTLED {
                break;
            }
        }
        Self(cfg.edges().map(|edge| share(&blocks, edge)).chain([1.0]).collect())
    }

    /// Takes the weights from an earlier run of the same graph. Edges that ran equally often are ordered as the
    /// static estimate orders them.
    pub fn measured(cfg: &Cfg, counts: &EdgeCounts) -> Self {
        let estimate = Self::estimate(cfg);
        let top = estimate.0.iter().copied().fold(1.0, f64::max);
        let measured = counts.edges.iter().copied().chain([counts.entries]);
        Self(measured.zip(&estimate.0).map(|(count, weight)| count as f64 + weight / (2.0 * top)).collect())
    }

    /// Takes explicit weights, the closing edge's last. NaN counts as 0, and all weights are clamped to the permitted
    /// range.
    pub fn from_vec(mut weights: Vec<f64>) -> Self {
        for weight in &mut weights {
            *weight = if weight.is_nan() { 0.0 } else { weight.clamp(0.0, HEAVIEST) };
        }
        Self(weights)
    }

    /// Returns the weight of one edge.
    pub fn get(&self, edge: EdgeId) -> f64 {
        self.0[edge.index()]
    }

    /// Returns all weights, the closing edge's last.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

/// A topological walk over the graph without its back edges.
struct Estimate<'a> {
    cfg: &'a Cfg,
    loops: &'a Loops,
    /// Hinted edges, ascending.
    likely: &'a [EdgeId],
    exit_counts: Vec<u32>,
    edges: Vec<f64>,
    /// By loop: the weight that enters it.
    entered: Vec<f64>,
}

impl<'a> Estimate<'a> {
    fn new(cfg: &'a Cfg, loops: &'a Loops, likely: &'a [EdgeId]) -> Self {
        let mut edges = vec![0.0; cfg.edge_count() + 1];
        edges[cfg.closing_edge().index()] = 1.0;
        Self {
            cfg,
            loops,
            likely,
            exit_counts: loops.exit_counts(cfg),
            edges,
            entered: vec![0.0; loops.len()],
        }
    }

    fn visit(&mut self, block: BlockId, search: &DepthFirst) {
        let mut weight = self.arriving(block, search);
        if let Some(id) = self.loops.headed_by(block) {
            self.entered[id.index()] = weight;
            weight *= LOOP_MULTIPLIER;
        }
        self.leave(block, weight);
    }

    /// Returns the sum of the weights that enter a block by edges other than back edges.
    fn arriving(&self, block: BlockId, search: &DepthFirst) -> f64 {
        let called = if block == BlockId::ENTRY { 1.0 } else { 0.0 };
        let into = self.cfg.in_edges(block).iter();
        let forward = into.filter(|&&edge| !search.is_back_edge(self.cfg, edge));
        (called + forward.map(|edge| self.edges[edge.index()]).sum::<f64>()).min(HEAVIEST)
    }

    /// Distributes a block's weight over its outgoing edges.
    fn leave(&mut self, block: BlockId, weight: f64) {
        let (mut fixed, mut others) = (0.0, Vec::new());
        for &edge in self.cfg.out_edges(block) {
            match self.loops.outermost_exited(self.cfg, edge) {
                Some(id) => {
                    let share = self.exit_share(id);
                    self.edges[edge.index()] = share;
                    fixed += share;
                }
                None => others.push(edge),
            }
        }
        self.share_out(&others, (weight - fixed).max(weight * STARVED_SHARE));
    }

    /// Distributes a weight evenly, except that hinted edges share [`LIKELY_SHARE`] of it.
    fn share_out(&mut self, edges: &[EdgeId], weight: f64) {
        let (likely, rest): (Vec<EdgeId>, Vec<EdgeId>) =
            edges.iter().partition(|edge| self.likely.binary_search(edge).is_ok());
        let all = match (likely.is_empty(), rest.is_empty()) {
            (false, false) => [(likely, weight * LIKELY_SHARE), (rest, weight * (1.0 - LIKELY_SHARE))],
            _ => [(likely, weight), (rest, weight)],
        };
        for (edges, weight) in all {
            let share = weight / edges.len() as f64;
            edges.iter().for_each(|edge| self.edges[edge.index()] = share);
        }
    }

    /// Returns the weight of each exit edge of a loop; together they weigh as much as enters the loop.
    fn exit_share(&self, id: LoopId) -> f64 {
        self.entered[id.index()] / f64::from(self.exit_counts[id.index()])
    }
}
