//! The profile is exact: it equals the counts of self-counting modules.

use std::sync::Arc;

use wprof::{Collect, Config, Engine, Interesting, Metric, ProfilingConfig, Tracing};
use wprof_jit::module::parse;
use wprof_profiler::Profile;
use wprof_spec_tests::check::{Engines, Summary, every_second_path, same_counts};
use wprof_spec_tests::generate::throwing_case;
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::oracle::cache::small_cache;
use wprof_spec_tests::oracle::references::{Log, logging};
use wprof_spec_tests::oracle::{Compared, ComparedPaths, Detail, Oracle, What, compare, compare_paths};
use wprof_spec_tests::programs::{Ended, Program, own};
use wprof_spec_tests::sweep::{
    Check, DEEP_PATHS, DEEP_PREFERENTIAL, ORACLE, OVERFLOW, PATHS, PREFERENTIAL, REFERENCES, THROWING_COUNTS,
    THROWING_PATHS, THROWING_PREFERENTIAL, passed,
};
use wprof_spec_tests::volume::share;

#[test]
fn profiles_of_generated_modules_are_what_the_modules_count_of_themselves() {
    let summary = all(500, ORACLE);
    assert!(summary.compared.unfinished > 0 && summary.stopped < summary.calls, "some calls trap, not all");
}

#[test]
fn so_are_profiles_of_modules_that_use_up_the_stack() {
    let summary = all(50, OVERFLOW);
    assert!(summary.overflowed * 2 > summary.modules, "only {} overflow", summary.overflowed);
}

#[test]
fn data_references_of_generated_modules_are_what_the_modules_log_of_themselves() {
    let summary = all(200, REFERENCES);
    assert!(summary.references > share(5_000) && summary.stopped > 0, "{summary:?}");
}

#[test]
fn data_references_of_programs_are_what_the_programs_log_of_themselves() {
    let mut config = Config::new();
    let engine = Engine::new(config.trace(Tracing::Best).trace_references(true)).expect("an engine");
    let mut total = 0;
    for program in own().into_iter().filter(|program| program.name != OVERFLOWS) {
        let log = check_references(&program, &engine).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        total += log.loads[0] + log.stores[0];
    }
    assert!(total > 1_000_000, "{total}");
}

fn check_references(program: &Program, engine: &Engine) -> Result<Log, String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let logged = run(program, &Mode::Off.engine(), &logging(&wasm)?)?.counters();
    let trace = run(program, engine, &wasm)?.0.trace.ok_or("no trace")?;
    let (logged, traced) = (Log::counted(&logged).ok_or("no log")?, Log::traced(&trace)?);
    if logged == traced { Ok(traced) } else { Err(format!("{traced:?} in the trace, logged {logged:?}")) }
}

#[test]
fn paths_of_generated_modules_are_those_of_a_trace_of_the_same_run() {
    let summary = all(500, PATHS);
    assert!(summary.paths.unfinished > 0 && summary.paths.finished > summary.paths.paths, "loops and traps");
    assert!(summary.paths.misses > share(1_000), "{}", summary.paths.misses);
}

#[test]
fn so_are_paths_of_modules_that_use_up_the_stack() {
    assert!(all(50, DEEP_PATHS).paths.unfinished > share(10_000));
}

#[test]
fn interesting_paths_of_generated_modules_are_told_from_others() {
    let summary = all(200, PREFERENTIAL);
    assert!(summary.paths.unfinished > 0 && summary.paths.finished > summary.paths.paths, "loops and traps");
}

#[test]
fn so_are_those_of_modules_that_use_up_the_stack() {
    assert!(all(30, DEEP_PREFERENTIAL).paths.unfinished > share(10_000));
}

#[test]
fn so_it_is_with_modules_that_throw_and_allocate() {
    let counts = all(40, THROWING_COUNTS);
    assert!(counts.compared.unfinished > 0 && counts.stopped < counts.calls, "some calls throw, not all");
    let paths = all(80, THROWING_PATHS).paths;
    assert!(paths.unfinished > 0 && paths.finished > paths.paths, "loops and throws: {paths:?}");
    let paths = all(40, THROWING_PREFERENTIAL).paths;
    assert!(paths.unfinished > 0 && paths.finished > paths.paths, "loops and throws: {paths:?}");
}

/// In traced code the origin of an exception that goes on had the path of the edge to the last handler.
#[test]
fn a_frame_that_an_exception_passes_has_the_path_before_its_handlers() {
    for seed in [17_960_366_660_366, 17_960_366_661_214] {
        let found = Engines::default().paths(&throwing_case(seed));
        assert!(found.is_ok(), "{seed}: {:?}", found.err());
    }
}

#[test]
fn paths_of_programs_are_those_of_a_trace_of_the_same_run() {
    let mut compared = ComparedPaths::default();
    for program in own() {
        let paths = check_paths(&program).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        compared = compared.plus(paths);
    }
    println!("{compared:#?}");
    assert!(compared.paths > 1_000 && compared.finished > 100_000 && compared.unfinished > 0, "{compared:?}");
    assert!(compared.misses > 10_000, "{compared:?}");
}

fn check_paths(program: &Program) -> Result<ComparedPaths, String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    traced_paths(program, &wasm, None)
}

/// Code is tiered, so that frames take their paths from one version to another.
fn traced_paths(
    program: &Program,
    wasm: &[u8],
    interesting: Option<Interesting>,
) -> Result<ComparedPaths, String> {
    let mut config = Config::new();
    config
        .profiling(ProfilingConfig::Exact(Collect::Paths))
        .trace(Tracing::Best)
        .trace_references(true)
        .background_compilation(false);
    // Nothing is measured along interesting paths.
    match interesting {
        Some(interesting) => config.interesting_paths(interesting),
        None => config.measure([Metric::CacheMisses(small_cache())]),
    };
    let engine = Engine::new(&config).map_err(|e| e.to_string())?;
    let ended = run(program, &engine, wasm)?;
    let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
    let trace = ended.0.trace.as_ref().ok_or("no trace")?;
    compare_paths(&info, &ended.profile()?, trace)
}

#[test]
fn so_are_those_of_programs_with_interesting_paths() {
    let mut compared = ComparedPaths::default();
    for program in own() {
        let paths = check_interesting(&program).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        compared = compared.plus(paths);
    }
    assert!(compared.paths > 1_000 && compared.finished > 100_000 && compared.unfinished > 0, "{compared:?}");
}

/// Checks profiles in which every second path of an earlier run is interesting, in all functions.
fn check_interesting(program: &Program) -> Result<ComparedPaths, String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let profile = run(program, &profiling(Collect::Paths), &wasm)?.profile()?;
    let interesting = Interesting::new(Arc::new(every_second_path(&profile, 0)));
    traced_paths(program, &wasm, Some(Interesting { beyond: 0, ..interesting }))
}

fn all(seeds: u64, check: Check) -> Summary {
    passed(share(seeds), check, env!("CARGO_TARGET_TMPDIR"))
}

/// The depth at which the stack overflows depends on the code, so two runs cannot be compared.
const OVERFLOWS: &str = "crash-stack";

#[test]
fn profiles_of_programs_are_what_the_programs_count_of_themselves() {
    let mut compared = Compared::default();
    for program in own() {
        let both = check(&program).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        compared = compared.plus(both);
    }
    println!("{compared:#?}");
}

/// Checks a run that counts in both ways at once; a run of the original must agree with it, and so must the simple
/// ways of counting.
fn check(program: &Program) -> Result<Compared, String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let exact = Mode::Exact.engine();
    let oracle = Oracle::new(&wasm, Detail::Blocks)?;
    let counted = run(program, &Mode::Off.engine(), &oracle.wasm)?.counters();
    let mut itself = run(program, &exact, &oracle.wasm)?;
    let profile = run(program, &exact, &wasm)?.profile()?;
    profile.verify().map_err(|e| e.to_string())?;
    if program.name != OVERFLOWS {
        compare(&oracle, &counted, &profile)?;
        every_edge(program, &wasm, &profile)?;
        blocks(program, &wasm, &oracle, &counted)?;
    }
    compare(&oracle.of_itself()?, &itself.counters(), &itself.profile()?)
}

/// Checks that a counter on every edge gives the same counts.
fn every_edge(program: &Program, wasm: &[u8], profile: &Profile) -> Result<(), String> {
    let simple = run(program, &profiling(Collect::AllEdges), wasm)?.profile()?;
    same_counts(&simple, profile).map_err(|e| format!("a counter on every edge first: {e}"))
}

/// Checks that a counter in every block gives the same counts, and so do placements that count blocks with fewer
/// counters.
fn blocks(program: &Program, wasm: &[u8], oracle: &Oracle, counted: &[u64]) -> Result<(), String> {
    [Collect::AllBlocks, Collect::BlockCounters, Collect::Blocks]
        .into_iter()
        .try_for_each(|collect| block_counts(program, wasm, oracle, counted, collect))
}

fn block_counts(
    program: &Program,
    wasm: &[u8],
    oracle: &Oracle,
    counted: &[u64],
    collect: Collect,
) -> Result<(), String> {
    let ended = run(program, &profiling(collect), wasm)?;
    let found = ended.0.instance.block_counts(&ended.0.store).map_err(|e| e.to_string())?;
    for (place, &count) in oracle.places.iter().zip(counted) {
        let What::Block(block) = place.what else { continue };
        let counts = found.iter().find(|(func, _)| *func == place.func).map(|(_, counts)| counts);
        if counts.map_or(0, |counts| counts[block as usize]) != count {
            return Err(format!("{collect:?}: {place:?} ran {count} times"));
        }
    }
    Ok(())
}

fn profiling(collect: Collect) -> Engine {
    Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine for this machine")
}

struct Run(Ended);

impl Run {
    fn counters(&mut self) -> Vec<u64> {
        wprof_spec_tests::engines::ours::counters(&mut self.0.store, self.0.instance)
    }

    fn profile(&self) -> Result<Profile, String> {
        self.0.instance.profile(&self.0.store).map_err(|e| e.to_string())
    }
}

/// Runs a program that must end as recorded.
fn run(program: &Program, engine: &Engine, wasm: &[u8]) -> Result<Run, String> {
    let out = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ended = program.run(engine, wasm, out.path()).map_err(|e| e.to_string())?;
    program.verify(&ended, out.path())?;
    Ok(Run(ended))
}
