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
