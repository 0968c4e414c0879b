//! The system's unwinder: backtraces of host functions lead through wasm code to what called it.

use std::backtrace::Backtrace;
use std::hint::black_box;

use wprof::*;

use super::Outcome;

const PROGRAM: &str = r#"(module (import "host" "look" (func $look))
    (func $inner (param $n i32) (result i32)
        (if (i32.eqz (local.get $n)) (then (call $look)))
        (i32.add (local.get $n) (i32.const 1)))
    (func $middle (param $n i32) (result i32)
        (if (result i32) (local.get $n)
            (then (i32.mul (i32.const 3) (call $middle (i32.sub (local.get $n) (i32.const 1)))))
            (else (i32.mul (i32.const 3) (call $inner (local.get $n))))))
    (func (export "run") (param $n i32) (result i32) (call $middle (local.get $n))))"#;

/// The frame that backtraces are to show.
#[inline(never)]
fn who_called_wasm(store: &mut Store<Vec<String>>, run: &TypedFunc<i32, i32>, depth: i32) -> Result<i32> {
    black_box(run.call(store, depth))
}

/// Returns what the host function saw when called at some depths.
fn backtraces(config: &Config) -> Result<Vec<String>> {
    let engine = Engine::new(config)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "look", |mut caller: Caller<'_, Vec<String>>| {
        caller.data_mut().push(Backtrace::force_capture().to_string());
    })?;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, PROGRAM)?)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    for depth in [0, 1, 20] {
        who_called_wasm(&mut store, &run, depth)?;
    }
    Ok(std::mem::take(store.data_mut()))
}

fn frames(backtrace: &str) -> usize {
    backtrace
        .lines()
        .filter(|line| line.trim_start().split_once(':').is_some_and(|(n, _)| n.parse::<u32>().is_ok()))
        .count()
}

#[test]
fn backtraces_lead_through_wasm_code() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        for profiling in [ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Edges)] {
            let mut config = Config::new();
            config.strategy(strategy).profiling(profiling);
            let without = backtraces(&config)?;
            assert!(without.iter().all(|text| !text.contains("who_called_wasm")), "{without:?}");
            let with = backtraces(config.native_unwind_info(true))?;
            assert!(with.iter().all(|text| text.contains("who_called_wasm")), "{with:?}");
            // Each further call of `middle` is a frame.
            let counts: Vec<usize> = with.iter().map(|text| frames(text)).collect();
            assert_eq!([counts[1] - counts[0], counts[2] - counts[0]], [1, 20], "{strategy:?}");
        }
    }
    Ok(())
}
