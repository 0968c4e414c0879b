//! Exceptions are thrown and caught in both encodings, in every tier and across the host, with exact profiles.

mod counts;
mod sample;

use wprof::profiler::BurstLengths;
use wprof::*;

use sample::{configs, expected, sample, strategies};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn programs_throw_and_catch_in_every_tier() -> Outcome {
    for config in configs() {
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        let cleanups = instance.get_global(&mut store, "cleanups").expect("exported");
        let mut all = 0;
        for rounds in [1, 10, 300, 77, 500] {
            let (sum, more) = expected(rounds);
            assert_eq!(run.call(&mut store, rounds)?, sum, "{rounds} {config:?}");
            all += more;
            assert_eq!(cleanups.get(&mut store).i32(), Some(all), "{config:?}");
        }
        let own = instance.get_typed_func::<i32, i32>(&mut store, "own")?;
        assert_eq!(
            own.call(&mut store, 200)?,
            (1..=200).map(|n| if n % 2 == 1 { n } else { 5 }).sum::<i32>()
        );
    }
    Ok(())
}

#[test]
fn functions_that_catch_are_proven_whatever_is_made_of_them() -> Outcome {
    for mut config in configs() {
        config.verify(true);
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 300)?, expected(300).0);
        let engine = store.engine();
        assert_eq!(engine.unproven(), [] as [String; 0], "{config:?}");
        assert_eq!((engine.proofs().1, engine.baseline_proofs().1), (0, 0));
    }
    Ok(())
}

/// A loop with a join, a call outside of its `try`, and one inside that throws every eighth time.
const HOT: &str = r#"(module
    (tag $t (param i32))
    (func $triple (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
    (func $may (param i32) (result i32)
        (if (i32.eqz (i32.and (local.get 0) (i32.const 7))) (then (throw $t (i32.const 100))))
        (local.get 0))
    (func $run (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (if (i32.and (local.get $n) (i32.const 15))
                (then (local.set $sum (i32.add (local.get $sum) (i32.const 1))))
                (else (local.set $sum (i32.xor (local.get $sum) (i32.const 5)))))
            (local.set $sum (i32.add (local.get $sum) (call $triple (local.get $n))))
            (local.set $sum (i32.add (local.get $sum) (block $caught (result i32)
                (try_table (result i32) (catch $t $caught) (call $may (local.get $n))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

#[test]
fn functions_that_catch_get_superblocks_and_inlined_calls() -> Outcome {
    let (triple, run) = (0, 2);
    let expected = |n: i32| {
        (1..=n).rev().fold(0, |sum, n| {
            let sum = if n % 16 != 0 { sum + 1 } else { sum ^ 5 };
            sum + 3 * n + if n % 8 == 0 { 100 } else { n }
        })
    };
    let adaptive = Adaptive { lengths: BurstLengths::new(20, 100), ..Adaptive::default() };
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).background_compilation(false).promote_after(2).verify(true);
    config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(Some(Policy::eager()));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, HOT)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let function = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    for n in [100, 5000, 777] {
        assert_eq!(function.call(&mut store, n)?, expected(n), "{n}");
    }
    let all = module.reoptimizations();
    let verdicts = || all.iter().filter(|done| done.func == run).flat_map(|done| &done.decisions);
    let is_inlined =
        |verdict: &Verdict| matches!(*verdict, Verdict::Inlined { callee, .. } if callee == triple);
    assert!(verdicts().any(|decision| is_inlined(&decision.verdict)), "{all:?}");
    assert!(verdicts().any(|decision| matches!(decision.verdict, Verdict::Superblock { .. })), "{all:?}");
    assert_eq!(engine.unproven(), [] as [String; 0]);
    Ok(())
}

fn message(error: &Error) -> String {
    error.to_string()
}

#[test]
fn references_that_are_not_caught_are_told_by_what_they_are_to() -> Outcome {
    let module = r#"(module
        (type $s (struct (field i32))) (type $a (array i8))
        (tag $t (param (ref null $s) (ref null $a) anyref anyref externref funcref (ref null $s)))
        (func $f (export "run") (param externref)
            (throw $t (struct.new $s (i32.const 5)) (array.new_default $a (i32.const 3)) (ref.i31 (i32.const -7))
                (struct.new $s (i32.const 5)) (local.get 0) (ref.func $f) (ref.null $s))))"#;
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, module)?, &[])?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let error = run.call(&mut store, &[Val::from(ExternRef::new(1))], &mut []).expect_err("it throws");
    assert_eq!(
        message(&error),
        "uncaught exception: tag 0 with a struct, an array, i31 -7, an object, a value of the host's, a function, null"
    );
    Ok(())
}

#[test]
fn what_is_not_caught_is_an_error_with_its_frames() -> Outcome {
    for config in strategies() {
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let through = instance.get_typed_func::<i32, i32>(&mut store, "through")?;
        let error = through.call(&mut store, 25).expect_err("it throws");
        assert_eq!((error.kind(), error.trap()), (ErrorKind::Exception, None));
        assert_eq!(message(&error), "uncaught exception: tag `a` with 25");
        let names: Vec<_> = error.backtrace().expect("one").frames().iter().map(|f| f.func_name()).collect();
        assert_eq!(names, [Some("work"), Some("through")]);
        assert_eq!(
            message(&through.call(&mut store, 26).expect_err("it throws")),
            "uncaught exception: tag 2 with 7, 26"
        );
        // The store remains usable.
        assert_eq!(through.call(&mut store, 9)?, 10);
    }
    Ok(())
}

#[test]
fn traps_are_not_caught_and_deep_frames_are_dropped() -> Outcome {
    let wat = r#"(module
        (tag $e)
        (func $deep (export "deep") (param i32) (result i32)
            (if (i32.eqz (local.get 0)) (then (throw $e)))
            (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
        (func (export "catch") (param i32) (result i32)
            (block $caught
                (try_table (catch_all $caught) (return (call $deep (local.get 0))))
                unreachable)
            (i32.const -1))
        (func $endless (export "endless") (param i32) (result i32)
            (block $caught
                (try_table (catch_all $caught) (return (call $endless (i32.add (local.get 0) (i32.const 1)))))
                unreachable)
            (i32.const -1))
        (func $bottom (export "bottom") (result i32)
            (block $caught
                (try_table (catch_all $caught) (throw $e))
                unreachable)
            (i32.add (call $bottom) (i32.const 1)))
        (func (export "trap") (result i32)
            try (result i32) (i32.div_u (i32.const 1) (i32.const 0)) catch_all (i32.const 3) end))"#;
    for config in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let catch = instance.get_typed_func::<i32, i32>(&mut store, "catch")?;
        for depth in [0, 1, 10, 5000] {
            assert_eq!(catch.call(&mut store, depth)?, -1);
        }
        for name in ["endless", "bottom"] {
            let func = instance.get_func(&mut store, name).expect("exported");
            let params = vec![Val::I32(0); func.ty(&store).params().len()];
            let error = func.call(&mut store, &params, &mut [Val::I32(0)]).expect_err("no stack");
            assert_eq!(error.trap(), Some(Trap::StackOverflow), "{name}: {error:?}");
        }
        assert_eq!(catch.call(&mut store, 10)?, -1);
        let trap = instance.get_typed_func::<(), i32>(&mut store, "trap")?;
        assert_eq!(
            trap.call(&mut store, ()).expect_err("it traps").trap(),
            Some(Trap::IntegerDivisionByZero)
        );
    }
    Ok(())
}

/// `keep(n)` makes a chain of exceptions in a global, `drop(n)` forgets each at once; `fill(n)` makes a list of objects.
const KEPT: &str = r#"(module
    (type $numbers (array (mut i64)))
    (type $node (struct (field (ref null $node)) (field (ref $numbers))))
    (tag $e (param exnref))
    (global $kept (mut exnref) (ref.null exn))
    (global $list (mut (ref null $node)) (ref.null $node))
    (func $make (param $of exnref) (result exnref)
        (block $caught (result exnref)
            (try_table (catch_all_ref $caught) (throw $e (local.get $of)))
            (unreachable)))
    (func (export "keep") (param $n i32)
        (loop $next
            (global.set $kept (call $make (global.get $kept)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "drop") (param $n i32)
        (loop $next
            (drop (call $make (ref.null exn)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "fill") (param $n i32)
        (loop $next
            (global.set $list (struct.new $node (global.get $list) (array.new_default $numbers (i32.const 128))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

#[test]
fn exceptions_count_against_the_limit_of_the_heap_until_they_are_garbage() -> Outcome {
    for config in strategies() {
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        store.set_limits(StoreLimits { heap_bytes: 1 << 20, ..StoreLimits::default() });
        let instance = Instance::new(&mut store, &Module::new(&engine, KEPT)?, &[])?;
        let [keep, drop] = ["keep", "drop"].map(|name| instance.get_typed_func::<i32, ()>(&mut store, name));
        let (keep, drop) = (keep?, drop?);
        keep.call(&mut store, 1000)?;
        // Several times the permitted number.
        drop.call(&mut store, 50_000)?;
        let error = keep.call(&mut store, 50_000).expect_err("they are too many");
        assert_eq!(error.trap(), Some(Trap::GcOutOfMemory), "{error}");
    }
    Ok(())
}

/// A collection marks the whole heap, so it must not come each time that there are a few exceptions.
#[test]
fn throws_beside_a_large_heap_seldom_collect() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, KEPT)?, &[])?;
    let fill = instance.get_typed_func::<i32, ()>(&mut store, "fill")?;
    fill.call(&mut store, 16_000)?;
    store.gc();
    let collections = |store: &mut Store<()>| store.gc_statistics().expect("it has objects").collections;
    let before = collections(&mut store);
    instance.get_typed_func::<i32, ()>(&mut store, "drop")?.call(&mut store, 100_000)?;
    let more = collections(&mut store) - before;
    assert!(more < 5, "{more} collections");
    Ok(())
}
