//! Names of profile kinds, and combinations that are refused.

use std::time::Duration;

use wprof::*;

use super::Outcome;

const PROGRAM: &str = r#"(module
    (import "host" "nothing" (func $nothing))
    (memory 1)
    (func $sum (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (i32.load (i32.mul (local.get $n) (i32.const 4)))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (call $nothing)
        (local.get $sum)))"#;

fn run(profiling: impl Into<Config>) -> Result<profiler::Profile> {
    let engine = Engine::with_profiling(profiling)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "nothing", || {})?;
    let mut store = Store::new(&engine, ());
    if engine.config().meters("instructions") {
        store.set_budget("instructions", 1_000_000)?;
    }
    let instance = linker.instantiate(&mut store, &Module::new(&engine, PROGRAM)?)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 1000)?;
    instance.profile(&store)
}

#[test]
fn an_exact_profile_has_what_was_asked_for() -> Outcome {
    let plain = run(ProfilingConfig::exact())?;
    assert_eq!(plain, run(ProfilingConfig::Exact(Collect::Edges))?);
    assert!(!plain.has_paths() && plain.contexts.is_none() && plain.metrics.is_empty());
    let all = ProfilingConfig::exact().paths().contexts().paths_in_contexts().cycles();
    let all = run(all.events(EventModel::built_in("instructions")).host_time().time_line().time(1000))?;
    assert!(all.has_paths() && all.contexts.is_some() && all.timeline.is_some());
    assert!(all.metrics.iter().any(|metric| metric.name == "cycles"), "{:?}", all.metrics);
    assert_eq!(all.events[0].count, all.ops());
    assert!(all.host_time_ns().is_some());
    assert_eq!(all.ops(), plain.ops());
    assert_eq!(run(ProfilingConfig::exact().blocks())?.ops(), plain.ops());
    let only = ProfilingConfig::exact().only().events(EventModel::built_in("loads")).budget("loads");
    let config: Config = only.into();
    assert!(config.meters("loads") && !config.profiles());
    Ok(())
}

#[test]
fn a_profile_by_bursts_has_what_was_asked_for() -> Outcome {
    let lengths = profiler::BurstLengths::new(3, 5);
    let all = ProfilingConfig::adaptive().bursts(lengths).contexts().cycles().optimized(true).time_line();
    let config: Config = all.extended_paths(profiler::Extension::BackEdges(2)).recorded(true).into();
    let told = format!("{config:?}");
    for wanted in [
        "extension: Some(BackEdges(2))",
        "bursts: true",
        "references: true",
        "contexts: Contexts { counted: true",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert!(told.contains("metrics: [Cycles]") && told.contains("optimized: Some(true)"), "{told}");
    let profile = run(config)?;
    assert!(profile.timeline.is_some());
    let timed = ProfilingConfig::adaptive().every(Duration::from_millis(1)).with(|config| {
        config.strategy(Strategy::Baseline);
    });
    let config: Config = timed.into();
    let told = format!("{config:?}");
    assert!(told.contains("Time(1ms)") && told.contains("strategy: Baseline"), "{told}");
    run(config)?;
    Ok(())
}

#[test]
fn what_does_not_go_together_is_an_error_that_says_why() -> Outcome {
    let refused = |profiling: Config, why: &str| {
        let error = Engine::with_profiling(profiling).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    };
    let exact = ProfilingConfig::exact;
    refused(exact().paths_in_contexts().into(), "count both paths and contexts");
    refused(exact().cycles().into(), "along paths and in calling contexts");
    refused(exact().budget("loads").into(), "not counted");
    let profile = std::sync::Arc::new(run(exact())?);
    refused(exact().interesting(Interesting::new(profile.clone())).into(), "paths are not counted");
    refused(exact().paths().interesting(Interesting::new(profile)).into(), "says nothing about paths");
    let timed = ProfilingConfig::adaptive().every(Duration::from_millis(1)).at_most("1%".parse()?);
    refused(timed.into(), "a budget sets how many checks");
    let traced = ProfilingConfig::adaptive().with(|config| {
        config.trace(Tracing::Best);
    });
    refused(traced.into(), "not sampled");
    Ok(())
}

/// A change of settings.
type Change = fn(&mut Config);

/// Returns why there is no engine.
fn refused(profiling: impl Into<Config>) -> String {
    Engine::with_profiling(profiling).expect_err("the settings conflict").to_string()
}

#[test]
fn two_ways_of_counting_are_refused_and_one_said_twice_is_not() -> Outcome {
    for both in [
        ProfilingConfig::exact().paths().blocks(),
        ProfilingConfig::exact().blocks().paths(),
        ProfilingConfig::exact().only().paths(),
        ProfilingConfig::exact().collect(Collect::Edges).only(),
    ] {
        let why = refused(both);
        assert!(why.contains("choose one"), "{why}");
    }
    Engine::with_profiling(ProfilingConfig::exact().paths().paths())?;
    Ok(())
}

#[test]
fn settings_without_effect_are_refused() -> Outcome {
    let config = |change: Change| {
        let mut config = Config::new();
        change(&mut config);
        config
    };
    let all: [(Change, &str); 6] = [
        (|c| _ = c.record_bursts(true), "Config::record_bursts"),
        (|c| _ = c.extend_paths(Some(profiler::Extension::Calls(1))), "Config::extend_paths"),
        (|c| _ = c.path_table(profiler::TableShape { sets: 16, ways: 2 }), "Config::path_table"),
        (|c| _ = c.trace_references(true), "Config::trace"),
        (|c| _ = c.fuel_costs(EventModel::built_in("loads")), "Config::consume_fuel"),
        (|c| _ = c.merge_call_sites(true), "Config::count_contexts"),
    ];
    for (change, what) in all {
        let why = refused(config(change));
        assert!(why.contains(what), "{why}");
    }
    let fuel = config(|c| _ = c.fuel_costs(EventModel::built_in("loads")).consume_fuel(true));
    Engine::new(&fuel)?;
    Ok(())
}

#[test]
fn what_is_not_sampled_is_called_by_its_name() {
    let all: [(Change, &str); 4] = [
        (|c| _ = c.consume_fuel(true), "fuel (Config::consume_fuel) is not sampled"),
        (|c| _ = c.count_events(EventModel::built_in("loads")).budget("loads"), "budgets (Config::budget)"),
        (|c| _ = c.count_events(EventModel::built_in("loads")), "events (Config::count_events) are"),
        (|c| _ = c.trace(Tracing::Best), "traces (Config::trace) are"),
    ];
    for (change, what) in all {
        let why = refused(ProfilingConfig::adaptive().with(change));
        assert!(why.contains(what), "{why}");
    }
}

#[test]
fn every_kind_has_a_method_of_its_builder() -> Outcome {
    let exact = ProfilingConfig::exact().contexts().call_targets();
    run(exact.allocations([("arena".to_owned(), AllocatorKind::Malloc)]))?;
    let shape = profiler::TableShape { sets: 16, ways: 2 };
    run(ProfilingConfig::adaptive().policy(|| Box::new(profiler::RareSites::default())).path_table(shape))?;
    Ok(())
}

/// Each request has about a hundred checks, a tenth of those between two bursts.
#[test]
fn many_short_stores_have_as_many_bursts_as_a_long_one() -> Outcome {
    let lengths = profiler::BurstLengths::new(1000, 10);
    let bursts = |requests: u64, n: i32| -> Result<u64> {
        let config =
            ProfilingConfig::adaptive().bursts(lengths).with(|c| _ = c.background_compilation(false));
        let engine = Engine::with_profiling(config)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "nothing", || {})?;
        let calling = r#"(module (import "host" "nothing" (func $nothing)) (func (export "run") (param $n i32)
            (loop $again (call $nothing) (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
        let module = Module::new(&engine, calling)?;
        let mut all = 0;
        for _ in 0..requests {
            let mut store = Store::new(&engine, ());
            let instance = linker.instantiate(&mut store, &module)?;
            instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, n)?;
            all += instance.profile(&store)?.bursts.unwrap_or(0);
        }
        Ok(all)
    };
    let (one, many) = (bursts(1, 100_000)?, bursts(1000, 100)?);
    assert!(one >= 90, "{one}");
    assert!(many.abs_diff(one) <= one / 10, "{many} and {one}");
    assert_eq!(many, bursts(1000, 100)?, "they begin at the same checks");
    Ok(())
}

#[test]
fn a_deadline_that_nothing_would_notice_is_refused() -> Outcome {
    let soon = std::time::Instant::now();
    let mut store = Store::new(&Engine::default(), ());
    for why in [store.set_deadline(Some(soon)), store.set_epoch_deadline(1)] {
        let why = why.expect_err("nothing polls").to_string();
        assert!(why.contains("Config::interruptible"), "{why}");
    }
    store.set_deadline(None)?;
    for config in [
        Config::new().interruptible(true).clone(),
        ProfilingConfig::exact().into(),
        ProfilingConfig::adaptive().into(),
        ProfilingConfig::adaptive().with(|c| _ = c.signals_based_traps(false)).into(),
    ] {
        let mut store = Store::new(&Engine::new(&config)?, ());
        store.set_deadline(Some(soon))?;
        store.set_epoch_deadline(1)?;
    }
    Ok(())
}
