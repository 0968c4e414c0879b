//! Baseline code in function parts: programs behave the same, however small the parts are.

use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A loop with a switch whose cases have their own loops; operands are on the stack across all of it.
const WAT: &str = r#"(module (memory 1)
    (func $step (param $case i32) (param $x i64) (result i64) (local $i i32) (local $unused f64)
        (i64.const 1000)
        (block $done (result i64)
            (block $c (block $b (block $a
                (br_table $a $b $c (i32.rem_u (local.get $case) (i32.const 3))))
                (br $done (i64.add (local.get $x) (i64.const 7))))
                (loop $more
                    (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 3)) (i64.extend_i32_u (local.get $i))))
                    (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5))))
                (br $done (local.get $x)))
            (if (result i64) (i64.lt_s (local.get $x) (i64.const 0))
                (then (i64.sub (i64.const 0) (local.get $x)))
                (else (i64.rotl (local.get $x) (i64.const 9)))))
        (i64.add))
    (func (export "run") (param $n i32) (result i64) (local $x i64)
        (loop $again
            (local.set $x (call $step (local.get $n) (local.get $x)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $x)))"#;

fn result(config: &mut Config, n: i32) -> Result<i64> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    instance.get_typed_func::<i32, i64>(&mut store, "run")?.call(&mut store, n)
}

#[test]
fn parts_of_any_size_do_what_the_whole_does() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Tiered] {
        for n in [1, 2, 3, 100, 20_000] {
            let expected = result(Config::new().strategy(strategy).parts_above(usize::MAX), n)?;
            for bytes in [1, 20, 50, 100] {
                let parts = result(Config::new().strategy(strategy).parts_above(bytes), n)?;
                assert_eq!(parts, expected, "{n} rounds in parts of {bytes} bytes");
            }
        }
    }
    Ok(())
}

/// Returns the bytes of code after `rounds[0]` iterations, and after `rounds[1]` more. The second case of the switch
/// comes first.
fn code_of(config: &Config, rounds: [i32; 2]) -> Result<([usize; 2], Module)> {
    let module = Module::new(&Engine::new(config)?, WAT)?;
    let mut store = Store::new(module.engine(), ());
    let instance = Linker::new(module.engine()).instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
    let mut bytes_after = |n| run.call(&mut store, n).map(|_| module.code_bytes());
    let bytes = [bytes_after(rounds[0])?, bytes_after(rounds[1])?];
    Ok((bytes, module))
}

#[test]
fn a_part_is_compiled_when_control_comes_to_it() -> Outcome {
    let mut config = Config::new();
    let (whole, _) = code_of(config.strategy(Strategy::Baseline).parts_above(usize::MAX), [1, 3])?;
    assert_eq!(whole[0], whole[1]);
    let (parts, _) = code_of(config.parts_above(20), [1, 3])?;
    assert!(parts[0] < parts[1], "{parts:?}");
    Ok(())
}

#[test]
fn the_code_cache_keeps_parts() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = Config::new();
    config.strategy(Strategy::Baseline).parts_above(20).code_cache(folder.path());
    // The next run finds the code that one run compiled, and keeps the parts that are new to it, too.
    let mut known = None;
    for rounds in [1, 3] {
        let (bytes, module) = code_of(&config, [1, rounds])?;
        assert_eq!(bytes[0], known.unwrap_or(bytes[0]));
        known = Some(bytes[1]);
        assert!(module.update_code_cache()?);
        // The slots of the next module must have the addresses of this one's.
        drop(module);
    }
    let (bytes, module) = code_of(&config, [1, 3])?;
    assert_eq!(Some(bytes), known.map(|known| [known; 2]), "all of it was there before anything ran");
    assert!(!module.update_code_cache()?);
    Ok(())
}

#[test]
fn parts_are_compiled_ahead_and_used() -> Outcome {
    let mut config = Config::new();
    config.speculative_compilation(true).parts_above(20);
    let expected = result(&mut config, 300)?;
    // The other thread may be late, or compile code that never runs; this does not happen each time.
    let start = Instant::now();
    loop {
        let module = Module::new(&Engine::new(&config)?, WAT)?;
        let mut store = Store::new(module.engine(), ());
        let instance = Linker::new(module.engine()).instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
        run.call(&mut store, 1)?;
        // Both functions have been called, so only parts can be compiled ahead.
        while module.compiled_ahead().1 == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", module.compiled_ahead());
            std::thread::yield_now();
        }
        let (used, _) = module.compiled_ahead();
        assert_eq!(run.call(&mut store, 300)?, expected);
        if module.compiled_ahead().0 > used {
            return Ok(());
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", module.compiled_ahead());
    }
}
