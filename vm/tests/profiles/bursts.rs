//! Bursts: all versions of a program behave the same, and bursts count exactly what ran in them.

use wprof::profiler::{BurstLengths, FigureKind, PathProfile, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Nested loops with operands on the stack, vectors and references in locals, recursion, calls through a table, a
/// switch.
const WAT: &str = r#"(module
    (type $unary (func (param i64) (result i64)))
    (table 2 funcref) (elem (i32.const 0) $fib $collatz)
    (memory 1)
    (func $fib (export "fib") (param $n i64) (result i64)
        (if (result i64) (i64.lt_u (local.get $n) (i64.const 2))
            (then (local.get $n))
            (else (i64.add
                (call $fib (i64.sub (local.get $n) (i64.const 1)))
                (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
    (func $collatz (export "collatz") (param $n i64) (result i64) (local $steps i64)
        (block $done
            (loop $again
                (br_if $done (i64.le_u (local.get $n) (i64.const 1)))
                (local.set $steps (i64.add (local.get $steps) (i64.const 1)))
                (if (i64.eqz (i64.and (local.get $n) (i64.const 1)))
                    (then (local.set $n (i64.shr_u (local.get $n) (i64.const 1))))
                    (else (local.set $n (i64.add (i64.mul (local.get $n) (i64.const 3)) (i64.const 1)))))
                (br $again)))
        (local.get $steps))
    (func (export "nest") (param $n i64) (result i64) (local $i i64) (local $j i64) (local $v v128) (local $r funcref)
        (local.set $r (ref.func $fib))
        (i64.const 1000)
        (loop $outer (param i64) (result i64)
            (local.set $j (i64.const 0))
            (i64.const 7)
            (loop $inner (param i64 i64) (result i64 i64)
                (local.set $v (i64x2.add (local.get $v) (i64x2.splat (local.get $j))))
                (i64.add (i64.rem_u (local.get $j) (i64.const 3)))
                (local.set $j (i64.add (local.get $j) (i64.const 1)))
                (br_if $inner (i64.lt_u (local.get $j) (local.get $i))))
            i64.add
            (local.set $i (i64.add (local.get $i) (i64.const 1)))
            (br_if $outer (i64.lt_u (local.get $i) (local.get $n))))
        (i64.add (i64x2.extract_lane 1 (local.get $v)))
        (i64.add (i64.extend_i32_u (ref.is_null (local.get $r)))))
    (func (export "mixed") (param $n i64) (result i64) (local $i i64) (local $sum i64)
        (loop $again
            (local.set $sum (i64.add (local.get $sum)
                (call_indirect (type $unary) (i64.add (i64.const 3) (i64.rem_u (local.get $i) (i64.const 9)))
                    (i32.and (i32.wrap_i64 (local.get $i)) (i32.const 1)))))
            (block $c (block $b (block $a
                (br_table $a $b $c (i32.wrap_i64 (i64.rem_u (local.get $i) (i64.const 3)))))
                (local.set $sum (i64.add (local.get $sum) (i64.const 1))) (br $c))
                (local.set $sum (i64.xor (local.get $sum) (i64.const 5))))
            (br_if $again (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (local.get $n))))
        (local.get $sum))
    (func (export "trap") (param $n i64) (result i64)
        (loop $again
            (i64.store (i32.wrap_i64 (local.get $n)) (local.get $n))
            (local.set $n (i64.add (local.get $n) (i64.const 8)))
            (br $again))
        unreachable)
)"#;

const CALLS: [(&str, i64); 5] = [("fib", 12), ("collatz", 97), ("nest", 40), ("mixed", 200), ("trap", 8)];

/// Returns the results of all calls, and the counted paths by function.
fn run(engine: &Engine) -> Result<(Vec<Option<i64>>, Option<Profile>)> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &Module::new(engine, WAT)?)?;
    let mut results = Vec::new();
    for (name, argument) in CALLS {
        let func = instance.get_typed_func::<i64, i64>(&mut store, name)?;
        match func.call(&mut store, argument) {
            Ok(result) => results.push(Some(result)),
            Err(error) if error.trap() == Some(Trap::MemoryOutOfBounds) => results.push(None),
            Err(error) => return Err(error),
        }
    }
    let profile = engine.config().profiles().then(|| instance.profile(&store)).transpose()?;
    Ok((results, profile))
}

fn adaptive(checking: u32, instrumented: u32, checks: &str) -> ProfilingConfig {
    coded(checking, instrumented, checks, None)
}

/// Returns an adaptive configuration; `optimized` decides whether burst code is optimised.
fn coded(checking: u32, instrumented: u32, checks: &str, optimized: Option<bool>) -> ProfilingConfig {
    let lengths = BurstLengths::new(checking, instrumented);
    let checks = checks.parse().expect("a known name");
    ProfilingConfig::Adaptive(Adaptive { lengths, checks, optimized, ..Adaptive::default() })
}

fn engine(profiling: ProfilingConfig, strategy: Strategy) -> Result<Engine> {
    engine_of(Config::new(), profiling, strategy)
}

fn engine_of(mut config: Config, profiling: ProfilingConfig, strategy: Strategy) -> Result<Engine> {
    config.profiling(profiling).strategy(strategy).background_compilation(false).promote_after(3);
    // Reoptimized versions reach fewer checks, so that the same number of checks would stand for more work.
    Engine::new(config.reoptimization(None))
}

fn paths(profile: &Profile) -> Vec<(u32, Option<&PathProfile>)> {
    profile.functions.iter().map(|function| (function.index, function.paths())).collect()
}

#[test]
fn bursts_see_the_same_where_checks_are_counted_in_memory() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        for (checking, instrumented) in [(1, 1), (2, 3), (10, 1), (1000, 50), (1, BurstLengths::FOREVER)] {
            let bursts = coded(checking, instrumented, "orig", Some(false));
            let (expected, usual) = run(&engine(bursts, strategy)?)?;
            let (results, plain) = run(&engine_of(Config::conservative(), bursts, strategy)?)?;
            let how = format!("{strategy:?} {checking}:{instrumented}");
            assert_eq!(results, expected, "{how}");
            let (usual, plain) = (usual.expect("it profiles"), plain.expect("it profiles"));
            assert_eq!(paths(&plain), paths(&usual), "{how}");
        }
    }
    Ok(())
}

#[test]
fn results_are_the_same_at_every_ratio_with_all_checks_in_all_tiers() -> Outcome {
    let (expected, _) = run(&engine(ProfilingConfig::Off, Strategy::Optimized)?)?;
    for strategy in [Strategy::Baseline, Strategy::Tiered, Strategy::Optimized] {
        for checks in Checks::names() {
            for (checking, instrumented) in
                [(1, 1), (2, 3), (1, 7), (10, 1), (1000, 50), (1, BurstLengths::FOREVER)]
            {
                for optimized in [true, false] {
                    let how = format!("{strategy:?} {checks} {checking}:{instrumented} {optimized}");
                    let bursts = coded(checking, instrumented, checks, Some(optimized));
                    let (results, profile) = run(&engine(bursts, strategy)?)?;
                    assert_eq!(results, expected, "{how}");
                    profile.expect("it profiles").verify().map_err(|error| format!("{how}: {error}"))?;
                }
            }
        }
    }
    Ok(())
}

/// When a call traps, its last path is unfinished, and burst code does not count it.
#[test]
fn a_burst_without_end_counts_every_path() -> Outcome {
    let exact =
        run(&engine(ProfilingConfig::Exact(Collect::Paths), Strategy::Optimized)?)?.1.expect("a profile");
    let finished = |profile: &Profile| -> Vec<_> {
        paths(profile)
            .into_iter()
            .map(|(func, paths)| (func, paths.map(|paths| paths.finished.clone())))
            .collect()
    };
    for optimized in [true, false].map(Some) {
        let forever = coded(1, BurstLengths::FOREVER, "orig", optimized);
        let all = run(&engine(forever, Strategy::Optimized)?)?.1.expect("a profile");
        assert_eq!(finished(&all), finished(&exact), "{optimized:?}");
        assert!(all.functions.iter().all(|function| matches!(function.kind, FigureKind::Sampled { .. })));
    }
    Ok(())
}

#[test]
fn seldom_bursts_count_a_share_of_all_paths() -> Outcome {
    let count = |profile: &Profile| -> u64 {
        paths(profile)
            .iter()
            .flat_map(|(_, paths)| &paths.expect("paths").finished)
            .map(|path| path.count)
            .sum()
    };
    let exact =
        run(&engine(ProfilingConfig::Exact(Collect::Paths), Strategy::Optimized)?)?.1.expect("a profile");
    let some = run(&engine(adaptive(90, 10, "orig"), Strategy::Optimized)?)?.1.expect("a profile");
    let share = count(&some) as f64 / count(&exact) as f64;
    // Reoptimized code, which has fewer checks, runs only between bursts.
    assert!((0.06..0.13).contains(&share), "{share}");
    Ok(())
}

/// Two loops that run alternately, equally often: an unrolled loop with one check for several iterations, and a loop
/// with calls, with one check for each iteration.
#[test]
fn bursts_see_rounds_of_unrolled_loops_as_often_as_others() -> Outcome {
    let wat = r#"(module
        (func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
        (func $small (param $n i32)
            (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func $calls (param $n i32) (local $i i32)
            (loop $again
                (local.set $i (call $leaf (local.get $i)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "run") (param $n i32)
            (loop $again
                (call $small (i32.const 1000))
                (call $calls (i32.const 1000))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let engine = engine(adaptive(997, 50, "default"), Strategy::Optimized)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
    instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 2000)?;
    let profile = instance.profile(&store)?;
    let rounds = |func: u32| {
        let paths = profile.function(func).and_then(|function| function.paths()).expect("it was seen");
        paths.finished.iter().map(|path| path.count).sum::<u64>() as f64
    };
    let ratio = rounds(1) / rounds(2);
    assert!((0.8..1.25).contains(&ratio), "{} and {} rounds", rounds(1), rounds(2));
    Ok(())
}

#[test]
fn what_is_counted_otherwise_is_not_sampled() {
    let mut config = Config::new();
    config.profiling(adaptive(10, 1, "default")).trace(Tracing::Best);
    let error = Engine::new(&config).expect_err("traces are not sampled");
    assert!(error.to_string().contains("profile exactly"), "{error}");
}

/// Code that does nothing but check, forever.
const FOREVER: &str = r#"(module
    (func (export "loop") (local $i i64)
        (loop $again (local.set $i (i64.add (local.get $i) (i64.const 1))) (br $again)))
    (func $even (export "calls") (return_call $odd))
    (func $odd (return_call $even)))"#;

#[test]
fn checks_notice_interrupts_though_none_fires_of_itself() -> Outcome {
    for lengths in [(BurstLengths::FOREVER, 1), (1, BurstLengths::FOREVER), (10_000, 100)] {
        let engine = engine(adaptive(lengths.0, lengths.1, "default"), Strategy::Tiered)?;
        let module = Module::new(&engine, FOREVER)?;
        for name in ["loop", "calls"] {
            let mut store = Store::new(&engine, ());
            let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
            let func = instance.get_typed_func::<(), ()>(&mut store, name)?;
            for round in 0..50 {
                let handle = store.interrupt_handle();
                let interrupter = std::thread::spawn(move || {
                    std::thread::sleep(std::time::Duration::from_micros(37 * round));
                    handle.interrupt();
                });
                let error = func.call(&mut store, ()).expect_err("it does not end by itself");
                assert_eq!(error.trap(), Some(Trap::Interrupt), "{name} {lengths:?}: {error}");
                interrupter.join().expect("it does not panic");
            }
        }
    }
    Ok(())
}

/// Returns the functions of the profile of one store that calls `mixed`.
fn sample(engine: &Engine, module: &Module) -> Result<Profile> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, module)?;
    let mixed = instance.get_typed_func::<i64, i64>(&mut store, "mixed")?;
    (0..20).try_for_each(|_| mixed.call(&mut store, 200).map(drop))?;
    instance.profile(&store)
}

#[test]
fn stores_on_several_threads_have_profiles_of_their_own() -> Outcome {
    // One check between bursts, so that no store goes on where another one was between two.
    let engine = engine(adaptive(1, 5, "orig"), Strategy::Optimized)?;
    let module = Module::new(&engine, WAT)?;
    // After the first sample all burst code exists, so that no burst is lost to waiting for it.
    sample(&engine, &module)?;
    let expected = sample(&engine, &module)?;
    assert!(!expected.functions.is_empty());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| sample(&engine, &module))).collect();
        for thread in threads {
            let found = thread.join().expect("it does not panic")?;
            assert_eq!(
                (&found.functions, &found.call_targets),
                (&expected.functions, &expected.call_targets)
            );
        }
        Ok(())
    })
}

/// A module that calls the host in the middle of two loops.
const STEPS: &str = r#"(module
    (import "host" "step" (func $step (param i64)))
    (func (export "run") (result i64) (local $i i64) (local $j i64) (local $sum i64)
        (loop $outer
            (call $step (local.get $i))
            (local.set $j (i64.const 0))
            (loop $inner
                (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 3)) (local.get $j)))
                (br_if $inner (i64.lt_u (local.tee $j (i64.add (local.get $j) (i64.const 1))) (i64.const 100))))
            (br_if $outer (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (i64.const 30))))
        (local.get $sum)))"#;

/// Runs this module; at each step the host sets the bursts that `change` returns. Returns the result, and the number
/// of paths seen up to each step.
fn run_steps(change: fn(i64) -> Option<Option<BurstLengths>>) -> Result<(i64, Vec<u64>)> {
    let engine = engine(adaptive(BurstLengths::FOREVER, 1, "orig"), Strategy::Optimized)?;
    let (mut store, mut linker) = (Store::new(&engine, Vec::new()), Linker::new(&engine));
    linker.func_wrap("host", "step", move |mut caller: Caller<'_, Vec<u64>>, step: i64| {
        let instance = caller.instance().expect("wasm calls");
        let seen = paths_seen(&instance.profile(&caller)?);
        caller.data_mut().push(seen);
        change(step).map_or(Ok(()), |lengths| caller.as_context_mut().set_bursts(lengths))
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, STEPS)?)?;
    let run = instance.get_typed_func::<(), i64>(&mut store, "run")?;
    let result = run.call(&mut store, ())?;
    Ok((result, store.into_data()))
}

fn paths_seen(profile: &Profile) -> u64 {
    let paths = profile.functions.iter().flat_map(|function| function.paths());
    paths.flat_map(|paths| &paths.finished).map(|path| path.count).sum()
}

#[test]
fn bursts_start_stop_and_change_while_the_program_runs() -> Outcome {
    let (expected, none) = run_steps(|_| None)?;
    assert_eq!(none, [0; 30]);
    let (result, seen) = run_steps(|step| match step {
        5 => Some(Some(BurstLengths::new(1, BurstLengths::FOREVER))),
        15 => Some(None),
        20 => Some(Some(BurstLengths::new(10, 10))),
        _ => None,
    })?;
    assert_eq!(result, expected);
    let between = |from: usize, to: usize| seen[to] - seen[from];
    assert_eq!(between(0, 5), 0);
    // Of a hundred iterations 99 take the back edge, and the path of the last one ends with an iteration of the outer
    // loop.
    assert_eq!(between(6, 15), 9 * 100);
    assert_eq!(between(16, 20), 0);
    assert!((400..600).contains(&between(20, 29)), "{seen:?}");
    Ok(())
}

#[test]
fn bursts_of_an_engine_without_them_cannot_be_set() -> Outcome {
    let engine = engine(ProfilingConfig::Off, Strategy::Optimized)?;
    assert!(Store::new(&engine, ()).set_bursts(None).is_err());
    Ok(())
}
