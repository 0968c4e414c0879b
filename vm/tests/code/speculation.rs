//! Compilation ahead of the first call affects no result, no profile and no count of executed functions.

use std::fmt::Write;
use std::time::{Duration, Instant};

use wprof::profiler::Profile;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Functions of each module: a complete binary tree of seven levels.
const FUNCS: u32 = 127;

/// Function `i` calls functions `2 i` and `2 i + 1`, the second only if the host says so.
fn tree() -> String {
    let mut wat = String::from("(module (import \"host\" \"odd\" (func $odd (result i32)))");
    for i in 1..=FUNCS {
        let (left, right) = (2 * i, 2 * i + 1);
        let export = if i == 1 { "(export \"run\")" } else { "" };
        write!(wat, "(func $f{i} {export} (param i32) (result i32)").expect("to a string");
        if right <= FUNCS {
            write!(wat, "(local.set 0 (call $f{left} (local.get 0)))").expect("to a string");
            write!(wat, "(if (call $odd) (then (local.set 0 (call $f{right} (local.get 0)))))")
                .expect("to a string");
        }
        write!(wat, "(i32.add (local.get 0) (i32.const {i})))").expect("to a string");
    }
    wat + ")"
}

fn config(ahead: bool) -> Config {
    let mut config = Config::new();
    config.speculative_compilation(ahead).profiling(ProfilingConfig::Exact(Collect::Edges));
    config
}

/// Runs the module once in a new store.
fn run(module: &Module, odd: i32) -> Result<(i32, Profile)> {
    let mut linker = Linker::new(module.engine());
    linker.func_wrap("host", "odd", move || odd)?;
    let mut store = Store::new(module.engine(), ());
    let instance = linker.instantiate(&mut store, module)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    let result = run.call(&mut store, 1)?;
    Ok((result, instance.profile(&store)?))
}

/// Waits for the other thread, which is certain to get there.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn what_was_only_compiled_ahead_has_not_run() -> Outcome {
    let module = Module::new(&Engine::new(&config(true))?, tree())?;
    let expected = run(&Module::new(&Engine::new(&config(false))?, tree())?, 0)?;
    // Of all functions that are likely to be called only the left side of the tree is called.
    assert_eq!(run(&module, 0)?, expected);
    let left = 7;
    assert_eq!((module.compiled().0, expected.1.code.compiled), (left, left as u64));
    wait_until("the other sides are compiled ahead", || module.compiled_ahead().1 > 0);
    assert_eq!(run(&module, 0)?, expected);
    assert_eq!(module.compiled().0, left);
    Ok(())
}

#[test]
fn code_compiled_ahead_is_used_and_counts_exactly() -> Outcome {
    let expected = run(&Module::new(&Engine::new(&config(false))?, tree())?, 1)?;
    let module = Module::new(&Engine::new(&config(true))?, tree())?;
    run(&module, 0)?;
    wait_until("as much is compiled ahead as may be", || module.compiled_ahead().1 >= 64);
    let (used, unused) = module.compiled_ahead();
    let seen = run(&module, 1)?;
    assert_eq!(seen.0, expected.0);
    assert_eq!(seen.1.functions, expected.1.functions);
    assert_eq!(module.compiled().0, FUNCS as usize);
    assert!(module.compiled_ahead().0 >= used + unused, "{used}, {unused}, {:?}", module.compiled_ahead());
    Ok(())
}

#[test]
fn threads_run_one_module_while_it_is_compiled_ahead() -> Outcome {
    let expected = run(&Module::new(&Engine::new(&config(false))?, tree())?, 1)?;
    for _ in 0..20 {
        let module = Module::new(&Engine::new(config(true).promote_after(3))?, tree())?;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let seen = run(&module, 1).expect("no trap");
                        assert_eq!((seen.0, seen.1.functions), (expected.0, expected.1.functions.clone()));
                    }
                });
            }
        });
        assert_eq!(module.compiled().0, FUNCS as usize);
    }
    Ok(())
}

#[test]
fn an_engine_goes_away_while_functions_are_compiled_ahead() -> Outcome {
    for _ in 0..50 {
        let module = Module::new(&Engine::new(&config(true))?, tree())?;
        run(&module, 0)?;
    }
    Ok(())
}

/// Returns a function with more values on its branches than are permitted; the host decides whether it is called.
fn with_giant() -> String {
    let types = "i32 ".repeat(1000);
    let blocks = "block (type $t) i32.const 0 br_if 0 end ".repeat(5_000);
    let body = format!("{} {blocks} {}", "i32.const 1 ".repeat(1000), "drop ".repeat(1000));
    format!(
        r#"(module (import "host" "odd" (func $odd (result i32)))
            (type $t (func (param {types}) (result {types})))
            (func $small (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
            (func $giant {body})
            (func (export "run") (param i32) (result i32)
                (if (call $odd) (then (call $giant)))
                (call $small (local.get 0))))"#
    )
}

#[test]
fn a_function_that_cannot_be_compiled_fails_when_it_is_called() -> Outcome {
    let module = Module::new(&Engine::new(&config(true))?, with_giant())?;
    for _ in 0..3 {
        assert_eq!(run(&module, 0)?.0, 2);
        let error = run(&module, 1).expect_err("too large").to_string();
        assert!(error.contains("edges"), "{error}");
    }
    assert_eq!(module.compiled().0, 2);
    Ok(())
}
