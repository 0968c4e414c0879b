//! Fuel is used up, and the maximum call depth reached, at one place of a program, whichever code runs: at the same
//! instruction of the same frames, with the same counts, as in unoptimised code that counts in each block.

use std::sync::Arc;

use wprof::profiler::{BurstLengths, Profile};
use wprof::{Adaptive, Collect, Config, Counting, Engine, Policy, ProfilingConfig, Strategy};
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::generate::{Case, deep_case, hot_case};
use wprof_spec_tests::outcome::Stop;

/// The programs; the next constant is the fuel of each of their calls in turn.
const SEEDS: std::ops::Range<u64> = 0..12;
const FUEL: [u64; 4] = [17, 400, 9_001, 200_000];

#[derive(Debug, PartialEq)]
struct Ended {
    calls: Vec<Result<Vec<wprof_spec_tests::outcome::Value>, Stop>>,
    places: Vec<ours::Place>,
    consumed: u64,
}

fn run(config: &Config, case: &Case, fuel: u64) -> Ended {
    let engine = Engine::new(config).expect("an engine for this machine");
    let ran = ours::run_fueled(&engine, &case.wasm, &case.drive, fuel).expect("valid");
    Ended { consumed: ran.events("fuel"), places: ran.places, calls: ran.outcome.calls }
}

fn fueled() -> Config {
    let mut config = Config::new();
    config.consume_fuel(true).background_compilation(false).canonical_nans(true);
    config
}

/// Returns the optimised ways of counting, by name.
fn ways(case: &Case) -> Vec<(&'static str, Config)> {
    let profile = profile(case);
    let with = |change: &dyn Fn(&mut Config) -> &mut Config| {
        let mut config = fueled();
        change(&mut config);
        config
    };
    vec![
        ("baseline", with(&|config| config.strategy(Strategy::Baseline))),
        ("optimised", with(&|config| config.strategy(Strategy::Optimized))),
        ("tiered", with(&|config| config.promote_after(2).shared_loops_above(0))),
        ("in parts", with(&|config| config.promote_after(10).parts_above(1))),
        ("with exact paths", with(&|config| config.profiling(ProfilingConfig::Exact(Collect::Paths)))),
        (
            "reoptimized",
            with(&|config| {
                config.promote_after(2).shared_loops_above(0).loop_entries_above(0);
                config.reoptimization(Some(Policy::eager())).profile_use(profile.clone())
            }),
        ),
    ]
}

fn profile(case: &Case) -> Arc<Profile> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).canonical_nans(true);
    let engine = Engine::new(&config).expect("an engine for this machine");
    let ran = ours::run(&engine, &case.wasm, &case.drive).expect("valid");
    Arc::new(ran.profile().expect("instantiated").expect("profiled"))
}

#[test]
fn all_code_runs_out_of_fuel_at_the_same_place() {
    let mut ended_early = 0;
    for case in SEEDS.map(hot_case) {
        let mut simple = fueled();
        simple.strategy(Strategy::Baseline).event_counting(Counting::PerBlock);
        let ways = ways(&case);
        for fuel in FUEL {
            let expected = run(&simple, &case, fuel);
            ended_early += expected.places.iter().filter(|place| !place.is_empty()).count();
            for (name, config) in &ways {
                assert_eq!(run(config, &case, fuel), expected, "{name}, seed {}, {fuel} units", case.seed);
            }
        }
    }
    assert!(ended_early > 50, "only {ended_early} calls end early");
}

#[test]
fn all_code_has_as_many_frames() {
    let mut overflowed = 0;
    for case in SEEDS.map(deep_case) {
        let limited = |config: &Config| {
            let mut config = config.clone();
            config.max_call_depth(Some(200)).max_wasm_stack(Some(256 << 20));
            config
        };
        let mut simple = fueled();
        simple.strategy(Strategy::Baseline).event_counting(Counting::PerBlock);
        let expected = run(&limited(&simple), &case, 10_000_000);
        overflowed += expected.places.iter().filter(|place| place.len() >= 64).count();
        for (name, config) in ways(&case) {
            assert_eq!(run(&limited(&config), &case, 10_000_000), expected, "{name}, seed {}", case.seed);
        }
    }
    assert!(overflowed > 10, "only {overflowed} calls reach the limit");
}

#[test]
fn bursts_leave_the_number_of_frames_as_it_is() {
    let mut overflowed = 0;
    let lengths = [(1, 1), (2, 3), (1, BurstLengths::FOREVER), (50, 20)];
    for case in SEEDS.map(deep_case) {
        let run = |change: &dyn Fn(&mut Config)| {
            let mut config = Config::new();
            config.background_compilation(false).canonical_nans(true);
            config.max_call_depth(Some(200)).max_wasm_stack(Some(256 << 20));
            change(&mut config);
            let engine = Engine::new(&config).expect("an engine for this machine");
            let ran = ours::run(&engine, &case.wasm, &case.drive).expect("valid");
            (ran.places, ran.outcome.calls)
        };
        let expected = run(&|config| {
            config.strategy(Strategy::Baseline);
        });
        overflowed += expected.0.iter().filter(|place| place.len() >= 64).count();
        for (checking, instrumented) in lengths {
            let lengths = BurstLengths::new(checking, instrumented);
            for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
                let bursts = |config: &mut Config| {
                    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
                    config.strategy(strategy).promote_after(2).reoptimization(Some(Policy::eager()));
                };
                let how = format!("{checking}:{instrumented} {strategy:?}, seed {}", case.seed);
                assert_eq!(run(&bursts), expected, "{how}");
            }
        }
    }
    assert!(overflowed > 10, "only {overflowed} calls reach the limit");
}
