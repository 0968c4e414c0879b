//! Host values in wasm code: they live as long as wasm can reach them, and no longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A value whose instances are counted.
struct Counted(i64, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

const WAT: &str = r#"(module
    (import "h" "make" (func $make (param i64) (result externref)))
    (import "h" "is" (func $is (param externref i64)))
    (import "h" "again" (func $again (param externref i32)))
    (table $kept 8 externref)
    (global $last (mut externref) (ref.null extern))
    ;; Makes and drops many while it holds some in locals, operands, a table and a global.
    (func $garbage (export "garbage") (param $n i32)
        (local $a externref) (local $b externref)
        (local.set $a (call $make (i64.const -1)))
        (table.set $kept (i32.const 3) (call $make (i64.const -3)))
        (global.set $last (call $make (i64.const -4)))
        (call $make (i64.const -5))
        (loop $more
            (local.set $b (call $make (i64.const -2)))
            (call $is (call $make (i64.extend_i32_u (local.get $n))) (i64.extend_i32_u (local.get $n)))
            (call $is (local.get $a) (i64.const -1))
            (call $is (local.get $b) (i64.const -2))
            (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (call $is (i64.const -5))
        (call $is (table.get $kept (i32.const 3)) (i64.const -3))
        (call $is (global.get $last) (i64.const -4)))
    ;; A frame for each value, and in the midst of them frames of the host.
    (func $deep (export "deep") (param $n i32) (local $mine externref)
        (local.set $mine (call $make (i64.extend_i32_u (local.get $n))))
        (if (local.get $n)
            (then
                (if (i32.and (local.get $n) (i32.const 15))
                    (then (call $deep (i32.sub (local.get $n) (i32.const 1))))
                    (else (call $again (call $make (i64.const -6)) (i32.sub (local.get $n) (i32.const 1))))))
            (else (call $garbage (i32.const 3000))))
        (call $is (local.get $mine) (i64.extend_i32_u (local.get $n)))))"#;

fn check(engine: &Engine) -> Outcome {
    let alive = Arc::new(AtomicUsize::new(0));
    let (mut store, mut linker) = (Store::new(engine, 0_usize), Linker::new(engine));
    let of_make = alive.clone();
    linker.func_wrap("h", "make", move |mut caller: Caller<'_, usize>, value: i64| {
        let alive = of_make.fetch_add(1, Ordering::Relaxed) + 1;
        *caller.data_mut() = alive.max(*caller.data());
        Some(ExternRef::new(Counted(value, of_make.clone())))
    })?;
    linker.func_wrap("h", "is", |value: Option<ExternRef>, expected: i64| {
        let found = value.as_ref().and_then(|value| value.downcast_ref::<Counted>()).map(|value| value.0);
        assert_eq!(found, Some(expected));
    })?;
    linker.func_wrap(
        "h",
        "again",
        |mut caller: Caller<'_, usize>, value: Option<ExternRef>, n: i32| -> Result<()> {
            let deep =
                caller.instance().expect("wasm calls it").get_typed_func::<i32, ()>(&mut caller, "deep")?;
            deep.call(&mut caller, n)?;
            assert_eq!(
                value.and_then(|value| value.downcast_ref::<Counted>().map(|value| value.0)),
                Some(-6)
            );
            Ok(())
        },
    )?;
    let instance = linker.instantiate(&mut store, &Module::new(engine, WAT)?)?;
    let garbage = instance.get_typed_func::<i32, ()>(&mut store, "garbage")?;
    garbage.call(&mut store, 100_000)?;
    assert!(*store.data() < 5000, "{} values were alive at once", store.data());
    let deep = instance.get_typed_func::<i32, ()>(&mut store, "deep")?;
    deep.call(&mut store, 400)?;
    assert!(*store.data() < 5000, "{} values were alive at once", store.data());
    store.gc();
    // One reference in the table, one in the global.
    assert_eq!(store.externref_count(), 2);
    drop((store, linker));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    Ok(())
}

#[test]
fn values_are_freed_while_wasm_runs_but_not_those_that_it_holds() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false);
        for profiling in [
            ProfilingConfig::Off,
            ProfilingConfig::Exact(Collect::Paths),
            ProfilingConfig::Adaptive(Adaptive::default()),
        ] {
            check(&Engine::new(config.profiling(profiling))?)?;
        }
    }
    Ok(())
}
