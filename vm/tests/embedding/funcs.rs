//! Functions: of modules, and of the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wprof::*;

use super::{Outcome, engines};

fn instance<T: 'static>(store: &mut Store<T>, text: &str, imports: &[Extern]) -> Result<Instance> {
    let module = Module::new(store.engine(), text)?;
    Instance::new(store, &module, imports)
}

#[test]
fn a_host_function_is_called_without_any_module() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let add = Func::wrap(&mut store, |a: i32, b: i64| i64::from(a) + b);
    assert_eq!(add.typed::<(i32, i64), i64>(&store)?.call(&mut store, (1, 2))?, 3);
    let mut results = [Val::I32(0)];
    add.call(&mut store, &[Val::I32(4), Val::I64(5)], &mut results)?;
    assert_eq!(results[0].i64(), Some(9));
    Ok(())
}

#[test]
fn a_closure_keeps_its_state_and_drops_it_with_the_store() -> Outcome {
    let calls = Arc::new(AtomicU32::new(0));
    let mut store = Store::new(&Engine::default(), ());
    let own = calls.clone();
    let count = Func::wrap(&mut store, move || own.fetch_add(1, Ordering::Relaxed) as i32);
    let count = count.typed::<(), i32>(&store)?;
    assert_eq!([count.call(&mut store, ())?, count.call(&mut store, ())?], [0, 1]);
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls)), (2, 2));
    drop(store);
    assert_eq!(Arc::strong_count(&calls), 1);
    Ok(())
}

#[test]
fn a_function_of_a_type_that_is_known_only_later() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let ty = FuncType::new([ValType::I32, ValType::F64], [ValType::F64, ValType::I32]);
    let swap = Func::new(&mut store, ty.clone(), |_, params, results| {
        (results[0], results[1]) = (params[1].clone(), params[0].clone());
        Ok(())
    });
    assert_eq!(swap.ty(&store), ty);
    assert_eq!(swap.typed::<(i32, f64), (f64, i32)>(&store)?.call(&mut store, (1, 2.5))?, (2.5, 1));
    Ok(())
}

#[test]
fn results_of_a_wrong_type_are_an_error_of_the_host() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let ty = FuncType::new([], [ValType::I32]);
    let wrong = Func::new(&mut store, ty, |_, _, results| {
        results[0] = Val::I64(1);
        Ok(())
    });
    let error = wrong.call(&mut store, &[], &mut [Val::I32(0)]).expect_err("an i64");
    assert_eq!(error.kind(), ErrorKind::Type);
    assert!(error.to_string().contains("host function"), "{error}");
    Ok(())
}

#[test]
fn results_that_are_not_set_are_zeros() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let ty = FuncType::new([], [ValType::I32, ValType::EXTERNREF]);
    let lazy = Func::new(&mut store, ty, |_, _, _| Ok(()));
    let mut results = [Val::I32(7), Val::I32(7)];
    lazy.call(&mut store, &[], &mut results)?;
    assert_eq!(results[0].i32(), Some(0));
    assert!(matches!(results[1], Val::ExternRef(None)));
    Ok(())
}

#[test]
fn an_error_of_the_host_comes_out_with_its_type_and_the_frames() -> Outcome {
    #[derive(Debug, PartialEq, thiserror::Error)]
    #[error("number {0}")]
    struct Own(u32);
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let fail = Func::wrap(&mut store, |n: i32| -> Result<()> { Err(Own(n as u32).into()) });
        let text = r#"(module (import "" "" (func $f (param i32))) (func $inner (call $f (i32.const 5)))
            (func (export "run") (call $inner)))"#;
        let instance = instance(&mut store, text, &[fail.into()])?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("it fails");
        assert_eq!((error.kind(), error.trap()), (ErrorKind::Host, None));
        assert_eq!(error.downcast_ref::<Own>(), Some(&Own(5)));
        let frames: Vec<u32> =
            error.backtrace().ok_or("wasm code ran")?.frames().iter().map(FrameInfo::func_index).collect();
        assert_eq!(frames, [1, 2]);
        assert_eq!(error.downcast::<Own>().map_err(|e| e.to_string()), Ok(Own(5)));
    }
    Ok(())
}

#[test]
fn a_panic_of_the_host_goes_through_wasm_and_the_store_goes_on() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, 0);
        let panics = Func::wrap(&mut store, |mut caller: Caller<'_, i32>| {
            *caller.data_mut() += 1;
            assert!(*caller.data() > 1, "the first time");
        });
        let text = r#"(module (import "" "" (func $f)) (func (export "run") (call $f)))"#;
        let instance = instance(&mut store, text, &[panics.into()])?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.call(&mut store, ())));
        assert_eq!(caught.expect_err("it panics").downcast_ref(), Some(&"the first time"));
        run.call(&mut store, ())?;
        assert_eq!(*store.data(), 2);
    }
    Ok(())
}

#[test]
fn host_and_wasm_call_each_other_many_times_over() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let again = Func::wrap(&mut store, |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            let run =
                caller.get_export("run").and_then(Extern::into_func).ok_or_else(|| Error::msg("exported"))?;
            run.typed::<i32, i32>(&caller)?.call(&mut caller, n - 1)
        });
        let text = r#"(module (import "" "" (func $f (param i32) (result i32)))
            (func (export "run") (param i32) (result i32)
                (if (result i32) (local.get 0)
                    (then (i32.add (i32.const 1) (call $f (local.get 0)))) (else (i32.const 0)))))"#;
        let instance = instance(&mut store, text, &[again.into()])?;
        assert_eq!(instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 30)?, 30);
    }
    Ok(())
}

#[test]
fn a_caller_knows_its_instance_and_backtrace() -> Outcome {
    let mut store = Store::new(&Engine::default(), Vec::new());
    let look = Func::wrap(&mut store, |mut caller: Caller<'_, Vec<usize>>| {
        let frames = caller.backtrace().frames().len();
        let has_memory = caller.get_export("memory").is_some();
        let is_instance = caller.instance().is_some();
        caller.data_mut().extend([frames, usize::from(has_memory), usize::from(is_instance)]);
    });
    look.typed::<(), ()>(&store)?.call(&mut store, ())?;
    assert_eq!(std::mem::take(store.data_mut()), [0, 0, 0], "the host has called");
    let text = r#"(module (import "" "" (func $f)) (memory (export "memory") 1)
        (func $inner (call $f)) (func (export "run") (call $inner)))"#;
    let instance = instance(&mut store, text, &[look.into()])?;
    instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    assert_eq!(*store.data(), [2, 1, 1]);
    Ok(())
}

#[test]
fn floats_pass_with_all_their_bits() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let text = r#"(module (func (export "f") (param f32 f64) (result f64 f32) (local.get 1) (local.get 0)))"#;
    let instance = instance(&mut store, text, &[])?;
    let f = instance.get_typed_func::<(f32, f64), (f64, f32)>(&mut store, "f")?;
    for (single, double) in [(0x7fa0_0001, 0x7ff4_0000_0000_0001), (0x8000_0000, 1), (0xff80_0000, 1 << 63)] {
        let (d, s) = f.call(&mut store, (f32::from_bits(single), f64::from_bits(double)))?;
        assert_eq!((s.to_bits(), d.to_bits()), (single, double));
    }
    Ok(())
}

#[test]
fn unsigned_numbers_are_the_same_bits() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let text = r#"(module (func (export "f") (param i32 i64) (result i32 i64) (local.get 0) (local.get 1)))"#;
    let instance = instance(&mut store, text, &[])?;
    let f = instance.get_typed_func::<(u32, u64), (u32, u64)>(&mut store, "f")?;
    assert_eq!(f.call(&mut store, (u32::MAX, u64::MAX - 1))?, (u32::MAX, u64::MAX - 1));
    Ok(())
}

#[test]
fn functions_are_values() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let text = r#"(module (type $t (func (result i32))) (table 1 funcref)
        (func (export "call") (param funcref) (result i32)
            (table.set (i32.const 0) (local.get 0)) (call_indirect (type $t) (i32.const 0)))
        (func (export "same") (param funcref) (result funcref) (local.get 0)))"#;
    let instance = instance(&mut store, text, &[])?;
    let five = Func::wrap(&mut store, || 5i32);
    let call = instance.get_typed_func::<Option<Func>, i32>(&mut store, "call")?;
    assert_eq!(call.call(&mut store, Some(five))?, 5);
    assert_eq!(call.call(&mut store, None).expect_err("null").trap(), Some(Trap::IndirectCallToNull));
    let same = instance.get_typed_func::<Option<Func>, Option<Func>>(&mut store, "same")?;
    assert_eq!(same.call(&mut store, Some(five))?, Some(five));
    assert_eq!(same.call(&mut store, None)?, None);
    Ok(())
}

#[test]
fn a_typed_function_is_the_same_function() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let func = Func::wrap(&mut store, |x: i32| x + 1);
    let typed = func.typed::<i32, i32>(&store)?;
    assert_eq!(*typed.func(), func);
    assert_eq!(typed.clone().call(&mut store, 1)?, 2);
    for error in [
        func.typed::<i64, i32>(&store).err(),
        func.typed::<i32, ()>(&store).err(),
        func.typed::<(i32, i32), i32>(&store).err(),
    ] {
        assert_eq!(error.ok_or("another type")?.kind(), ErrorKind::Type);
    }
    Ok(())
}

#[test]
fn an_exit_ends_the_program_with_its_code() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let exit = Func::wrap(&mut store, |code: i32| -> Result<()> { Err(Exit(code).into()) });
        let text = r#"(module (import "" "" (func $f (param i32)))
            (func (export "run") (loop $l (call $f (i32.const 3)) (br $l))))"#;
        let instance = instance(&mut store, text, &[exit.into()])?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("it exits");
        assert_eq!((error.kind(), error.i32_exit(), error.trap()), (ErrorKind::Exit, Some(3), None));
    }
    Ok(())
}

#[test]
fn a_trap_of_the_hosts_is_a_trap() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let trap = Func::wrap(&mut store, || -> Result<()> { Err(Trap::IntegerOverflow.into()) });
    let text = r#"(module (import "" "" (func $f)) (func (export "run") (call $f)))"#;
    let instance = instance(&mut store, text, &[trap.into()])?;
    let error =
        instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ()).expect_err("it traps");
    assert_eq!((error.kind(), error.trap()), (ErrorKind::Trap, Some(Trap::IntegerOverflow)));
    Ok(())
}

#[test]
fn a_context_stands_before_the_error_and_keeps_it() {
    let error = Error::from(Trap::BadSignature).context("plug-in 5").context("request 7");
    assert!(error.to_string().starts_with("request 7: plug-in 5: "), "{error}");
    assert_eq!(error.trap(), Some(Trap::BadSignature));
    assert_eq!(error.kind(), ErrorKind::Trap);
    assert!(error.is::<Trap>());
}

#[test]
fn a_function_that_recurs_too_deep_traps_and_can_be_called_again() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let text = r#"(module (func $f (export "f") (param i32) (result i32)
            (if (result i32) (local.get 0)
                (then (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0)))))"#;
        let instance = instance(&mut store, text, &[])?;
        let f = instance.get_typed_func::<i32, i32>(&mut store, "f")?;
        assert_eq!(f.call(&mut store, -1).expect_err("no stack").trap(), Some(Trap::StackOverflow));
        assert_eq!(f.call(&mut store, 100)?, 100);
    }
    Ok(())
}

#[test]
fn a_request_that_comes_while_the_host_runs_is_heeded_when_it_returns() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, 0);
        let stops = Func::wrap(&mut store, |mut caller: Caller<'_, i32>| {
            *caller.data_mut() += 1;
            if *caller.data() == 3 {
                caller.as_context_mut().interrupt_handle().interrupt();
            }
        });
        // Nothing else notices it: there is no loop, and the function calls the host only.
        let text = r#"(module (import "" "" (func $f)) (func (export "run") (call $f) (call $f) (call $f) (call $f)))"#;
        let instance = instance(&mut store, text, &[stops.into()])?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("it was asked to stop");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Interrupt), 3));
        *store.data_mut() = 10;
        run.call(&mut store, ())?;
        assert_eq!(*store.data(), 14);
    }
    Ok(())
}

#[test]
fn functions_of_sixteen_values_pass_all_of_them_both_ways() -> Outcome {
    type Sixteen = (i32, i64, i32, i64, i32, i64, i32, i64, i32, i64, i32, i64, i32, i64, i32, i64);
    let types = "i32 i64 ".repeat(8);
    let gets: String = (0..16).map(|n| format!("(local.get {n})")).collect();
    let text = format!(
        r#"(module (import "" "" (func $f (param {types}) (result {types})))
            (func (export "run") (param {types}) (result {types}) (call $f {gets})))"#
    );
    let sent: Sixteen = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let back = Func::wrap(&mut store, |caller: Caller<'_, ()>, a: i32, b: i64, c: i32, d: i64| {
            let _ = caller;
            (d, c, b, a)
        });
        let four = back.typed::<(i32, i64, i32, i64), (i64, i32, i64, i32)>(&store)?;
        assert_eq!(four.call(&mut store, (1, 2, 3, 4))?, (4, 3, 2, 1), "without wasm in between");
        let types = || std::iter::repeat_n([ValType::I32, ValType::I64], 8).flatten();
        let ty = FuncType::new(types(), types());
        let same = Func::new(&mut store, ty, |_, params, results| {
            results.clone_from_slice(params);
            Ok(())
        });
        let instance = instance(&mut store, &text, &[same.into()])?;
        let run = instance.get_typed_func::<Sixteen, Sixteen>(&mut store, "run")?;
        let (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) = run.call(&mut store, sent)?;
        let narrow = [a, c, e, g, i, k, m, o];
        let wide = [b, d, f, h, j, l, n, p];
        assert_eq!((narrow, wide), ([1, 3, 5, 7, 9, 11, 13, 15], [2, 4, 6, 8, 10, 12, 14, 16]));
    }
    Ok(())
}
