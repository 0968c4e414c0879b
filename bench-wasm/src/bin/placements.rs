//! `placements`: what each way of placing counters costs on each program; prints tables in Markdown.
//!
//! Source: Ball & Larus 1994, section 6.1: redundant counters, vertex and edge counters, under a static, an exact and
//! the worst weighting. The figures follow from one exact profile of each program; nothing is timed.

use anyhow::Result;
use clap::Parser;
use wprof::profiler::{CounterCost, PlacementCosts, WeightedCosts};
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Collect, Engine, Linker, Module, ProfilingConfig, Store};
use wprof_bench::programs::{self, Program};

/// Counts what counters cost.
#[derive(Parser)]
struct Options {
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this.
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
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges)).map_err(failure)?;
    let module = Module::from_file(&engine, &program.file).map_err(failure)?;
    let mut builder = WasiCtxBuilder::new();
    let output = OutputPipe::new();
    builder.stdout_pipe(&output).stderr_pipe(&output).arg(&program.name).map_err(failure)?;
    builder.args(if bench { &program.args } else { &program.quick_args }).map_err(failure)?;
    for (host, guest) in &program.dirs {
        builder.preopened_dir(host, guest).map_err(failure)?;
    }
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |context| context).map_err(failure)?;
    let mut store = Store::new(&engine, builder.build());
    let instance = linker.instantiate(&mut store, &module).map_err(failure)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start").map_err(failure)?;
    let code = start.call(&mut store, ()).map_or_else(|error| error.i32_exit(), |()| Some(0));
    anyhow::ensure!(code == Some(program.exit_code), "{} ended with {code:?}", program.name);
    Ok(instance.profile(&store).map_err(failure)?.placement_costs()?)
}

fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
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
