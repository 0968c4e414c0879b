//! The size of the stack that wasm may use.

use wprof::*;

use super::{Outcome, engines};

/// Calls itself a given number of times, and the host in the innermost call, which may call back.
const PROGRAM: &str = r#"(module
    (import "host" "inner" (func $inner (param i32) (result i32)))
    (func $deep (export "deep") (param i32) (result i32)
        (if (result i32) (local.get 0)
            (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
            (else (call $inner (i32.const 0))))))"#;

fn deepest(engine: &Engine) -> Result<i32> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "inner", |x: i32| x)?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(engine, PROGRAM)?)?;
    let deep = instance.get_typed_func::<i32, i32>(&mut store, "deep")?;
    let (mut fits, mut overflows) = (0, 100_000_000);
    while overflows - fits > 1 {
        let depth = (fits + overflows) / 2;
        match deep.call(&mut store, depth) {
            Ok(result) => {
                assert_eq!(result, depth);
                fits = depth;
            }
            Err(error) => {
                assert_eq!(error.trap(), Some(Trap::StackOverflow));
                overflows = depth;
            }
        }
    }
    Ok(fits)
}

#[test]
fn wasm_has_as_much_stack_as_was_said_wherever_it_is_called() -> Outcome {
    for engine in engines()? {
        let with = |bytes| Engine::new(engine.config().clone().max_wasm_stack(Some(bytes)));
        let (small, large) = (with(2 << 20)?, with(16 << 20)?);
        // The first call compiles all of the code.
        deepest(&small)?;
        let (one, ten) = (deepest(&small)?, deepest(&large)?);
        // 1.5 MiB, and 15 or 15.5 MiB: the host uses the rest.
        assert!((9 * one..12 * one).contains(&ten), "{one} calls and {ten}");
        let engine = small.clone();
        let thread = std::thread::Builder::new().stack_size(32 << 20).spawn(move || deepest(&engine))?;
        // Frames of burst code, which runs at random times, have another size.
        let there = thread.join().expect("no panic")?;
        assert!((9 * one / 10..11 * one / 10).contains(&there), "{one} calls, and {there} on another thread");
    }
    Ok(())
}

#[test]
fn calls_back_into_wasm_share_the_stack() -> Outcome {
    let engine = Engine::new(Config::new().max_wasm_stack(Some(4 << 20)))?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut linker: Linker<Option<TypedFunc<i32, i32>>> = Linker::new(&engine);
    linker.func_wrap("host", "inner", |mut caller: Caller<'_, Option<TypedFunc<i32, i32>>>, _: i32| {
        let deep = caller.data().expect("set before");
        deep.call(&mut caller, 10)
    })?;
    let mut store = Store::new(&engine, None);
    let instance = linker.instantiate(&mut store, &module)?;
    let deep = instance.get_typed_func::<i32, i32>(&mut store, "deep")?;
    *store.data_mut() = Some(deep);
    let error = deep.call(&mut store, 10).expect_err("it never ends");
    assert_eq!(error.trap(), Some(Trap::StackOverflow));
    Ok(())
}
