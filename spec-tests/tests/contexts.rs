//! The calling context tree equals that of a shadow stack which follows the trace of the same run.

use wprof::{Collect, Config, Engine, Metric, Module, ProfilingConfig, Strategy, Tracing};
use wprof_profiler::{Callee, ContextTree, Profile};
use wprof_spec_tests::check::Summary;
use wprof_spec_tests::oracle::cache::small_cache;
use wprof_spec_tests::programs::{Ended, Program, own};
use wprof_spec_tests::shadow::{HostLog, fold, without_metrics};
use wprof_spec_tests::sweep::{
    CONTEXTS, Check, DEEP_CONTEXTS, EVENTS, FLOW, THROWING_CONTEXTS, THROWING_EVENTS, THROWING_FLOW, passed,
};
use wprof_spec_tests::volume::share;

#[test]
fn trees_of_generated_modules_are_those_of_a_shadow_stack() {
    let summary = all(300, CONTEXTS);
    assert!(summary.contexts > 5 * summary.modules, "{} records", summary.contexts);
    assert!(summary.stopped > 0 && summary.host_calls > 0);
    assert!(summary.misses_in_contexts > share(500), "{}", summary.misses_in_contexts);
    assert!(summary.sampled_contexts > share(300), "{}", summary.sampled_contexts);
}

#[test]
fn events_in_contexts_are_those_of_single_instructions() {
    let summary = all(48, EVENTS);
    assert!(summary.events_in_contexts > share(150), "{}", summary.events_in_contexts);
    assert!(summary.stopped > 0 && summary.host_calls > 0);
}

#[test]
fn paths_in_contexts_are_those_of_a_trace_of_the_same_run() {
    let summary = all(200, FLOW);
    assert!(summary.flow > share(2_000) && summary.stopped > 0, "{} paths in contexts", summary.flow);
}

#[test]
fn so_it_is_with_modules_that_throw_and_allocate() {
    let trees = all(40, THROWING_CONTEXTS);
    assert!(trees.contexts > 3 * trees.modules && trees.stopped > 0, "{trees:?}");
    let events = all(20, THROWING_EVENTS);
    assert!(events.events_in_contexts > share(60), "{}", events.events_in_contexts);
    let flow = all(40, THROWING_FLOW);
    assert!(flow.flow > share(400), "{} paths in contexts", flow.flow);
}

#[test]
fn so_are_trees_of_modules_that_use_up_the_stack() {
    let summary = all(30, DEEP_CONTEXTS);
    assert!(summary.overflowed * 2 > summary.modules, "only {} overflow", summary.overflowed);
}

fn all(seeds: u64, check: Check) -> Summary {
    passed(share(seeds), check, env!("CARGO_TARGET_TMPDIR"))
}

/// The depth at which the stack overflows depends on the code, so two runs cannot be compared.
const OVERFLOWS: &str = "crash-stack";

#[test]
fn trees_of_programs_are_those_of_a_shadow_stack() {
    for program in own() {
        check(&program).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    }
}

/// Compares a traced run with its trace, and runs without a trace with the traced run and with the edge profile.
fn check(program: &Program) -> Result<(), String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let mut config = Config::new();
    config.count_contexts(true).background_compilation(false).promote_after(20);
    let mut measuring = config.clone();
    measuring.trace(Tracing::Best).trace_references(true).measure([Metric::CacheMisses(small_cache())]);
    let tracing = engine(&measuring)?;
    let ended = run(program, &tracing, &wasm)?;
    let module = Module::new(&tracing, &wasm).map_err(|e| e.to_string())?;
    let shadow = fold(&module, ended.trace.as_ref().ok_or("not traced")?, HostLog::default())?;
    let traced = profile(&ended)?.contexts.ok_or("no contexts")?;
    if program.name == OVERFLOWS {
        return shadow.allows(&traced);
    }
    shadow.is(&traced)?;
    same_misses(program, &config, &wasm, &traced)?;
    let traced = without_metrics(&traced);
    for strategy in [Strategy::Tiered, Strategy::Optimized] {
        let tree = profile(&run(program, &engine_of(&config, strategy)?, &wasm)?)?.contexts;
        if tree.as_ref() != Some(&traced) {
            return Err(format!("the tree is another one without a trace, {strategy:?}"));
        }
    }
    let exact = engine(config.profiling(ProfilingConfig::Exact(Collect::Edges)))?;
    same_calls(&profile(&run(program, &exact, &wasm)?)?, &traced)
}

/// Checks that the misses of contexts stay the same when everything else is measured too, and that each function's
/// misses are those of its paths.
fn same_misses(program: &Program, config: &Config, wasm: &[u8], tree: &ContextTree) -> Result<(), String> {
    let mut config = config.clone();
    config.profiling(ProfilingConfig::Exact(Collect::Paths));
    config.measure([Metric::CacheMisses(small_cache()), Metric::Cycles]);
    let profile = profile(&run(program, &engine(&config)?, wasm)?)?;
    let beside = profile.contexts.as_ref().ok_or("no contexts")?;
    if beside.amounts(0) != tree.amounts(0) {
        return Err("contexts have other misses beside paths".into());
    }
    let is_of = |record: u32, index: u32| matches!(beside.callee(record), Callee::Function { index: i, .. } if *i == index);
    for function in &profile.functions {
        let paths = function.paths().ok_or("no paths")?;
        let finished = paths.finished.iter().map(|path| path.metrics[0]);
        let by_paths: u64 = finished.chain(paths.unfinished.iter().map(|path| path.metrics[0])).sum();
        let own = (0..).zip(beside.amounts(0)).filter(|(record, _)| is_of(*record, function.index));
        let by_contexts: u64 = own.map(|(_, misses)| misses).sum();
        if by_paths != by_contexts {
            return Err(format!(
                "{:?}: {by_paths} misses by paths, {by_contexts} by contexts",
                function.name
            ));
        }
    }
    Ok(())
}

fn engine_of(config: &Config, strategy: Strategy) -> Result<Engine, String> {
    engine(config.clone().strategy(strategy))
}

fn engine(config: &Config) -> Result<Engine, String> {
    Engine::new(config).map_err(|e| e.to_string())
}

/// Runs a program that must end as recorded.
fn run(program: &Program, engine: &Engine, wasm: &[u8]) -> Result<Ended, String> {
    let out = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ended = program.run(engine, wasm, out.path()).map_err(|e| e.to_string())?;
    program.verify(&ended, out.path())?;
    Ok(ended)
}

fn profile(ended: &Ended) -> Result<Profile, String> {
    ended.instance.profile(&ended.store).map_err(|e| e.to_string())
}

/// Checks that the profile has the tree, and that the calls of each function are those of its call records.
fn same_calls(profile: &Profile, tree: &ContextTree) -> Result<(), String> {
    if profile.contexts.as_ref() != Some(tree) {
        return Err("the tree is another one beside edges".into());
    }
    for function in &profile.functions {
        let is_own = |record: u32| match tree.callee(record) {
            Callee::Function { index, .. } => *index == function.index,
            _ => false,
        };
        let own = tree.records.iter().zip(0..).filter(|(_, record)| is_own(*record));
        let calls: u64 = own.map(|(record, _)| record.calls).sum();
        if calls != function.calls() {
            return Err(format!("{:?}: {calls} by contexts, {} by edges", function.name, function.calls()));
        }
    }
    Ok(())
}
