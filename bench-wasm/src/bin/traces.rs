//! `traces`: measures the cost of each way of recording a trace on each program; prints tables in Markdown.
//!
//! Source: Ball & Larus 1994, section 6.2: witness tracing against bit tracing and against recording every branch. The
//! runs of a program are interleaved in this process, one of each method per round; code is compiled before.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use wprof::profiler::{PackSummary, TraceMethod, TraceReader, TraceStats};
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Config, Engine, Linker, Module, Store, Strategy, Tracing};
use wprof_bench::programs::{self, Program};
use wprof_bench::stats::{Spread, geometric_mean};

/// Measures what traces cost.
#[derive(Parser)]
struct Options {
    /// Rounds; each runs every method once.
    #[arg(long, default_value_t = 3)]
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
    /// Chunks of each trace, from the first on, that are replayed and looked at; all of a long one takes minutes.
    #[arg(long, default_value_t = 8)]
    chunks: usize,
    /// Record what loads and stores touch too.
    #[arg(long)]
    addresses: bool,
}

const METHODS: [(&str, Tracing); 4] = [
    ("witness", Tracing::Only(TraceMethod::Witnesses)),
    ("bits", Tracing::Only(TraceMethod::BitTracing)),
    ("best", Tracing::Best),
    ("branches", Tracing::Only(TraceMethod::EveryBranch)),
];

/// The times of one run in seconds: the program's thread, and all threads of the process.
#[derive(Clone, Copy)]
struct Times {
    wall: f64,
    cpu: f64,
}

/// A program under one method.
struct Row {
    wall: Spread,
    cpu: Spread,
    stats: TraceStats,
    /// Replay speed in blocks per second.
    speed: f64,
    packed: PackSummary,
    /// Time for packing, in seconds.
    pack_time: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    programs::with(options.real, &options.only, |programs, scratch| print(&options, programs, scratch))
}

fn print(options: &Options, programs: &[Program], scratch: &Path) -> Result<()> {
    println!(
        "| program | method | bits/predicate | bytes/1000 blocks | compressed | compressed, bits/predicate | time over off | CPU over off | replay, M blocks/s | packed, bits/branch | packed, M branches/s | MB/s of bits |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut walls = METHODS.map(|_| Vec::new());
    let (mut packed, mut stored) = (Vec::new(), Vec::new());
    for program in programs {
        for ((row, wall), (name, _)) in
            measure(options, program, scratch)?.iter().zip(&mut walls).zip(METHODS)
        {
            print_row(&program.name, name, row);
            wall.push(row.wall.median);
            packed.extend(row.packed.bits_per_branch().filter(|_| name == "best"));
            stored.extend(row.stats.stored_bits_per_predicate().filter(|_| name == "best"));
        }
    }
    for (wall, (name, _)) in walls.into_iter().zip(METHODS) {
        println!("| geometric mean | {name} | | | | | **{:.3}** | | | | | |", geometric_mean(wall));
    }
    println!(
        "\nBy the default method, bits a branch, geometric means: {:.3} as recorded, {:.3} packed",
        geometric_mean(stored),
        geometric_mean(packed)
    );
    Ok(())
}

fn print_row(program: &str, method: &str, row: &Row) {
    let Row { wall, cpu, stats, speed, packed, pack_time } = row;
    let sums = stats.methods.values().fold((0, 0), |(bits, predicates), method| {
        (bits + method.counts.bits, predicates + method.counts.predicates)
    });
    let each = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
    let exactly = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
    let bits = (sums.1 > 0).then(|| sums.0 as f64 / sums.1 as f64);
    println!(
        "| {program} | {method} | {} | {} | {} | {} | {:.2} ({:.2}–{:.2}) | {:.2} | {:.1} | {} | {:.1} | {:.2} |",
        each(bits),
        each(stats.stream_bytes_per_1000_blocks()),
        each(stats.stored_bytes_per_1000_blocks()),
        exactly(stats.stored_bits_per_predicate()),
        wall.median,
        wall.min,
        wall.max,
        cpu.median,
        speed / 1e6,
        exactly(packed.bits_per_branch()),
        packed.branches as f64 / pack_time / 1e6,
        packed.bits as f64 / 8.0 / pack_time / 1e6
    );
}

/// Returns a row for each method.
fn measure(options: &Options, program: &Program, scratch: &Path) -> Result<Vec<Row>> {
    let args = program.args_for(options.quick, false);
    let off = engine(None, false)?;
    let traced: Vec<_> =
        METHODS.iter().map(|&(_, how)| engine(Some(how), options.addresses)).collect::<Result<_>>()?;
    let file = |name: &str| scratch.join(format!("{}.wtrace", name));
    let mut plain = Vec::new();
    let mut times = METHODS.map(|_| Vec::new());
    for _ in 0..options.rounds {
        plain.push(run(&off, program, args, None)?);
        for ((engine, (name, _)), times) in traced.iter().zip(METHODS).zip(&mut times) {
            times.push(run(engine, program, args, Some(&file(name)))?);
        }
    }
    METHODS
        .iter()
        .zip(&times)
        .map(|(&(name, _), times)| row(&file(name), options.chunks, times, &plain))
        .collect()
}

fn row(file: &Path, chunks: usize, times: &[Times], plain: &[Times]) -> Result<Row> {
    let figures = |times: &[Times], figure: fn(&Times) -> f64| times.iter().map(figure).collect::<Vec<_>>();
    let ratio = |figure| Spread::of_ratios(&figures(times, figure), &figures(plain, figure));
    let mut reader = TraceReader::open(BufReader::new(File::open(file)?))?;
    let clock = Instant::now();
    let stats = reader.stats_of_first(chunks)?;
    let speed = stats.blocks() as f64 / clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let packed = reader.pack_first(chunks, &mut std::io::sink())?;
    let pack_time = clock.elapsed().as_secs_f64();
    let (wall, cpu) = (ratio(|times| times.wall), ratio(|times| times.cpu));
    Ok(Row { wall, cpu, stats, speed, packed, pack_time })
}

fn engine(how: Option<Tracing>, addresses: bool) -> Result<Engine> {
    let mut config = Config::new();
    config.strategy(Strategy::Optimized);
    if let Some(how) = how {
        config.trace(how).trace_references(addresses);
    }
    Engine::new(&config).map_err(failure)
}

/// Runs a program to its end, and completes its trace.
fn run(engine: &Engine, program: &Program, args: &[String], trace: Option<&Path>) -> Result<Times> {
    let module = Module::from_file(engine, &program.file).map_err(failure)?;
    module.compile_all().map_err(failure)?;
    let mut builder = WasiCtxBuilder::new();
    let output = OutputPipe::new();
    builder.stdout_pipe(&output).stderr_pipe(&output).arg(&program.name).map_err(failure)?;
    builder.args(args).map_err(failure)?;
    for (host, guest) in &program.dirs {
        builder.preopened_dir(host, guest).map_err(failure)?;
    }
    let mut linker: Linker<WasiCtx> = Linker::new(engine);
    wasi::add_to_linker(&mut linker, |context| context).map_err(failure)?;
    let mut store = Store::new(engine, builder.build());
    if let Some(path) = trace {
        store.record_trace(&module, &program.name, File::create(path)?, u64::MAX).map_err(failure)?;
    }
    let instance = linker.instantiate(&mut store, &module).map_err(failure)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start").map_err(failure)?;
    let (clock, cpu) = (Instant::now(), cpu_time()?);
    let code = start.call(&mut store, ()).map_or_else(|error| error.i32_exit(), |()| Some(0));
    let wall = clock.elapsed();
    if trace.is_some() {
        store.finish_trace().map_err(failure)?;
    }
    anyhow::ensure!(code == Some(program.exit_code), "{} ended with {code:?}", program.name);
    Ok(Times { wall: wall.as_secs_f64(), cpu: (cpu_time()? - cpu).as_secs_f64() })
}

/// Returns the processor time of all threads of this process, including finished ones; the resolution is 10 ms.
fn cpu_time() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}
