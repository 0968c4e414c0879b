//! Interrupts at random instants stop the program once each, and change nothing else.
//!
//! There are 2,000 in all; `WPROF_INTERRUPTS=100000` sets another number.

use std::sync::mpsc;
use std::time::Duration;

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Loops with and without calls, recursion, tail calls, calls through a table and of the host, and memory that grows
/// by bulk operations.
const WAT: &str = concat!(
    r#"(module
    (import "host" "id" (func $id (param i64) (result i64)))
    (type $unary (func (param i64) (result i64)))
    (memory 1)
    (table 4 funcref) (elem (i32.const 0) $fib $collatz $id $down)
"#,
    include_str!("programs/all_kinds.wat"),
    r#"    (func (export "run") (result i64) (local $i i64) (local $sum i64)
        (loop $again
            (memory.fill (i32.const 64) (i32.wrap_i64 (local.get $i)) (i32.const 1000))
            (local.set $sum (i64.add (local.get $sum)
                (call_indirect (type $unary) (i64.rem_u (local.get $i) (i64.const 14))
                    (i32.and (i32.wrap_i64 (local.get $i)) (i32.const 3)))))
            (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 100))))
            (br_if $again (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (i64.const 200))))
        (local.get $sum)))"#
);

fn configs() -> Vec<Config> {
    let adaptive = |lengths: (u32, u32), checks: &str, trigger| {
        let lengths = BurstLengths::new(lengths.0, lengths.1);
        let checks = checks.parse().expect("a known name");
        ProfilingConfig::Adaptive(Adaptive { lengths, checks, trigger, ..Adaptive::default() })
    };
    let never = BurstLengths::FOREVER;
    let all = [
        ProfilingConfig::Off,
        ProfilingConfig::Exact(Collect::Edges),
        ProfilingConfig::Exact(Collect::Paths),
        adaptive((50, 7), "default", Trigger::Checks),
        adaptive((never, 1), "EC+L4", Trigger::Checks),
        adaptive((1, never), "orig", Trigger::Checks),
        adaptive((1, 10), "EL", Trigger::Time(Duration::from_micros(50))),
    ];
    let tiers = [Strategy::Tiered, Strategy::Baseline];
    let config = |profiling, strategy| {
        let mut config = Config::new();
        config.profiling(profiling).strategy(strategy).interruptible(true).promote_after(50);
        config.count_contexts(matches!(profiling, ProfilingConfig::Exact(_)));
        config
    };
    let usual = all.into_iter().flat_map(|profiling| tiers.map(|strategy| config(profiling, strategy)));
    // Without a pinned register, checks are counted in memory.
    let plain = tiers.map(|strategy| {
        let mut config = Config::conservative();
        let profiling = adaptive((50, 7), "default", Trigger::Time(Duration::from_micros(50)));
        config.profiling(profiling).strategy(strategy).interruptible(true).promote_after(50);
        config
    });
    usual.chain(plain).collect()
}

#[test]
fn each_stops_the_program_once_and_results_are_the_same() -> Outcome {
    let all: usize = std::env::var("WPROF_INTERRUPTS").map_or(Ok(2000), |number| number.parse())?;
    let configs = configs();
    for config in &configs {
        interrupt(config, all.div_ceil(configs.len()))?;
    }
    Ok(())
}

/// Interrupts a program `rounds` times.
fn interrupt(config: &Config, rounds: usize) -> Outcome {
    let engine = Engine::new(config)?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "id", |n: i64| n)?;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let run = instance.get_typed_func::<(), i64>(&mut store, "run")?;
    let expected = run.call(&mut store, ())?;
    let (order, orders) = mpsc::channel::<Duration>();
    let handle = store.interrupt_handle();
    let interrupter = std::thread::spawn(move || {
        for pause in orders {
            let begin = std::time::Instant::now();
            while begin.elapsed() < pause {
                std::hint::spin_loop();
            }
            handle.interrupt();
        }
    });
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.send(Duration::from_nanos(random % 300_000))?;
        let error = loop {
            match run.call(&mut store, ()) {
                Ok(result) => assert_eq!(result, expected, "round {round}, {config:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.trap(), Some(Trap::Interrupt), "round {round}, {config:?}: {error}");
    }
    drop(order);
    interrupter.join().expect("it does not panic");
    assert_eq!(run.call(&mut store, ())?, expected, "no interrupt is left");
    if config.profiles() {
        instance.profile(&store)?.verify()?;
    }
    Ok(())
}
