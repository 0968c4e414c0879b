//! Calling contexts in bursts: all contexts if the burst never ends, otherwise a part of them.

use std::collections::BTreeMap;

use wprof::profiler::{BurstLengths, Callee, ContextTree, FigureKind, FunctionProfile, PathProfile, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Recursion, calls at several sites, through a table and of the host, which calls back, and loops with and without
/// calls.
const WAT: &str = r#"(module
    (import "host" "log" (func $log (param i32)))
    (import "host" "back" (func $back (param i32) (result i32)))
    (type $unary (func (param i32) (result i32)))
    (table 3 funcref) (elem (i32.const 0) $leaf $even $back)
    (func $leaf (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (local.get $n)))
            (br_if $again (local.tee $n (i32.shr_u (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func $even (param $n i32) (result i32)
        (if (result i32) (local.get $n)
            (then (call $odd (i32.sub (local.get $n) (i32.const 1))))
            (else (call $log (i32.const 7)) (i32.const 1))))
    (func $odd (param $n i32) (result i32)
        (if (result i32) (local.get $n)
            (then (i32.add (call $leaf (local.get $n)) (call $even (i32.sub (local.get $n) (i32.const 1)))))
            (else (i32.const 0))))
    (func $middle (param $n i32) (result i32) (local $i i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $leaf (local.get $i))))
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect (type $unary) (i32.and (local.get $i) (i32.const 15))
                    (i32.rem_u (local.get $i) (i32.const 3)))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (i32.add (local.get $sum) (call $leaf (local.get $n))))
    (func (export "entry") (param $n i32) (result i32)
        (i32.add (call $even (local.get $n)) (call $leaf (local.get $n))))
    (func (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $middle (i32.and (local.get $i) (i32.const 31)))))
            (if (i32.and (local.get $i) (i32.const 1))
                (then (local.set $sum (i32.add (local.get $sum) (call $middle (i32.const 3))))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (local.get $sum)))"#;

fn adaptive(checking: u32, instrumented: u32, checks: &str) -> ProfilingConfig {
    let (lengths, checks) =
        (BurstLengths::new(checking, instrumented), checks.parse().expect("a known name"));
    ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() })
}

fn config(strategy: Strategy, profiling: ProfilingConfig) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).background_compilation(false).promote_after(3).reoptimization(None);
    config.profiling(profiling).count_contexts(true);
    config
}

/// Runs a module, and returns the result of `run` and the profile.
fn run(config: &Config, wat: &str, argument: i32) -> Result<(i32, Profile)> {
    let engine = Engine::new(config)?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "log", |_: i32| ())?;
    linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
        let entry = caller.get_export("entry").and_then(Extern::into_func).expect("exported");
        entry.typed::<i32, i32>(&caller)?.call(&mut caller, n)
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, wat)?)?;
    let result = instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, argument)?;
    let profile = instance.profile(&store)?;
    assert_eq!(Profile::from_bytes(&profile.to_bytes().expect("valid")).expect("readable"), profile);
    Ok((result, profile))
}

fn exact(wat: &str, argument: i32) -> Result<(i32, ContextTree)> {
    let (result, profile) = run(&config(Strategy::Optimized, ProfilingConfig::Off), wat, argument)?;
    Ok((result, profile.contexts.expect("counted")))
}

/// Returns the calls by chain of callees with their call sites.
fn calls(tree: &ContextTree) -> BTreeMap<Vec<(Callee, u32)>, u64> {
    let mut chains: Vec<Vec<(Callee, u32)>> = vec![Vec::new()];
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        let mut chain = chains[record.parent as usize].clone();
        chain.push((tree.callee(index).clone(), record.site));
        chains.push(chain);
    }
    chains.into_iter().zip(tree.calls()).filter(|(_, calls)| *calls > 0).collect()
}

#[test]
fn a_burst_without_end_sees_the_exact_tree() -> Outcome {
    let (result, expected) = exact(WAT, 50)?;
    for optimized in [true, false].map(Some) {
        let (lengths, checks) = (BurstLengths::new(1, BurstLengths::FOREVER), "orig".parse()?);
        let forever = Adaptive { lengths, checks, optimized, ..Adaptive::default() };
        let (found_result, profile) =
            run(&config(Strategy::Optimized, ProfilingConfig::Adaptive(forever)), WAT, 50)?;
        let mut found = profile.contexts.expect("counted");
        assert!(matches!(found.kind, FigureKind::Sampled { .. }));
        assert_eq!(found_result, result);
        // Exact contexts have instruction counts only where paths are counted in them: see `unbiased.rs`.
        let instructions: u64 = found.instructions().expect("counted").iter().sum();
        assert_eq!(instructions, profile.functions.iter().map(|function| function.ops()).sum::<u64>());
        found.metrics.clear();
        found.records.iter_mut().for_each(|record| record.metrics.clear());
        assert_eq!(ContextTree { kind: FigureKind::Exact, ..found }, expected, "{optimized:?}");
    }
    Ok(())
}

#[test]
fn bursts_see_a_part_of_the_exact_tree_in_all_tiers() -> Outcome {
    let (result, tree) = exact(WAT, 200)?;
    let expected = calls(&tree);
    let all: u64 = expected.values().sum();
    for strategy in [Strategy::Baseline, Strategy::Tiered, Strategy::Optimized] {
        for (checking, instrumented) in [(1, 1), (2, 3), (7, 2), (100, 10), (300, 300)] {
            for checks in ["orig", "default"] {
                let how = format!("{strategy:?} {checking}:{instrumented} {checks}");
                let bursts = adaptive(checking, instrumented, checks);
                let (found_result, profile) = run(&config(strategy, bursts), WAT, 200)?;
                assert_eq!(found_result, result, "{how}");
                let found = calls(&profile.contexts.expect("counted"));
                for (chain, calls) in &found {
                    let most = expected.get(chain).copied().unwrap_or(0);
                    assert!(*calls <= most, "{how}: {calls} of {most} calls of {chain:?}");
                }
                let share = found.values().sum::<u64>() as f64 / all as f64;
                let rate = f64::from(instrumented) / f64::from(checking + instrumented);
                // Baseline code checks each iteration of a small loop, burst code one in four.
                assert!((rate / 4.0..1.0).contains(&share), "{how}: {share}");
            }
        }
    }
    Ok(())
}

/// Paths and call records count calls each in their own way: a call is a path that began at the entry, or one that a
/// record was found for. A check that changes its mind cuts the path, and the cut part began with the call all the same.
#[test]
fn calls_of_functions_are_the_same_in_paths_and_in_contexts() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Tiered, Strategy::Optimized] {
        for (checking, instrumented) in [(1, 1), (2, 3), (7, 2), (31, 50), (100, 10), (457, 50)] {
            for checks in ["orig", "default"] {
                let how = format!("{strategy:?} {checking}:{instrumented} {checks}");
                let (_, profile) =
                    run(&config(strategy, adaptive(checking, instrumented, checks)), WAT, 200)?;
                let [in_contexts, in_functions] = calls_by_function(&profile);
                assert!(in_functions.len() >= 4, "{how}: {in_functions:?}");
                assert_eq!(in_contexts, in_functions, "{how}");
            }
        }
    }
    Ok(())
}

/// Returns the calls of each function that was called: those in contexts, and its own.
fn calls_by_function(profile: &Profile) -> [BTreeMap<u32, u64>; 2] {
    let mut in_contexts: BTreeMap<u32, u64> = BTreeMap::new();
    if let Some(tree) = &profile.contexts {
        for (record, index) in tree.records.iter().zip(0..) {
            if let Callee::Function { index, .. } = tree.callee(index) {
                *in_contexts.entry(*index).or_default() += record.calls;
            }
        }
    }
    let of = |function: &FunctionProfile| (function.index, function.calls());
    let mut in_functions: BTreeMap<u32, u64> = profile.functions.iter().map(of).collect();
    in_contexts.retain(|_, calls| *calls > 0);
    in_functions.retain(|_, calls| *calls > 0);
    [in_contexts, in_functions]
}

/// Contexts count a call when it begins, paths when they end: of a run that a trap ends, or of which a profile is taken
/// before its end, frames are left that burst code has counted in one way only.
#[test]
fn calls_that_do_not_return_are_the_same_in_paths_and_in_contexts() -> Outcome {
    let wat = r#"(module
        (import "host" "look" (func $look (param i32)))
        (func $leaf (param $n i32) (result i32) (i32.mul (local.get $n) (i32.const 3)))
        (func $down (param $n i32) (result i32)
            (if (i32.eqz (local.get $n)) (then (call $look (i32.const 1)) (unreachable)))
            (i32.add (call $leaf (local.get $n)) (call $down (i32.sub (local.get $n) (i32.const 1)))))
        (func (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.add (local.get $sum) (call $leaf (local.get $i))))
                (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
            (i32.add (local.get $sum) (call $down (local.get $n)))))"#;
    for strategy in [Strategy::Baseline, Strategy::Tiered, Strategy::Optimized] {
        let mut live = 0;
        for (checking, instrumented) in [(1, BurstLengths::FOREVER), (1, 1), (2, 3), (7, 40), (31, 300)] {
            let config = config(strategy, adaptive(checking, instrumented, "default"));
            let engine = Engine::new(&config)?;
            let (mut store, mut linker) = (Store::new(&engine, Vec::new()), Linker::new(&engine));
            let module = Module::new(&engine, wat)?;
            let looked = module.clone();
            linker.func_wrap("host", "look", move |mut caller: Caller<'_, Vec<Profile>>, _: i32| {
                let profile = looked.profile(&caller).expect("it has an instance")?;
                caller.data_mut().push(profile);
                Ok::<(), Error>(())
            })?;
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert!(run.call(&mut store, 200).is_err());
            let ended = instance.profile(&store)?;
            for profile in store.data().iter().chain([&ended]) {
                let how = format!("{strategy:?} {checking}:{instrumented}");
                let [in_contexts, in_functions] = calls_by_function(profile);
                assert_eq!(in_contexts, in_functions, "{how}");
                let paths = profile.functions.iter().filter_map(FunctionProfile::paths);
                live += paths.map(|paths| paths.unfinished.len()).sum::<usize>();
                assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, *profile, "{how}");
            }
        }
        assert!(live > 0, "{strategy:?}");
    }
    Ok(())
}

#[test]
fn contexts_and_paths_in_bursts_are_charged_with_cycles() -> Outcome {
    for strategy in [Strategy::Tiered, Strategy::Optimized] {
        let mut config = config(strategy, adaptive(20, 10, "default"));
        let (_, profile) = run(config.measure([Metric::Cycles]), WAT, 200)?;
        let tree = profile.contexts.as_ref().expect("counted");
        assert_eq!((profile.metrics[0].name.as_str(), tree.metrics[0].name.as_str()), ("cycles", "cycles"));
        let paths = profile.functions.iter().flat_map(|function| function.paths());
        let of_finished =
            |paths: &PathProfile| paths.finished.iter().map(|path| path.metrics[0]).sum::<u64>();
        // The records that a burst has cut off.
        let of_others =
            |paths: &PathProfile| paths.unfinished.iter().map(|path| path.metrics[0]).sum::<u64>();
        let by_paths: u64 = paths.map(|paths| of_finished(paths) + of_others(paths)).sum();
        let by_contexts: u64 = tree.amounts(0).iter().sum();
        // Paths and contexts were charged with the same spans, from each of which the startup cost was subtracted.
        assert!(by_paths > 0 && by_contexts > 0, "{by_paths} {by_contexts}");
        assert_eq!(by_paths + profile.metrics[0].taken_off, by_contexts + tree.metrics[0].taken_off);
    }
    Ok(())
}

/// The stack is too deep for a burst to walk all frames.
#[test]
fn callers_are_unknown_where_the_stack_is_too_deep_to_look_at() -> Outcome {
    let deep = r#"(module
        (func $leaf (param i32) (result i32) (local.get 0))
        (func $down (param $n i32) (result i32) (local $i i32)
            (if (result i32) (local.get $n)
                (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
                (else
                    (loop $again
                        (drop (call $leaf (local.get $i)))
                        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
                    (i32.const 0))))
        (func (export "run") (param $n i32) (result i32) (call $down (local.get $n))))"#;
    // No burst begins on the way down.
    for (depth, checks, is_known) in [(100, 500, true), (30_000, 30_500, false)] {
        let (_, profile) = run(&config(Strategy::Optimized, adaptive(checks, 100, "default")), deep, depth)?;
        let tree = profile.contexts.expect("counted");
        assert_eq!(tree.is_cut(), !is_known, "{depth}: {tree:?}");
    }
    Ok(())
}
