//! Instrumented modules behave as their originals, and count what the engine counts.

use std::collections::BTreeMap;

use wprof::{Collect, Engine, ProfilingConfig};
use wprof_instrument::{Collected, Options, RawCounters, Source, instrument, read};
use wprof_jit::cfg::Target;
use wprof_profiler::{EdgeKind, Profile};
use wprof_spec_tests::check::same_counts;
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::{ours, reference};
use wprof_spec_tests::generate::{Case, case, hot_case};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::{Outcome, Stop, Trap};
use wprof_spec_tests::programs::{Ended, Program, own};
use wprof_spec_tests::volume::share;

/// The kinds of counts, in instrumented modules and in the engine.
const COLLECTED: [(Collected, Collect); 3] = [
    (Collected::Edges, Collect::Edges),
    (Collected::Paths, Collect::Paths),
    (Collected::Blocks, Collect::Blocks),
];

/// The depth at which the stack overflows depends on the code, so two runs cannot be compared.
const OVERFLOWS: &str = "crash-stack";

#[test]
fn graphs_are_the_engines() {
    let programs = own().into_iter().map(|program| std::fs::read(program.file).expect("a module"));
    let generated = (0..share(200)).map(|seed| case(seed).wasm);
    let mut functions = 0;
    for wasm in programs.chain(generated) {
        functions += same_graphs(&wasm);
    }
    assert!(functions > 1_000, "{functions}");
}

fn same_graphs(wasm: &[u8]) -> usize {
    let info = wprof_jit::module::parse(wasm.to_vec()).expect("valid");
    let source = Source::new(wasm).expect("valid");
    for func in info.imported_funcs..info.funcs.len() as u32 {
        let expected = wprof_jit::cfg::build(&info, func).expect("a graph");
        let found = wprof_instrument::cfg::build(func, &source.body(func)).expect("a graph");
        assert_eq!(found.blocks.len(), expected.blocks.len());
        for (found, expected) in found.blocks.iter().zip(&expected.blocks) {
            let bytes = |start, end, limit, ops| (start, end, limit, ops);
            assert_eq!(
                bytes(found.start, found.end, found.limit, found.ops),
                bytes(expected.start, expected.end, expected.limit, expected.ops)
            );
            let expected: Vec<Option<u32>> = expected
                .edges
                .iter()
                .map(|edge| match edge.target {
                    Target::Block(to) => Some(to),
                    Target::Exit => None,
                })
                .collect();
            assert_eq!(found.edges.iter().map(|edge| edge.to).collect::<Vec<_>>(), expected);
        }
    }
    info.bodies.len()
}

#[test]
fn programs_count_what_the_engine_counts() {
    let plain = Mode::Off.engine();
    for program in own().into_iter().filter(|program| program.name != OVERFLOWS) {
        let wasm = std::fs::read(&program.file).expect("a module");
        for (collected, collect) in COLLECTED {
            let engine = Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine");
            let expected = run(&program, &engine, &wasm);
            let expected = expected.instance.profile(&expected.store).expect("a profile");
            for single_memory in [false, true] {
                let what = format!("{}, {collected:?}, single memory: {single_memory}", program.name);
                let options = Options {
                    collected,
                    weights: None,
                    exact_traps: true,
                    single_memory,
                    ..Options::default()
                };
                let rewritten = instrument(&wasm, options).unwrap_or_else(|e| panic!("{what}: {e}"));
                let mut ended = run(&program, &plain, &rewritten);
                let region = ours::region(&mut ended.store, ended.instance).expect("counters");
                let found = profile(&wasm, &rewritten, &region).unwrap_or_else(|e| panic!("{what}: {e}"));
                same_counts(&found, &expected).unwrap_or_else(|e| panic!("{what}, ours second: {e}"));
                assert_eq!(found.host_calls, without_times(&expected), "{what}");
                assert_eq!(found.module_hash, expected.module_hash, "{what}");
                found.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
            }
        }
    }
}

fn without_times(profile: &Profile) -> Vec<wprof_profiler::HostCalls> {
    let calls = profile.host_calls.iter().cloned();
    calls.map(|calls| wprof_profiler::HostCalls { time_ns: None, ..calls }).collect()
}

/// Runs a program that must end as recorded.
fn run(program: &Program, engine: &Engine, wasm: &[u8]) -> Ended {
    let out = tempfile::tempdir().expect("a folder");
    let ended = program.run(engine, wasm, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    program.verify(&ended, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    ended
}

fn profile(original: &[u8], rewritten: &[u8], region: &[u8]) -> Result<Profile, String> {
    let counters = RawCounters::new(rewritten, region).map_err(|e| e.to_string())?;
    let counters = RawCounters::from_bytes(&counters.to_bytes()).map_err(|e| e.to_string())?;
    read(original, &counters).map(|read| read.profile).map_err(|e| e.to_string())
}

#[test]
fn weights_move_counters_and_change_no_count() {
    let program = own().into_iter().find(|program| program.name == "sort").expect("it is there");
    let wasm = std::fs::read(&program.file).expect("a module");
    for (collected, collect) in COLLECTED {
        let engine = Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine");
        let expected = run(&program, &engine, &wasm);
        let expected = expected.instance.profile(&expected.store).expect("a profile");
        let edges = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges)).expect("an engine");
        let earlier = run(&program, &edges, &wasm);
        let earlier = earlier.instance.profile(&earlier.store).expect("a profile");
        let options = Options {
            collected,
            weights: Some(&earlier),
            exact_traps: false,
            single_memory: false,
            ..Options::default()
        };
        let rewritten = instrument(&wasm, options).expect("rewritten");
        let plain = instrument(&wasm, Options { weights: None, ..options }).expect("rewritten");
        assert!(rewritten != plain, "{collected:?}");
        let mut ended = run(&program, &Mode::Off.engine(), &rewritten);
        let region = ours::region(&mut ended.store, ended.instance).expect("counters");
        let found = profile(&wasm, &rewritten, &region).expect("counts that add up");
        same_counts(&found, &expected).unwrap_or_else(|e| panic!("{collected:?}: {e}"));
    }
}

#[test]
fn generated_modules_do_the_same_and_count_what_the_engine_counts() {
    let engines = Engines::new();
    let mut all = Compared::default();
    let mut compare = |case: Case| {
        let what = format!("{:?} of seed {}", case.maker, case.seed);
        engines.compare(&case, &mut all).err().map(|error| format!("{what}: {error}"))
    };
    let mut failures: Vec<String> = (0..share(500)).filter_map(|seed| compare(case(seed))).collect();
    failures.extend((0..share(12)).filter_map(|seed| compare(hot_case(seed))));
    assert!(failures.is_empty(), "{failures:#?}");
    println!("{all:?}");
    assert!(all.stopped > share(200) && all.functions > share(1_000) && all.paths > share(1_000), "{all:?}");
}

#[test]
fn counters_in_every_block_count_what_few_counters_do() {
    let program = own().into_iter().find(|program| program.name == "sort").expect("it is there");
    let wasm = std::fs::read(&program.file).expect("a module");
    let blocks = |collected| {
        let options = Options { collected, ..Options::default() };
        let rewritten = instrument(&wasm, options).expect("rewritten");
        let mut ended = run(&program, &Mode::Off.engine(), &rewritten);
        let region = ours::region(&mut ended.store, ended.instance).expect("counters");
        let functions = profile(&wasm, &rewritten, &region).expect("counts").functions;
        // The last functions end with the program.
        let whole = functions.into_iter().filter(|function| function.exits.is_empty());
        whole.map(|function| (function.index, function.block_counts().to_vec())).collect::<BTreeMap<_, _>>()
    };
    let (few, all) = (blocks(Collected::Blocks), blocks(Collected::EveryBlock));
    assert!(few.len() > 20);
    assert!(few.iter().all(|(func, counts)| all.get(func) == Some(counts)));
}

/// `run(n)` calls `$odd` for all numbers below n, twice unless it throws, and counts what its handlers catch. An
/// exception that passes through `$through` ends its frame, too; `fail` throws to the host.
const THROWS: &str = r#"(module
  (tag $odd (param i32)) (tag $three)
  (func $odd (param i32) (result i32)
    (if (i32.eqz (i32.rem_u (local.get 0) (i32.const 3))) (then (throw $three)))
    (if (i32.and (local.get 0) (i32.const 1)) (then (throw $odd (local.get 0))))
    (local.get 0))
  (func $through (param i32) (result i32) (i32.add (call $odd (local.get 0)) (i32.const 1)))
  (func (export "fail") (drop (call $through (i32.const 1))))
  (func (export "run") (param $n i32) (result i32) (local $tagged i32) (local $other i32)
    (local.set $n (i32.const 20))
    (loop $next
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      TRY
      (br_if $next (local.get $n)))
    (i32.add (i32.mul (local.get $tagged) (i32.const 100)) (local.get $other))))"#;

const OLDER: &str = "
      try
        local.get $n
        call $odd
        call $through
        drop
        local.get $n
        call $through
        drop
      catch $odd
        drop
        (local.set $tagged (i32.add (local.get $tagged) (i32.const 1)))
      catch_all
        (local.set $other (i32.add (local.get $other) (i32.const 1)))
      end";

const NEWER: &str = "
      (block $done
        (block $all
          (block $tag (result i32)
            (try_table (catch $odd $tag) (catch_all $all)
              (drop (call $through (call $odd (local.get $n))))
              (drop (call $through (local.get $n))))
            (br $done))
          (drop)
          (local.set $tagged (i32.add (local.get $tagged) (i32.const 1)))
          (br $done))
        (local.set $other (i32.add (local.get $other) (i32.const 1))))";

#[test]
fn exceptions_are_counted_as_the_engine_counts_them() {
    for text in [OLDER, NEWER] {
        let wasm = wat::parse_str(THROWS.replace("TRY", text)).expect("text");
        same_graphs(&wasm);
        let drive = Drive::new(&wasm, 0, 2, 0).expect("valid");
        for (collected, collect) in COLLECTED {
            let engine = Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine");
            let expected = ours::run(&engine, &wasm, &drive).expect("it runs");
            let profiled = expected.profile().expect("an instance").expect("a profile");
            for exact_traps in [false, true] {
                let options = Options {
                    collected,
                    weights: None,
                    exact_traps,
                    single_memory: false,
                    ..Options::default()
                };
                let rewritten = instrument(&wasm, options).expect("rewritten");
                let mut ran = ours::run(&Mode::Off.engine(), &rewritten, &drive).expect("it runs");
                expected.outcome.same_as(&ran.outcome).expect("the same");
                let found = profile(&wasm, &rewritten, &ran.region().expect("counters")).expect("counts");
                same_counts(&found, &profiled).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            }
        }
    }
}

/// The amount of work that has been compared.
#[derive(Debug, Default)]
struct Compared {
    modules: u64,
    functions: u64,
    /// Frames that ended in the middle of a block.
    stopped: u64,
    paths: u64,
    calls: u64,
}

struct Engines {
    plain: Engine,
    exact: Vec<Engine>,
    reference: wasmi::Engine,
}

impl Engines {
    fn new() -> Engines {
        let exact = |(_, collect)| {
            Engine::with_profiling(ProfilingConfig::Exact(collect)).expect("an engine for this machine")
        };
        Engines {
            plain: Mode::Off.engine(),
            exact: COLLECTED.into_iter().map(exact).collect(),
            reference: reference::engine(),
        }
    }

    /// Checks that the rewritten module behaves in both engines as the original does in the interpreter, and counts
    /// what our engine counts.
    fn compare(&self, case: &Case, all: &mut Compared) -> Result<(), String> {
        let seed = case.seed as usize;
        let (collected, _) = COLLECTED[seed % 3];
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let counted = ours::run(&self.exact[seed % 3], &case.wasm, &case.drive)?;
        // An access beyond the end of the memory traps, except where counters follow the memory.
        let profiled = counted.profile().transpose().map_err(|e| e.to_string())?;
        let has_stopped = |profile: &Profile| profile.functions.iter().any(|f| !f.exits.is_empty());
        let single_memory = seed / 3 % 2 == 1 && !profiled.as_ref().is_some_and(has_stopped);
        let options =
            Options { collected, weights: None, exact_traps: true, single_memory, ..Options::default() };
        let rewritten = match instrument(&case.wasm, options) {
            Err(wprof_instrument::Error::NoCode) => return Ok(()),
            Err(error) if single_memory => {
                return instrument(&case.wasm, Options { single_memory: false, ..options })
                    .map(drop)
                    .map_err(|_| error.to_string());
            }
            rewritten => rewritten.map_err(|e| e.to_string())?,
        };
        let mut by_us = ours::run(&self.plain, &rewritten, &case.drive)?;
        let by_reference = reference::run(&self.reference, &rewritten, &case.drive)?;
        // Tail calls of functions of a wrong type trap too late to distinguish a rewritten frame from one that has
        // left.
        let has_wrong_type = |call: &Result<_, Stop>| matches!(call, Err(Stop::Trap(Trap::BadSignature)));
        let stops_leaving = profiled.as_ref().is_some_and(stops_in_tail_calls);
        if stops_leaving && counted.outcome.calls.iter().any(has_wrong_type) {
            return Ok(());
        }
        let outcomes = [&expected, &counted.outcome, &by_us.outcome, &by_reference.outcome];
        if outcomes.into_iter().any(Outcome::overflowed) {
            return Ok(());
        }
        same(&expected, &by_us.outcome, single_memory).map_err(|e| format!("ours, rewritten: {e}"))?;
        same(&expected, &by_reference.outcome, single_memory)
            .map_err(|e| format!("wasmi, rewritten: {e}"))?;
        let Some(profiled) = profiled else { return Ok(()) };
        for (name, region) in [("ours", by_us.region()), ("wasmi", by_reference.region)] {
            let region = region.ok_or("no counters")?;
            let found = profile(&case.wasm, &rewritten, &region).map_err(|e| format!("{name}: {e}"))?;
            same_counts(&found, &profiled)
                .map_err(|e| format!("{name}, {collected:?}, the engine's second: {e}"))?;
        }
        all.add(&profiled, &expected);
        Ok(())
    }
}

/// Reports whether a frame ended at a tail call.
fn stops_in_tail_calls(profile: &Profile) -> bool {
    profile.functions.iter().any(|function| {
        let mut stopped = function.exits.iter().flat_map(|exit| function.out_edges(exit.block));
        stopped.any(|(_, edge)| edge.kind == EdgeKind::TailCall)
    })
}

/// Checks for the same outcome. If the region has no memory of its own, it follows the program's memory.
fn same(expected: &Outcome, found: &Outcome, single_memory: bool) -> Result<(), String> {
    let mut found = found.clone();
    if single_memory {
        use wprof_spec_tests::outcome::State;
        for (name, state) in &mut found.exports {
            if let (State::Memory(memory), Some(State::Memory(own))) = (state, expected.exports.get(name)) {
                memory.truncate(own.len());
            }
        }
    }
    expected.same_as(&found)
}

impl Compared {
    fn add(&mut self, profile: &Profile, outcome: &Outcome) {
        self.modules += 1;
        self.calls += outcome.calls.len() as u64;
        self.functions += profile.functions.len() as u64;
        for function in &profile.functions {
            self.stopped += function.exits.iter().map(|exit| exit.count).sum::<u64>();
            self.paths += function.paths().map_or(0, |paths| paths.finished.len() as u64);
        }
    }
}
