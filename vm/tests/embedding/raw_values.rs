//! Calls without checks do what others do.
#![allow(unsafe_code, reason = "who calls without checks vouches for the types")]

use wprof::*;

use super::{Outcome, engines};

const WAT: &str = r#"(module
    (import "host" "mix" (func $mix (param i32 f64 externref) (result i64 externref)))
    (func (export "run") (param i32 f64 externref) (result i64 externref)
        (call $mix (local.get 0) (local.get 1) (local.get 2)))
    (func (export "nan") (param f32 v128) (result v128 f32) (local.get 1) (local.get 0))
    (func (export "trap") unreachable))"#;

fn mixed() -> FuncType {
    FuncType::new([ValType::I32, ValType::F64, ValType::EXTERNREF], [ValType::I64, ValType::EXTERNREF])
}

/// The sum of both numbers, and the reference that it got.
fn mix(values: &mut [ValRaw]) {
    assert_eq!(values.len(), 3);
    let sum = i64::from(values[0].get_i32()) + f64::from_bits(values[1].get_f64()) as i64;
    (values[0], values[1]) = (ValRaw::i64(sum), values[2]);
}

#[test]
fn arguments_and_results_pass_as_they_are() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, 0);
        let mut linker = Linker::new(&engine);
        let count = |mut caller: Caller<'_, i32>, values: &mut [ValRaw]| {
            *caller.data_mut() += 1;
            mix(values);
            Ok(())
        };
        // SAFETY: the second result is the externref that is the third argument.
        unsafe { linker.func_new_unchecked("host", "mix", mixed(), count)? };
        let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
        let run = instance.get_func(&mut store, "run").ok_or("exported")?;
        let host = ExternRef::new(5_u8);
        let reference = Val::from(host.clone()).to_raw(&mut store);
        let mut values = [ValRaw::i32(-2), ValRaw::f64(44_f64.to_bits()), reference];
        // SAFETY: the arguments are of the types of the parameters.
        unsafe { run.call_unchecked(&mut store, &mut values)? };
        assert_eq!(values[0].get_i64(), 42);
        // SAFETY: the result is an externref of this store, which has not run since.
        let Val::ExternRef(Some(found)) = (unsafe { Val::from_raw(&store, values[1], &ValType::EXTERNREF) })
        else {
            return Err("a reference".into());
        };
        assert!(ExternRef::ptr_eq(&found, &host));
        // Calls with checks reach the same function.
        let mut results = [Val::I64(0), Val::ExternRef(None)];
        run.call(&mut store, &[Val::I32(1), Val::from(1.5), Val::ExternRef(None)], &mut results)?;
        assert!(matches!(results, [Val::I64(2), Val::ExternRef(None)]), "{results:?}");
        assert_eq!(*store.data(), 2);

        let nan = instance.get_func(&mut store, "nan").ok_or("exported")?;
        let mut values = [ValRaw::f32(0x7fa0_0001), ValRaw::v128(u128::MAX - 7)];
        // SAFETY: as above.
        unsafe { nan.call_unchecked(&mut store, &mut values)? };
        assert_eq!((values[0].get_v128(), values[1].get_f32()), (u128::MAX - 7, 0x7fa0_0001));
        let trap = instance.get_func(&mut store, "trap").ok_or("exported")?;
        // SAFETY: there are no arguments.
        let error = unsafe { trap.call_unchecked(&mut store, &mut []) }.expect_err("it traps");
        assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
        assert!(error.backtrace().is_some_and(|backtrace| backtrace.frames().len() == 1));
    }
    Ok(())
}

#[test]
fn without_room_for_the_values_nothing_is_called() {
    let mut store = Store::new(&Engine::default(), ());
    // SAFETY: the second result is the externref that is the third argument.
    let func = unsafe {
        Func::new_unchecked(&mut store, mixed(), |_, values| {
            mix(values);
            Ok(())
        })
    };
    let mut values = [ValRaw::default(); 2];
    // SAFETY: it is not called.
    let call = std::panic::AssertUnwindSafe(|| unsafe { func.call_unchecked(&mut store, &mut values) });
    assert!(std::panic::catch_unwind(call).is_err());
    let mut values = [ValRaw::i32(1), ValRaw::f64(2_f64.to_bits()), ValRaw::default(), ValRaw::i32(9)];
    // SAFETY: the arguments are of the types of the parameters, and more room is allowed.
    unsafe { func.call_unchecked(&mut store, &mut values) }.expect("it is called");
    assert_eq!((values[0].get_i64(), values[3].get_i32()), (3, 9));
}

#[test]
fn values_are_the_same_after_they_had_no_type() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let func = Func::wrap(&mut store, || 7);
    let all = [Val::I32(-3), Val::I64(i64::MIN), Val::F32(1), Val::F64(2), Val::V128(3), Val::from(func)];
    for value in all {
        let raw = value.to_raw(&mut store);
        // SAFETY: it is the value of this type, of this store.
        let again = unsafe { Val::from_raw(&store, raw, &value.ty()) };
        assert_eq!(format!("{again:?}"), format!("{value:?}"));
    }
    Ok(())
}
