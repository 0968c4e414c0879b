//! Loops with one check for several iterations run the right number of iterations, count the checks of all of them,
//! and can be interrupted.

use std::time::Duration;

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// How a loop counts: the type, the step, and the comparison with the bound under which the loop continues.
type Way = (&'static str, i64, &'static str);

const WAYS: [Way; 14] = [
    ("i32", 1, "ne"),
    ("i32", -1, "ne"),
    ("i32", 4, "ne"),
    ("i32", -3, "ne"),
    ("i64", 1, "ne"),
    ("i64", -8, "ne"),
    ("i32", 1, "lt_s"),
    ("i32", 3, "lt_u"),
    ("i32", 1, "le_s"),
    ("i32", 2, "le_u"),
    ("i32", -1, "gt_s"),
    ("i32", -5, "gt_u"),
    ("i32", -1, "ge_s"),
    ("i32", -2, "ge_u"),
];

/// Returns code of six instructions for each time, with a local `$x`: with more than 80 in all an iteration is too long for
/// its loop to be unrolled, which then is a strip: see `loops_that_are_too_long_to_be_unrolled_are_strips` in
/// `jit/src/plan/strip.rs`.
fn long(times: usize) -> String {
    "(local.set $x (i32.add (i32.mul (local.get $x) (i32.const 3)) (i32.const 1)))".repeat(times)
}

/// Returns a function for each way, which returns the number of iterations from one number to another, and traps after
/// 1000.
fn text(ways: &[Way]) -> String {
    let mut text = String::from("(module (global $rounds (mut i32) (i32.const 0))");
    let round = "(if (i32.gt_u (global.get $rounds) (i32.const 1000)) (then unreachable))
        (global.set $rounds (i32.add (global.get $rounds) (i32.const 1)))";
    let long = long(12);
    for (number, (ty, step, goes_on)) in ways.iter().enumerate() {
        text += &format!(
            "(func (export \"f{number}\") (param $from i64) (param $to i64) (result i32)
                (local $i {ty}) (local $bound {ty}) (local $x i32)
                (global.set $rounds (i32.const 0))
                (local.set $i {from}) (local.set $bound {to})
                (loop $again {round} {long} (br_if $again ({ty}.{goes_on}
                    (local.tee $i ({ty}.add (local.get $i) ({ty}.const {step}))) (local.get $bound))))
                (global.get $rounds))",
            from = narrow(ty, "$from"),
            to = narrow(ty, "$to"),
        );
    }
    text + ")"
}

fn narrow(ty: &str, local: &str) -> String {
    match ty {
        "i32" => format!("(i32.wrap_i64 (local.get {local}))"),
        _ => format!("(local.get {local})"),
    }
}

/// Returns the bounds of loops: close to each other, and close to overflow.
fn ends() -> Vec<(i64, i64)> {
    let near = [i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN, i64::MAX, 0, -1];
    let around = near.iter().flat_map(|&at| [-3, -1, 0, 2].map(|by| at.wrapping_add(by)));
    let lengths = [0, 1, 2, 63, 64, 65, 127, 128, 129, 130, 384, 640, -1, -64, -65, -66, -129, -384];
    around.flat_map(|from| lengths.map(|by| (from, from.wrapping_add(by)))).collect()
}

/// Returns the number of iterations of each way between these bounds; `None` if there are too many.
fn rounds(config: &Config) -> Result<Vec<Option<i32>>> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, text(&WAYS))?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let mut all = Vec::new();
    for number in 0..WAYS.len() {
        let way = instance.get_typed_func::<(i64, i64), i32>(&mut store, &format!("f{number}"))?;
        all.extend(ends().into_iter().map(|ends| way.call(&mut store, ends).ok()));
    }
    Ok(all)
}

fn adaptive(lengths: BurstLengths, strategy: Strategy) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).background_compilation(false).promote_after(3).reoptimization(None);
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config
}

#[test]
fn loops_make_the_same_rounds_however_they_count() -> Outcome {
    let mut plain = Config::new();
    plain.strategy(Strategy::Baseline).profiling(ProfilingConfig::Off);
    let expected = rounds(&plain)?;
    assert!(expected.iter().any(Option::is_none) && expected.iter().any(|r| *r > Some(300)));
    for strategy in [Strategy::Optimized, Strategy::Tiered] {
        for (checking, instrumented) in [(1_000_000, 10), (100, 3), (1, 1)] {
            let config = adaptive(BurstLengths::new(checking, instrumented), strategy);
            assert_eq!(rounds(&config)?, expected, "{strategy:?} {checking}:{instrumented}");
        }
    }
    let mut reoptimized = adaptive(BurstLengths::new(20, 30), Strategy::Tiered);
    assert_eq!(rounds(reoptimized.reoptimization(Some(Policy::eager())))?, expected);
    Ok(())
}

/// Returns a module with a counted loop whose header ends with a switch, so that the header is copied behind each of its
/// cases. It returns how many of the calls did not make 200 rounds.
fn switch() -> String {
    format!(
        "(module
          (memory 1)
          (global $done (mut i32) (i32.const 0))
          (func $rounds (local $i i32) (local $x i32)
            (loop $again
              (drop (f32.load offset=16 (local.get $i)))
              (block $join (block $a (block $b (block $c (block $default (block $copy
                (br_table $default $a $copy $b $c $default $copy $default
                  (i32.and (local.get $i) (i32.const 15))))
                (memory.copy (i32.const 0) (i32.const 0) (i32.const 0)) (br $join))
                (br $join)) (br $join)) (br $join)) {long} (br $join))
              (local.set $i (i32.add (local.get $i) (i32.const 1)))
              (br_if $again (i32.lt_u (local.get $i) (i32.const 200))))
            (global.set $done (local.get $i)))
          (func (export \"wrong\") (param $calls i32) (result i32) (local $wrong i32)
            (loop $again
              (call $rounds)
              (local.set $wrong (i32.add (local.get $wrong) (i32.ne (global.get $done) (i32.const 200))))
              (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))
            (local.get $wrong)))",
        long = long(14)
    )
}

#[test]
fn rounds_that_begin_in_another_copy_of_the_header_do_not_run_past_the_end() -> Outcome {
    let mut config = adaptive(BurstLengths::new(200, 50), Strategy::Tiered);
    config.promote_after(20).reoptimization(Some(Policy::default()));
    let mut eager = adaptive(BurstLengths::new(20, 30), Strategy::Tiered);
    eager.reoptimization(Some(Policy::eager()));
    for config in [&config, &eager, &adaptive(BurstLengths::new(1_000_000, 10), Strategy::Optimized)] {
        let engine = Engine::new(config)?;
        let module = Module::new(&engine, switch())?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let wrong = instance.get_typed_func::<i32, i32>(&mut store, "wrong")?;
        assert_eq!(wrong.call(&mut store, 3000)?, 0);
    }
    Ok(())
}

/// Returns the result of nested counting loops whose frames leave each loop for other versions repeatedly.
fn nested(config: &Config) -> Result<i32> {
    let engine = Engine::new(config)?;
    let mixed = |with: &str| {
        format!("(local.set $x (i32.xor (i32.rotl (local.get $x) (i32.const 5)) (local.get {with})))")
    };
    let wat = format!(
        "(module (func (export \"f\") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $x i32)
            (loop $outer
                (local.set $j (i32.const 0))
                (loop $inner {long} {inner}
                    (br_if $inner (i32.ne (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 70))))
                {outer}
                (br_if $outer (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
            (local.get $x)))",
        long = long(12),
        inner = mixed("$j"),
        outer = mixed("$i"),
    );
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    instance.get_typed_func::<i32, i32>(&mut store, "f")?.call(&mut store, 500)
}

#[test]
fn frames_that_come_from_other_versions_go_round_nested_loops() -> Outcome {
    let mut plain = Config::new();
    plain.strategy(Strategy::Baseline).profiling(ProfilingConfig::Off);
    let expected = nested(&plain)?;
    for strategy in [Strategy::Optimized, Strategy::Tiered] {
        for (checking, instrumented) in [(1_000_000, 10), (1, 1), (7, 5), (150, 9)] {
            let mut config = adaptive(BurstLengths::new(checking, instrumented), strategy);
            assert_eq!(nested(&config)?, expected, "{strategy:?} {checking}:{instrumented}");
            config.reoptimization(Some(Policy::eager()));
            assert_eq!(nested(&config)?, expected, "{strategy:?} {checking}:{instrumented}, reoptimized");
        }
    }
    Ok(())
}

/// Returns the number of paths that bursts of one check record in a loop of `rounds` iterations.
fn seen(rounds: i64, passes: PassSet) -> Result<u64> {
    let mut config = adaptive(BurstLengths::new(100, 1), Strategy::Optimized);
    let engine = Engine::new(config.passes(passes))?;
    let wat = format!(
        "(module (func (export \"f\") (param $n i64) (local $x i32) (loop $again {}
            (br_if $again (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))))",
        long(13)
    );
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    instance.get_typed_func::<i64, ()>(&mut store, "f")?.call(&mut store, rounds)?;
    let profile = instance.profile(&store)?;
    let paths = profile.functions.iter().filter_map(|function| function.paths());
    Ok(paths.flat_map(|paths| &paths.finished).map(|path| path.count).sum())
}

#[test]
fn each_round_counts_as_a_check() -> Outcome {
    let without = PassSet::all().with(Pass::Strips, false);
    for rounds in [30_000, 30_001, 100_000] {
        let (seen, expected) = (seen(rounds, PassSet::all())?, seen(rounds, without.clone())?);
        // A burst begins at the next check, which may come up to 64 iterations later.
        assert!(expected > 100 && seen < expected && seen > expected / 2, "{seen} {expected}");
    }
    Ok(())
}

#[test]
fn a_loop_that_counts_for_ever_is_interrupted() -> Outcome {
    // Either the odd bound is never met, or every number is at most the bound.
    for (step, goes_on, bound) in [(2, "ne", 7), (1, "le_u", -1)] {
        let engine = Engine::new(&adaptive(BurstLengths::new(1_000_000, 10), Strategy::Optimized))?;
        let wat = format!(
            "(module (func (export \"f\") (param $n i32) (local $x i32)
                (loop $again {long} (br_if $again (i32.{goes_on}
                    (local.tee $n (i32.add (local.get $n) (i32.const {step}))) (i32.const {bound}))))))",
            long = long(13),
        );
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let handle = store.interrupt_handle();
        let interrupter = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            handle.interrupt();
        });
        assert!(instance.get_typed_func::<i32, ()>(&mut store, "f")?.call(&mut store, 0).is_err());
        interrupter.join().expect("it only waits");
    }
    Ok(())
}
