//! Costs of all placements of counters in one run.
//!
//! Input: a [`Cfg`] and its counts. Output: counters placed and increments executed, for each placement and
//! weighting.
//! Invariant: a cost is computed from counts, never by running the plan. With the measured weighting no placement of
//! the same kind (except the heuristic one) executes fewer increments, with the worst none executes more.
//! Source: Ball & Larus 1994, sections 6.1 and 6.2: redundant counting, Vprof(Vcnt), Vprof(Ecnt) and Eprof(Ecnt),
//! under the static weighting and the weighting measured in the run itself.
//! Oracle: `tests/it/placement_costs.rs`, which runs each plan on a log.

use serde::{Deserialize, Serialize};

use crate::{
    BlockId, BlockPlan, BlockWeights, Cfg, CounterCost, EdgeCounts, EdgeId, EdgePlan, EdgeWeights,
    SpanningTree, VertexPlan,
};

/// The costs of one run under every placement and weighting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementCosts {
    /// One counter per block: redundant counting.
    pub per_block: CounterCost,
    /// One counter per edge.
    pub per_edge: CounterCost,
    /// Placements by the static weighting: what is possible without a profile.
    pub estimated: WeightedCosts,
    /// Placements by the counts of this very run: the best possible.
    pub measured: WeightedCosts,
    /// Placements at the minimum spanning trees of those counts: the worst that a weighting can do.
    pub worst: WeightedCosts,
    /// Costs of edge counters under other weightings.
    pub others: OtherWeightings,
}

/// Costs of Eprof(Ecnt) under weightings that the paper compares with its own, in sections 6.4 and 7.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherWeightings {
    /// At the minimum spanning trees of the static weighting, the *heuristic min* of graph 4.
    pub estimated_worst: CounterCost,
    /// Under [`EdgeWeights::goldberg`].
    pub goldberg: CounterCost,
    /// Under [`EdgeWeights::wall`].
    pub wall: CounterCost,
    /// Under [`EdgeWeights::forman`].
    pub forman: CounterCost,
}

/// The costs of one run under the placements that depend on a weighting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedCosts {
    /// Block counts by block counters, Vprof(Vcnt).
    pub vertex_by_blocks: CounterCost,
    /// Block counts by edge counters, Vprof(Ecnt), as the paper's heuristic places them.
    pub vertex_by_edges: CounterCost,
    /// Block counts by edge counters without marks: [`VertexPlan::unmarked`].
    pub vertex_by_edges_unmarked: CounterCost,
    /// The same without the counts of blocks without instructions: [`VertexPlan::contracted`].
    pub vertex_by_edges_contracted: CounterCost,
    /// Edge counts by edge counters, Eprof(Ecnt).
    pub edges: CounterCost,
    /// The counters of `edges` on critical edges, whose code needs a block of its own and therefore a jump: the
    /// number of jumps, and of their executions. A jump that the layout can turn into a fall-through is counted, too.
    pub jumps: CounterCost,
    /// Edge counts by counters on edges or in blocks (Samples), where a counter on a critical edge costs its jump, too:
    /// increments and jumps together.
    pub mixed: CounterCost,
}

impl PlacementCosts {
    /// Computes the costs of the run that `counts` describes; the counts of `silent` blocks are not wanted where a
    /// placement can do without.
    pub fn new(cfg: &Cfg, counts: &EdgeCounts, silent: &[BlockId]) -> Self {
        let estimate = EdgeWeights::estimate(cfg);
        let blocks = BlockPlan::cheapest(cfg, &BlockWeights::of_edges(cfg, &estimate));
        let estimated = (blocks, SpanningTree::maximum(cfg, &estimate));
        let run = EdgeWeights::measured(cfg, counts);
        let run_blocks = BlockWeights::measured(cfg, counts);
        let measured = (BlockPlan::cheapest(cfg, &run_blocks), SpanningTree::maximum(cfg, &run));
        let worst = (BlockPlan::dearest(cfg, &run_blocks), SpanningTree::minimum(cfg, &run));
        let costs = |(blocks, tree): (BlockPlan, SpanningTree), weights| {
            WeightedCosts::new(cfg, counts, (weights, silent), &blocks, &tree)
        };
        Self {
            per_block: CounterCost::new(counts.blocks.iter().copied()),
            per_edge: CounterCost::new(counts.edges.iter().copied()),
            estimated: costs(estimated, &estimate),
            measured: costs(measured, &run),
            worst: costs(worst, &run),
            others: OtherWeightings::new(cfg, counts, &estimate),
        }
    }

    /// Returns the sum of both costs; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            per_block: self.per_block.plus(other.per_block),
            per_edge: self.per_edge.plus(other.per_edge),
            estimated: self.estimated.plus(other.estimated),
            measured: self.measured.plus(other.measured),
            worst: self.worst.plus(other.worst),
            others: self.others.plus(other.others),
        }
    }
}

impl OtherWeightings {
    fn new(cfg: &Cfg, counts: &EdgeCounts, estimate: &EdgeWeights) -> Self {
        let cost = |tree: &SpanningTree| CounterCost::of_edges(&EdgePlan::of_tree(tree).counted, counts);
        let heaviest = |weights: &EdgeWeights| cost(&SpanningTree::maximum(cfg, weights));
        Self {
            estimated_worst: cost(&SpanningTree::minimum(cfg, estimate)),
            goldberg: heaviest(&EdgeWeights::goldberg(cfg)),
            wall: heaviest(&EdgeWeights::wall(cfg)),
            forman: heaviest(&EdgeWeights::forman(cfg)),
        }
    }

    /// Returns the sum of both costs; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            estimated_worst: self.estimated_worst.plus(other.estimated_worst),
            goldberg: self.goldberg.plus(other.goldberg),
            wall: self.wall.plus(other.wall),
            forman: self.forman.plus(other.forman),
        }
    }
}

impl WeightedCosts {
    fn new(
        cfg: &Cfg,
        counts: &EdgeCounts,
        (weights, silent): (&EdgeWeights, &[BlockId]),
        blocks: &BlockPlan,
        tree: &SpanningTree,
    ) -> Self {
        let edges = EdgePlan::of_tree(tree).counted;
        let jumps: Vec<EdgeId> = edges.iter().copied().filter(|&edge| cfg.is_critical(edge)).collect();
        Self {
            vertex_by_blocks: CounterCost::of_blocks(&blocks.counted, cfg, counts),
            vertex_by_edges: CounterCost::of_edges(&VertexPlan::of_tree(cfg, weights, tree).counted, counts),
            vertex_by_edges_unmarked: CounterCost::of_edges(
                &VertexPlan::unmarked_of_tree(cfg, tree).counted,
                counts,
            ),
            vertex_by_edges_contracted: CounterCost::of_edges(
                &VertexPlan::contracted_of_tree(cfg, tree, silent).counted,
                counts,
            ),
            edges: CounterCost::of_edges(&edges, counts),
            jumps: CounterCost::of_edges(&jumps, counts),
            mixed: mixed(cfg, counts, weights),
        }
    }

    /// Returns the sum of both costs; saturates.
    pub fn plus(self, other: Self) -> Self {
        Self {
            vertex_by_blocks: self.vertex_by_blocks.plus(other.vertex_by_blocks),
            vertex_by_edges: self.vertex_by_edges.plus(other.vertex_by_edges),
            vertex_by_edges_unmarked: self.vertex_by_edges_unmarked.plus(other.vertex_by_edges_unmarked),
            vertex_by_edges_contracted: self
                .vertex_by_edges_contracted
                .plus(other.vertex_by_edges_contracted),
            edges: self.edges.plus(other.edges),
            jumps: self.jumps.plus(other.jumps),
            mixed: self.mixed.plus(other.mixed),
        }
    }
}

/// Returns the cost of the cheapest counters on edges or in blocks that tell all edges. Each block is an edge from the end
/// of those that enter it to the beginning of those that leave it, so that the counters are the chords of a spanning tree.
fn mixed(cfg: &Cfg, counts: &EdgeCounts, weights: &EdgeWeights) -> CounterCost {
    let half = |block: BlockId, out: usize| BlockId::new(2 * block.index() + out);
    let through = cfg.blocks().map(|block| (half(block, 0), half(block, 1)));
    let between = cfg.edges().map(|edge| (half(cfg.edge(edge).from, 1), half(cfg.edge(edge).to, 0)));
    let all: Vec<(BlockId, BlockId)> = through.chain(between).collect();
    let blocks = cfg.block_count();
    let Ok(split) = u32::try_from(2 * blocks).map_err(drop).and_then(|n| Cfg::new(n, &all).map_err(drop))
    else {
        return CounterCost::default();
    };
    let price = |edge: EdgeId| if cfg.is_critical(edge) { 2.0 } else { 1.0 };
    let of_block = BlockWeights::of_edges(cfg, weights);
    let of_blocks = cfg.blocks().map(|block| of_block.get(block));
    let of_edges = cfg.edges().map(|edge| price(edge) * weights.get(edge));
    // The closing edge stays in the tree.
    let closing = std::iter::once(f64::MAX);
    let weighed = EdgeWeights::from_vec(of_blocks.chain(of_edges).chain(closing).collect());
    let chords = EdgePlan::of_tree(&SpanningTree::maximum(&split, &weighed)).counted;
    let executed = |chord: EdgeId| match chord.index().checked_sub(blocks) {
        None => counts.blocks[chord.index()],
        Some(edge) => counts.edges[edge].saturating_mul(price(EdgeId(edge as u32)) as u64),
    };
    CounterCost::new(chords.into_iter().map(executed))
}

impl CounterCost {
    /// Computes the cost of counting edges in the run that `counts` describes.
    pub fn of_edges(counted: &[EdgeId], counts: &EdgeCounts) -> Self {
        Self::new(counted.iter().map(|edge| counts.edges.get(edge.index()).copied().unwrap_or(0)))
    }

    /// Computes the cost of counting blocks, where EXIT stands for the calls.
    pub fn of_blocks(counted: &[BlockId], cfg: &Cfg, counts: &EdgeCounts) -> Self {
        Self::new(counted.iter().map(|&block| match block == cfg.exit() {
            true => counts.entries,
            false => counts.blocks.get(block.index()).copied().unwrap_or(0),
        }))
    }
}
