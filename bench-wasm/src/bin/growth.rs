//! `growth`: compiles large functions of several shapes, each in a process of its own, and prints the time and memory that
//! this takes, as a table in Markdown. `growth --one` compiles one function and prints nothing but that: for valgrind.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use wprof::{Adaptive, Collect, Config, Engine, Module, ProfilingConfig, Strategy};
use wprof_bench::growth::{Shape, module};
use wprof_bench::runner::{peak_memory, thread_time};
use wprof_bench::session::failure;
use wprof_bench::table::Table;

/// Measures how compilation grows.
#[derive(Parser)]
struct Options {
    /// Only these shapes.
    #[arg(long, value_enum, value_delimiter = ',')]
    shape: Vec<Shape>,
    /// Only what collects this.
    #[arg(long, value_enum, value_delimiter = ',')]
    collect: Vec<Collected>,
    /// Only these tiers.
    #[arg(long, value_enum, value_delimiter = ',')]
    tier: Vec<Tier>,
    /// Lengths in KB of bytecode.
    #[arg(long, value_delimiter = ',', default_value = "100,400")]
    size: Vec<usize>,
    /// Compile the first of each only, in this process; print milliseconds, KB of memory and KB of code.
    #[arg(long)]
    one: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tier {
    Baseline,
    Optimized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Collected {
    Nothing,
    Samples,
    Edges,
    Blocks,
    Paths,
    Contexts,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let (shapes, collected, tiers) = (all(&options.shape), all(&options.collect), all(&options.tier));
    if options.one {
        return compile(shapes[0], options.size[0], tiers[0], collected[0]);
    }
    let heads = options.size.iter().flat_map(|size| [format!("{size} KB: ms"), "MB".into(), "code".into()]);
    let mut table = Table::new(heads);
    for shape in shapes {
        for &tier in &tiers {
            for &what in &collected {
                let names = [name(shape), name(tier), name(what)];
                let cells = options.size.iter().map(|&size| measured(&names, size));
                table.row(&names.join(" "), cells.collect::<Result<Vec<_>>>()?.concat());
            }
        }
    }
    print!("{}", table.markdown());
    Ok(())
}

/// Returns all values if none is chosen.
fn all<T: ValueEnum>(chosen: &[T]) -> Vec<T> {
    if chosen.is_empty() { T::value_variants().to_vec() } else { chosen.to_vec() }
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is left out").get_name().to_owned()
}

/// Compiles in a process of its own, whose peak memory is that of the compilation.
fn measured([shape, tier, collect]: &[String; 3], size: usize) -> Result<Vec<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--one",
        "--shape",
        shape,
        "--tier",
        tier,
        "--collect",
        collect,
        "--size",
        &size.to_string(),
    ]);
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [time, memory, code] = numbers[..] else { anyhow::bail!("three numbers, found {said}") };
    Ok(vec![format!("{time:.0}"), format!("{:.0}", memory / 1e3), format!("{:.1}", code / size as f64)])
}

fn compile(shape: Shape, size: usize, tier: Tier, collected: Collected) -> Result<()> {
    let wasm = module(shape, size * 1000);
    let mut config = Config::new();
    config.background_compilation(false).strategy(match tier {
        Tier::Baseline => Strategy::Baseline,
        Tier::Optimized => Strategy::Optimized,
    });
    match collected {
        Collected::Nothing => config.profiling(ProfilingConfig::Off),
        Collected::Samples => config.profiling(ProfilingConfig::Adaptive(Adaptive::default())),
        Collected::Edges => config.profiling(ProfilingConfig::Exact(Collect::Edges)),
        Collected::Blocks => config.profiling(ProfilingConfig::Exact(Collect::Blocks)),
        Collected::Paths => config.profiling(ProfilingConfig::Exact(Collect::Paths)),
        Collected::Contexts => config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true),
    };
    let engine = Engine::new(&config).map_err(failure)?;
    let module = Module::new(&engine, &wasm).map_err(failure)?;
    let (time, memory) = (thread_time(), peak_memory().context("no peak memory")?);
    module.compile_all().map_err(failure)?;
    let took = thread_time() - time;
    let peak = peak_memory().context("no peak memory")? - memory;
    println!("{} {:.0} {}", took.as_millis(), peak * 1049.0, module.compiled().1 / 1000);
    Ok(())
}
