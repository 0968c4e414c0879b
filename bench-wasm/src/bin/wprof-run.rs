//! `wprof-run`: runs a WASI program in wprof as a library, and prints the time of each phase, as `peer` does for Wasmtime.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Parser, ValueEnum};
use wprof::profiler::{self, BurstLengths, Overhead};
use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::{
    Adaptive, Checks, Collect, Config, Counting, Engine, Error, EventModel, Interesting, Linker, Metric,
    Module, PassSet, Policy, ProfilingConfig, Result, Store, Strategy, Trigger,
};
use wprof_bench::regress::figures;
use wprof_bench::runner::{print_times, thread_time};

#[derive(Parser)]
#[command(about = "Runs a WASI program in wprof, for comparison with other engines")]
enum Command {
    /// Run a program; its output and exit code are passed on, 134 stands for a trap.
    Run(Run),
}

#[derive(Args)]
struct Run {
    /// The counts.
    #[arg(long, value_enum, default_value_t = Profile::Off)]
    profile: Profile,
    /// Take the paths of an earlier run, which is not measured, for interesting: they are counted without a table.
    #[arg(long)]
    interesting: bool,
    /// Count all paths except the interesting ones.
    #[arg(long, conflicts_with = "interesting")]
    residual: bool,
    /// A profile of the earlier run, which then is not made anew.
    #[arg(long, value_name = "PROFILE")]
    earlier: Option<PathBuf>,
    /// Place counters by an earlier run, which is not measured, instead of by the static heuristic.
    #[arg(long, value_enum)]
    weights: Option<Weights>,
    /// Count paths in bursts: N checks between bursts, M checks in each.
    #[arg(long, value_name = "N:M")]
    burst: Option<BurstLengths>,
    /// Begin a burst every so many microseconds instead of after a number of checks.
    #[arg(long, value_name = "MICROSECONDS", requires = "burst")]
    every: Option<u64>,
    /// Begin bursts so seldom that the program takes no more than this longer for them.
    #[arg(long, value_name = "PERCENT", requires = "burst")]
    overhead: Option<Overhead>,
    /// The places where bursts can begin and end.
    #[arg(long, value_name = "NAME", default_value = "default")]
    checks: Checks,
    /// Leave out parts of what makes hot functions better: superblocks, inlining, guesses, or all.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    without: Vec<String>,
    /// Plain Cranelift's code only, compiled when it is first called.
    #[arg(long, conflicts_with_all = ["passes", "without", "profile_use"])]
    conservative: bool,
    /// Passes of the compiler that are on, as `wprof run` has them.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    passes: Option<PassSet>,
    /// Make hot functions better from the start, by the profile of an earlier run.
    #[arg(long, value_name = "PROFILE")]
    profile_use: Option<PathBuf>,
    /// Count calls by calling context.
    #[arg(long)]
    contexts: bool,
    /// Count paths in each calling context of their own.
    #[arg(long, requires = "contexts")]
    flow: bool,
    /// Measure cycles, along paths or in contexts.
    #[arg(long)]
    cycles: bool,
    /// Built-in kinds of events to count, with commas between them; their totals go to standard error.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    events: Vec<String>,
    /// Let each block count its own events.
    #[arg(long)]
    per_block: bool,
    /// Keep a budget of the first kind of events.
    #[arg(long)]
    budget: bool,
    /// Compile all functions while loading, so that the run is the program's alone.
    #[arg(long)]
    eager: bool,
    /// Optimise functions after so many entries and rounds of loops.
    #[arg(long, value_name = "COUNT")]
    promote_after: Option<u32>,
    /// Let functions lie elsewhere for each number: how fast they are depends on that, so compare means over several.
    #[arg(long, value_name = "SEED")]
    padding: Option<u32>,
    /// Baseline code only: nothing is ever optimised.
    #[arg(long, conflicts_with_all = ["eager", "conservative"])]
    baseline: bool,
    /// The program waits for the compiler, so that the same input goes through the same versions.
    #[arg(long)]
    deterministic: bool,
    /// Print what was compiled, why, and when, to standard error: see `regress`.
    #[arg(long, requires = "burst")]
    figures: bool,
    /// Keep machine code in the user's code cache from one run to the next.
    #[arg(long)]
    cache: bool,
    /// A folder that the program may use, and the name that it sees: HOST[::GUEST].
    #[arg(long = "dir", value_name = "HOST[::GUEST]")]
    dirs: Vec<String>,
    /// A variable of the program's environment.
    #[arg(long = "env", value_name = "KEY=VALUE")]
    env: Vec<String>,
    /// Print the time of each phase to standard error.
    #[arg(long)]
    times: bool,
    /// The module and its arguments; all that follows the module is the program's own.
    #[arg(value_name = "FILE [ARGS]", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Profile {
    /// Nothing.
    Off,
    /// Edges, by counters on chords.
    Exact,
    /// A counter at every block.
    Blocks,
    /// A counter on every edge.
    Edges,
    /// Paths.
    Paths,
    /// Blocks, by counters on the fewest edges.
    Vertex,
    /// Blocks, by counters in the fewest blocks.
    KnuthStevenson,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Weights {
    /// The number of times the run takes each edge.
    Exact,
    /// As if edges that it takes often were taken seldom, and the other way round: the worst place for each counter.
    Worst,
}

impl Profile {
    fn config(self) -> ProfilingConfig {
        match self {
            Profile::Off => ProfilingConfig::Off,
            Profile::Exact => ProfilingConfig::Exact(Collect::Edges),
            Profile::Blocks => ProfilingConfig::Exact(Collect::AllBlocks),
            Profile::Edges => ProfilingConfig::Exact(Collect::AllEdges),
            Profile::Paths => ProfilingConfig::Exact(Collect::Paths),
            Profile::Vertex => ProfilingConfig::Exact(Collect::Blocks),
            Profile::KnuthStevenson => ProfilingConfig::Exact(Collect::BlockCounters),
        }
    }
}

fn main() -> Result<ExitCode> {
    let Command::Run(options) = Command::parse();
    // Deep recursion needs more stack than the main thread has, whose stack is limited by the system.
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || run(&options))?
        .join()
        .expect("runs do not panic")
}

fn run(options: &Run) -> Result<ExitCode> {
    let (interesting, weights) = (interesting(options)?, weights(options)?);
    let begin = Instant::now();
    let mut config = if options.conservative { Config::conservative() } else { Config::new() };
    if let Some(passes) = &options.passes {
        config.passes(passes.clone());
    }
    if let Some(interesting) = interesting {
        config.interesting_paths(interesting);
    }
    if let Some(weights) = weights {
        config.weights(Arc::new(weights));
    }
    if let Some(file) = &options.profile_use {
        config.profile_use(Arc::new(profiler::Profile::read(file).map_err(Error::msg)?));
    }
    let adaptive = |lengths| {
        let trigger = options.every.map_or(Trigger::Checks, |us| Trigger::Time(Duration::from_micros(us)));
        ProfilingConfig::Adaptive(Adaptive {
            lengths,
            checks: options.checks,
            trigger,
            budget: options.overhead,
            optimized: None,
        })
    };
    let profiling = options.burst.map_or_else(|| options.profile.config(), adaptive);
    config.profiling(profiling).count_contexts(options.contexts).flow_contexts(options.flow);
    // Nobody reads the profile.
    config.hash_ahead(false);
    config.measure(options.cycles.then_some(Metric::Cycles));
    if !options.conservative {
        config.reoptimization(policy(&options.without));
    }
    config.count_events(options.events.iter().filter_map(|name| EventModel::built_in(name)));
    if options.per_block {
        config.event_counting(Counting::PerBlock);
    }
    if let Some(kind) = options.events.first().filter(|_| options.budget) {
        config.budget(kind);
    }
    if let Some(count) = options.promote_after {
        config.promote_after(count);
    }
    if options.baseline {
        config.strategy(Strategy::Baseline);
    }
    config.time_line(options.figures);
    if options.deterministic {
        config.background_compilation(false);
    }
    if let Some(seed) = options.padding {
        config.padding(seed);
    }
    if let Some(folder) = Config::default_code_cache().filter(|_| options.cache) {
        config.code_cache(folder);
    }
    let engine = Engine::new(&config)?;
    let module = Module::from_file(&engine, &options.command[0])?;
    if options.eager {
        module.compile_all()?;
    }
    let load = begin.elapsed();

    let begin = Instant::now();
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |context| context)?;
    let mut builder = WasiCtxBuilder::new();
    builder.inherit_stdio();
    let mut store = Store::new(&engine, context(options, builder)?);
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
    let instantiate = begin.elapsed();

    let (begin, before) = (Instant::now(), thread_time());
    let outcome = start.call(&mut store, ());
    let (run, thread) = (begin.elapsed(), thread_time() - before);
    if options.figures {
        figures::of_run(&instance.profile(&store)?).iter().for_each(|figure| eprintln!("{figure}"));
    }
    if options.times {
        print_times(load, instantiate, run, thread);
    } else {
        store.event_counts()?.iter().for_each(|(kind, count)| eprintln!("{kind} {count}"));
    }
    module.update_code_cache()?;
    Ok(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.i32_exit() {
            Some(code) => ExitCode::from(code as u8),
            None => {
                eprintln!("{error}");
                ExitCode::from(134)
            }
        },
    })
}

/// Returns the reoptimizer's policy, if hot functions are reoptimized.
fn policy(without: &[String]) -> Option<Policy> {
    let has = |what: &str| without.iter().all(|left_out| left_out != what);
    let policy = Policy {
        superblocks: has("superblocks"),
        inlining: has("inlining"),
        guesses: has("guesses"),
        ..Policy::default()
    };
    has("all").then_some(policy)
}

/// Returns the paths of an earlier, unmeasured run, if they are requested.
fn interesting(options: &Run) -> Result<Option<Interesting>> {
    if !options.interesting && !options.residual {
        return Ok(None);
    }
    let profile = Arc::new(earlier(options, Collect::Paths)?);
    Ok(Some(if options.residual { Interesting::uncounted(profile) } else { Interesting::new(profile) }))
}

/// Returns the weights for the placement of counters, unless the static heuristic is used.
fn weights(options: &Run) -> Result<Option<profiler::Profile>> {
    let Some(weights) = options.weights else { return Ok(None) };
    let mut profile = earlier(options, Collect::Edges)?;
    if weights == Weights::Worst {
        profile.functions.iter_mut().for_each(turn_round);
    }
    Ok(Some(profile))
}

/// Exchanges the edge counts of a function, so that hot edges become cold and cold edges hot. This turns the minimum
/// spanning tree into the maximum one.
fn turn_round(function: &mut profiler::FunctionProfile) {
    let Some(counts) = function.counts.edges_mut() else { return };
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter_mut().for_each(|count| *count = most - *count);
}

/// Returns the profile of an earlier, unmeasured run.
fn earlier(options: &Run, collect: Collect) -> Result<profiler::Profile> {
    if let Some(file) = &options.earlier {
        return profiler::Profile::read(file).map_err(Error::msg);
    }
    let engine = Engine::with_profiling(ProfilingConfig::Exact(collect))?;
    let module = Module::from_file(&engine, &options.command[0])?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |context| context)?;
    let mut store = Store::new(&engine, context(options, WasiCtxBuilder::new())?);
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
    // The profile is valid however the run ends.
    let _ = start.call(&mut store, ());
    instance.profile(&store)
}

fn context(options: &Run, mut builder: WasiCtxBuilder) -> Result<WasiCtx> {
    let name = PathBuf::from(&options.command[0]);
    builder.arg(&name.file_name().unwrap_or_default().to_string_lossy())?;
    builder.args(&options.command[1..])?;
    for variable in &options.env {
        let (key, value) = variable.split_once('=').unwrap_or((variable, ""));
        builder.env(key, value)?;
    }
    for dir in &options.dirs {
        let (host, guest) = dir.split_once("::").unwrap_or((dir, dir));
        builder.preopened_dir(host, guest)?;
    }
    Ok(builder.build())
}
