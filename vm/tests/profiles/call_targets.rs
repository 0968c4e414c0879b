//! Call targets: the bursts' counts of indirect calls equal those of calling contexts.

use std::collections::BTreeMap;

use wprof::profiler::{BurstLengths, CallTarget, Callee, ContextTree, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Call sites with one callee and with several, a tail call, functions of the host and of another instance; and in the
/// middle of these a stack overflow, a wrong signature and a null reference. No function calls itself.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "double" (func $double (type $unary)))
    (import "other" "half" (func $half (type $unary)))
    (table (export "table") 8 funcref)
    (elem (i32.const 0) $one $two $double $half $wrong)
    (func $one (type $unary) (i32.add (local.get 0) (i32.const 1)))
    (func $two (type $unary) (i32.add (local.get 0) (i32.const 2)))
    (func $wrong (param f64))
    (func $tail (type $unary) (return_call_indirect (type $unary) (local.get 0) (i32.and (local.get 0) (i32.const 1))))
    (func (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect (type $unary) (local.get $i) (i32.and (local.get $i) (i32.const 3)))))
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect (type $unary) (local.get $i) (i32.const 1))))
            (local.set $sum (i32.add (local.get $sum) (call $tail (i32.shr_u (local.get $i) (i32.const 3)))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (local.get $sum))
    (func (export "pick") (param $n i32) (result i32)
        (call_indirect (type $unary) (local.get $n) (local.get $n)))
)"#;

const OTHER: &str = r#"(module
    (func (export "half") (param i32) (result i32) (i32.shr_u (local.get 0) (i32.const 1))))"#;

/// Returns all results, and the profile.
fn run(config: &Config) -> Result<(Vec<Option<i32>>, Profile, Vec<CallTarget>)> {
    let engine = Engine::new(config)?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    let other = linker.instantiate(&mut store, &Module::new(&engine, OTHER)?)?;
    linker.func_wrap("host", "double", |n: i32| 2 * n)?;
    linker.instance(&mut store, "other", other)?;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let mut results = Vec::new();
    for (name, argument) in [("run", 1000), ("pick", 2), ("pick", 4), ("pick", 5), ("pick", 9), ("run", 7)] {
        let func = instance.get_typed_func::<i32, i32>(&mut store, name)?;
        results.push(func.call(&mut store, argument).ok());
    }
    let targets = instance.call_targets(&store);
    Ok((results, instance.profile(&store)?, targets))
}

/// Returns the counts of a burst that never ends.
fn counted(strategy: Strategy) -> Result<(Vec<Option<i32>>, Profile, Vec<CallTarget>)> {
    run(&sampling(1, BurstLengths::FOREVER, strategy))
}

fn sampling(checking: u32, instrumented: u32, strategy: Strategy) -> Config {
    let lengths = BurstLengths::new(checking, instrumented);
    let checks = "orig".parse().expect("a known name");
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() }));
    config.strategy(strategy).background_compilation(false).promote_after(3);
    config
}

type Calls = BTreeMap<(u32, u32, Callee), u64>;

fn listed(targets: &[CallTarget]) -> Calls {
    targets.iter().map(|t| ((t.caller, t.site, t.callee.clone()), t.count)).collect()
}

/// Returns the calls of a tree, by caller, call site and callee.
fn of_tree(tree: &ContextTree) -> Calls {
    let mut calls = Calls::new();
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        if let Callee::Function { index: caller, .. } = tree.callee(record.parent) {
            *calls.entry((*caller, record.site, tree.callee(index).clone())).or_default() += record.calls;
        }
    }
    calls
}

#[test]
fn a_burst_without_end_counts_every_indirect_call() -> Outcome {
    let mut config = Config::new();
    let (expected, exact, none) = run(config.count_contexts(true))?;
    assert!(none.is_empty() && expected.contains(&None));
    let (results, profile, targets) = counted(Strategy::Optimized)?;
    assert_eq!(results, expected);
    let found = listed(&targets);
    assert_eq!(found, listed(&profile.call_targets));
    let mut calls = of_tree(exact.contexts.as_ref().expect("contexts"));
    calls.retain(|(caller, site, _), _| found.keys().any(|(c, s, _)| (c, s) == (caller, site)));
    assert_eq!(found, calls);
    let callees = |kind: fn(&Callee) -> bool| found.keys().filter(|(_, _, callee)| kind(callee)).count();
    assert_eq!(callees(|callee| matches!(callee, Callee::Host { .. })), 2);
    assert_eq!(callees(|callee| matches!(callee, Callee::Elsewhere { .. })), 1);
    assert_eq!(found.len(), 4 + 1 + 2 + 1, "{found:#?}");
    profile.verify()?;
    Ok(())
}

#[test]
fn exact_profiles_count_every_indirect_call_if_asked() -> Outcome {
    let (expected, exact, _) = run(Config::new().count_contexts(true))?;
    let tree = of_tree(exact.contexts.as_ref().expect("contexts"));
    for collect in [Collect::Edges, Collect::Paths, Collect::Blocks] {
        for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
            let mut config = Config::new();
            config.profiling(ProfilingConfig::Exact(collect)).strategy(strategy).count_call_targets(true);
            config.background_compilation(false).promote_after(3);
            let (results, profile, targets) = run(&config)?;
            assert_eq!(results, expected);
            profile.verify()?;
            let found = listed(&profile.call_targets);
            assert_eq!(found, listed(&targets));
            let mut calls = tree.clone();
            calls.retain(|(caller, site, _), _| found.keys().any(|(c, s, _)| (c, s) == (caller, site)));
            assert_eq!(found, calls, "{collect:?}, {strategy:?}");
            assert_eq!(found.len(), 4 + 1 + 2 + 1, "{found:#?}");
        }
    }
    let mut config = Config::new();
    assert!(Engine::new(config.count_call_targets(true)).is_err());
    Ok(())
}

#[test]
fn targets_are_kept_in_profile_files_and_compared() -> Outcome {
    let (_, profile, _) = counted(Strategy::Tiered)?;
    assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?.call_targets, profile.call_targets);
    let (_, exact, _) = run(Config::new().count_contexts(true))?;
    let changes = profiler::Comparison::new(&exact, &profile).call_targets();
    let calls: Vec<_> = changes.iter().map(|change| change.calls).collect();
    assert!(profiler::overlap(&calls).expect("both have some") > 0.95, "{calls:?}");
    let mut twice = profile.clone();
    twice.merge(&profile)?;
    assert!(
        twice.call_targets.iter().zip(&profile.call_targets).all(|(sum, one)| sum.count == 2 * one.count)
    );
    Ok(())
}

#[test]
fn seldom_bursts_count_a_share_of_the_calls_and_no_others() -> Outcome {
    let (_, all, _) = counted(Strategy::Optimized)?;
    let (_, some, _) = run(&sampling(90, 10, Strategy::Optimized))?;
    let (all, some) = (listed(&all.call_targets), listed(&some.call_targets));
    assert!(some.iter().all(|(key, count)| all.get(key).is_some_and(|most| count <= most)), "{some:#?}");
    let share = some.values().sum::<u64>() as f64 / all.values().sum::<u64>() as f64;
    assert!((0.05..0.15).contains(&share), "{share}");
    Ok(())
}
