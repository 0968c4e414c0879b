//! Calls of components that are awaited, and host functions that wait in them.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use wprof::component::{Component, Instance, Linker, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `run` of one component calls `f` of another, which calls the host: numbers and text pass.
const TEXT: &str = r#"(component
  (import "later" (func $later (param "x" u32) (result u32)))
  (import "name" (func $name (param "x" string) (result string)))
  (component $B
    (import "later" (func $later (param "x" u32) (result u32)))
    (core func $later' (canon lower (func $later)))
    (core module $m (import "" "later" (func $later (param i32) (result i32)))
      (func (export "f") (param i32) (result i32) (i32.add (i32.const 1) (call $later (local.get 0)))))
    (core instance $m (instantiate $m (with "" (instance (export "later" (func $later'))))))
    (func (export "f") (param "x" u32) (result u32) (canon lift (core func $m "f"))))
  (instance $b (instantiate $B (with "later" (func $later))))
  (component $A
    (import "f" (func $f (param "x" u32) (result u32)))
    (import "name" (func $name (param "x" string) (result string)))
    (core module $libc
      (memory (export "memory") 1)
      (global $next (mut i32) (i32.const 1024))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (global.get $next)
        (global.set $next (i32.add (global.get $next) (local.get 3)))))
    (core instance $libc (instantiate $libc))
    (core func $f' (canon lower (func $f)))
    (core func $name' (canon lower (func $name)
      (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
    (core module $m
      (import "" "f" (func $f (param i32) (result i32)))
      (import "" "name" (func $name (param i32 i32 i32)))
      (func (export "run") (param i32) (result i32) (call $f (call $f (local.get 0))))
      (func (export "greet") (param i32 i32) (result i32)
        (call $name (local.get 0) (local.get 1) (i32.const 16))
        (i32.const 16)))
    (core instance $m (instantiate $m (with "" (instance (export "f" (func $f')) (export "name" (func $name'))))))
    (func (export "run") (param "x" u32) (result u32) (canon lift (core func $m "run")))
    (func (export "greet") (param "x" string) (result string) (canon lift (core func $m "greet")
      (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")))))
  (instance $a (instantiate $A (with "f" (func $b "f")) (with "name" (func $name))))
  (export "run" (func $a "run"))
  (export "greet" (func $a "greet")))"#;

/// Waits so many times.
struct Times(u32);

impl Future for Times {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

/// Polls a future to its end; gives how often that was, too.
fn run<F: Future>(future: F) -> (F::Output, usize) {
    let mut future = pin!(future);
    for polls in 1.. {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return (output, polls);
        }
    }
    unreachable!("the loop ends with the future")
}

/// Engines whose components call each other by adapters, and through the host.
fn engines() -> Result<[Engine; 2]> {
    Ok([Engine::new(&Config::new())?, Engine::new(Config::new().fused_adapters(false))?])
}

/// The store's data count the calls that have ended.
fn prepare(engine: &Engine) -> Result<(Store<u32>, Instance)> {
    let mut linker = Linker::<u32>::new(engine);
    linker.root().func_wrap_async("later", |mut store: StoreContextMut<'_, u32>, (x,): (u32,)| {
        Box::new(async move {
            Times(x).await;
            *store.data_mut() += 1;
            Ok((x * 2,))
        })
    })?;
    linker.root().func_new_async("name", |_, params, results| {
        Box::new(async move {
            Times(3).await;
            let [Val::String(name)] = params else { unreachable!("the import's type") };
            results[0] = Val::String(format!("hello, {name}"));
            Ok(())
        })
    })?;
    let mut store = Store::new(engine, 0);
    let instance = linker.instantiate(&mut store, &Component::new(engine, TEXT)?)?;
    Ok((store, instance))
}

#[test]
fn host_functions_wait_in_calls_that_are_awaited() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine)?;
        let typed = instance.get_typed_func::<(u32,), (u32,)>("run")?;
        let (result, polls) = run(typed.call_async(&mut store, (4,)));
        // 4 becomes 9, and 9 becomes 19; it waits as often as the numbers are.
        assert_eq!((result?, polls, *store.data()), ((19,), 4 + 9 + 1, 2));
        let mut results = [Val::Bool(false)];
        let (ended, polls) = run(typed.func().call_async(&mut store, &[Val::U32(0)], &mut results));
        ended?;
        assert_eq!((results, polls, *store.data()), ([Val::U32(3)], 2, 4));
        let greet = instance.get_typed_func::<(&str,), (String,)>("greet")?;
        let (greeting, polls) = run(greet.call_async(&mut store, ("you",)));
        assert_eq!((greeting?.0.as_str(), polls), ("hello, you", 4));
    }
    Ok(())
}

#[test]
fn they_do_not_wait_in_other_calls() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine)?;
        let typed = instance.get_typed_func::<(u32,), (u32,)>("run")?;
        let error = typed.call(&mut store, (1,)).unwrap_err().to_string();
        assert!(error.contains("call_async"), "{error}");
    }
    Ok(())
}

#[test]
fn calls_move_from_thread_to_thread() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine)?;
        let typed = instance.get_typed_func::<(u32,), (u32,)>("run")?;
        let mut call = Box::pin(typed.call_async(&mut store, (4,)));
        for _ in 0..7 {
            let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        let result = std::thread::scope(|scope| scope.spawn(move || run(call).0).join().expect("no panic"));
        assert_eq!((result?, *store.data()), ((19,), 2));
    }
    Ok(())
}

#[test]
fn a_call_that_is_dropped_ends_as_by_a_trap() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine)?;
        let typed = instance.get_typed_func::<(u32,), (u32,)>("run")?;
        let mut call = Box::pin(typed.call_async(&mut store, (4,)));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(call);
        assert_eq!(*store.data(), 0);
        let error = run(typed.call_async(&mut store, (0,))).0.unwrap_err().to_string();
        assert!(error.contains("cannot enter component instance"), "{error}");
    }
    Ok(())
}

#[test]
fn start_functions_wait() -> Outcome {
    let text = r#"(component
      (import "later" (func $later (param "x" u32) (result u32)))
      (core func $later' (canon lower (func $later)))
      (core module $m (import "" "later" (func $later (param i32) (result i32)))
        (global $g (mut i32) (i32.const 0))
        (func $start (global.set $g (call $later (i32.const 5))))
        (start $start)
        (func (export "get") (result i32) (global.get $g)))
      (core instance $m (instantiate $m (with "" (instance (export "later" (func $later'))))))
      (func (export "get") (result u32) (canon lift (core func $m "get"))))"#;
    let engine = Engine::default();
    let component = Component::new(&engine, text)?;
    let mut linker = Linker::<()>::new(&engine);
    linker.root().func_wrap_async("later", |_, (x,): (u32,)| {
        Box::new(async move {
            Times(x).await;
            Ok((x + 1,))
        })
    })?;
    let mut store = Store::new(&engine, ());
    assert!(linker.instantiate(&mut store, &component).is_err(), "it would wait");
    let (instance, polls) = run(linker.instantiate_async(&mut store, &component));
    let get = instance?.get_typed_func::<(), (u32,)>("get")?;
    assert_eq!((get.call(&mut store, ())?, polls), ((6,), 6));
    let (instance, polls) = run(linker.instantiate_pre(&component)?.instantiate_async(&mut store));
    let get = instance?.get_typed_func::<(), (u32,)>("get")?;
    assert_eq!((get.call(&mut store, ())?, polls), ((6,), 6));
    Ok(())
}
