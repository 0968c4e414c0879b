//! Calling contexts and events that instrumented modules count for themselves are those that the engine counts, with the
//! paths and events in each context, across traps, throws, exits and calls back from the host.

use std::collections::BTreeMap;

use wasmparser::{ExternalKind, Parser, Payload, TypeRef};
use wprof::{Collect, Config, Engine, EventModel, ProfilingConfig};
use wprof_instrument::{Collected, EventKind, Options, RawCounters, bulk_operations, instrument, read};
use wprof_profiler::{ContextTree, Profile};
use wprof_spec_tests::check::same_counts;
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::{ours, reference};
use wprof_spec_tests::generate::{Case, case, hot_case};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::{Outcome, Stop, Trap};
use wprof_spec_tests::programs::{Ended, Program, own};
use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::volume::share;

/// What is counted.
#[derive(Clone, Copy, Debug)]
struct Way {
    collected: Collected,
    /// The engine's settings for the same.
    collect: Option<Collect>,
    contexts: bool,
    events: &'static [&'static str],
}

const fn way(collected: Collected, collect: Option<Collect>) -> Way {
    Way { collected, collect, contexts: true, events: &[] }
}

/// Two kinds of events: of all instructions, and of edges and calls.
const EVENTS: &[&str] = &["instructions", "back_edges_and_calls"];

/// And one for which lengths of bulk operations matter; along paths they are not known.
const FUEL: &[&str] = &["fuel", "instructions", "back_edges_and_calls"];

const WAYS: [Way; 8] = [
    way(Collected::Nothing, None),
    way(Collected::Edges, Some(Collect::Edges)),
    way(Collected::Flow, Some(Collect::Paths)),
    Way { contexts: false, events: FUEL, ..way(Collected::Nothing, None) },
    Way { events: FUEL, ..way(Collected::Nothing, None) },
    Way { events: FUEL, ..way(Collected::Blocks, Some(Collect::Blocks)) },
    Way { contexts: false, events: EVENTS, ..way(Collected::Paths, Some(Collect::Paths)) },
    Way { events: EVENTS, ..way(Collected::Flow, Some(Collect::Paths)) },
];

/// More than any run here needs.
const ROOM: u32 = 64 << 20;

fn models(way: Way) -> Vec<EventModel> {
    way.events.iter().map(|name| EventModel::built_in(name).expect("a kind that is built in")).collect()
}

fn kinds(way: Way) -> Vec<EventKind> {
    let kind = |model: EventModel| EventKind {
        costs: model.costs().to_vec(),
        lengths: bulk_operations().iter().map(|op| model.per_unit(op)).collect(),
        name: model.name,
        entry: model.entry,
        back_edge: model.back_edge,
    };
    models(way).into_iter().map(kind).collect()
}

fn engine(way: Way) -> Engine {
    let mut config = Config::new();
    config.count_contexts(way.contexts).flow_contexts(way.collected == Collected::Flow);
    config.count_events(models(way));
    config.profiling(way.collect.map_or(ProfilingConfig::Off, ProfilingConfig::Exact));
    Engine::new(&config).expect("an engine for this machine")
}

fn options(way: Way, events: &[EventKind]) -> Options<'_> {
    let contexts = way.contexts.then_some(ROOM);
    Options { collected: way.collected, exact_traps: true, contexts, events, ..Options::default() }
}

fn profile(original: &[u8], rewritten: &[u8], region: &[u8]) -> Result<Profile, String> {
    let counters = RawCounters::new(rewritten, region).map_err(|e| e.to_string())?;
    let profile = read(original, &counters).map_err(|e| e.to_string())?.profile;
    profile.verify().map_err(|e| e.to_string())?;
    Ok(profile)
}

/// Checks for the same tree, and the same counts of functions.
fn same(found: &Profile, expected: &Profile) -> Result<(), String> {
    same_counts(found, expected)?;
    if found.events != expected.events {
        return Err(format!("{:?} or {:?}", found.events, expected.events));
    }
    if found.metrics != expected.metrics {
        return Err(format!("{:?} or {:?}", found.metrics, expected.metrics));
    }
    let (Some(found), Some(expected)) = (&found.contexts, &expected.contexts) else {
        return if found.contexts == expected.contexts { Ok(()) } else { Err("only one tree".into()) };
    };
    if found.routines != expected.routines {
        return Err(format!("{:?} or {:?}", found.routines, expected.routines));
    }
    let differing = found.records.iter().zip(&expected.records).find(|(found, expected)| found != expected);
    match differing {
        Some((found, expected)) => Err(format!("{found:?} or {expected:?}")),
        None if found != expected => {
            Err(format!("{} or {} records", found.records.len(), expected.records.len()))
        }
        None => Ok(()),
    }
}

/// The amount of work that has been compared.
#[derive(Debug, Default)]
struct Compared {
    modules: u64,
    records: u64,
    recursive: u64,
    stopped: u64,
    paths: u64,
    events: u64,
}

impl Compared {
    fn add(&mut self, profile: &Profile) {
        self.modules += 1;
        self.events += profile.events.iter().map(|total| total.count).sum::<u64>();
        let exits = profile.functions.iter().flat_map(|function| &function.exits);
        self.stopped += exits.map(|exit| exit.count).sum::<u64>();
        for record in profile.contexts.iter().flat_map(|tree| &tree.records) {
            self.records += 1;
            self.recursive += record.back_edges.len() as u64;
            self.paths += record.paths.len() as u64;
        }
    }
}

/// Reports whether the host calls functions of the host, which the module only hands on and cannot count.
fn calls_imports(case: &Case) -> bool {
    let mut imports = 0;
    let mut calls_one = false;
    for payload in Parser::new(0).parse_all(&case.wasm).flatten() {
        match payload {
            Payload::ImportSection(section) => {
                let all = section.into_imports().flatten();
                imports = all.filter(|import| matches!(import.ty, TypeRef::Func(_))).count();
            }
            Payload::ExportSection(section) => {
                let exports = section.into_iter().flatten();
                let mut handed_on = exports
                    .filter(|export| export.kind == ExternalKind::Func && (export.index as usize) < imports);
                calls_one =
                    handed_on.any(|export| case.drive.calls.iter().any(|call| call.name == export.name));
            }
            _ => {}
        }
    }
    calls_one
}

/// Checks that the rewritten module does the same in both engines, and counts what ours counts of the original.
fn compare(case: &Case, engines: &[Engine], all: &mut Compared) -> Result<(), String> {
    let way = case.seed as usize % WAYS.len();
    if calls_imports(case) {
        return Ok(());
    }
    let kinds = kinds(WAYS[way]);
    let counted = ours::run(&engines[way], &case.wasm, &case.drive)?;
    let Some(expected) = counted.profile().transpose().map_err(|e| e.to_string())? else { return Ok(()) };
    let rewritten = match instrument(&case.wasm, options(WAYS[way], &kinds)) {
        Err(wprof_instrument::Error::NoCode) => return Ok(()),
        rewritten => rewritten.map_err(|e| e.to_string())?,
    };
    let mut by_us = ours::run(&Mode::Off.engine(), &rewritten, &case.drive)?;
    let by_reference = reference::run(&reference::engine(), &rewritten, &case.drive)?;
    // Tail calls of functions of a wrong type trap too late to distinguish a rewritten frame from one that has left.
    let has_wrong_type = |call: &Result<_, Stop>| matches!(call, Err(Stop::Trap(Trap::BadSignature)));
    if counted.outcome.calls.iter().any(has_wrong_type) {
        return Ok(());
    }
    let outcomes = [&counted.outcome, &by_us.outcome, &by_reference.outcome];
    if outcomes.into_iter().any(Outcome::overflowed) {
        return Ok(());
    }
    counted.outcome.same_as(&by_us.outcome).map_err(|e| format!("ours, rewritten: {e}"))?;
    counted.outcome.same_as(&by_reference.outcome).map_err(|e| format!("wasmi, rewritten: {e}"))?;
    for (name, region) in [("ours", by_us.region()), ("wasmi", by_reference.region)] {
        let region = region.ok_or("no counters")?;
        let found = profile(&case.wasm, &rewritten, &region).map_err(|e| format!("{name}: {e}"))?;
        same(&found, &expected).map_err(|e| format!("{name}, {:?}, the engine's second: {e}", WAYS[way]))?;
    }
    all.add(&expected);
    Ok(())
}

#[test]
fn generated_modules_count_the_contexts_that_the_engine_counts() {
    let engines = WAYS.map(engine);
    let mut all = Compared::default();
    let mut compared = |case: Case| {
        let what = format!("{:?} of seed {}", case.maker, case.seed);
        compare(&case, &engines, &mut all).err().map(|error| format!("{what}: {error}"))
    };
    let mut failures: Vec<String> = (0..share(320)).filter_map(|seed| compared(case(seed))).collect();
    failures.extend((0..share(8)).filter_map(|seed| compared(hot_case(seed))));
    assert!(failures.is_empty(), "{}: {:#?}", failures.len(), &failures[..failures.len().min(6)]);
    println!("{all:?}");
    assert!(
        all.stopped > share(50)
            && all.records > share(1_000)
            && all.recursive > share(20)
            && all.paths > share(20),
        "{all:?}"
    );
    assert!(all.events > share(10_000), "{all:?}");
}

/// `run(n)` calls `$odd` and itself for smaller numbers, directly or through `$through`, whose frame an exception ends, and
/// a table; `fail` throws to the host. All of it is called again afterwards.
const THROWS: &str = r#"(module
  (import "host" "value" (func $host (result i32)))
  (tag $odd (param i32))
  (table funcref (elem $odd $host_like $host))
  (type $one (func (param i32) (result i32)))
  (func $host_like (param i32) (result i32) (drop (call $host)) (local.get 0))
  (func $odd (param i32) (result i32)
    (if (i32.and (local.get 0) (i32.const 1)) (then (throw $odd (local.get 0))))
    (call_indirect (type $one) (local.get 0) (i32.const 1)))
  (func $through (param i32) (result i32)
    (i32.add (call_indirect (type $one) (local.get 0) (i32.const 0)) (call $host)))
  (func $fail (export "fail") (result i32) (call $through (i32.const 3)))
  (func $run (export "run") (param $n i32) (result i32)
    (local $sum i32)
    (if (i32.eqz (i32.and (local.get $n) (i32.const 15))) (then (return (call_indirect (result i32) (i32.const 2)))))
    (local.set $n (i32.and (local.get $n) (i32.const 15)))
    TRY
    (i32.add (local.get $sum) (call $run (i32.sub (local.get $n) (i32.const 1))))))"#;

const NEWER: &str = r#"(local.set $sum (block $caught (result i32)
      (try_table (result i32) (catch $odd $caught) (call $through (local.get $n)))))"#;

const OLDER: &str = "try (result i32) (call $through (local.get $n)) catch $odd end local.set $sum";

#[test]
fn calls_after_a_catch_are_counted_in_the_contexts_that_the_engine_has() {
    for text in [NEWER, OLDER] {
        let wasm = wat::parse_str(THROWS.replace("TRY", text)).expect("text");
        let drive = Drive::new(&wasm, 0, 3, 0).expect("valid");
        for way in WAYS {
            let kinds = kinds(way);
            let counted = ours::run(&engine(way), &wasm, &drive).expect("it runs");
            let expected = counted.profile().expect("an instance").expect("a profile");
            let rewritten = instrument(&wasm, options(way, &kinds)).expect("rewritten");
            let mut ran = ours::run(&Mode::Off.engine(), &rewritten, &drive).expect("it runs");
            counted.outcome.same_as(&ran.outcome).expect("the same");
            let found = profile(&wasm, &rewritten, &ran.region().expect("counters")).expect("counts");
            same(&found, &expected).unwrap_or_else(|e| panic!("{way:?}: {e}"));
        }
    }
}

#[test]
fn calls_in_contexts_for_which_there_is_no_memory_are_counted_by_function() {
    let program = own().into_iter().find(|program| program.name == "json").expect("it is there");
    let wasm = std::fs::read(&program.file).expect("a module");
    let expected = run(&program, &engine(WAYS[0]), &wasm);
    let expected = expected.instance.profile(&expected.store).expect("a profile");
    let options = Options { contexts: Some(2_000), ..options(WAYS[0], &[]) };
    let rewritten = instrument(&wasm, options).expect("rewritten");
    let mut ended = run(&program, &Mode::Off.engine(), &rewritten);
    let region = ours::region(&mut ended.store, ended.instance).expect("counters");
    let found = profile(&wasm, &rewritten, &region).expect("counts");
    let (found, expected) = (found.contexts.expect("a tree"), expected.contexts.expect("a tree"));
    assert!(found.is_cut() && !expected.is_cut());
    assert!(found.records.len() < expected.records.len());
    let calls = |tree: &ContextTree| {
        let mut calls = BTreeMap::new();
        for (record, number) in tree.records.iter().zip(0..) {
            *calls.entry(tree.callee(number).clone()).or_insert(0) += record.calls;
        }
        calls.retain(|_, calls| *calls > 0);
        calls
    };
    assert_eq!(calls(&found), calls(&expected));
}

#[test]
fn damaged_call_records_are_refused() {
    let program = own().into_iter().find(|program| program.name == "calls").expect("it is there");
    let wasm = std::fs::read(&program.file).expect("a module");
    let rewritten = instrument(&wasm, options(WAYS[2], &[])).expect("rewritten");
    let mut ended = run(&program, &Mode::Off.engine(), &rewritten);
    let region = ours::region(&mut ended.store, ended.instance).expect("counters");
    let whole = RawCounters::new(&rewritten, &region).expect("counters").to_bytes();
    let mut rng = Rng::new(1);
    let mut refused = 0;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
        // No panic, whatever the bytes are.
        let read = RawCounters::from_bytes(&bytes).and_then(|counters| read(&wasm, &counters));
        refused += usize::from(read.is_err());
    }
    assert!(refused > 0);
}

/// The depth at which the stack overflows depends on the code, so two runs cannot be compared.
const OVERFLOWS: &str = "crash-stack";

#[test]
fn programs_count_the_contexts_that_the_engine_counts() {
    for program in own().into_iter().filter(|program| program.name != OVERFLOWS) {
        let wasm = std::fs::read(&program.file).expect("a module");
        for (way, single_memory) in WAYS.into_iter().zip([false, true, true, false, true, false, true, false])
        {
            let kinds = kinds(way);
            let expected = run(&program, &engine(way), &wasm);
            let expected = expected.instance.profile(&expected.store).expect("a profile");
            let what = format!("{}, {way:?}, single memory: {single_memory}", program.name);
            let options = Options { single_memory, ..options(way, &kinds) };
            let rewritten = instrument(&wasm, options).unwrap_or_else(|e| panic!("{what}: {e}"));
            let mut ended = run(&program, &Mode::Off.engine(), &rewritten);
            let region = ours::region(&mut ended.store, ended.instance).expect("counters");
            let found = profile(&wasm, &rewritten, &region).unwrap_or_else(|e| panic!("{what}: {e}"));
            same(&found, &expected).unwrap_or_else(|e| panic!("{what}, ours second: {e}"));
            let calls = |profile: &Profile| -> Vec<(String, u64)> {
                profile.host_calls.iter().map(|calls| (calls.name.clone(), calls.count)).collect()
            };
            assert_eq!(calls(&found), calls(&expected), "{what}");
        }
    }
}

/// Runs a program that must end as recorded.
fn run(program: &Program, engine: &Engine, wasm: &[u8]) -> Ended {
    let out = tempfile::tempdir().expect("a folder");
    let ended = program.run(engine, wasm, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    program.verify(&ended, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    ended
}
