//! `compare`: runs wprof and Wasmtime interleaved, in fresh processes, and prints tables in Markdown.

use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use wprof_bench::plot;
use wprof_bench::programs::{self, Program};
use wprof_bench::runner::{BURSTS, Engine, Measured, Running, beside_this_program};
use wprof_bench::stats::{Spread, geometric_mean};

/// Compares wprof with Wasmtime on the benchmark programs.
#[derive(Parser)]
struct Options {
    /// The measurement.
    #[arg(value_enum)]
    what: What,
    /// Rounds; each runs every engine once.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
    /// The small inputs of the tests: a check of the benches, not a measurement.
    #[arg(long)]
    quick: bool,
    /// Inputs that take seconds, so that warming up is a small part.
    #[arg(long, conflicts_with = "quick")]
    long: bool,
    /// Only the first column and this one; may be given several times.
    #[arg(long = "column", value_name = "NAME")]
    columns: Vec<String>,
    /// Each engine beside the first, both at once on one processor, where they take turns of milliseconds: what others take
    /// of the machine they lose alike. Compares what the thread that runs the program had of the processor.
    #[arg(long)]
    turns: bool,
    /// Also plot the geometric means, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// The program alone, from code that is compiled already.
    Steady,
    /// As steady, counting instructions, beside Wasmtime's fuel.
    Events,
    /// As steady, what each kind of profile costs over plain code.
    Profiles,
    /// As steady, what cycles, contexts, and paths in contexts cost over plain code (Ammons, Ball & Larus 1997, table
    /// 1).
    Flow,
    /// As steady, what each placement of counters costs over plain code (Ball & Larus 1994, section 6.1).
    Placements,
    /// As steady, what checks cost over plain code, with the paper's choices of where they are, and bursts.
    Bursts,
    /// As steady, hot functions made better by what bursts see, and what each part of that contributes.
    Tiers,
    /// As steady, beside Wasmtime as it is, with epochs, with fuel and with inlining, beside Node's V8 where it is
    /// installed, and beside wasmi.
    Peers,
    /// The whole process, from a cold start: the engine alone, and `wprof run` without options, which shows a summary of
    /// what it saw and keeps machine code for the next run.
    Cold,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, scratch| compare(&options, programs, scratch))
}

fn compare(options: &Options, programs: &[Program], scratch: &Path) -> Result<()> {
    let engines = options.columns_of(engines(options.what, scratch)?)?;
    let figure = match options.what {
        What::Cold if options.turns => bail!("`cold` is the time of whole processes: it takes no `--turns`"),
        What::Cold => |m: &Measured| m.whole,
        _ if options.turns => |m: &Measured| m.thread,
        _ => |m: &Measured| m.run,
    };
    if options.turns {
        stay_on_this_processor()?;
    }
    print_head(&engines);
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); engines.len()];
    for program in programs {
        let columns = measure(options, program, &engines, scratch)?;
        let medians = print_row(program, &columns, figure);
        for (all, ratio) in ratios.iter_mut().zip(medians) {
            all.push(ratio);
        }
    }
    let means: Vec<String> =
        ratios.iter().map(|r| format!("**{:.3}**", geometric_mean(r.iter().copied()))).collect();
    println!("| geometric mean | | {} |", means.join(" | "));
    let Some(path) = &options.svg else { return Ok(()) };
    let bars: Vec<(&str, f64)> =
        engines.iter().zip(&ratios).map(|(e, r)| (e.name, geometric_mean(r.iter().copied()))).collect();
    let title = format!("Time over {}, geometric mean", engines[0].name);
    std::fs::write(path, plot::bars(&title, &bars))
        .with_context(|| format!("cannot write {}", path.display()))
}

impl Options {
    /// Returns the engines whose columns are shown.
    fn columns_of(&self, mut engines: Vec<Engine>) -> Result<Vec<Engine>> {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name).collect();
        if let Some(unknown) = self.columns.iter().find(|column| !names.contains(&column.as_str())) {
            bail!("there is no column {unknown:?}, but {names:?}");
        }
        let is_shown = |engine: &Engine| self.columns.iter().any(|column| column == engine.name);
        let reference = engines[0].name;
        engines.retain(|engine| self.columns.is_empty() || engine.name == reference || is_shown(engine));
        Ok(engines)
    }
}

/// Pins this process and its children to one processor.
fn stay_on_this_processor() -> Result<()> {
    let mut processors = CpuSet::new();
    processors.set(sched_getcpu());
    sched_setaffinity(None, &processors).context("cannot stay on one processor")
}

/// Returns the engines, the reference first: the other columns are ratios to it.
fn engines(what: What, scratch: &Path) -> Result<Vec<Engine>> {
    let own = beside_this_program("wprof-run")?;
    let with_peer = matches!(what, What::Steady | What::Events | What::Tiers | What::Peers | What::Cold);
    let peer = if with_peer { beside_this_program("peer")? } else { PathBuf::new() };
    let theirs = |name, options: &[&'static str]| Engine::new(name, &peer, options);
    let ours = |name, options: &[&'static str]| Engine::new(name, &own, options);
    Ok(match what {
        What::Steady => vec![
            theirs("Wasmtime", &["--precompiled"]),
            ours("off", &["--profile", "off", "--eager"]),
            ours("exact", &["--profile", "exact", "--eager"]),
            ours("blocks", &["--profile", "blocks", "--eager"]),
        ],
        What::Events => vec![
            ours("off", &["--eager"]),
            ours("instructions", &["--eager", "--events", "instructions"]),
            ours("budget", &["--eager", "--events", "instructions", "--budget"]),
            ours("per block", &["--eager", "--events", "instructions", "--per-block"]),
            ours("exact", &["--eager", "--profile", "exact"]),
            theirs("Wasmtime", &["--precompiled"]),
            theirs("Wasmtime, fuel", &["--precompiled", "--fuel"]),
        ],
        What::Profiles => vec![
            ours("off", &["--eager"]),
            ours("edges", &["--eager", "--profile", "exact"]),
            ours("paths", &["--eager", "--profile", "paths"]),
            ours("interesting paths", &["--eager", "--profile", "paths", "--interesting"]),
            ours("untested paths", &["--eager", "--profile", "paths", "--residual"]),
            ours("contexts", &["--eager", "--contexts"]),
            ours("paths and contexts", &["--eager", "--profile", "paths", "--contexts"]),
        ],
        What::Flow => vec![
            ours("off", &["--eager"]),
            ours("paths", &["--eager", "--profile", "paths"]),
            ours("paths, cycles", &["--eager", "--profile", "paths", "--cycles"]),
            ours("contexts, cycles", &["--eager", "--contexts", "--cycles"]),
            ours("paths in contexts", &["--eager", "--profile", "paths", "--contexts", "--flow"]),
        ],
        What::Placements => {
            let weighted = |name, placement, weights| {
                ours(name, &["--eager", "--profile", placement, "--weights", weights])
            };
            vec![
                ours("off", &["--eager"]),
                ours("each block", &["--eager", "--profile", "blocks"]),
                ours("each edge", &["--eager", "--profile", "edges"]),
                ours("vertex by blocks, static", &["--eager", "--profile", "knuth-stevenson"]),
                ours("vertex by edges, static", &["--eager", "--profile", "vertex"]),
                ours("edges, static", &["--eager", "--profile", "exact"]),
                weighted("vertex by blocks, exact", "knuth-stevenson", "exact"),
                weighted("vertex by edges, exact", "vertex", "exact"),
                weighted("edges, exact", "exact", "exact"),
                weighted("vertex by blocks, worst", "knuth-stevenson", "worst"),
                weighted("vertex by edges, worst", "vertex", "worst"),
                weighted("edges, worst", "exact", "worst"),
            ]
        }
        What::Bursts => vec![
            ours("off", &["--eager"]),
            ours("orig", &["--eager", "--burst", "inf:1", "--checks", "orig"]),
            ours("EL", &["--eager", "--burst", "inf:1", "--checks", "EL"]),
            ours("EC", &["--eager", "--burst", "inf:1", "--checks", "EC"]),
            ours("EN", &["--eager", "--burst", "inf:1", "--checks", "EN"]),
            ours("L4", &["--eager", "--burst", "inf:1", "--checks", "L4"]),
            ours("L10", &["--eager", "--burst", "inf:1", "--checks", "L10"]),
            ours("LN", &["--eager", "--burst", "inf:1", "--checks", "LN"]),
            ours("EC+L4", &["--eager", "--burst", "inf:1", "--checks", "EC+L4"]),
            ours("LT", &["--eager", "--burst", "inf:1", "--checks", "LT"]),
            ours("LB", &["--eager", "--burst", "inf:1", "--checks", "LB"]),
            ours("LU", &["--eager", "--burst", "inf:1", "--checks", "LU"]),
            ours("default", &["--eager", "--burst", "inf:1"]),
            ours(BURSTS, &["--eager", "--burst", BURSTS]),
            ours("30000:100", &["--eager", "--burst", "30000:100"]),
            ours("1000:50", &["--eager", "--burst", "1000:50"]),
        ],
        What::Tiers => {
            let adaptive = ["--eager", "--burst", BURSTS];
            let without = |name, what| ours(name, &[adaptive.as_slice(), &["--without", what]].concat());
            vec![
                theirs("Wasmtime", &["--precompiled"]),
                ours("off", &["--eager"]),
                ours("adaptive", &adaptive),
                ours("adaptive, by time", &["--eager", "--burst", "1:20", "--every", "1000"]),
                without("without superblocks", "superblocks"),
                without("without inlining", "inlining"),
                without("without guesses", "guesses"),
                without("without all", "all"),
            ]
        }
        What::Peers => {
            let mut engines = vec![
                theirs("Wasmtime", &["--precompiled"]),
                theirs("Wasmtime, inlining", &["--precompiled", "--inlining"]),
                theirs("Wasmtime, epochs", &["--precompiled", "--epochs"]),
                theirs("Wasmtime, fuel", &["--precompiled", "--fuel"]),
                ours("off", &["--eager"]),
                ours("adaptive", &["--eager", "--burst", BURSTS]),
                theirs("wasmi", &["--wasmi"]),
            ];
            let node = programs::home().join("peers/node.mjs");
            let version = Command::new("node").arg("--version").output();
            if version.is_ok_and(|output| output.status.success()) {
                engines.push(Engine::new("Node", &node, &[]));
            }
            engines
        }
        What::Cold => vec![
            theirs("Wasmtime", &[]),
            theirs("Wasmtime, warm cache", &["--cache"]),
            ours("off", &["--profile", "off"]),
            ours("off, warm cache", &["--profile", "off", "--cache"]),
            ours("exact", &["--profile", "exact"]),
            ours("exact, warm cache", &["--profile", "exact", "--cache"]),
            ours("adaptive", &["--burst", BURSTS, "--contexts"]),
            Engine::product("wprof run", &beside_this_program("wprof")?, scratch),
        ],
    })
}

/// The measurement of an engine, and that of the reference beside it.
type Pair = (Measured, Measured);

/// Measures a program in each engine, by round.
fn measure(
    options: &Options,
    program: &Program,
    engines: &[Engine],
    scratch: &Path,
) -> Result<Vec<Vec<Pair>>> {
    let args = program.args_for(options.quick, options.long);
    let mut columns = vec![Vec::new(); engines.len()];
    let files: Vec<PathBuf> =
        engines.iter().map(|engine| engine.prepare(program, scratch)).collect::<Result<_>>()?;
    let start = |engine: usize| engines[engine].start(program, &files[engine], args);
    for _ in 0..options.rounds {
        let round = match options.turns {
            true => in_turns(start, engines.len())?,
            false => one_by_one(start, engines.len())?,
        };
        columns.iter_mut().zip(round).for_each(|(column, pair)| column.push(pair));
    }
    Ok(columns)
}

/// Runs a round of `engines` engines, one after the other.
fn one_by_one<'a>(start: impl Fn(usize) -> Result<Running<'a>>, engines: usize) -> Result<Vec<Pair>> {
    let reference = start(0)?.end()?;
    let others = (1..engines).map(|engine| Ok((start(engine)?.end()?, reference)));
    iter::once(Ok((reference, reference))).chain(others).collect()
}

/// Runs a round in which each engine runs at the same time as the first. More engines at once would find less in the
/// caches at each turn.
fn in_turns<'a>(start: impl Fn(usize) -> Result<Running<'a>>, engines: usize) -> Result<Vec<Pair>> {
    let pair = |engine| {
        let (reference, other) = (start(0)?, start(engine)?);
        let reference = reference.end()?;
        Ok((other.end()?, reference))
    };
    let others: Vec<Pair> = (1..engines).map(pair).collect::<Result<_>>()?;
    let reference = others.first().map_or_else(|| start(0)?.end(), |&(_, reference)| Ok(reference))?;
    Ok(iter::once((reference, reference)).chain(others).collect())
}

fn print_head(engines: &[Engine]) {
    let names: Vec<&str> = engines.iter().map(|e| e.name).collect();
    println!("| program | {} ms | {} |", names[0], names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len()));
}

/// Prints a program's row, and returns the median ratio of each engine to the first.
fn print_row(program: &Program, columns: &[Vec<Pair>], figure: fn(&Measured) -> f64) -> Vec<f64> {
    let mut medians = Vec::new();
    let cells: Vec<String> = columns
        .iter()
        .map(|rounds| {
            let (ours, theirs): (Vec<f64>, Vec<f64>) =
                rounds.iter().map(|(run, reference)| (figure(run), figure(reference))).unzip();
            let ratio = Spread::of_ratios(&ours, &theirs);
            medians.push(ratio.median);
            let peak = Spread::new(&rounds.iter().map(|(run, _)| run.peak).collect::<Vec<_>>()).median;
            let spread = format!("{:.3} ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max);
            if peak > 0.0 { format!("{spread}, {peak:.0} MiB") } else { spread }
        })
        .collect();
    let reference = Spread::new(&columns[0].iter().map(|(run, _)| figure(run)).collect::<Vec<_>>());
    println!("| {} | {:.1} | {} |", program.name, reference.median, cells.join(" | "));
    medians
}
