//! The mispredictions of the simulated branch predictor equal those computed from the branches that a program logs
//! itself, in every tier, for every caller, and across traps.

use std::collections::BTreeMap;

use wprof::profiler::{BranchOutcome, BranchPredictor, PathProfile, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn engines() -> impl Iterator<Item = Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let kinds = strategies
        .into_iter()
        .flat_map(|strategy| ["paths", "contexts", "flow"].map(|kind| (strategy, kind)));
    kinds.map(|(strategy, kind)| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(20);
        config
            .count_contexts(kind != "paths")
            .flow_contexts(kind == "flow")
            .measure([Metric::Mispredictions]);
        if kind != "contexts" {
            config.profiling(ProfilingConfig::Exact(Collect::Paths));
        }
        Engine::new(&config).expect("this machine")
    })
}

/// Returns functions that call the next one, with branches of all kinds. Before each branch a function tells the host
/// the branch's number and its condition.
fn program(functions: u32) -> String {
    let mut next = 0;
    let mut see = |test: &str| {
        next += 1;
        format!("(call $see (i32.const {next}) {test})")
    };
    let function = |index: u32| {
        let bit = |shift: u32| {
            format!("(i32.and (i32.const 1) (i32.shr_u (local.get $x) (i32.const {})))", 7 + shift + index)
        };
        let (small, odd, null) = (
            format!("(i32.lt_u (local.get $x) (i32.const {}))", 0x4000_0000 * (1 + index % 3)),
            bit(1),
            bit(3),
        );
        let again = "(local.get $n)";
        let call = match index + 1 < functions {
            true => format!("(call $f{} (i32.const 3) (local.get $x))", index + 1),
            false => "(if (i32.eq (local.get $x) (i32.const 0x5bd1e995)) (then (unreachable)))".to_owned(),
        };
        let (first, second) = (see(&small), see(&odd));
        let last = match index + 1 < functions {
            true => String::new(),
            false => see("(i32.eq (local.get $x) (i32.const 0x5bd1e995))"),
        };
        let (third, fourth) = (see(&null), see(again));
        format!(
            "(func $f{index} (param $n i32) (param $x i32)
                (loop $again
                    (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1664525)) (i32.const 1013904223)))
                    {first} (if {small} (then (local.set $x (i32.xor (local.get $x) (i32.const 12345)))))
                    (block $out {second} (br_if $out {odd}) {last} {call})
                    {third} (drop (block $null (result funcref)
                        (br_on_null $out2 (select (result funcref) (ref.null func) (ref.func $see) {null}))))
                    (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                    {fourth} (br_if $again {again})))"
        )
        .replace("(drop (block $null (result funcref)", "(block $out2 (drop")
    };
    let all: String = (0..functions).map(function).collect();
    format!(
        r#"(module (import "host" "see" (func $see (param i32 i32))) (elem declare func $see)
            {all} (export "run" (func $f0)))"#
    )
}

#[derive(Default)]
struct Log(Vec<(i32, bool)>);

/// Returns the outcomes of each branch, by its number.
fn expected(log: &Log, place: &BTreeMap<i32, u32>) -> BTreeMap<u32, [u64; 3]> {
    let mut predictor = BranchPredictor::default();
    let mut all: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for (number, is_taken) in &log.0 {
        let found = all.entry(place[number]).or_default();
        let is_guessed = predictor.predict(place[number], *is_taken);
        *found = [found[0] + 1, found[1] + u64::from(*is_taken), found[2] + u64::from(!is_guessed)];
    }
    all
}

fn sum_of_paths(profile: &Profile) -> Option<u64> {
    let column = profile.metrics.iter().position(|metric| metric.name == "mispredictions")?;
    let paths = profile.functions.iter().filter_map(|function| function.paths());
    let of = |paths: &PathProfile| {
        let finished = paths.finished.iter().map(|path| path.metrics[column]);
        finished.chain(paths.unfinished.iter().map(|path| path.metrics[column])).sum::<u64>()
    };
    Some(paths.map(of).sum())
}

#[test]
fn mispredictions_are_those_of_the_branches_that_are_logged() -> Outcome {
    for engine in engines() {
        let module = Module::new(&engine, program(4))?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "see", |mut caller: Caller<'_, Log>, number: i32, test: i32| {
            caller.data_mut().0.push((number, test != 0));
        })?;
        let mut store = Store::new(&engine, Log::default());
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<(i32, i32), ()>(&mut store, "run")?;
        for seed in 1..40 {
            // The seed decides whether the call traps.
            let _ = run.call(&mut store, (30, seed * 77));
        }
        let profile = instance.profile(&store)?;
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        let numbers: std::collections::BTreeSet<i32> =
            store.data().0.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers.len(), profile.branches.len(), "{:?}", engine.config());
        // Branch numbers follow the order of the code.
        let place: BTreeMap<i32, u32> =
            numbers.into_iter().zip(profile.branches.iter().map(|branch| branch.offset)).collect();
        let found = profile.branches.iter();
        let found: BTreeMap<u32, [u64; 3]> =
            found.map(|of| (of.offset, [of.executed, of.taken, of.mispredicted])).collect();
        let expected = expected(store.data(), &place);
        assert_eq!(found, expected, "{:?}", engine.config());
        let missed: u64 = expected.values().map(|[_, _, missed]| missed).sum();
        assert!(missed > 1000, "{missed}");
        if let Some(tree) = &profile.contexts {
            let column =
                tree.metrics.iter().position(|metric| metric.name == "mispredictions").expect("there");
            assert_eq!(tree.amounts(column).iter().sum::<u64>(), missed, "{:?}", engine.config());
        }
        if let Some(along_paths) = sum_of_paths(&profile) {
            assert_eq!(along_paths, missed, "{:?}", engine.config());
        }
    }
    Ok(())
}

/// The counts of two runs add up, and a run without a predictor leaves none.
#[test]
fn branches_of_two_runs_add_up() -> Outcome {
    let branch =
        |offset, executed| BranchOutcome { function: 1, offset, executed, taken: 1, mispredicted: 1 };
    let of = |branches: &[BranchOutcome]| Profile { branches: branches.to_vec(), ..Profile::default() };
    let mut sum = of(&[branch(5, 3), branch(9, 1)]);
    sum.merge(&of(&[branch(5, 4)]))?;
    assert_eq!(
        sum.branches,
        [BranchOutcome { executed: 7, taken: 2, mispredicted: 2, ..branch(5, 0) }, branch(9, 1)]
    );
    sum.merge(&Profile::default())?;
    assert!(sum.branches.is_empty());
    Ok(())
}
