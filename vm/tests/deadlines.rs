//! Deadlines stop programs that would not end, and timers start bursts.

use std::io::Read;
use std::time::{Duration, Instant};

use wprof::profiler::{BurstLengths, Overhead};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const WAT: &str = r#"(module
    (import "host" "wait" (func $wait))
    (func (export "loop") (local $i i64)
        (loop $again (local.set $i (i64.add (local.get $i) (i64.const 1))) (br $again)))
    (func $even (export "calls") (return_call $odd))
    (func $odd (return_call $even))
    (func (export "wait") (call $wait))
    (func (export "count") (param $n i64) (result i64) (local $i i64) (local $sum i64)
        (loop $again
            (if (i32.wrap_i64 (i64.and (local.get $i) (i64.const 1)))
                (then (local.set $sum (i64.add (local.get $sum) (local.get $i))))
                (else (local.set $sum (i64.xor (local.get $sum) (local.get $i)))))
            (br_if $again (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (local.get $n))))
        (local.get $sum)))"#;

/// Returns engines whose code can be stopped anywhere.
fn stoppable() -> Result<Vec<Engine>> {
    let adaptive = |checking, instrumented| {
        let lengths = BurstLengths::new(checking, instrumented);
        ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() })
    };
    let all = [
        ProfilingConfig::Off,
        ProfilingConfig::Exact(Collect::Edges),
        ProfilingConfig::Exact(Collect::Paths),
        adaptive(BurstLengths::FOREVER, 1),
        adaptive(1, BurstLengths::FOREVER),
        adaptive(1000, 10),
    ];
    all.into_iter()
        .map(|profiling| Engine::new(Config::new().profiling(profiling).interruptible(true)))
        .collect()
}

fn instantiate(engine: &Engine) -> Result<(Store<()>, Instance)> {
    let (mut store, mut linker) = (Store::new(engine, ()), Linker::new(engine));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // Nobody ever writes. A signal makes the read return, and so the function returns.
    linker.func_wrap("host", "wait", move || {
        let (mut reader, _writer) = (&reader, &writer);
        let _ = reader.read(&mut [0]);
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(engine, WAT)?)?;
    Ok((store, instance))
}

#[test]
fn a_deadline_stops_loops_calls_and_waits_once() -> Outcome {
    for engine in stoppable()? {
        let (mut store, instance) = instantiate(&engine)?;
        for name in ["loop", "calls", "wait", "loop"] {
            let at = Instant::now() + Duration::from_millis(5);
            store.set_deadline(Some(at))?;
            let func = instance.get_typed_func::<(), ()>(&mut store, name)?;
            let error = func.call(&mut store, ()).expect_err("it does not end by itself");
            assert_eq!(error.trap(), Some(Trap::Deadline), "{name} {:?}: {error}", engine.config());
            assert!(Instant::now() >= at, "{name}");
        }
        let count = instance.get_typed_func::<i64, i64>(&mut store, "count")?;
        assert!(count.call(&mut store, 1000).is_ok(), "the deadline is over");
    }
    Ok(())
}

/// The function takes so long to compile that the deadline passes first.
#[test]
fn a_deadline_ends_the_wait_for_the_compiler() -> Outcome {
    let adds = "(local.set 0 (i64.add (i64.mul (local.get 0) (i64.const 7)) (i64.const 3)))".repeat(30_000);
    let text = format!(
        r#"(module (func $large (param i64) (result i64) {adds} (local.get 0))
            (func (export "run") (result i64) (call $large (i64.const 1))))"#
    );
    for strategy in [Strategy::Tiered, Strategy::Optimized] {
        let mut config = Config::new();
        let engine = Engine::new(config.interruptible(true).strategy(strategy).parts_above(usize::MAX))?;
        let mut store = Store::new(&engine, ());
        let module = Module::new(&engine, &text)?;
        let instance = Instance::new(&mut store, &module, &[])?;
        let run = instance.get_typed_func::<(), i64>(&mut store, "run")?;
        store.set_deadline(Some(Instant::now() + Duration::from_millis(5)))?;
        assert_eq!(run.call(&mut store, ()).expect_err("it is late").trap(), Some(Trap::Deadline));
        assert!(module.compiled().0 < 2, "the call waited for the compiler");
        store.set_deadline(None)?;
        let expected = (0..30_000).fold(1_i64, |x, _| x.wrapping_mul(7).wrapping_add(3));
        assert_eq!(run.call(&mut store, ())?, expected, "what was begun is finished");
    }
    Ok(())
}

#[test]
fn a_deadline_that_is_taken_back_stops_nothing() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let (mut store, instance) = instantiate(&engine)?;
    let count = instance.get_typed_func::<i64, i64>(&mut store, "count")?;
    store.set_deadline(Some(Instant::now() - Duration::from_secs(1)))?;
    // The deadline passes while nothing runs.
    std::thread::sleep(Duration::from_millis(20));
    store.set_deadline(None)?;
    assert!(count.call(&mut store, 1000).is_ok());
    store.set_deadline(Some(Instant::now() + Duration::from_secs(3600)))?;
    assert!(count.call(&mut store, 1000).is_ok());
    Ok(())
}

#[test]
fn a_host_function_can_set_the_deadline_of_what_called_it() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "wait", |mut caller: Caller<'_, ()>| {
        caller.as_context_mut().set_deadline(Some(Instant::now() + Duration::from_millis(2)))
    })?;
    let module = r#"(module (import "host" "wait" (func $wait))
        (func (export "run") (call $wait) (loop $again (br $again))))"#;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, module)?)?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    assert_eq!(run.call(&mut store, ()).expect_err("it is late").trap(), Some(Trap::Deadline));
    Ok(())
}

/// Bulk operations on many megabytes.
const BULK: [(&str, &str); 12] = [
    ("fill", "memory.fill (i32.const 0) (i32.const 1) (i32.const 0x4000000)"),
    ("copy up", "memory.copy (i32.const 16) (i32.const 0) (i32.const 0x3fffff0)"),
    ("copy down", "memory.copy (i32.const 0) (i32.const 16) (i32.const 0x3fffff0)"),
    ("table fill", "table.fill $t (i32.const 0) (ref.null func) (i32.const 1000000)"),
    ("table copy", "table.copy $t $u (i32.const 0) (i32.const 0) (i32.const 1000000)"),
    ("table copy up", "table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 999999)"),
    ("array fill", "array.fill $a (global.get $a) (i32.const 0) (i32.const 1) (i32.const 0x4000000)"),
    ("array of words fill", "array.fill $w (global.get $w) (i32.const 0) (i64.const 1) (i32.const 0x800000)"),
    (
        "array copy up",
        "array.copy $a $a (global.get $a) (i32.const 1) (global.get $a) (i32.const 0) (i32.const 0x3ffffff)",
    ),
    (
        "array copy down",
        "array.copy $w $w (global.get $w) (i32.const 0) (global.get $w) (i32.const 1) (i32.const 0x7fffff)",
    ),
    ("array new", "global.set $a (array.new_default $a (i32.const 0x4000000))"),
    ("array new filled", "global.set $w (array.new $w (i64.const 5) (i32.const 0x800000))"),
];

/// Plain code without polls notices a deadline only in its callees; all iterations together take seconds.
#[test]
fn a_deadline_stops_large_bulk_operations() -> Outcome {
    let export = |(name, operation): &(&str, &str)| {
        format!(
            r#"(func (export "{name}") (param i32)
                (loop $again ({operation})
                    (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))"#
        )
    };
    let exports: String = BULK.iter().map(export).collect();
    let arrays = r#"(type $a (array (mut i8))) (type $w (array (mut i64)))
        (global $a (mut (ref $a)) (array.new_default $a (i32.const 0x4000000)))
        (global $w (mut (ref $w)) (array.new_default $w (i32.const 0x800000)))"#;
    let module = format!(
        "(module {arrays} (memory 1024) (table $t 1000000 funcref) (table $u 1000000 funcref) {exports})"
    );
    // Without polls, and with checks, which a signal makes fire where it finds code of a function.
    for profiling in [ProfilingConfig::Off, ProfilingConfig::Adaptive(Adaptive::default())] {
        let mut config = Config::new();
        config.interruptible(matches!(profiling, ProfilingConfig::Off));
        let engine = Engine::new(config.profiling(profiling))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, &module)?, &[])?;
        for (name, _) in BULK {
            let func = instance.get_typed_func::<i32, ()>(&mut store, name)?;
            func.call(&mut store, 1)?;
            store.set_deadline(Some(Instant::now() + Duration::from_millis(20)))?;
            let error = func.call(&mut store, 2000).expect_err("it takes too long");
            assert_eq!(error.trap(), Some(Trap::Deadline), "{name} {profiling:?}: {error}");
        }
    }
    Ok(())
}

/// The host function does not wait in the system, so a signal wakes nothing.
#[test]
fn a_deadline_stops_who_calls_long_host_functions() -> Outcome {
    let engine = Engine::new(Config::new().interruptible(true))?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "work", || {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
    })?;
    let module = r#"(module (import "host" "work" (func $work))
        (func (export "run") (param i32)
            (loop $again (call $work) (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, module)?)?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
    store.set_deadline(Some(Instant::now() + Duration::from_millis(5)))?;
    let error = run.call(&mut store, 5000).expect_err("it takes too long");
    assert_eq!(error.trap(), Some(Trap::Deadline), "{error}");
    Ok(())
}

fn adaptive(trigger: Trigger, budget: Option<Overhead>) -> Result<Engine> {
    let lengths = BurstLengths::new(1000, 20);
    let adaptive = Adaptive { lengths, trigger, budget, ..Adaptive::default() };
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).background_compilation(false).time_line(true);
    Engine::new(config.profiling(ProfilingConfig::Adaptive(adaptive)))
}

/// Counts until `bursts` bursts have begun, and checks all results.
fn count_until(store: &mut Store<()>, instance: Instance, bursts: u64) -> Result<()> {
    let count = instance.get_typed_func::<i64, i64>(&mut *store, "count")?;
    let expected = (0..100_000).fold(0_i64, |sum, i| if i & 1 == 1 { sum + i } else { sum ^ i });
    for _ in 0..100_000 {
        assert_eq!(count.call(&mut *store, 100_000)?, expected);
        if store.bursts().expect("it is sampled").begun >= bursts {
            return Ok(());
        }
    }
    panic!("too few bursts: {:?}", store.bursts());
}

#[test]
fn a_timer_begins_bursts_at_least_of_the_length_that_was_asked_for() -> Outcome {
    let engine = adaptive(Trigger::Time(Duration::from_micros(200)), None)?;
    let (mut store, instance) = instantiate(&engine)?;
    count_until(&mut store, instance, 30)?;
    let bursts = store.bursts().expect("it is sampled");
    let rate = store.burst_rate().expect("it is sampled");
    assert!(rate.counted > 0 && rate.as_f64() < 0.5, "{rate:?}");
    let profile = instance.profile(&store)?;
    profile.verify()?;
    let timeline = profile.timeline.as_ref().expect("a time line");
    assert!(
        timeline.bursts.len() >= 30 && timeline.bursts.iter().all(|burst| burst.checks == 0),
        "{timeline:?}"
    );
    let paths = profile.functions[0].paths().expect("paths");
    let seen: u64 = paths.finished.iter().map(|path| path.count).sum();
    // Each iteration of the loop has a check; a burst may cut off its last path.
    assert!(seen > 10 * bursts.begun, "{seen} paths, {bursts:?}");
    Ok(())
}

#[test]
fn a_timer_goes_on_beginning_bursts_while_better_code_is_compiled() -> Outcome {
    let trigger = Trigger::Time(Duration::from_micros(100));
    let adaptive = Adaptive { lengths: BurstLengths::new(1, 50), trigger, ..Adaptive::default() };
    let engine = Engine::new(Config::new().profiling(ProfilingConfig::Adaptive(adaptive)))?;
    let wat = r#"(module
        (func $leaf (param i32) (result i32)
            (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
            (local.get 0))
        (func (export "run") (param i32) (result i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.sub (local.get $sum) (call $leaf (i32.const 90))))
                (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
            (local.get $sum)))"#;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    for _ in 0..5000 {
        assert_eq!(run.call(&mut store, 10_000)?, 0);
        if store.bursts().expect("it is sampled").begun >= 50 {
            return Ok(());
        }
    }
    panic!("too few bursts: {:?}", store.bursts());
}

#[test]
fn a_timer_can_be_stopped() -> Outcome {
    let engine = adaptive(Trigger::Time(Duration::from_micros(100)), None)?;
    let (mut store, instance) = instantiate(&engine)?;
    count_until(&mut store, instance, 3)?;
    store.set_bursts(None)?;
    count_until(&mut store, instance, 0)?;
    let begun = store.bursts().expect("it is sampled").begun;
    (0..50).try_for_each(|_| count_until(&mut store, instance, 0))?;
    assert_eq!(store.bursts().expect("it is sampled").begun, begun);
    Ok(())
}

#[test]
fn a_budget_changes_the_time_between_bursts() -> Outcome {
    let engine = adaptive(Trigger::Checks, Some("1%".parse()?))?;
    let (mut store, instance) = instantiate(&engine)?;
    count_until(&mut store, instance, 20)?;
    let bursts = store.bursts().expect("it is sampled");
    assert!(bursts.lengths().checking >= 200 && bursts.lengths().instrumented == 20, "{bursts:?}");
    assert_ne!(bursts.lengths().checking, 1000);
    assert!(adaptive(Trigger::Time(Duration::from_millis(1)), Some("1%".parse()?)).is_err());
    Ok(())
}
