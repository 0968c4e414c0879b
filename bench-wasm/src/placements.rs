//! The cost of each placement of counters on each program.
//!
//! Source: Ball & Larus 1994, section 6.1: redundant counters, vertex and edge counters, under a static, an exact and
//! the worst weighting; table 2, graph 4 and section 7.4. The figures follow from one exact profile of each program;
//! nothing is timed.

use anyhow::Result;
use wprof::profiler::{CounterCost, OtherWeightings, PlacementCosts, WeightedCosts};
use wprof::{Collect, Config, ProfilingConfig};

use crate::programs::Program;
use crate::session::Session;
use crate::table::Table;

/// The costs of one program.
pub type Costs = (String, PlacementCosts);

const PLACEMENTS: [&str; 5] =
    ["vertex by blocks", "vertex by edges", "same, unmarked", "same, contracted", "edges"];

/// Runs programs with their arguments for benches or for tests, and returns their costs.
///
/// # Errors
/// Returns an error if one fails.
pub fn costs(programs: &[Program], bench: bool) -> Result<Vec<Costs>> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges));
    let cost = |program: &Program| {
        eprintln!("{}", program.name);
        let costs = Session::run(program, &config, bench)?.profile()?.placement_costs()?;
        Ok((program.name.clone(), costs))
    };
    programs.iter().map(cost).collect()
}

/// Makes the table of the number of counters: in each block, on each edge, then for five placements under three
/// weightings.
pub fn counters(found: &[Costs]) -> Table {
    by_placement(found, |cost, _| cost.counters.to_string())
}

/// Makes the table of increments relative to one counter per block.
pub fn increments(found: &[Costs]) -> Table {
    by_placement(found, |cost, all| ratio(cost.increments, all.per_block.increments))
}

fn by_placement(found: &[Costs], cell: impl Fn(CounterCost, &PlacementCosts) -> String) -> Table {
    let weighted = ["static", "exact", "worst"];
    let names =
        weighted.iter().flat_map(|weights| PLACEMENTS.map(|placement| format!("{placement}, {weights}")));
    let mut table = Table::new(["each block".to_string(), "each edge".to_string()].into_iter().chain(names));
    for (name, costs) in found {
        let weighted = [costs.estimated, costs.measured, costs.worst].into_iter().flat_map(placements);
        let all = [costs.per_block, costs.per_edge].into_iter().chain(weighted);
        table.row(name, all.map(|cost| cell(cost, costs)));
    }
    table
}

fn placements(costs: WeightedCosts) -> [CounterCost; 5] {
    let by_edges = [costs.vertex_by_edges, costs.vertex_by_edges_unmarked, costs.vertex_by_edges_contracted];
    let [marked, unmarked, contracted] = by_edges;
    [costs.vertex_by_blocks, marked, unmarked, contracted, costs.edges]
}

/// Makes the table of increments of edge counters under each weighting, relative to one counter per block: graph 4,
/// and other authors' heuristics.
pub fn by_weighting(found: &[Costs]) -> Table {
    let mut table =
        Table::new(["static, max", "static, min", "Goldberg", "Wall", "Forman", "exact, max", "exact, min"]);
    for (name, costs) in found {
        let OtherWeightings { estimated_worst, goldberg, wall, forman } = costs.others;
        let (most, least) = (costs.measured.edges, costs.worst.edges);
        let all = [costs.estimated.edges, estimated_worst, goldberg, wall, forman, most, least];
        table.row(name, all.map(|cost| ratio(cost.increments, costs.per_block.increments)));
    }
    table
}

/// Makes the table of edges, counted edges, and jumps that counters need, with the static weighting and with that of
/// the run; then increments, and increments with jumps, relative to one counter per block: table 2, graphs 2 and 3. Mixed
/// counters, on edges and in blocks, have their jumps in the figure.
pub fn jumps(found: &[Costs]) -> Table {
    let mut table = Table::new([
        "edges",
        "counted, static",
        "jumps",
        "counted, exact",
        "jumps",
        "increments, static",
        "and jumps",
        "increments, exact",
        "and jumps",
        "mixed, static",
        "mixed, exact",
    ]);
    for (name, costs) in found {
        let both = [costs.estimated, costs.measured];
        let placed = both.iter().flat_map(|cost| [cost.edges.counters, cost.jumps.counters]);
        let executed = both.iter().flat_map(|cost| {
            [cost.edges.increments, cost.edges.increments.saturating_add(cost.jumps.increments)]
        });
        let mixed = both.iter().map(|cost| cost.mixed.increments);
        let executed = executed.chain(mixed).map(|count| ratio(count, costs.per_block.increments));
        let placed = [costs.per_edge.counters].into_iter().chain(placed).map(|count| count.to_string());
        table.row(name, placed.chain(executed));
    }
    table
}

fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.3}", part as f64 / whole as f64) }
}
