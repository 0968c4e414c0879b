//! The ranking of functions by cycles is the same with and without a simulation beside them.
//!
//! Other processes only add cycles, so each function has the least of several runs. Only functions are compared of which
//! one has clearly more than the other.

use std::collections::BTreeMap;

use wprof::{Config, Engine, Instance, Linker, Metric, Module, Store};
use wprof_profiler::{CacheShape, Callee, Profile};
use wprof_spec_tests::programs::{Program, own};

/// Runs of each kind.
const RUNS: usize = 5;

/// A function that has so many times the cycles of another is above it.
const CLEARLY: f64 = 2.0;

/// Share of all cycles below which the rank of a function is chance.
const LEAST: f64 = 0.04;

type Cycles = BTreeMap<Callee, u64>;

/// Each function has about half of the instructions of the one before, and the last ones have the most accesses and the
/// most branches that cannot be predicted: what simulations have to do turns this over.
const TURNED: &str = r#"(module (memory 1) (global $seed (mut i32) (i32.const 12345))
    (func $arithmetic (param $n i32) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 0x5851f42d4c957f2d)) (i64.const 11)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $x))
    (func $accesses (param $n i32) (local $at i32)
        (loop $again
            (local.set $at (i32.and (i32.mul (local.get $n) (i32.const 8)) (i32.const 0x3ff8)))
            (i32.store (local.get $at) (i32.load offset=4 (local.get $at)))
            (i32.store offset=8 (local.get $at) (i32.load offset=12 (local.get $at)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func $branches (param $n i32) (result i32) (local $odd i32)
        (loop $again
            (global.set $seed (i32.add (i32.mul (global.get $seed) (i32.const 1103515245)) (i32.const 12345)))
            (if (i32.and (global.get $seed) (i32.const 0x10000))
                (then (local.set $odd (i32.add (local.get $odd) (i32.const 1)))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $odd))
    (func (export "run") (param $rounds i32)
        (loop $again
            (drop (call $arithmetic (i32.const 4000)))
            (call $accesses (i32.const 1000))
            (drop (call $branches (i32.const 60)))
            (br_if $again (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))))"#;

/// Returns the kinds of measurements; the first has no simulation.
fn kinds() -> [Vec<Metric>; 3] {
    let cache = Metric::CacheMisses(CacheShape::new(32 << 10, 8, 64).expect("a cache"));
    [vec![Metric::Cycles], vec![Metric::Cycles, cache], vec![Metric::Cycles, Metric::Mispredictions]]
}

fn engine(metrics: Vec<Metric>) -> Engine {
    let mut config = Config::new();
    config.background_compilation(false).promote_after(1).count_contexts(true).measure(metrics);
    Engine::new(&config).expect("an engine")
}

/// Returns the cycles of each function itself.
fn by_function(profile: &Profile) -> Cycles {
    let tree = profile.contexts.as_ref().expect("contexts are counted");
    let column = tree.metrics.iter().position(|metric| metric.name == "cycles").expect("they are measured");
    let mut sums = Cycles::new();
    for (record, cycles) in (0..).zip(tree.amounts(column)) {
        *sums.entry(tree.callee(record).clone()).or_default() += cycles;
    }
    sums
}

/// Returns the least cycles of each function in several runs.
fn least(run: impl Fn() -> Profile) -> Cycles {
    let mut least = Cycles::new();
    for _ in 0..RUNS {
        for (function, cycles) in by_function(&run()) {
            least.entry(function).and_modify(|least| *least = cycles.min(*least)).or_insert(cycles);
        }
    }
    least
}

/// Returns the pairs of functions of which the first has clearly more cycles than the second, among the functions that
/// have more than a small share.
fn ranked(cycles: &Cycles) -> Vec<(&Callee, &Callee)> {
    let all = cycles.values().sum::<u64>() as f64;
    let large = |of: u64| of as f64 >= LEAST * all;
    let above = cycles.iter().filter(|(_, of)| large(**of)).flat_map(|(above, &of)| {
        let is_below = move |below: &(&Callee, &u64)| of as f64 >= CLEARLY * *below.1 as f64;
        cycles.iter().filter(|(_, of)| large(**of)).filter(is_below).map(move |(below, _)| (above, below))
    });
    above.collect()
}

/// Compares a program's rankings. Returns the number of pairs of functions that were compared.
fn compare(name: &str, run: impl Fn(&Engine) -> Profile) -> usize {
    let found = kinds().map(|metrics| least(|| run(&engine(metrics.clone()))));
    let [alone, others @ ..] = &found;
    let pairs = ranked(alone);
    for (other, kind) in others.iter().zip(["cache", "branches"]) {
        for (above, below) in &pairs {
            let figures = [above, below].map(|function| (alone[*function], other[*function]));
            println!("{name}, {kind}: {above} above {below}: {figures:?}");
            assert!(
                figures[0].1 > figures[1].1,
                "{name}: {above} is above {below}, but with {kind} it is not: (alone, beside it) are {figures:?}"
            );
        }
    }
    pairs.len()
}

fn run_turned(engine: &Engine) -> Profile {
    let (mut store, module) = (Store::new(engine, ()), Module::new(engine, TURNED).expect("a module"));
    let instance: Instance = Linker::new(engine).instantiate(&mut store, &module).expect("an instance");
    let run = instance.get_typed_func::<i32, ()>(&mut store, "run").expect("exported");
    run.call(&mut store, 300).expect("it runs");
    instance.profile(&store).expect("a profile")
}

fn run_program(program: &Program, engine: &Engine) -> Profile {
    let (wasm, out) =
        (std::fs::read(&program.file).expect("a module"), tempfile::tempdir().expect("a folder"));
    let ended = program.run(engine, &wasm, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    ended.instance.profile(&ended.store).unwrap_or_else(|e| panic!("{}: {e}", program.name))
}

#[test]
#[ignore = "measures: run it in a release build on a quiet machine"]
fn a_simulation_does_not_turn_the_ranking_over() {
    // Arithmetic is above accesses, and both are above branches.
    assert_eq!(compare("turned", run_turned), 3);
}

#[test]
#[ignore = "measures: run it in a release build on a quiet machine"]
fn programs_have_the_same_ranking_beside_a_simulation() {
    const NAMES: [&str; 4] = ["sort", "strings", "hash", "json"];
    let programs = own().into_iter().filter(|program| NAMES.contains(&program.name.as_str()));
    let pairs: usize =
        programs.map(|program| compare(&program.name, |engine| run_program(&program, engine))).sum();
    assert!(pairs >= 10, "only {pairs} pairs of functions differ clearly");
}
