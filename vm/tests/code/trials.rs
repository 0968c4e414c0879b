//! Reoptimized versions in timed trials against the versions that they replace: whichever version a call gets, the
//! program behaves the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `run(n, x)` calls functions with one, two and ten results, one that calls itself and one that calls the host, which
/// calls back; it divides by x.
const WAT: &str = r#"(module
    (import "host" "again" (func $again (param i32) (result i32)))
    (import "host" "fall" (func $fall_on (param i32 i32) (result i32)))
    (func $sum (param $n i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (local.get $n)))
            (br_if $next (local.tee $n (i32.shr_u (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func $two (param i32 i64) (result i64 i32)
        (if (i32.and (local.get 0) (i32.const 1)) (then (local.set 1 (i64.add (local.get 1) (i64.const 7)))))
        (local.get 1) (i32.add (local.get 0) (i32.const 1)))
    (func $ten (param f64 i32) (result i32 i32 i32 i32 i32 i32 i32 i32 i32 f64)
        (if (i32.and (local.get 1) (i32.const 2)) (then (local.set 0 (f64.add (local.get 0) (f64.const 1)))))
        (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1)
        (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 0))
    (func $fib (export "fib") (param i32) (result i32)
        (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0))
            (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                           (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func $divide (param i32 i32) (result i32)
        (if (result i32) (i32.and (local.get 0) (i32.const 4))
            (then (i32.div_u (i32.const 1000) (local.get 1))) (else (local.get 0))))
    (func $host (param i32) (result i32)
        (if (result i32) (i32.and (local.get 0) (i32.const 63)) (then (local.get 0)) (else (call $again (local.get 0)))))
    (func $tail (param i32) (result i32)
        (if (i32.gt_u (local.get 0) (i32.const 100)) (then (return_call $sum (local.get 0))))
        (local.get 0))
    (func $fall (export "fall") (param $n i32) (param $x i32) (result i32)
        (if (result i32) (local.get $n)
            (then (i32.add (i32.const 1) (call $fall_on (i32.sub (local.get $n) (i32.const 1)) (local.get $x))))
            (else (i32.div_u (i32.const 1) (local.get $x)))))
    (func (export "run") (param $n i32) (param $x i32) (result i32) (local $all i32) (local $float f64)
        (loop $next
            (local.set $all (i32.add (local.get $all) (call $sum (local.get $n))))
            (call $two (local.get $n) (i64.const 5))
            (local.get $all)
            (i32.add)
            (local.set $all)
            (local.set $all (i32.xor (i32.wrap_i64) (local.get $all)))
            (call $ten (f64.const 0.5) (local.get $n))
            (local.set $float)
            (drop) (drop) (drop) (drop) (drop) (drop) (drop) (drop)
            (local.set $all (i32.add (i32.trunc_f64_s (local.get $float)) (i32.add (local.get $all))))
            (local.set $all (i32.add (local.get $all) (call $fib (i32.and (local.get $n) (i32.const 7)))))
            (local.set $all (i32.add (local.get $all) (call $divide (local.get $n) (local.get $x))))
            (local.set $all (i32.add (local.get $all) (call $host (local.get $n))))
            (local.set $all (i32.add (local.get $all) (call $tail (local.get $n))))
            (local.set $all (i32.add (local.get $all) (call $fall (i32.and (local.get $n) (i32.const 7)) (i32.const 1))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $all))
    (func (export "deep") (param $n i32) (param i32) (result i32)
        (call $descend (local.get $n)))
    (func $descend (param i32) (result i32)
        (if (result i32) (local.get 0)
            (then (i32.add (i32.const 1) (call $descend (i32.sub (local.get 0) (i32.const 1)))))
            (else (i32.const 0)))))"#;

/// The index of `$fall`.
const FALL: u32 = 9;

/// Minimum number of the program's functions that are called often and get other code.
const HOT: usize = 5;

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
}

impl Program {
    fn new(engine: &Engine, module: &Module) -> Result<Program> {
        let (mut store, mut linker) = (Store::new(engine, ()), Linker::new(engine));
        linker.func_wrap("host", "again", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            let fib = caller.get_export("fib").and_then(Extern::into_func).expect("is exported");
            fib.typed::<i32, i32>(&caller)?.call(&mut caller, n & 7)
        })?;
        linker.func_wrap("host", "fall", |mut caller: Caller<'_, ()>, n: i32, x: i32| -> Result<i32> {
            let fall = caller.get_export("fall").and_then(Extern::into_func).expect("is exported");
            fall.typed::<(i32, i32), i32>(&caller)?.call(&mut caller, (n, x))
        })?;
        let instance = linker.instantiate(&mut store, module)?;
        Ok(Program { store, module: module.clone(), instance })
    }

    fn call(&mut self, name: &str, args: (i32, i32)) -> Result<i32> {
        self.instance.get_typed_func::<(i32, i32), i32>(&mut self.store, name)?.call(&mut self.store, args)
    }

    /// Returns the results of trials: whether each was reverted to the previous version.
    fn tried(&self) -> Vec<bool> {
        let verdict = |decision: &Decision| match decision.verdict {
            Verdict::Tried { reverted, .. } => Some(reverted),
            _ => None,
        };
        let all = self.module.reoptimizations();
        all.iter().flat_map(|done| &done.decisions).filter_map(verdict).collect()
    }
}

/// Creates an engine with checks everywhere, short bursts, and trials of `trial_calls` calls.
fn adaptive(trial_calls: u32, trial_margin: f64) -> Result<Engine> {
    let lengths = BurstLengths::new(3, 5);
    let policy = Policy { trial_calls, trial_margin, inlining: false, ..Policy::eager() };
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.reoptimization(Some(policy)).strategy(Strategy::Tiered).promote_after(2).count_contexts(true);
    Engine::new(&config)
}

fn plain() -> Result<Program> {
    let engine = Engine::new(&Config::new())?;
    Program::new(&engine, &Module::new(&engine, WAT)?)
}

/// Runs until the program `is_done`, and compares the results.
fn run_until(program: &mut Program, is_done: impl Fn(&Program) -> bool) -> Outcome {
    let (mut plain, until) = (plain()?, Instant::now() + Duration::from_secs(120));
    while !is_done(program) {
        for (n, x) in [(300, 3), (7, 1), (130, 9)] {
            assert_eq!(program.call("run", (n, x))?, plain.call("run", (n, x))?);
        }
        assert!(Instant::now() < until, "{:?}", program.module.reoptimizations());
    }
    Ok(program.instance.profile(&program.store)?.verify()?)
}

#[test]
fn versions_are_kept_or_reverted_as_the_margin_says() -> Outcome {
    for (margin, reverted) in [(1e12, false), (-1e12, true)] {
        let engine = adaptive(8, margin)?;
        let mut program = Program::new(&engine, &Module::new(&engine, WAT)?)?;
        run_until(&mut program, |program| program.tried().len() >= HOT)?;
        assert!(program.tried().iter().all(|&found| found == reverted), "{:?}", program.tried());
    }
    Ok(())
}

#[test]
fn what_is_measured_is_told_among_the_decisions() -> Outcome {
    let engine = adaptive(8, 1e12)?;
    let mut program = Program::new(&engine, &Module::new(&engine, WAT)?)?;
    run_until(&mut program, |program| !program.tried().is_empty())?;
    let all = program.module.reoptimizations();
    let decisions = || all.iter().flat_map(|done| &done.decisions);
    let result = decisions().find_map(|decision| match decision.verdict {
        Verdict::Tried { result, .. } => Some((result, decision.verdict.named(|func| func.to_string()))),
        _ => None,
    });
    let (result, text) = result.expect("one was tried");
    assert!(result.before > 0.0 && result.after > 0.0 && result.calls == 8, "{result:?}");
    assert!(text.starts_with("kept: ") && text.contains("in 8 calls of each"), "{text}");
    Ok(())
}

/// Each call from the host calls the function a million times: trials run inner calls, too, not only the outermost.
#[test]
fn a_trial_ends_within_a_long_call() -> Outcome {
    let calls = 1000;
    let engine = adaptive(calls, 1e12)?;
    let mut program = Program::new(&engine, &Module::new(&engine, WAT)?)?;
    let fib = program.instance.get_typed_func::<i32, i32>(&mut program.store, "fib")?;
    let mut made = 0;
    while program.tried().is_empty() {
        assert_eq!(fib.call(&mut program.store, 27)?, 196_418);
        made += 1;
        assert!(made < calls, "{:?}", program.module.reoptimizations());
    }
    Ok(())
}

/// Trials that never end: every call goes through them.
#[test]
fn traps_recursion_and_overflow_are_as_without_a_trial() -> Outcome {
    let engine = adaptive(u32::MAX, 0.0)?;
    let (mut plain, mut program) = (plain()?, Program::new(&engine, &Module::new(&engine, WAT)?)?);
    run_until(&mut program, |program| program.module.reoptimizations().len() >= HOT)?;
    let places = |error: &Error| {
        let frames = error.backtrace().expect("a trap has one").frames().iter();
        frames.map(|frame| (frame.func_index(), frame.module_offset())).collect::<Vec<_>>()
    };
    for n in [4, 37, 204] {
        let [expected, found] =
            [&mut plain, &mut program].map(|program| program.call("run", (n, 0)).expect_err("it divides"));
        assert_eq!(found.trap(), Some(Trap::IntegerDivisionByZero));
        assert_eq!(places(&found), places(&expected));
        assert_eq!(program.call("run", (n, 1))?, plain.call("run", (n, 1))?);
    }
    for _ in 0..40 {
        assert_eq!(program.call("deep", (1000, 0))?, 1000);
    }
    // The frames of trials, between those of the host and of wasm, take no place in a backtrace.
    run_until(&mut program, |program| {
        let fallen = program.module.reoptimizations();
        fallen.iter().any(|done| done.func == FALL)
    })?;
    let [expected, found] =
        [&mut plain, &mut program].map(|program| program.call("fall", (100, 0)).expect_err("it divides"));
    assert_eq!(places(&found).len(), 64);
    assert_eq!(places(&found), places(&expected));
    for _ in 0..3 {
        let error = program.call("deep", (i32::MAX, 0)).expect_err("too deep");
        assert_eq!(error.trap(), Some(Trap::StackOverflow), "{error}");
        assert_eq!(program.call("deep", (1000, 0))?, 1000);
    }
    Ok(())
}

#[test]
fn threads_share_a_trial() -> Outcome {
    let engine = adaptive(2000, 0.0)?;
    let module = Arc::new(Module::new(&engine, WAT)?);
    let expected = plain()?.call("run", (300, 3))?;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut program = Program::new(&engine, &module).expect("instantiates");
                for _ in 0..100 {
                    assert_eq!(program.call("run", (300, 3)).expect("runs"), expected);
                }
            });
        }
    });
    let mut program = Program::new(&engine, &module)?;
    run_until(&mut program, |program| program.tried().len() >= HOT)
}

#[test]
fn there_is_no_trial_where_the_same_input_is_to_go_through_the_same_versions() -> Outcome {
    let lengths = BurstLengths::new(3, 5);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.reoptimization(Some(Policy { trial_calls: 8, inlining: false, ..Policy::eager() }));
    let engine = Engine::new(config.promote_after(2).background_compilation(false))?;
    let mut program = Program::new(&engine, &Module::new(&engine, WAT)?)?;
    run_until(&mut program, |program| program.module.reoptimizations().len() >= HOT)?;
    run_until(&mut program, |_| true)?;
    assert!(program.tried().is_empty());
    Ok(())
}
