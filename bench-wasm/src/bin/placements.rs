//! `placements`: what each way of placing counters costs on each program; prints tables in Markdown.
//!
//! Source: Ball & Larus 1994, section 6.1: redundant counters, vertex and edge counters, under a static, an exact and
//! the worst weighting. The figures follow from one exact profile of each program; nothing is timed.

use anyhow::Result;
use clap::Parser;
use wprof::profiler::{CounterCost, PlacementCosts, WeightedCosts};
use wprof::{Collect, Config, ProfilingConfig};
use wprof_bench::programs::{self, Program};
use wprof_bench::session::Session;

/// Counts what counters cost.
#[derive(Parser)]
struct Options {
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, _| print(&options, programs))
}

fn print(options: &Options, programs: &[Program]) -> Result<()> {
    let mut found = Vec::new();
    for program in programs {
        eprintln!("{}", program.name);
        found.push((program.name.as_str(), costs(program, options.bench)?));
    }
    println!("Counters placed:\n");
    table(&found, |cost, _| cost.counters.to_string());
    println!("\nIncrements executed, by one counter per block:\n");
    table(&found, |cost, all| match all.per_block.increments {
        0 => "-".into(),
        blocks => format!("{:.3}", cost.increments as f64 / blocks as f64),
    });
    Ok(())
}

fn costs(program: &Program, bench: bool) -> Result<PlacementCosts> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges));
    Ok(Session::run(program, &config, bench)?.profile()?.placement_costs()?)
}

/// A row for each program: a counter in each block, on each edge, then four placements under three weightings.
fn table(found: &[(&str, PlacementCosts)], cell: impl Fn(CounterCost, &PlacementCosts) -> String) {
    const PLACEMENTS: [&str; 4] = ["vertex by blocks", "vertex by edges", "same, unmarked", "edges"];
    let head: Vec<String> = ["static", "exact", "worst"]
        .iter()
        .flat_map(|weights| PLACEMENTS.map(|placement| format!("{placement}, {weights}")))
        .collect();
    println!("| program | each block | each edge | {} |", head.join(" | "));
    println!("|---|{}", "---:|".repeat(head.len() + 2));
    for (name, costs) in found {
        let weighted = [costs.estimated, costs.measured, costs.worst].into_iter().flat_map(placements);
        let cells: Vec<String> = [costs.per_block, costs.per_edge]
            .into_iter()
            .chain(weighted)
            .map(|cost| cell(cost, costs))
            .collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn placements(costs: WeightedCosts) -> [CounterCost; 4] {
    [costs.vertex_by_blocks, costs.vertex_by_edges, costs.vertex_by_edges_unmarked, costs.edges]
}
