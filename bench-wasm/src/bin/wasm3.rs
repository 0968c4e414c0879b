//! `wasm3`: what exceptions, atomic instructions and garbage collection cost, beside Wasmtime.
//!
//! Each program in `wasm3` repeats one thing; figures are the time from `_start` to its end by round. `wprof-run` and `peer`
//! run them, as they run the programs of `compare`, one after the other in each round of measurements.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use wprof::{Config, GcStatistics, Instance, Module, Store};
use wprof_bench::programs::Program;
use wprof_bench::runner::{BURSTS, Engine, beside_this_program};
use wprof_bench::stats::Spread;
use wprof_bench::table::Table;

/// Measures the features of WebAssembly 3.0 beside Wasmtime.
#[derive(Parser)]
struct Options {
    /// Rounds; each runs every engine once.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only programs whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// A hundredth of the work: a check of the bench, not a measurement.
    #[arg(long)]
    quick: bool,
    /// Without Wasmtime.
    #[arg(long)]
    alone: bool,
}

/// A program in `wasm3`.
struct Kernel {
    name: &'static str,
    text: &'static str,
    /// The work of a round.
    what: &'static str,
    rounds: u32,
}

macro_rules! kernel {
    ($name:literal, $what:literal, $rounds:literal) => {
        Kernel {
            name: $name,
            text: include_str!(concat!("../../wasm3/", $name, ".wat")),
            what: $what,
            rounds: $rounds,
        }
    };
}

const KERNELS: [Kernel; 7] = [
    kernel!("throw", "a throw through ten frames", 300_000),
    kernel!("call", "a call", 400_000_000),
    kernel!("try", "a call in a `try_table`", 400_000_000),
    kernel!("atomics", "two atomic instructions", 60_000_000),
    kernel!("trees", "a tree of 1,023 objects", 50_000),
    kernel!("live", "an object in a map of 2^20 lists", 40_000_000),
    kernel!("shapes", "an object and a call by reference", 100_000_000),
];

/// The programs whose objects are collected.
const COLLECTED: [&str; 3] = ["trees", "live", "shapes"];

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let scratch = std::env::temp_dir().join(format!("wprof-wasm3-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let done = measure(&options, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    done.map(|()| ExitCode::SUCCESS)
}

fn measure(options: &Options, scratch: &Path) -> Result<()> {
    let programs = KERNELS
        .iter()
        .filter(|kernel| kernel.name.contains(&options.only))
        .map(|kernel| Ok((kernel, kernel.write(options, scratch)?)))
        .collect::<Result<Vec<_>>>()?;
    let engines = engines(options)?;
    let mut table = Table::new(["one round is"].into_iter().chain(engines.iter().map(|engine| engine.name)));
    for (kernel, program) in &programs {
        let cells = cells(options, kernel, program, &engines)?;
        table.row(kernel.name, std::iter::once(kernel.what.to_string()).chain(cells));
    }
    println!("Nanoseconds a round, median of {} (least to greatest):\n", options.rounds);
    println!("{}", table.markdown());
    let collected = programs.iter().filter(|(kernel, _)| COLLECTED.contains(&kernel.name));
    let mut table =
        Table::new(["objects", "bytes", "collections", "longest pause", "share of time", "alive"]);
    for (kernel, program) in collected {
        table.row(kernel.name, pauses(program)?);
    }
    println!("Collections in the same programs, plain code:\n\n{}", table.markdown());
    Ok(())
}

fn engines(options: &Options) -> Result<Vec<Engine>> {
    let own = beside_this_program("wprof-run")?;
    let mut engines = Vec::new();
    if !options.alone {
        engines.push(Engine::new("Wasmtime", &beside_this_program("peer")?, &["--wasm3"]));
    }
    engines.push(Engine::new("wprof", &own, &[]));
    engines.push(Engine::new("adaptive", &own, &["--burst", BURSTS]));
    Ok(engines)
}

impl Kernel {
    fn rounds(&self, options: &Options) -> u32 {
        if options.quick { self.rounds / 100 } else { self.rounds }
    }

    /// Writes the program as a module.
    fn write(&self, options: &Options, scratch: &Path) -> Result<Program> {
        let text = self.text.replace("ROUNDS", &self.rounds(options).to_string());
        let file = scratch.join(self.name).with_extension("wasm");
        std::fs::write(&file, wat::parse_str(text).with_context(|| self.name)?)?;
        let (name, args) = (self.name.to_string(), Vec::new());
        let (quick_args, long_args, dirs) = (args.clone(), args.clone(), Vec::<(PathBuf, String)>::new());
        Ok(Program { name, file, args, quick_args, long_args, dirs, exit_code: 0 })
    }
}

/// Returns the time of a round in each engine.
fn cells(options: &Options, kernel: &Kernel, program: &Program, engines: &[Engine]) -> Result<Vec<String>> {
    let mut times = vec![Vec::new(); engines.len()];
    for _ in 0..options.rounds {
        for (engine, times) in engines.iter().zip(&mut times) {
            let measured = engine.run(program, &program.file, &[])?;
            times.push(measured.run * 1e6 / f64::from(kernel.rounds(options)));
        }
    }
    let shown = |times: &Vec<f64>| {
        let Spread { min, median, max } = Spread::new(times);
        format!("{median:.2} ({min:.2} to {max:.2})")
    };
    Ok(times.iter().map(shown).collect())
}

/// Runs a program in this process; returns its time and what its collections did.
fn run(program: &Program) -> wprof::Result<(Duration, Option<GcStatistics>)> {
    let engine = wprof::Engine::new(&Config::new())?;
    let module = Module::new(&engine, std::fs::read(&program.file)?)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
    let began = Instant::now();
    start.call(&mut store, ())?;
    Ok((began.elapsed(), store.gc_statistics().cloned()))
}

/// Returns the cells of a program in the table of collections.
fn pauses(program: &Program) -> Result<Vec<String>> {
    let (whole, statistics) = run(program).map_err(|error| anyhow!("{}: {error}", program.name))?;
    let GcStatistics { objects, bytes, collections, paused, longest_pause, live, .. } =
        statistics.context("the program has no objects")?;
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let share = 100.0 * paused.as_secs_f64() / whole.as_secs_f64();
    let mebibytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    Ok(vec![
        objects.to_string(),
        mebibytes(bytes),
        collections.to_string(),
        milliseconds(longest_pause),
        format!("{share:.1}%"),
        mebibytes(live),
    ])
}
