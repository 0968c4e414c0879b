//! Which optimised versions of a function are made, and in which order.

use std::time::{Duration, Instant};

use wprof::profiler::CodeTier;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `two(n, rounds)` has an outer loop of `rounds` iterations with two consecutive loops of n iterations.
const WAT: &str = r#"(module
    (func (export "two") (param $n i32) (param $rounds i32) (result i32) (local $i i32) (local $sum i32)
        (loop $outer
            (local.set $i (local.get $n))
            (loop $first
                (local.set $sum (i32.add (local.get $sum) (local.get $i)))
                (br_if $first (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
            (local.set $i (local.get $n))
            (loop $second
                (local.set $sum (i32.xor (local.get $sum) (local.get $i)))
                (br_if $second (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
            (br_if $outer (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))
        (local.get $sum)))"#;

/// Returns the optimised versions that are made while `two` is called with these arguments, in order.
fn versions(calls: &[(i32, i32)]) -> std::result::Result<Vec<CodeTier>, Box<dyn std::error::Error>> {
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).promote_after(100).background_compilation(false);
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).time_line(true);
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let two = instance.get_typed_func::<(i32, i32), i32>(&mut store, "two")?;
    let expected = |(n, rounds): (i32, i32)| {
        let round =
            |sum: i32, _| (1..=n).rev().fold((1..=n).rev().fold(sum, i32::wrapping_add), |s, i| s ^ i);
        (0..rounds).fold(0, round)
    };
    for &args in calls {
        assert_eq!(two.call(&mut store, args)?, expected(args), "{args:?}");
    }
    let made = instance.profile(&store)?.timeline.ok_or("no time line")?.versions;
    Ok(made.iter().map(|version| version.tier).filter(|tier| *tier != CodeTier::Baseline).collect())
}

#[test]
fn a_frame_of_a_function_called_once_gets_its_version_at_once() -> Outcome {
    assert_eq!(versions(&[(10_000, 1)])?, [CodeTier::Loop]);
    Ok(())
}

#[test]
fn a_frame_does_not_wait_for_its_loop_to_be_unrolled() -> Outcome {
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).promote_after(100).reoptimization(None).time_line(true);
    config.speculative_compilation(true);
    let adaptive = Adaptive { lengths: "inf:1".parse()?, ..Adaptive::default() };
    config.profiling(ProfilingConfig::Adaptive(adaptive));
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, ());
    let large = WAT.replace("(local.get $sum)))", &format!("{} (local.get $sum)))", "nop ".repeat(1000)));
    let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, large)?)?;
    instance.get_typed_func::<(i32, i32), i32>(&mut store, "two")?.call(&mut store, (10_000, 1))?;
    // Requested versions are made sooner or later.
    let began = Instant::now();
    let loops = loop {
        assert!(began.elapsed() < Duration::from_secs(60), "one version only");
        let made = instance.profile(&store)?.timeline.ok_or("no time line")?.versions;
        let loops = made.iter().filter(|version| version.tier == CodeTier::Loop);
        let loops: Vec<u64> = loops.map(|version| version.bytes).collect();
        if loops.len() > 1 {
            break loops;
        }
        std::thread::yield_now();
    };
    assert!(loops[0] < loops[1], "{loops:?}");
    Ok(())
}

#[test]
fn code_that_waits_for_its_first_call_has_its_bytes() -> Outcome {
    let engine = Engine::new(&Config::new())?;
    let module = Module::new(&engine, WAT)?;
    assert_eq!(module.code_bytes(), 0);
    module.compile_all()?;
    let compiled = module.code_bytes();
    assert!(compiled > 0);
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    instance.get_typed_func::<(i32, i32), i32>(&mut store, "two")?.call(&mut store, (3, 1))?;
    assert_eq!(module.code_bytes(), compiled);
    Ok(())
}

#[test]
fn a_loop_that_is_not_hot_by_itself_gets_none() -> Outcome {
    // Only both loops together are hot.
    assert_eq!(versions(&[(80, 1)])?, []);
    Ok(())
}

#[test]
fn a_function_called_again_gets_a_version_for_callers_first() -> Outcome {
    let calls = [(3, 1); 60];
    assert_eq!(versions(&calls)?, [CodeTier::Optimized]);
    let then_long = [&calls[..10], &[(10_000, 1)]].concat();
    assert_eq!(versions(&then_long)?, [CodeTier::Optimized, CodeTier::Loop]);
    Ok(())
}

/// `count()` has a hundred nested loops, each of which does one more round when it comes to its end for the first time.
fn entangled(loops: usize) -> (String, i64) {
    let count = |at| format!("(local.set {at} (i64.add (local.get {at}) (i64.const 1)))");
    let end = |at| format!("{} (br_if 0 (i64.eq (local.get {at}) (i64.const 1))) end ", count(at));
    let sums = (1..loops).map(|at| format!("(local.get {at}) i64.add ")).collect::<String>();
    let body =
        format!("{} {} (local.get 0) {sums}", "loop ".repeat(loops), (0..loops).map(end).collect::<String>());
    let text = format!(
        r#"(module (func (export "count") (result i64) (local {}) {body})
            (func (export "twice") (result i64) (i64.add (call 0) (call 0))))"#,
        "i64 ".repeat(loops)
    );
    // The innermost loop comes to its end twice, and once more for each loop around it.
    (text, (0..loops as i64).map(|around| 2 + around).sum())
}

/// Functions whose optimisation would take too long do the same in all tiers, and frames change between these.
#[test]
fn entangled_functions_do_the_same_in_all_tiers() -> Outcome {
    let (text, expected) = entangled(100);
    let adaptive = Adaptive { lengths: "20:30".parse()?, ..Adaptive::default() };
    let kinds = [
        ProfilingConfig::Off,
        ProfilingConfig::Exact(Collect::Edges),
        ProfilingConfig::Exact(Collect::Paths),
        ProfilingConfig::Adaptive(adaptive),
    ];
    let mut configs = vec![(Config::conservative(), ProfilingConfig::Off)];
    for profiling in kinds {
        for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
            let mut config = Config::new();
            config.profiling(profiling).strategy(strategy).promote_after(50).background_compilation(false);
            config.parts_above(300);
            configs.push((config, profiling));
        }
    }
    for (config, profiling) in &configs {
        let engine = Engine::new(config)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, &text)?)?;
        let call = |store: &mut Store<()>, name: &str| -> Result<i64> {
            instance.get_typed_func::<(), i64>(&mut *store, name)?.call(store, ())
        };
        for _ in 0..20 {
            assert_eq!(call(&mut store, "count")?, expected, "{config:?}");
            assert_eq!(call(&mut store, "twice")?, 2 * expected, "{config:?}");
        }
        if *profiling != ProfilingConfig::Off {
            instance.profile(&store)?.verify()?;
        }
    }
    Ok(())
}
