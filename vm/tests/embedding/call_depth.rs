//! An embedder can limit the number of frames; the limit is the same for all code.

use wprof::profiler::BurstLengths;
use wprof::*;

use super::Outcome;

const PROGRAM: &str = r#"(module
    (import "host" "again" (func $again (param i32) (result i32)))
    (tag $e)
    (func $down (export "down") (param $n i32) (result i32)
        (if (result i32) (local.get $n)
            (then (i32.add (call $down (i32.sub (local.get $n) (i32.const 1))) (i32.const 1)))
            (else (i32.const 0))))
    (func $loop (export "tail") (param $n i32) (result i32)
        (if (local.get $n) (then (return_call $loop (i32.sub (local.get $n) (i32.const 1)))))
        (i32.const 7))
    (func (export "host") (param $n i32) (result i32)
        (if (result i32) (local.get $n)
            (then (call $again (i32.sub (local.get $n) (i32.const 1))))
            (else (i32.const 0))))
    (func $thrower (param $n i32)
        (if (local.get $n) (then (call $thrower (i32.sub (local.get $n) (i32.const 1)))) (else (throw $e))))
    (func $catcher (param $n i32)
        (block $caught (try_table (catch_all $caught) (call $thrower (local.get $n)))))
    ;; Throws through n frames, often, and goes down then.
    (func (export "throw") (param $n i32) (result i32) (local $i i32)
        (local.set $i (i32.const 50))
        (loop $next
            (call $catcher (local.get $n))
            (br_if $next (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
        (call $down (local.get $n))))"#;

/// Returns the configurations that produce different code, by name.
fn ways() -> Vec<(String, Config)> {
    let exact = ProfilingConfig::Exact;
    // Bursts begin and end in the middle of functions, and at their entries.
    let bursts = |checking, instrumented, checks| {
        let lengths = BurstLengths::new(checking, instrumented);
        ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() })
    };
    let adaptive = [(1, 1), (3, 2), (1, BurstLengths::FOREVER)];
    let adaptive = adaptive.map(|(checking, instrumented)| bursts(checking, instrumented, Checks::default()));
    let checked = Checks::names().map(|name| bursts(1, 1, name.parse().expect("a known name")));
    let simple = [ProfilingConfig::Off, exact(Collect::Edges), exact(Collect::Paths)];
    let profiles = simple.into_iter().chain(adaptive).chain(checked);
    let strategies = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];
    let all = profiles.into_iter().flat_map(|profile| strategies.map(|strategy| (profile, strategy)));
    all.map(|(profile, strategy)| {
        let mut config = Config::new();
        config.profiling(profile).strategy(strategy).promote_after(2).background_compilation(false);
        config.reoptimization(Some(Policy::eager())).max_wasm_stack(Some(64 << 20));
        (format!("{profile:?} {strategy:?}"), config)
    })
    .collect()
}

fn prepare(config: &mut Config, limit: Option<u32>) -> Result<(Store<()>, Instance)> {
    let engine = Engine::new(config.max_call_depth(limit))?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "again", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
        let again = caller.get_export("host").and_then(Extern::into_func).expect("exported");
        again.typed::<i32, i32>(&caller)?.call(&mut caller, n).map(|depth| depth + 1)
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, PROGRAM)?)?;
    Ok((store, instance))
}

#[test]
fn so_many_frames_are_there_and_no_more() -> Outcome {
    for (name, mut config) in ways() {
        let (mut store, instance) = prepare(&mut config, Some(100))?;
        for round in 0..4 {
            for (func, fits) in [("down", 99), ("host", 99), ("throw", 97), ("tail", 5000)] {
                let call = instance.get_typed_func::<i32, i32>(&mut store, func)?;
                let is = call.call(&mut store, fits).map_err(|e| format!("{name} {func} {round}: {e:?}"))?;
                assert_eq!(is, if func == "tail" { 7 } else { fits }, "{name} {func}");
                if func != "tail" {
                    let error = call.call(&mut store, fits + 1).expect_err("one too many");
                    assert_eq!(error.trap(), Some(Trap::StackOverflow), "{name} {func} {error:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn exact_counts_hold_where_the_frames_end() -> Outcome {
    let mut all = Vec::new();
    for (name, mut config) in ways() {
        if !matches!(config.clone(), config if config.profiles()) || name.starts_with("Adaptive") {
            continue;
        }
        let (mut store, instance) = prepare(config.count_contexts(true), Some(10))?;
        let down = instance.get_typed_func::<i32, i32>(&mut store, "down")?;
        for n in [5, 50, 9, 10] {
            let _ = down.call(&mut store, n);
        }
        let profile = instance.profile(&store)?;
        let down = profile.function(1).expect("it ran");
        all.push((down.calls(), down.ops(), profile.contexts.as_ref().map(|tree| tree.records.len())));
    }
    assert_eq!(all.len(), 6);
    // A call that exceeds the limit counts, like a call that overflows the stack.
    assert_eq!(all[0].0, 6 + 11 + 10 + 11);
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    Ok(())
}

#[test]
fn without_a_limit_it_is_the_stack_that_ends() -> Outcome {
    let (mut store, instance) = prepare(&mut Config::new(), None)?;
    let down = instance.get_typed_func::<i32, i32>(&mut store, "down")?;
    assert_eq!(down.call(&mut store, 5000)?, 5000);
    assert_eq!(down.call(&mut store, i32::MAX).expect_err("no stack").trap(), Some(Trap::StackOverflow));
    Ok(())
}
