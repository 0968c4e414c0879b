//! What tiers, bursts and the reoptimizer do for programs: how soon they run, how soon they run well, and how well.
//!
//! All are short: criterion tells a change of one machine from its noise. What does not depend on the machine, like code
//! size, decisions and instructions, is counted by `regress`, which also compares two builds.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wprof::profiler::{BurstLengths, CodeTier, Profile};
use wprof::{Adaptive, Config, Engine, Instance, Module, ProfilingConfig, Store, Strategy, TypedFunc};
use wprof_bench::programs::{self, Program, words};
use wprof_bench::regress::WORK;
use wprof_bench::regress::figures::{latency, peak};
use wprof_bench::session::Loaded;

/// Bursts that short runs have enough of for hot functions to be made better.
const SHORT: BurstLengths = BurstLengths::new(1000, 100);
/// A reoptimizer that has not come to an end by then does not.
const MOST_RUNS: usize = 20;

/// A program with arguments for some milliseconds.
struct Work {
    program: Program,
    args: Vec<String>,
}

fn work() -> Vec<Work> {
    let own = programs::own().expect("a table of programs");
    let of = |work: wprof_bench::regress::Work| {
        let program = own.iter().find(|program| program.name == work.program).expect("one of ours");
        Work { program: program.clone(), args: words(work.counted) }
    };
    WORK.map(of).into_iter().collect()
}

fn adaptive(lengths: BurstLengths) -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.hash_ahead(false);
    config
}

fn with(strategy: Strategy) -> Config {
    let mut config = Config::new();
    config.strategy(strategy);
    config
}

fn loaded<'a>(program: &'a Program, config: &Config) -> Loaded<'a> {
    Loaded::new(program, config).expect("it loads")
}

/// A group whose benches take about a second each.
fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    group
}

/// From nothing to the end of a short run, as users start programs.
fn first_result(c: &mut Criterion) {
    let mut group = group(c, "time to first result");
    for Work { program, .. } in work() {
        let id = BenchmarkId::from_parameter(&program.name);
        let run = || loaded(&program, &adaptive(BurstLengths::default())).run(&program.quick_args);
        group.bench_function(id, |b| b.iter(|| run().expect("it runs").time));
    }
}

/// When the last better version is ready, and how long functions wait for optimised code. A run that ends before counts whole.
fn promotion(c: &mut Criterion) {
    for (name, of) in [
        ("time to peak", peak as fn(&Profile) -> Option<u64>),
        ("promotion latency", latency as fn(&Profile) -> Option<u64>),
    ] {
        let mut group = group(c, name);
        for Work { program, args } in work() {
            let mut config = adaptive(SHORT);
            config.time_line(true);
            let time = || {
                let session = loaded(&program, &config).run(&args).expect("it runs");
                let found = of(&session.profile().expect("it is profiled"));
                found.map_or(session.time, Duration::from_nanos)
            };
            group.bench_function(BenchmarkId::from_parameter(&program.name), |b| {
                b.iter_custom(|times| (0..times).map(|_| time()).sum());
            });
        }
    }
}

/// Runs of code that stays as it is.
fn steady(c: &mut Criterion) {
    let mut group = group(c, "steady state");
    for Work { program, args } in work() {
        let mut bench = |tier, config: &Config| {
            let loaded = loaded(&program, config);
            warm_up(&loaded, &args);
            let id = BenchmarkId::new(tier, &program.name);
            group.bench_function(id, |b| b.iter(|| loaded.run(&args).expect("it runs").time));
        };
        bench("baseline", &with(Strategy::Baseline));
        bench("optimised", &with(Strategy::Optimized));
        bench("reoptimized", adaptive(SHORT).background_compilation(false));
    }
}

/// Runs a program until no better version is made.
fn warm_up(loaded: &Loaded<'_>, args: &[String]) {
    let mut known = None;
    for _ in 0..MOST_RUNS {
        loaded.run(args).expect("it runs");
        let now = loaded.module().reoptimizations().len();
        if known.replace(now) == Some(now) {
            return;
        }
    }
}

/// How fast wasm is compiled, by tier: bytes of the bodies of functions whose code is made.
fn compile(c: &mut Criterion) {
    let mut group = group(c, "compile");
    for Work { program, args } in work() {
        for (name, tier, strategy) in [
            ("baseline", CodeTier::Baseline, Strategy::Baseline),
            ("optimised", CodeTier::Optimized, Strategy::Optimized),
            ("reoptimized", CodeTier::Reoptimized, Strategy::Tiered),
        ] {
            let mut config = adaptive(SHORT);
            config.strategy(strategy).time_line(true).background_compilation(false).parts_above(usize::MAX);
            let compiled = || compiled(&program, &args, &config, tier);
            let (_, bytes) = compiled();
            if bytes > 0 {
                group.throughput(Throughput::BytesDecimal(bytes));
                group.bench_function(BenchmarkId::new(name, &program.name), |b| {
                    b.iter_custom(|times| (0..times).map(|_| compiled().0).sum());
                });
            }
        }
    }
}

/// How long versions of a tier took in a run, and the bytes of wasm that they are made of.
fn compiled(program: &Program, args: &[String], config: &Config, tier: CodeTier) -> (Duration, u64) {
    let loaded = loaded(program, config);
    let profile = loaded.run(args).expect("it runs").profile().expect("it is profiled");
    let versions = profile.timeline.into_iter().flat_map(|timeline| timeline.versions);
    versions.filter(|version| version.tier == tier).fold((Duration::ZERO, 0), |(took, bytes), version| {
        let body = loaded.module().info().body(version.function).len() as u64;
        (took + Duration::from_nanos(version.took_ns), bytes + body)
    })
}

/// A loop that calls nothing and is called once.
const LOOP: &str = r#"(module (func (export "run") (param $n i32) (result i32) (local $sum i32)
    (loop $again
        (local.set $sum (i32.xor (i32.mul (local.get $sum) (i32.const 31)) (local.get $n)))
        (if (i32.and (local.get $sum) (i32.const 64))
            (then (local.set $sum (i32.add (local.get $sum) (i32.const 7)))))
        (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))"#;

fn looping(config: &Config) -> (Store<()>, TypedFunc<i32, i32>) {
    let engine = Engine::new(config).expect("this machine is supported");
    let module = Module::new(&engine, LOOP).expect("valid");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).expect("has no imports");
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run").expect("is exported");
    (store, run)
}

/// The only call of a long loop, with all that is compiled for it: optimised code takes over in its middle.
fn on_stack_replacement(c: &mut Criterion) {
    const ROUNDS: i32 = 3_000_000;
    let mut group = group(c, "a loop that runs once");
    group.throughput(Throughput::Elements(ROUNDS as u64));
    for (name, config) in [
        ("baseline", with(Strategy::Baseline)),
        ("optimised", with(Strategy::Optimized)),
        ("tiered, OSR", with(Strategy::Tiered)),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let (mut store, run) = looping(&config);
                run.call(&mut store, black_box(ROUNDS)).expect("returns")
            });
        });
    }
}

/// Rounds of a loop by how many checks lie between transitions to a burst and back.
fn transitions(c: &mut Criterion) {
    const ROUNDS: i32 = 100_000;
    let mut group = group(c, "burst transitions");
    group.throughput(Throughput::Elements(ROUNDS as u64));
    for lengths in ["inf:1", "1000:1", "100:1", "10:1", "1:1"] {
        let mut config = adaptive(lengths.parse().expect("lengths"));
        config.reoptimization(None).background_compilation(false);
        let (mut store, run) = looping(&config);
        for _ in 0..3 {
            run.call(&mut store, ROUNDS).expect("returns");
        }
        let id = BenchmarkId::from_parameter(lengths);
        group.bench_function(id, |b| {
            b.iter(|| run.call(&mut store, black_box(ROUNDS)).expect("returns"));
        });
    }
}

criterion_group!(benches, first_result, promotion, steady, compile, on_stack_replacement, transitions);
criterion_main!(benches);
