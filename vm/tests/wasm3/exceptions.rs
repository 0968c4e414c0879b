//! Exceptions are thrown and caught in both encodings, in every tier and across the host, with exact profiles.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use wprof::profiler::{BurstLengths, EdgeKind, Profile, TraceEvent, TraceReader};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Throws with several tags, from callees, through frames that do not catch, with clean-ups on the way, in a loop.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "look" (func $look (type $unary)))
    (import "host" "tag" (tag $host (param i32)))
    (tag $a (export "a") (param i32))
    (tag $b (param i64 i32))
    (tag $empty)
    (table funcref (elem $old $cleanup))
    (global $cleanups (export "cleanups") (mut i32) (i32.const 0))
    (func $work (export "work") (type $unary)
        (block $d (block $c (block $b (block $a
            (br_table $a $b $c $d (i32.rem_u (local.get 0) (i32.const 5))))
            (throw $a (local.get 0)))
            (throw $b (i64.const 7) (local.get 0)))
            (throw $empty))
        (drop (call $look (local.get 0)))
        (local.get 0))
    (func $through (export "through") (type $unary) (i32.add (call $work (local.get 0)) (i32.const 1)))
    (func $cleanup (type $unary)
        (block $handler (result exnref)
            (try_table (catch_all_ref $handler) (return (call $through (local.get 0))))
            (unreachable))
        (global.set $cleanups (i32.add (global.get $cleanups) (i32.const 1)))
        (throw_ref))
    (func $old (type $unary) (local $x i32)
        try $outer (result i32)
            try (result i32)
                try (result i32) (call $cleanup (local.get 0)) delegate $outer
            catch_all
                unreachable
            end
        catch $empty
            (if (i32.and (local.get 0) (i32.const 4)) (then (rethrow $outer)))
            (i32.const 100)
        catch $b
            (local.set $x)
            (i32.add (i32.wrap_i64) (local.get $x))
        end)
    (func $run (export "run") (param $n i32) (result i32) (local $sum i32) (local $base i32)
        (loop $again
            (block $done
                (local.set $sum (i32.add (local.get $sum) (i32.mul (i32.const 2) (block $on_a (result i32)
                    (local.set $sum (i32.add (local.get $sum) (i32.mul (i32.const 3) (block $on_host (result i32)
                        (block $on_all
                            (try_table (catch $a $on_a) (catch $host $on_host) (catch_all $on_all)
                                (local.set $base (local.get $sum))
                                (local.set $sum (i32.add (local.get $base)
                                    (call_indirect (type $unary)
                                        (local.get $n) (i32.and (local.get $n) (i32.const 1)))))
                                (br $done)))
                        (local.set $sum (i32.add (local.get $sum) (i32.const 1000)))
                        (br $done)))))
                    (br $done))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "own") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (block $caught (result i32)
                (try_table (result i32) (catch $a $caught)
                    (if (i32.and (local.get $n) (i32.const 1)) (then (throw $a (local.get $n))))
                    (i32.const 5)))
            (local.set $sum (i32.add (local.get $sum)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// The exceptions that the functions of `WAT` throw.
enum Thrown {
    A(i32),
    B(i32),
    Host(i32),
    Empty,
}

/// The behaviour of `look`.
fn looked_at(n: i32) -> std::result::Result<(), Thrown> {
    if n % 7 == 3 { Err(Thrown::Host(n)) } else { Ok(()) }
}

/// The behaviour of `cleanup`.
fn cleaned(n: i32, cleanups: &mut i32) -> std::result::Result<i32, Thrown> {
    let through = match n % 5 {
        0 => Err(Thrown::A(n)),
        1 => Err(Thrown::B(n)),
        2 => Err(Thrown::Empty),
        _ => looked_at(n).map(|()| n + 1),
    };
    *cleanups += i32::from(through.is_err());
    through
}

/// Returns the result of `run` and the number of clean-ups.
fn expected(rounds: i32) -> (i32, i32) {
    let (mut sum, mut cleanups) = (0, 0);
    for n in 1..=rounds {
        let called = match cleaned(n, &mut cleanups) {
            Err(Thrown::Empty) if n & 5 == 0 => Ok(100),
            Err(Thrown::B(n)) if n & 1 == 0 => Ok(7 + n),
            other => other,
        };
        sum += match called {
            Ok(n) => n,
            Err(Thrown::A(n)) => 2 * n,
            Err(Thrown::Host(n)) => 3 * n,
            Err(Thrown::B(_) | Thrown::Empty) => 1000,
        };
    }
    (sum, cleanups)
}

/// The instruction counts that the host observed, by the counter and by the profile, where both are counted.
#[derive(Default)]
struct Seen {
    counts: Vec<(u64, u64)>,
    profiles: Vec<Profile>,
    exits_at: Option<i32>,
    takes_profiles: bool,
}

/// Creates an instance of `WAT`. `look` throws at some numbers, catches exceptions of its callbacks at others, and
/// exits if told to.
fn sample(config: &Config) -> Result<(Store<Seen>, Module, Linker<Seen>)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, Seen::default());
    let mut linker = Linker::new(&engine);
    let tag = Tag::new(&mut store, &TagType::new(FuncType::new([ValType::I32], [])));
    linker.define(&store, "host", "tag", tag)?;
    linker.func_wrap("host", "look", move |mut caller: Caller<'_, Seen>, n: i32| -> Result<i32> {
        let instance = caller.instance().expect("wasm calls it");
        if caller.data().takes_profiles {
            let profile = instance.profile(&caller)?;
            profile.verify().expect("consistent");
            if let Ok(count) = event_count(&caller, "instructions") {
                let ops = profile.ops();
                caller.data_mut().counts.push((count, ops));
            }
            caller.data_mut().profiles.push(profile);
        }
        if n % 11 == 4 {
            let through = instance.get_typed_func::<i32, i32>(&mut caller, "through")?;
            let error = through.call(&mut caller, 10 * n).expect_err("it throws");
            let thrown = error.exception().expect("an exception").clone();
            assert_eq!(Some(thrown.tag()), instance.get_tag(&mut caller, "a"));
            assert_eq!(thrown.values(&caller)[0].i32(), Some(10 * n));
        }
        if caller.data().exits_at == Some(n) {
            return Err(Exit(3).into());
        }
        match looked_at(n) {
            Ok(()) => Ok(n),
            Err(_) => {
                let thrown = ExnRef::new(&mut caller, &tag, &[Val::I32(n)])?;
                caller.as_context_mut().throw(thrown)
            }
        }
    })?;
    Ok((store, module, linker))
}

fn strategies() -> impl Iterator<Item = Config> {
    [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered].into_iter().map(|strategy| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(5);
        config
    })
}

/// Returns configurations for every tier, function parts, bursts that begin and end everywhere, code that they
/// reoptimize, and plain Cranelift.
fn configs() -> Vec<Config> {
    let mut all: Vec<Config> = strategies().collect();
    all.push(Config::conservative());
    let tiered = || {
        let mut config = Config::new();
        config.strategy(Strategy::Tiered).background_compilation(false).promote_after(2);
        config
    };
    let mut parts = tiered();
    parts.parts_above(1).promote_after(10);
    all.push(parts);
    for (checking, instrumented, optimized) in [(1, 1, None), (3, 5, Some(false)), (20, 100, Some(true))] {
        let lengths = BurstLengths::new(checking, instrumented);
        let checks: Checks = "orig".parse().expect("a name");
        let adaptive = Adaptive { lengths, checks, optimized, ..Adaptive::default() };
        let mut config = tiered();
        config.profiling(ProfilingConfig::Adaptive(adaptive)).parts_above(1).loop_entries_above(0);
        all.push(config.clone());
        config.shared_loops_above(0).reoptimization(Some(Policy::eager()));
        all.push(config);
    }
    all
}

#[test]
fn programs_throw_and_catch_in_every_tier() -> Outcome {
    for config in configs() {
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        let cleanups = instance.get_global(&mut store, "cleanups").expect("exported");
        let mut all = 0;
        for rounds in [1, 10, 300, 77, 500] {
            let (sum, more) = expected(rounds);
            assert_eq!(run.call(&mut store, rounds)?, sum, "{rounds} {config:?}");
            all += more;
            assert_eq!(cleanups.get(&mut store).i32(), Some(all), "{config:?}");
        }
        let own = instance.get_typed_func::<i32, i32>(&mut store, "own")?;
        assert_eq!(
            own.call(&mut store, 200)?,
            (1..=200).map(|n| if n % 2 == 1 { n } else { 5 }).sum::<i32>()
        );
    }
    Ok(())
}

#[test]
fn functions_that_catch_are_proven_whatever_is_made_of_them() -> Outcome {
    for mut config in configs() {
        config.verify(true);
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 300)?, expected(300).0);
        let engine = store.engine();
        assert_eq!(engine.unproven(), [] as [String; 0], "{config:?}");
        assert_eq!((engine.proofs().1, engine.baseline_proofs().1), (0, 0));
    }
    Ok(())
}

/// A loop with a join, a call outside of its `try`, and one inside that throws every eighth time.
const HOT: &str = r#"(module
    (tag $t (param i32))
    (func $triple (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
    (func $may (param i32) (result i32)
        (if (i32.eqz (i32.and (local.get 0) (i32.const 7))) (then (throw $t (i32.const 100))))
        (local.get 0))
    (func $run (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (if (i32.and (local.get $n) (i32.const 15))
                (then (local.set $sum (i32.add (local.get $sum) (i32.const 1))))
                (else (local.set $sum (i32.xor (local.get $sum) (i32.const 5)))))
            (local.set $sum (i32.add (local.get $sum) (call $triple (local.get $n))))
            (local.set $sum (i32.add (local.get $sum) (block $caught (result i32)
                (try_table (result i32) (catch $t $caught) (call $may (local.get $n))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

#[test]
fn functions_that_catch_get_superblocks_and_inlined_calls() -> Outcome {
    let (triple, run) = (0, 2);
    let expected = |n: i32| {
        (1..=n).rev().fold(0, |sum, n| {
            let sum = if n % 16 != 0 { sum + 1 } else { sum ^ 5 };
            sum + 3 * n + if n % 8 == 0 { 100 } else { n }
        })
    };
    let adaptive = Adaptive { lengths: BurstLengths::new(20, 100), ..Adaptive::default() };
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).background_compilation(false).promote_after(2).verify(true);
    config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(Some(Policy::eager()));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, HOT)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let function = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    for n in [100, 5000, 777] {
        assert_eq!(function.call(&mut store, n)?, expected(n), "{n}");
    }
    let all = module.reoptimizations();
    let verdicts = || all.iter().filter(|done| done.func == run).flat_map(|done| &done.decisions);
    let is_inlined =
        |verdict: &Verdict| matches!(*verdict, Verdict::Inlined { callee, .. } if callee == triple);
    assert!(verdicts().any(|decision| is_inlined(&decision.verdict)), "{all:?}");
    assert!(verdicts().any(|decision| matches!(decision.verdict, Verdict::Superblock { .. })), "{all:?}");
    assert_eq!(engine.unproven(), [] as [String; 0]);
    Ok(())
}

const ALL: [Collect; 6] = [
    Collect::AllEdges,
    Collect::Edges,
    Collect::Paths,
    Collect::Blocks,
    Collect::BlockCounters,
    Collect::AllBlocks,
];

/// The figures on which all placements must agree: block counts by function, calls and instructions, and where frames
/// ended.
fn figures(profile: &Profile) -> impl Clone + PartialEq + std::fmt::Debug + use<> {
    let functions = profile.functions.iter();
    let figures = functions.map(|f| (f.index, f.calls(), f.ops(), f.block_counts(), f.exits.clone()));
    figures.collect::<Vec<_>>()
}

#[test]
fn all_placements_count_alike_across_throws() -> Outcome {
    for exits_at in [None, Some(33)] {
        let mut first = None;
        for (collect, mut config) in
            ALL.into_iter().flat_map(|collect| strategies().map(move |c| (collect, c)))
        {
            config.profiling(ProfilingConfig::Exact(collect));
            let (mut store, module, linker) = sample(&config)?;
            (store.data_mut().takes_profiles, store.data_mut().exits_at) = (true, exits_at);
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, 60).ok(), exits_at.is_none().then(|| expected(60).0));
            let profile = instance.profile(&store)?;
            profile.verify()?;
            let seen: Vec<_> = store.data().profiles.iter().map(figures).collect();
            let found = (figures(&profile), instance.block_counts(&store)?, seen);
            assert!(found.2.len() > 10);
            let first = first.get_or_insert(found.clone());
            assert_eq!(&found, first, "{collect:?} {config:?}");
        }
    }
    Ok(())
}

#[test]
fn edges_to_handlers_have_names_and_counts() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges));
    let (mut store, module, linker) = sample(&config)?;
    let instance = linker.instantiate(&mut store, &module)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 60)?;
    let profile = instance.profile(&store)?;
    let of = |name: &str, kind: EdgeKind| {
        let function = profile.functions.iter().find(|f| f.name.as_deref() == Some(name)).expect("it ran");
        function.edges.iter().filter(|edge| edge.kind == kind).map(|edge| edge.count).sum::<u64>()
    };
    assert_eq!(of("cleanup", EdgeKind::CatchAll), expected(60).1 as u64);
    // Tag 0 is the host's, tag 1 is `a`.
    assert_eq!(of("run", EdgeKind::Catch(1)), (1..=60).filter(|n| n % 5 == 0).count() as u64);
    let by_host = (1..=60).filter(|n| n % 5 > 2 && n % 7 == 3).count() as u64;
    assert_eq!(of("run", EdgeKind::Catch(0)), by_host);
    Ok(())
}

#[test]
fn counts_of_events_are_exact_across_throws() -> Outcome {
    for counting in [Counting::Chords, Counting::PerBlock, Counting::PerInstruction] {
        for (budget, mut config) in
            [None, Some("instructions")].into_iter().flat_map(|b| strategies().map(move |c| (b, c)))
        {
            let events = BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name));
            config
                .profiling(ProfilingConfig::Exact(Collect::Edges))
                .count_events(events)
                .event_counting(counting);
            if let Some(kind) = budget {
                config.budget(kind);
            }
            for exits_at in [None, Some(33)] {
                let (mut store, module, linker) = sample(&config)?;
                (store.data_mut().takes_profiles, store.data_mut().exits_at) = (true, exits_at);
                let instance = linker.instantiate(&mut store, &module)?;
                let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
                assert_eq!(run.call(&mut store, 60).is_ok(), exits_at.is_none());
                assert_eq!(store.event_count("instructions")?, instance.profile(&store)?.ops(), "{config:?}");
                assert!(store.data().counts.len() > 10);
                for (counted, truth) in &store.data().counts {
                    assert_eq!(counted, truth, "{config:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn contexts_are_counted_across_throws() -> Outcome {
    for mut config in strategies() {
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true);
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 60)?;
        let profile = instance.profile(&store)?;
        let tree = profile.contexts.as_ref().expect("counted");
        tree.verify()?;
        for function in &profile.functions {
            let records = (0..tree.records.len() as u32).filter(|&record| {
                matches!(tree.callee(record), profiler::Callee::Function { index, .. } if *index == function.index)
            });
            let calls: u64 = records.clone().map(|record| tree.records[record as usize].calls).sum();
            assert_eq!(calls, function.calls(), "{:?}", function.name);
        }
        // `run` calls two functions at one call site, and one of these calls the other.
        let cleanups = tree.records.iter().filter(|record| {
            let routine = &tree.routines[record.routine as usize];
            matches!(&routine.callee, profiler::Callee::Function { name: Some(name), .. } if name == "cleanup")
        });
        assert_eq!(cleanups.count(), 2);
    }
    Ok(())
}

/// Returns the paths that ran to their end, by function.
fn finished(profile: &Profile) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let paths = |f: &profiler::FunctionProfile| {
        let finished = &f.paths.as_ref()?.finished;
        Some((f.index, finished.iter().map(|path| (path.id, path.count)).collect::<Vec<_>>()))
    };
    profile.functions.iter().filter_map(paths).filter(|(_, paths)| !paths.is_empty()).collect()
}

/// Returns the calls of each function from each caller, over all contexts.
fn calls(tree: &profiler::ContextTree) -> BTreeMap<(String, String), u64> {
    let mut calls = BTreeMap::new();
    for record in tree.records.iter().skip(1) {
        let name = |routine: u32| format!("{:?}", tree.routines[routine as usize].callee);
        let caller = name(tree.records[record.parent as usize].routine);
        *calls.entry((caller, name(record.routine))).or_default() += record.calls;
    }
    calls
}

#[test]
fn a_burst_without_end_sees_all_paths_and_calls_across_throws() -> Outcome {
    let checks: Checks = "orig".parse()?;
    let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
    let forever = Adaptive { lengths, checks, ..Adaptive::default() };
    let mut profiles = Vec::new();
    for profiling in [ProfilingConfig::Exact(Collect::Paths), ProfilingConfig::Adaptive(forever)] {
        let mut config = Config::new();
        config.strategy(Strategy::Optimized).background_compilation(false).count_contexts(true);
        let (mut store, module, linker) = sample(config.profiling(profiling))?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 60)?, expected(60).0);
        profiles.push(instance.profile(&store)?);
    }
    assert_eq!(finished(&profiles[0]), finished(&profiles[1]));
    let [exact, sampled] = [0, 1].map(|of: usize| calls(profiles[of].contexts.as_ref().expect("counted")));
    assert_eq!(exact, sampled);
    Ok(())
}

/// An in-memory file.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns, from a trace, how often each function is entered, and how often it is left by a return and otherwise.
fn traced_ends(file: &File) -> BTreeMap<u32, (u64, u64)> {
    let bytes = file.0.lock().expect("no panic").clone();
    let mut reader = TraceReader::open(Cursor::new(bytes)).expect("a trace");
    let events: Vec<TraceEvent> =
        reader.events_from(0).collect::<std::result::Result<_, _>>().expect("a whole trace");
    let (mut ends, mut stack) = (BTreeMap::<u32, (u64, u64)>::new(), Vec::new());
    for event in events {
        match event {
            TraceEvent::Enter(func) => {
                ends.entry(func).or_default().0 += 1;
                stack.push(func);
            }
            TraceEvent::Block(func, _) | TraceEvent::HostCall(func, _) | TraceEvent::HostReturn(func, _) => {
                assert_eq!(stack.last(), Some(&func));
            }
            TraceEvent::Leave(func) => assert_eq!(stack.pop(), Some(func)),
            TraceEvent::Unwound { function, .. } => {
                assert_eq!(stack.pop(), Some(function));
                ends.entry(function).or_default().1 += 1;
            }
        }
    }
    assert!(stack.is_empty());
    ends
}

#[test]
fn a_traced_run_is_replayed_across_throws() -> Outcome {
    let (mut chunks, mut unwound) = (0, 0);
    for (buffer, mut config) in [8, 1 << 16].into_iter().flat_map(|b| strategies().map(move |c| (b, c))) {
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(Tracing::Best).trace_buffer(buffer);
        for exits_at in [None, Some(33)] {
            let (mut store, module, linker) = sample(&config)?;
            store.data_mut().exits_at = exits_at;
            let file = File::default();
            store.record_trace(&module, "sample", file.clone(), u64::MAX)?;
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, 60).ok(), exits_at.is_none().then(|| expected(60).0));
            let own = instance.get_typed_func::<i32, i32>(&mut store, "own")?;
            own.call(&mut store, 20)?;
            assert!(!store.finish_trace()?.limit_reached);
            let ends = traced_ends(&file);
            for function in &instance.profile(&store)?.functions {
                let stopped: u64 = function.exits.iter().map(|exit| exit.count).sum();
                assert_eq!(ends[&function.index], (function.calls(), stopped), "{:?}", function.name);
                unwound += stopped;
            }
            let bytes = file.0.lock().expect("no panic").clone();
            chunks += TraceReader::open(Cursor::new(bytes))?.chunk_count();
        }
    }
    assert!(chunks > 100 && unwound > 500, "{chunks} {unwound}");
    Ok(())
}

fn message(error: &Error) -> String {
    error.to_string()
}

#[test]
fn references_that_are_not_caught_are_told_by_what_they_are_to() -> Outcome {
    let module = r#"(module
        (type $s (struct (field i32))) (type $a (array i8))
        (tag $t (param (ref null $s) (ref null $a) anyref anyref externref funcref (ref null $s)))
        (func $f (export "run") (param externref)
            (throw $t (struct.new $s (i32.const 5)) (array.new_default $a (i32.const 3)) (ref.i31 (i32.const -7))
                (struct.new $s (i32.const 5)) (local.get 0) (ref.func $f) (ref.null $s))))"#;
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, module)?, &[])?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let error = run.call(&mut store, &[Val::from(ExternRef::new(1))], &mut []).expect_err("it throws");
    assert_eq!(
        message(&error),
        "uncaught exception: tag 0 with a struct, an array, i31 -7, an object, a value of the host's, a function, null"
    );
    Ok(())
}

#[test]
fn what_is_not_caught_is_an_error_with_its_frames() -> Outcome {
    for config in strategies() {
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let through = instance.get_typed_func::<i32, i32>(&mut store, "through")?;
        let error = through.call(&mut store, 25).expect_err("it throws");
        assert_eq!((error.kind(), error.trap()), (ErrorKind::Exception, None));
        assert_eq!(message(&error), "uncaught exception: tag `a` with 25");
        let names: Vec<_> = error.backtrace().expect("one").frames().iter().map(|f| f.func_name()).collect();
        assert_eq!(names, [Some("work"), Some("through")]);
        assert_eq!(
            message(&through.call(&mut store, 26).expect_err("it throws")),
            "uncaught exception: tag 2 with 7, 26"
        );
        // The store remains usable.
        assert_eq!(through.call(&mut store, 9)?, 10);
    }
    Ok(())
}

#[test]
fn traps_are_not_caught_and_deep_frames_are_dropped() -> Outcome {
    let wat = r#"(module
        (tag $e)
        (func $deep (export "deep") (param i32) (result i32)
            (if (i32.eqz (local.get 0)) (then (throw $e)))
            (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
        (func (export "catch") (param i32) (result i32)
            (block $caught
                (try_table (catch_all $caught) (return (call $deep (local.get 0))))
                unreachable)
            (i32.const -1))
        (func $endless (export "endless") (param i32) (result i32)
            (block $caught
                (try_table (catch_all $caught) (return (call $endless (i32.add (local.get 0) (i32.const 1)))))
                unreachable)
            (i32.const -1))
        (func $bottom (export "bottom") (result i32)
            (block $caught
                (try_table (catch_all $caught) (throw $e))
                unreachable)
            (i32.add (call $bottom) (i32.const 1)))
        (func (export "trap") (result i32)
            try (result i32) (i32.div_u (i32.const 1) (i32.const 0)) catch_all (i32.const 3) end))"#;
    for config in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let catch = instance.get_typed_func::<i32, i32>(&mut store, "catch")?;
        for depth in [0, 1, 10, 5000] {
            assert_eq!(catch.call(&mut store, depth)?, -1);
        }
        for name in ["endless", "bottom"] {
            let func = instance.get_func(&mut store, name).expect("exported");
            let params = vec![Val::I32(0); func.ty(&store).params().len()];
            let error = func.call(&mut store, &params, &mut [Val::I32(0)]).expect_err("no stack");
            assert_eq!(error.trap(), Some(Trap::StackOverflow), "{name}: {error:?}");
        }
        assert_eq!(catch.call(&mut store, 10)?, -1);
        let trap = instance.get_typed_func::<(), i32>(&mut store, "trap")?;
        assert_eq!(
            trap.call(&mut store, ()).expect_err("it traps").trap(),
            Some(Trap::IntegerDivisionByZero)
        );
    }
    Ok(())
}
