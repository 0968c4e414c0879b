//! The embedding API: what an embedder relies on that is not about traps.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn instantiate(wat: &str) -> std::result::Result<(Store<()>, Instance), Error> {
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    Ok((store, instance))
}

#[test]
fn a_function_computes() -> Outcome {
    let (mut store, instance) = instantiate(
        r#"(module (func $fib (export "fib") (param i32) (result i32)
            (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
              (then (local.get 0))
              (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                             (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#,
    )?;
    let fib = instance.get_typed_func::<u32, u32>(&mut store, "fib")?;
    assert_eq!(fib.call(&mut store, 20)?, 6765);
    Ok(())
}

#[test]
fn values_of_all_types_pass_through_wasm_and_host() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module
            (type $t (func (param i32 i64 f32 f64 v128 funcref externref i32 i32 i32 i32)
                           (result i32 i64 f32 f64 v128 funcref externref i32 i32 i32 i32)))
            (import "h" "f" (func $f (type $t)))
            (func (export "run") (type $t)
                (call $f (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
                    (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10))))"#,
    )?;
    let mut store = Store::new(&engine, 0);
    let ty = module.get_export("run").expect("exported");
    let ExternType::Func(ty) = ty else { panic!("a function") };
    let echo = Func::new(&mut store, ty, |mut caller, params, results| {
        *caller.data_mut() += 1;
        results.clone_from_slice(params);
        Ok(())
    });
    let instance = Instance::new(&mut store, &module, &[echo.into()])?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let params = [
        Val::I32(-1),
        Val::I64(i64::MIN),
        Val::from(1.5f32),
        Val::from(-0.0f64),
        Val::V128(u128::MAX - 5),
        Val::FuncRef(Some(run)),
        Val::from(ExternRef::new("text")),
        Val::I32(1),
        Val::I32(2),
        Val::I32(3),
        Val::I32(4),
    ];
    let mut results = vec![Val::I32(0); params.len()];
    run.call(&mut store, &params, &mut results)?;
    assert_eq!(results[1].i64(), Some(i64::MIN));
    assert_eq!(results[2].f32(), Some(1.5));
    assert_eq!(results[3].f64().map(f64::to_bits), Some((-0.0f64).to_bits()));
    assert_eq!(results[4].v128(), Some(u128::MAX - 5));
    let Val::FuncRef(Some(f)) = &results[5] else { panic!("a function") };
    assert_eq!(*f, run);
    let Val::ExternRef(Some(e)) = &results[6] else { panic!("a value") };
    assert_eq!(e.downcast_ref::<&str>(), Some(&"text"));
    assert_eq!(results[10].i32(), Some(4));
    assert_eq!(store.into_data(), 1);
    Ok(())
}
