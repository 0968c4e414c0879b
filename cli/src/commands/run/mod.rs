//! `wprof run`: runs a program in place of another runtime, and writes its profile.
//!
//! Invariant: the program's own input, output and exit code are unchanged; messages of wprof go to standard error,
//! after the program.

pub mod across;
mod args;
pub mod collect;
mod component;
mod core_profiles;
pub mod ending;
mod host;
mod interruption;
mod invoke;
mod live;
mod loaded;
mod network;
pub mod program;
pub mod rate;
mod renewal;
mod reoptimize;
mod stubs;
mod texts;
mod threads;
mod traced;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail, ensure};
use wprof::{Config, GcStatistics, Module, ProfilingConfig, ProfilingCost};
use wprof_profiler::{Ending, Profile, Run, TableShape};
use wprof_report::names;
use wprof_report::numbers::{count_of, duration, grouped};
use wprof_report::page::Page;
use wprof_report::text;
use wprof_report::{Program, View};

pub use args::{PassesArgs, ProgramArgs, RunArgs};
pub use collect::{COLLECT_HELP, Measurements, ProfileArgs};
pub use program::{Outcome, RunSettings};
pub use reoptimize::{ReoptimizeArgs, decisions};
pub use traced::{Recorded, TraceTarget};

use live::Live;
use loaded::Loaded;

use crate::commands::serve::Server;
use crate::screen::{ColorChoice, screen};
use crate::{modules, output};

pub fn execute(args: RunArgs, color: ColorChoice) -> Result<ExitCode> {
    execute_with(args, None, color)
}

/// Runs a component that answers requests.
pub fn serve(args: RunArgs, server: Server, color: ColorChoice) -> Result<ExitCode> {
    ensure!(
        args.program.invoke.is_empty(),
        "a server is not called by the name of a function: leave out --invoke"
    );
    execute_with(args, Some(server), color)
}

fn execute_with(args: RunArgs, server: Option<Server>, color: ColorChoice) -> Result<ExitCode> {
    let mut counted = args.profile.counted(args.budget.as_ref(), args.until.as_ref())?;
    if !args.quiet {
        args.program.tell_misplaced::<RunArgs>();
    }
    if let Some(path) = &args.output {
        check_output(path, &counted)?;
    }
    let mut loaded = Loaded::new(&args, &mut counted, server.is_some())?;
    let bursts = args.bursts.clone().map(burst_file);
    bursts.iter().try_for_each(|target| target.create().map(drop))?;
    let live = live(&args, &counted)?;
    let modules = loaded.modules();
    // Compiling ahead takes of the program's time, as compiling does at the first call.
    let deadline = args.program.deadline();
    if args.eager {
        modules.iter().try_for_each(|module| modules::compile(module, args.program.module(), deadline))?;
    }
    let spare = args.output.as_ref().map(|_| spare_descriptors()).transpose()?;
    let kept = RunSettings {
        component: loaded.component.take(),
        server,
        bursts,
        live,
        deadline,
        has_profile: wants_profile(&args),
        has_core_dump: args.coredump.is_some(),
        is_quiet: args.quiet,
        ..RunSettings::profile(&counted)
    };
    let mut outcome = program::run(&args.program, &loaded.ran, kept)?;
    ending::report(&outcome, &counted);
    let mut profile = outcome.profile.take();
    if let Some(profile) = &mut profile {
        loaded.restore(profile)?;
        complete(profile, &args.program, &outcome);
    }
    if !args.quiet {
        let mut page = Page::new(screen(io::stderr(), color));
        summarize(&mut page, &args, (&loaded.code, &modules), &outcome, profile.as_ref());
        if let Some(requests) = &outcome.requests {
            requests.write(&mut page);
        }
        output::tell(format_args!("{}", page.into_text()));
        modules::tell_missing_debug_info(profile.as_ref().map(|_| &loaded.code));
    }
    drop(spare);
    write_profile(&args, profile.as_ref())?;
    write_other_files(&args, &mut outcome)?;
    update_code_cache(&args, &modules);
    loaded.forget(modules);
    Ok(ending::exit_code(&outcome))
}

/// Writes the profile if a file was named.
fn write_profile(args: &RunArgs, profile: Option<&Profile>) -> Result<()> {
    let Some(path) = &args.output else { return Ok(()) };
    let Some(profile) = profile else {
        output::tell_line(format_args!(
            "wprof: the program ended before there was a profile to write to {}",
            path.display()
        ));
        return Ok(());
    };
    super::write_profile(profile, path)
}

/// Writes the core dump and ends the file of bursts. The profile is written already: an error here does not lose it.
fn write_other_files(args: &RunArgs, outcome: &mut Outcome) -> Result<()> {
    if let (Some(path), Some(dump)) = (&args.coredump, outcome.core_dump.take()) {
        let cannot = || format!("cannot write the core dump to {}", path.display());
        fs::write(path, dump).with_context(cannot)?;
    }
    if let (Some(path), Some(written)) = (&args.bursts, outcome.burst_log.take()) {
        let cannot = || format!("cannot write bursts to {}", path.display());
        let summary = written.map_err(|error| anyhow!("{error}")).with_context(cannot)?;
        if summary.limit_reached {
            eprintln!("wprof: {} reached its size limit and holds only the first bursts", path.display());
        }
    }
    Ok(())
}

/// Stores machine code for other runs.
fn update_code_cache(args: &RunArgs, modules: &[Module]) {
    for module in modules {
        if let Err(error) = module.update_code_cache()
            && args.verbose
        {
            output::tell_line(format_args!("wprof: {error}"));
        }
    }
}

/// Opens descriptors that the program cannot use up, so that its profile can be written whatever it leaves open.
fn spare_descriptors() -> Result<[File; 2]> {
    let open = || File::open("/dev/null").context("no descriptor for the profile");
    Ok([open()?, open()?])
}

/// The maximum size of a file of bursts.
const MAX_BURST_FILE: u64 = 4 << 30;

fn is_sampled(counted: &Measurements) -> bool {
    matches!(counted.profiling, ProfilingConfig::Adaptive(_))
}

/// Returns the file for bursts.
fn burst_file(path: PathBuf) -> TraceTarget {
    TraceTarget { what: Recorded::Bursts, path, max_size: MAX_BURST_FILE }
}

/// Checks before a long run that its profile can be written after it.
fn check_output(path: &Path, counted: &Measurements) -> Result<()> {
    ensure!(
        counted.is_on(),
        "there is no profile to write to {}: leave out -o or --profile off",
        path.display()
    );
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    ensure!(
        !path.is_dir() && folder.is_none_or(Path::is_dir),
        "cannot write a profile to {}: give a file in a folder that exists",
        path.display()
    );
    Ok(())
}

/// Reports whether the profile is shown or written at the end.
fn wants_profile(args: &RunArgs) -> bool {
    !args.quiet || args.output.is_some()
}

/// Checks that what bursts see is asked for only where there are bursts.
fn check_bursts(args: &RunArgs, counted: &Measurements) -> Result<()> {
    let asked = [
        (args.bursts.is_some(), "--bursts"),
        (args.extend.is_some(), "--extend"),
        (args.path_table.is_some(), "--path-table"),
    ];
    match asked.iter().find(|(is_asked, _)| *is_asked && !is_sampled(counted)) {
        Some((_, option)) => {
            bail!("{option} needs sampling: leave out --exact, --profile and --collect")
        }
        None => Ok(()),
    }
}

fn config(args: &RunArgs, counted: &Measurements) -> Result<Config> {
    check_bursts(args, counted)?;
    let mut config = if args.conservative { Config::conservative() } else { Config::new() };
    counted.configure(args.program.configure(&mut config));
    config.record_bursts(args.bursts.is_some()).trace_references(args.addresses);
    config.extend_paths(args.extend).path_table(args.path_table.unwrap_or(TableShape::USUAL));
    config.hash_ahead(wants_profile(args));
    config.sample_time(rate::choose(args.rate, counted)?);
    if let Some(folder) = Config::default_code_cache().filter(|_| keeps_code(args, counted)) {
        config.code_cache(folder);
    }
    if let Some(form) = args.perf {
        config.perf(form.into());
    }
    if !args.conservative {
        config.passes(args.passes.set());
        args.reoptimize.configure(counted, &mut config)?;
    }
    Ok(config)
}

/// Reports whether machine code is kept in the code cache for other runs.
fn keeps_code(args: &RunArgs, counted: &Measurements) -> bool {
    !args.no_code_cache && !args.conservative && !counted.deterministic
}

/// Adds the facts about the run to a profile that the engine does not know.
pub fn complete(profile: &mut Profile, args: &ProgramArgs, outcome: &Outcome) {
    profile.program = args.module().display().to_string();
    profile.runs = vec![described(run_of(args), outcome.started, outcome.wall, outcome.ending.clone())];
}

/// Returns the facts about a run that are known before it starts.
fn run_of(args: &ProgramArgs) -> Run {
    Run {
        tool: concat!("wprof ", env!("CARGO_PKG_VERSION")).to_owned(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        args: args.program_args(),
        ..Run::default()
    }
}

/// Adds the facts about a run that are known after it.
fn described(run: Run, started: SystemTime, wall: Duration, ending: Ending) -> Run {
    let started = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Run { started, ending, wall_ns: Some(nanoseconds(wall)), ..run }
}

/// Returns the settings of `--live`.
fn live(args: &RunArgs, counted: &Measurements) -> Result<Option<Live>> {
    let (Some(every), Some(path)) = (args.live, &args.output) else { return Ok(None) };
    ensure!(
        is_sampled(counted),
        "--live needs sampling: leave out --live, or --exact, --profile and --collect"
    );
    let program = args.program.module().display().to_string();
    Ok(Some(Live { path: path.clone(), every, run: run_of(&args.program), program }))
}

/// Describes how much processor time profiling took.
fn spent(cost: &ProfilingCost) -> String {
    let ProfilingCost { bursts, burst_code, ways_back, reading, reoptimization, .. } = *cost;
    let share = 100.0 * cost.sum().as_secs_f64() / cost.of.as_secs_f64().max(f64::MIN_POSITIVE);
    let [all, of, bursts, burst_code, ways_back, reading, reoptimization] =
        [cost.sum(), cost.of, bursts, burst_code, ways_back, reading, reoptimization]
            .map(|time| duration(nanoseconds(time)));
    format!(
        "profiling took {all} of {of} of processor time ({share:.1}%): {bursts} in bursts, {burst_code} to compile code for \
         them, {ways_back} to compile what follows them, {reading} to read the samples, {reoptimization} to reoptimize"
    )
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Describes the work of the garbage collector, and its share of the run.
fn collected(statistics: &GcStatistics, wall: Duration) -> String {
    let (objects, bytes) = (count_of(statistics.objects, "object"), count_of(statistics.bytes, "byte"));
    if statistics.collections == 0 {
        return format!("{objects} of {bytes} allocated, and never collected");
    }
    let share = 100.0 * statistics.paused.as_secs_f64() / wall.as_secs_f64().max(f64::MIN_POSITIVE);
    let [paused, longest] =
        [statistics.paused, statistics.longest_pause].map(|time| duration(nanoseconds(time)));
    format!(
        "{objects} of {bytes} allocated; {} of {paused} in all ({share:.1}%), {longest} at most",
        count_of(statistics.collections, "collection")
    )
}

/// Summarizes the program and its run: `code` has its names, and `ran` are the modules that ran.
fn summarize(
    page: &mut Page,
    args: &RunArgs,
    (code, ran): (&Program, &[Module]),
    outcome: &Outcome,
    profile: Option<&Profile>,
) {
    let name = args.program.module().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wall = duration(nanoseconds(outcome.wall));
    let ending = match (&args.until, &outcome.stop) {
        (Some(until), Some(_)) => format!("stopped at {until}"),
        _ => text::ending(&outcome.ending),
    };
    let title = format!("{} {ending} after {wall}", names::harmless(&name));
    match profile {
        Some(profile) => {
            let ownership = args.ownership.resolve(Some(code));
            let view = View::new(profile, Some(code)).owned(&ownership).at(args.program.module());
            text::summary(page, &view, &title);
        }
        // A user who turned the profile off wants the program's output only.
        None if args.verbose || outcome.was_counted => text::title(page, &title),
        None => {}
    }
    if args.verbose {
        let sum = |of: fn(&Module) -> (usize, usize)| {
            ran.iter().map(of).fold((0, 0), |(a, b), (more_a, more_b)| (a + more_a, b + more_b))
        };
        let (functions, bytes) = sum(Module::compiled);
        let (functions, bytes) = (count_of(functions as u64, "function"), count_of(bytes as u64, "byte"));
        text::detail(page, &format!("{functions} compiled to {bytes}"));
        if let Some(bursts) = &outcome.bursts {
            let (begun, lost) = (count_of(bursts.begun, "burst"), grouped(bursts.lost));
            text::detail(
                page,
                &format!("{begun}; {lost} more were skipped, as their code was not compiled yet"),
            );
        }
        if let Some(statistics) = outcome.collected.as_ref().filter(|statistics| statistics.objects > 0) {
            text::detail(page, &collected(statistics, outcome.wall));
        }
        if let Some(cost) = ran.first().and_then(|module| module.engine().profiling_cost()) {
            text::detail(page, &spent(&cost));
        }
        ran.iter().flat_map(decisions).for_each(|line| text::detail(page, &line));
        let (used, unused) = sum(Module::compiled_ahead);
        if used + unused > 0 {
            let (used, unused) = (grouped(used as u64), grouped(unused as u64));
            text::detail(
                page,
                &format!(
                    "{used} functions and parts were compiled ahead of their first call, {unused} more were never called"
                ),
            );
        }
    }
}
