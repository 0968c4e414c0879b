//! `wprof trace record`: runs a program and records its trace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::component::Component;
use wprof::{Config, Engine, Module, Tracing};
use wprof_profiler::TraceMethod;
use wprof_report::numbers::count_of;

use super::super::run::{
    Measurements, ProgramArgs, Recorded, RunSettings, TraceTarget, collect, ending, program,
};
use crate::help;
use crate::modules::Program;
use crate::{modules, output, sizes};

/// How branches are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// For each function, witnesses or bits: the one expected to be shorter
    #[default]
    Best,
    /// As few edges as possible write bits (Ball & Larus 1994)
    Witness,
    /// Each branch writes the way it went, with fewer bits for likely ways
    Bits,
    /// Each block writes its successor as 32 bits; for comparison
    Branches,
}

impl From<Method> for Tracing {
    fn from(method: Method) -> Self {
        match method {
            Method::Best => Tracing::Best,
            Method::Witness => Tracing::Only(TraceMethod::Witnesses),
            Method::Bits => Tracing::Only(TraceMethod::BitTracing),
            Method::Branches => Tracing::Only(TraceMethod::EveryBranch),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof trace record json.wasm 20 2
  wprof trace replay json.wtrace | less     what ran, block by block
  wprof trace stats json.wtrace             what the trace costs";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The trace holds the run from its first block to its last, also after a trap, an exit or Ctrl-C. Only \
what cannot be derived is written: about one bit for each branch, compressed. If the file reaches its \
maximum size, the program goes on and the trace has the beginning of the run. Each thread that the program \
starts has a trace of its own, in a file beside that of the main thread: json.thread1.wtrace.

Exit codes are those of `wprof run`.

{EXAMPLES}

More examples:
  wprof trace record -o t.wtrace --max-size 100M --dir . tool.wasm in.txt
  wprof trace record --invoke fib fib.wat 30
  wprof trace record --addresses json.wasm 20 2
  wprof trace record --weights f.wprof interp.wasm    fewer bits for what ran before"))]
pub struct RecordArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Write the trace to this file [default: the module's name with `.wtrace`, in this folder]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Record the addresses of loads and stores too
    #[arg(long, help_heading = help::OUTPUT)]
    addresses: bool,
    /// Print no summary, and no hints
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
    /// Choose how to record branches
    #[arg(long, value_enum, value_name = "METHOD", default_value_t)]
    #[arg(help_heading = help::OUTPUT, hide_short_help = true)]
    method: Method,
    /// Give the fewest bits to the ways that branches took most often in this earlier profile of the module
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::OUTPUT, hide_short_help = true)]
    weights: Option<PathBuf>,
    /// Limit the size of the file
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "4G")]
    #[arg(help_heading = help::LIMITS)]
    max_size: u64,
}

pub fn execute(args: &RecordArgs) -> Result<ExitCode> {
    if !args.quiet {
        args.program.tell_misplaced::<RecordArgs>();
    }
    let engine = Engine::new(&config(args)?).map_err(modules::failure)?;
    let (module, component) = open(&engine, args.program.module())?;
    let path = args.output.clone().unwrap_or_else(|| {
        PathBuf::from(args.program.module().file_name().unwrap_or_default()).with_extension("wtrace")
    });
    let cannot = || format!("cannot write a trace to {}", path.display());
    let trace = TraceTarget { what: Recorded::Trace, path: path.clone(), max_size: args.max_size };
    trace.create()?;
    let counted = Measurements::default();
    let kept = RunSettings { component, ..RunSettings::trace(&counted, trace) };
    let outcome = program::run(&args.program, &module, kept)?;
    ending::report(&outcome, &counted);
    let summary = outcome.trace.as_ref().expect("one was asked for").as_ref();
    let summary = summary.map_err(|error| anyhow!("{error}")).with_context(cannot)?;
    if summary.limit_reached || outcome.of_threads.iter().any(|thread| thread.summary.limit_reached) {
        output::tell_line(format_args!(
            "wprof: the trace reached its size limit and holds only the beginning of the run: raise --max-size to keep more"
        ));
    }
    if !args.quiet {
        output::tell_line(format_args!("wprof: {} in {}", count_of(summary.bytes, "byte"), path.display()));
        for thread in &outcome.of_threads {
            let bytes = count_of(thread.summary.bytes, "byte");
            output::tell_line(format_args!("wprof: {bytes} in {}", thread.path.display()));
        }
    }
    if let Err(error) = module.update_code_cache() {
        output::tell_line(format_args!("wprof: {error}"));
    }
    Ok(ending::exit_code(&outcome))
}

/// Opens the program: a module, or the only core module of a component.
///
/// # Errors
/// Returns an error if the program cannot be read or is invalid, or if a trace would not be all of it.
fn open(engine: &Engine, path: &Path) -> Result<(Module, Option<Component>)> {
    match modules::open(engine, path)? {
        Program::Module(module) => Ok((module, None)),
        Program::Component(component) => {
            let instances = component.core_instances();
            ensure!(
                instances <= 1,
                "{} consists of {instances} instances of core modules, and a trace is of one: `wprof run --exact \
                 --collect paths,cct` counts the paths of all of them",
                path.display()
            );
            Ok((modules::main_module(&component, path)?, Some(component)))
        }
    }
}

fn config(args: &RecordArgs) -> Result<Config> {
    let mut config = Config::new();
    config.trace(args.method.into()).trace_references(args.addresses);
    args.program.configure(&mut config);
    if let Some(path) = &args.weights {
        config.weights(collect::weights(path)?);
    }
    if let Some(folder) = Config::default_code_cache() {
        config.code_cache(folder);
    }
    Ok(config)
}
