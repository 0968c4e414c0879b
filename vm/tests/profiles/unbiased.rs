//! Samples are unbiased: the share of each function and calling context lies within the profile's interval.
//!
//! The programs are hard to sample: their work lasts longer than a burst, or happens where there is no check.

use std::collections::BTreeMap;

use wprof::profiler::{BurstLengths, Callee, Profile, Shares};
use wprof::*;

use crate::shares::{Judged, cases, chains, phases};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A counting loop, and functions that run it a given number of times.
const LOOPS: &str = r#"
    (import "host" "nothing" (func $nothing))
    (import "host" "back" (func $back (param i32)))
    (global $x (mut i32) (i32.const 1))
    (func $spin (param $n i32)
        (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func $leaf (param $n i32) (global.set $x (i32.add (i32.mul (global.get $x) (i32.const 17)) (local.get $n))))
"#;

/// Returns `instructions` instructions without a call or a loop.
fn work(instructions: usize) -> String {
    "(global.set $x (i32.add (i32.mul (global.get $x) (i32.const 17)) (i32.const 3)))"
        .repeat(instructions / 6)
}

/// Returns a leaf function `name` that executes `instructions` instructions.
fn worker(name: &str, instructions: usize) -> String {
    format!("(func ${name} {})", work(instructions))
}

/// Returns a `run` that executes `body` a given number of times, with `$n` counting down.
fn rounds(body: &str) -> String {
    format!(
        r#"(func $run (export "run") (param $n i32)
            (loop $again {body} (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))"#
    )
}

/// Returns the programs: name, functions, and number of iterations.
pub fn programs() -> Vec<(&'static str, String, i32)> {
    let spin = |n: u32| format!("(call $spin (i32.const {n}))");
    vec![
        ("the caller of a long call", rounds(&format!("{}{}", work(1800), spin(700))), 300),
        ("work around a long call", rounds(&format!("{}{}{}", work(900), spin(400), work(900))), 300),
        (
            "a leaf behind a long call",
            worker("after", 1200) + &rounds(&format!("{} (call $after) {}", spin(500), work(60))),
            300,
        ),
        (
            "leaves without checks",
            "(func $h (param $p i32) (if (local.get $p) (then (nop))))
             (func $g (param $p i32) (call $h (local.get $p)))"
                .to_owned()
                + &rounds("(call $g (i32.and (local.get $n) (i32.const 1)))"),
            60_000,
        ),
        (
            "deep recursion",
            format!(
                "(func $deep (param $d i32) (if (local.get $d)
                    (then (call $deep (i32.sub (local.get $d) (i32.const 1))) {})))",
                work(30)
            ) + &rounds(&format!("(call $deep (i32.const 300)) {}", spin(200))),
            150,
        ),
        (
            "mutual recursion",
            format!(
                "(func $even (param $d i32) (if (local.get $d)
                    (then (call $odd (i32.sub (local.get $d) (i32.const 1))) {})))
                 (func $odd (param $d i32) (if (local.get $d)
                    (then {} (call $even (i32.sub (local.get $d) (i32.const 1))))))",
                work(12),
                work(48)
            ) + &rounds("(call $even (i32.const 90))"),
            400,
        ),
        (
            "phases",
            worker("a", 60)
                + &worker("b", 240)
                + &worker("c", 24)
                + &rounds(
                    "(if (i32.gt_u (local.get $n) (i32.const 40000)) (then (call $a))
                        (else (if (i32.gt_u (local.get $n) (i32.const 15000)) (then (call $b)) (else (call $c)))))",
                ),
            60_000,
        ),
        ("a loop around host calls", rounds(&format!("(call $nothing) {}{}", work(36), spin(3))), 30_000),
        (
            "host functions that call back",
            r#"(func (export "called") (param $n i32) (call $leaf (local.get $n)) "#.to_owned()
                + &work(30)
                + ")"
                + &rounds(&format!("(call $back (local.get $n)) {}", spin(4))),
            20_000,
        ),
        (
            "one function called from two places",
            r#"(func $cheap (call $spin (i32.const 5)))
               (func $dear (call $spin (i32.const 120)))"#
                .to_owned()
                + &rounds("(call $cheap) (call $cheap) (call $dear) (call $cheap)"),
            2000,
        ),
        (
            "calls through a table",
            worker("p", 30)
                + &worker("q", 300)
                + "(type $t (func)) (table 2 funcref) (elem (i32.const 0) $p $q)"
                + &rounds("(call_indirect (type $t) (i32.eqz (i32.rem_u (local.get $n) (i32.const 5))))"),
            30_000,
        ),
        (
            "short loops without checks",
            format!(
                "(func $short (local $i i32) (loop $again (call $leaf (local.get $i)) {}
                    (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4)))))",
                work(12)
            ) + &rounds(&format!("(call $short) {}", spin(30))),
            3000,
        ),
    ]
}

pub fn config(profiling: ProfilingConfig) -> Config {
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).background_compilation(false).reoptimization(None);
    config.profiling(profiling).count_contexts(true);
    config
}

pub fn bursts(checking: u32, instrumented: u32, checks: &str) -> ProfilingConfig {
    let lengths = BurstLengths::new(checking, instrumented);
    let checks = checks.parse().expect("a known name");
    ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() })
}

/// Returns the profile of a program with `count` iterations.
fn profile(config: &Config, functions: &str, count: i32) -> Result<Profile> {
    profile_in(&Engine::new(config)?, functions, count)
}

/// Returns the profile of a program with `count` iterations, whose module and store are new.
pub fn profile_in(engine: &Engine, functions: &str, count: i32) -> Result<Profile> {
    let (mut store, mut linker) = (Store::new(engine, ()), Linker::new(engine));
    linker.func_wrap("host", "nothing", || ())?;
    linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>, n: i32| -> Result<()> {
        let called = caller.get_export("called").and_then(Extern::into_func).expect("exported");
        called.typed::<i32, ()>(&caller)?.call(&mut caller, n)
    })?;
    let module = Module::new(engine, format!("(module {LOOPS}{functions})"))?;
    let instance = linker.instantiate(&mut store, &module)?;
    instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, count)?;
    let profile = instance.profile(&store)?;
    assert_eq!(Profile::from_bytes(&profile.to_bytes().expect("valid")).expect("readable"), profile);
    Ok(profile)
}

pub fn exact(functions: &str, count: i32) -> Result<Profile> {
    profile(config(ProfilingConfig::Exact(Collect::Paths)).flow_contexts(true), functions, count)
}

#[test]
fn shares_lie_where_they_are_said_to() -> Outcome {
    let mut judged = Judged::default();
    for (name, functions, count) in programs() {
        let exact = exact(&functions, count)?;
        for phase in 0..phases() {
            let sampled = profile(&config(bursts(457 + 7 * phase, 50, "default")), &functions, count)?;
            judged.add(name, phase, &exact, &sampled);
        }
    }
    judged.hold(30 * phases() as usize)
}

/// The mean over many phases, which is hardly affected by chance.
#[test]
fn the_mean_of_samples_is_the_exact_share() -> Outcome {
    for (name, functions, count) in programs() {
        let exact = exact(&functions, count)?;
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        const PHASES: u32 = 12;
        for phase in 0..PHASES {
            let sampled = profile(&config(bursts(211 + 10 * phase, 40, "default")), &functions, count)?;
            for case in cases(&exact, &sampled) {
                let sum = sums.entry(case.what).or_default();
                *sum = (case.exact, sum.1 + case.sampled.share / f64::from(PHASES));
            }
        }
        for (what, (exact, mean)) in sums {
            println!("{name}: {what} {:.1}%, mean of samples {:.1}%", 100.0 * exact, 100.0 * mean);
            assert!((exact - mean).abs() < 0.04, "{name}: {what} {exact}, mean of samples {mean}");
        }
    }
    Ok(())
}

/// The test includes tiered code, where functions have no burst code at first, and baseline code is not left at
/// entries.
#[test]
fn a_burst_without_end_is_the_exact_profile() -> Outcome {
    for (name, functions, count) in programs() {
        let exact = exact(&functions, count)?;
        for strategy in [Strategy::Optimized, Strategy::Tiered, Strategy::Baseline] {
            for (checking, checks) in [(1, "orig"), (1, "default"), (1000, "default")] {
                let mut config = config(bursts(checking, BurstLengths::FOREVER, checks));
                let sampled =
                    profile(config.strategy(strategy).background_compilation(true), &functions, count)?;
                let how = format!("{name}, {strategy:?}, {checks}, {checking}:inf");
                let rate = sampled.sampled().expect("a sample");
                assert_eq!(rate.counted, rate.of, "{how}");
                let figures = |profile: &Profile| -> Vec<(u32, u64, u64)> {
                    profile.functions.iter().map(|f| (f.index, f.ops(), f.calls())).collect()
                };
                assert_eq!(figures(&sampled), figures(&exact), "{how}");
                let contexts = |profile: &Profile| -> BTreeMap<Vec<Callee>, (u64, u64)> {
                    let tree = profile.contexts.as_ref().expect("counted");
                    let own = profile.instructions_in_contexts().expect("known");
                    let figures = |record: u32| (own[record as usize], tree.calls()[record as usize]);
                    chains(tree).into_iter().map(|(chain, record)| (chain, figures(record))).collect()
                };
                assert_eq!(contexts(&sampled), contexts(&exact), "{how}");
            }
        }
    }
    Ok(())
}

/// Neither version instruments the paper's boring loops.
#[test]
fn boring_loops_are_not_counted() -> Outcome {
    let functions = rounds(&format!("{} (call $spin (i32.const 50))", work(60)));
    for (checks, is_boring) in
        [("LN", true), ("L4", true), ("EC+L4", true), ("orig", false), ("default", false)]
    {
        let found = profile(&config(bursts(1, BurstLengths::FOREVER, checks)), &functions, 300)?;
        let shares = Shares::new(&found);
        let spin = found.functions.iter().find(|function| function.name.as_deref() == Some("spin"));
        let share = spin.map_or(0.0, |spin| shares.function(spin.index).share);
        assert_eq!(share < 0.2, is_boring, "{checks}: {share}");
    }
    Ok(())
}
