//! Asynchronous calls behave and count as synchronous ones, wherever and however often they wait.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A program that waits in the host in each iteration of a loop, below a call.
const PROGRAM: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (func $step (param i32) (result i32)
        (if (result i32) (i32.and (local.get 0) (i32.const 1))
            (then (call $wait (local.get 0)))
            (else (i32.add (call $wait (local.get 0)) (i32.const 1)))))
    (func (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $step (local.get $n))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func $deep (export "deep") (param i32) (result i32)
        (if (result i32) (local.get 0)
            (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
            (else (call $wait (i32.const 0)))))
    (func (export "spin") (param i32) (result i32)
        (loop $again (br_if $again (i32.eqz (local.get 0)))) (i32.const 7)))"#;

fn engines() -> Result<Vec<Engine>> {
    let exact = ProfilingConfig::Exact;
    let adaptive = ProfilingConfig::Adaptive(Adaptive::default());
    let profiles = [ProfilingConfig::Off, exact(Collect::Edges), exact(Collect::Paths), adaptive];
    let all = profiles.into_iter().flat_map(|p| [Strategy::Baseline, Strategy::Optimized].map(|s| (p, s)));
    all.map(|(profiling, strategy)| {
        let mut config = Config::new();
        config.count_contexts(matches!(profiling, ProfilingConfig::Exact(_)));
        Engine::new(config.profiling(profiling).strategy(strategy).interruptible(true))
    })
    .collect()
}

/// Is pending at the first poll, and ready at the second one.
async fn once_more() {
    let mut polled = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Creates a store with the program. `wait` waits `times` times and returns its argument; it fails if the argument is
/// 13 and panics if it is 14.
fn prepare(engine: &Engine, times: u32) -> Result<(Store<u32>, Instance)> {
    let mut linker: Linker<u32> = Linker::new(engine);
    linker.func_wrap_async("host", "wait", |caller: Caller<'_, u32>, n: i32| {
        Box::new(async move {
            for _ in 0..*caller.data() {
                once_more().await;
            }
            match n {
                13 => Err(Error::msg("unlucky")),
                14 => panic!("very unlucky"),
                n => Ok(n),
            }
        })
    })?;
    let mut store = Store::new(engine, times);
    let instance = linker.instantiate(&mut store, &Module::new(engine, PROGRAM)?)?;
    Ok((store, instance))
}

/// Polls a future until it is ready, each time on another thread, and returns the number of polls.
fn drive<F: Future + Send>(future: F) -> (F::Output, u32)
where
    F::Output: Send,
{
    let mut future = pin!(future);
    let mut polls = 0;
    loop {
        polls += 1;
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let polled = match polls % 2 {
            0 => poll(),
            _ => std::thread::scope(|scope| scope.spawn(poll).join().expect("no panic")),
        };
        if let Poll::Ready(output) = polled {
            return (output, polls);
        }
    }
}

fn exact(instance: &Instance, store: &Store<u32>) -> Option<profiler::Profile> {
    instance.profile(store).ok().filter(|profile| profile.bursts.is_none())
}

#[test]
fn calls_that_wait_do_and_count_the_same_as_calls_that_do_not() -> Outcome {
    for engine in engines()? {
        let mut seen = Vec::new();
        for times in [0, 1, 3] {
            let (mut store, instance) = prepare(&engine, times)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            let (result, polls) = drive(run.call_async(&mut store, 10));
            assert_eq!((result?, polls), (60, 10 * times + 1));
            let (failed, _) = drive(run.call_async(&mut store, 13));
            let error = failed.expect_err("it is unlucky");
            assert!(error.to_string().contains("unlucky"));
            assert!(error.backtrace().is_some_and(|frames| frames.frames().len() == 2), "{error:?}");
            seen.push(exact(&instance, &store));
        }
        assert!(seen[0] == seen[1] && seen[1] == seen[2]);
        if let Some(profile) = &seen[0] {
            profile.verify()?;
            assert!(profile.ops() > 0);
        }
    }
    Ok(())
}

#[test]
fn a_call_that_is_dropped_ends_as_by_a_trap() -> Outcome {
    struct Counts(Arc<AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for engine in engines()? {
        let mut seen = Vec::new();
        for fails in [true, false] {
            let dropped = Arc::new(AtomicU32::new(0));
            let mut linker: Linker<u32> = Linker::new(&engine);
            let counted = dropped.clone();
            linker.func_wrap_async("host", "wait", move |_: Caller<'_, u32>, n: i32| {
                let guard = Counts(counted.clone());
                Box::new(async move {
                    let _guard = guard;
                    match n {
                        5 if fails => Err(Error::msg("it ends here")),
                        5 => std::future::pending().await,
                        n => Ok(n),
                    }
                })
            })?;
            let mut store = Store::new(&engine, 0);
            let instance = linker.instantiate(&mut store, &Module::new(&engine, PROGRAM)?)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            {
                let mut call: Pin<Box<dyn Future<Output = Result<i32>> + Send>> =
                    Box::pin(run.call_async(&mut store, 9));
                let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert_eq!(polled.is_ready(), fails);
                // Dropping the call removes its frames, on whichever thread.
                std::thread::scope(|scope| drop(scope.spawn(move || drop(call)).join()));
            }
            assert_eq!(dropped.load(Ordering::Relaxed), 5);
            seen.push(exact(&instance, &store));
            // The store can be used as before.
            let (result, _) = drive(run.call_async(&mut store, 4));
            assert_eq!(result?, 12);
        }
        assert!(seen[0] == seen[1], "{seen:?}");
        let (mut store, instance) = prepare(&engine, 0)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        drop(run.call_async(&mut store, 10));
    }
    Ok(())
}

#[test]
fn programs_yield_at_deadlines() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine, 0)?;
        let asked = Arc::new(AtomicU32::new(0));
        let asks = asked.clone();
        store.deadline_callback(move |_| {
            Ok(match asks.fetch_add(1, Ordering::Relaxed) {
                0..3 => UpdateDeadline::Yield(Duration::from_millis(1)),
                _ => UpdateDeadline::Interrupt,
            })
        });
        store.set_deadline(Some(Instant::now()))?;
        let spin = instance.get_typed_func::<i32, i32>(&mut store, "spin")?;
        let (result, polls) = drive(spin.call_async(&mut store, 0));
        assert_eq!(result.err().and_then(|e| e.trap()), Some(Trap::Deadline));
        assert_eq!((polls, asked.load(Ordering::Relaxed)), (4, 4));
        // A synchronous call continues at once.
        asked.store(0, Ordering::Relaxed);
        store.set_deadline(Some(Instant::now()))?;
        assert_eq!(spin.call(&mut store, 0).err().and_then(|e| e.trap()), Some(Trap::Deadline));
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }
    Ok(())
}

/// A program that never ends yields in each epoch: whoever polls it begins the next one.
#[test]
fn programs_yield_at_epochs() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let (mut store, instance) = prepare(&engine, 0)?;
    let left = Arc::new(AtomicU32::new(3));
    let (asks, epochs) = (left.clone(), engine.clone());
    store.deadline_callback(move |_| {
        let left = asks.load(Ordering::Relaxed);
        asks.store(left.saturating_sub(1), Ordering::Relaxed);
        // The next epoch begins before the program goes on, and does not count.
        epochs.increment_epoch();
        Ok(if left > 0 { UpdateDeadline::YieldEpochs(0) } else { UpdateDeadline::Interrupt })
    });
    store.set_epoch_deadline(0)?;
    let spin = instance.get_typed_func::<i32, i32>(&mut store, "spin")?;
    let (result, polls) = drive(spin.call_async(&mut store, 0));
    assert_eq!(result.err().and_then(|e| e.trap()), Some(Trap::Deadline));
    assert_eq!((polls, left.load(Ordering::Relaxed)), (4, 0));
    Ok(())
}

/// A program that never ends yields in each epoch, which another thread begins.
#[test]
fn programs_yield_at_each_epoch_until_that_is_over() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let (mut store, instance) = prepare(&engine, 0)?;
    store.epoch_deadline_async_yield_and_update(1);
    store.set_epoch_deadline(1)?;
    let (handle, is_over) = (store.interrupt_handle(), AtomicU32::new(0));
    let spin = instance.get_typed_func::<i32, i32>(&mut store, "spin")?;
    let mut call = Box::pin(spin.call_async(&mut store, 0));
    let mut poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            while is_over.load(Ordering::Relaxed) == 0 {
                engine.increment_epoch();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let yielded = (0..5).take_while(|_| poll().is_pending()).count();
        handle.interrupt();
        let end = poll();
        is_over.store(1, Ordering::Relaxed);
        (yielded, end)
    });
    let (5, Poll::Ready(result)) = end else { panic!("{end:?}") };
    assert_eq!(result.err().and_then(|e| e.trap()), Some(Trap::Interrupt));
    drop(call);
    store.epoch_deadline_trap();
    store.set_epoch_deadline(0)?;
    let (result, polls) = drive(spin.call_async(&mut store, 0));
    assert_eq!((result.err().and_then(|e| e.trap()), polls), (Some(Trap::Deadline), 1));
    Ok(())
}

#[test]
fn async_host_functions_need_an_async_call() -> Outcome {
    let (mut store, instance) = prepare(&Engine::default(), 1)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    let error = run.call(&mut store, 1).expect_err("it cannot wait");
    assert!(error.to_string().contains("use call_async"), "{error}");
    assert_eq!(drive(run.call_async(&mut store, 1)).0?, 1);
    Ok(())
}

#[test]
fn overflows_and_panics_end_the_call_alone() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = prepare(&engine, 1)?;
        let deep = instance.get_typed_func::<i32, i32>(&mut store, "deep")?;
        let (result, _) = drive(deep.call_async(&mut store, 100_000_000));
        assert_eq!(result.err().and_then(|e| e.trap()), Some(Trap::StackOverflow));
        assert_eq!(drive(deep.call_async(&mut store, 100)).0?, 100);
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        let mut call = Box::pin(run.call_async(&mut store, 14));
        let poll = || {
            let mut poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            while !poll() {}
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)).is_err());
        drop(call);
        assert_eq!(drive(deep.call_async(&mut store, 100)).0?, 100);
    }
    Ok(())
}

/// A module whose start function waits, and whose export is called through an untyped function.
const STARTS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (import "host" "pair" (func $pair (param i64 f32) (result f32 i64)))
    (global $g (mut i32) (i32.const 0))
    (func $start (global.set $g (call $wait (i32.const 5))))
    (start $start)
    (func (export "get") (result i32) (global.get $g))
    (func (export "swap") (param i64 f32) (result f32 i64) (call $pair (local.get 0) (local.get 1))))"#;

fn starting(engine: &Engine) -> Result<(Linker<u32>, Module)> {
    let mut linker: Linker<u32> = Linker::new(engine);
    linker.func_wrap_async("host", "wait", |caller: Caller<'_, u32>, (n,): (i32,)| {
        Box::new(async move {
            for _ in 0..*caller.data() {
                once_more().await;
            }
            n + 1
        })
    })?;
    let ty = FuncType::new([ValType::I64, ValType::F32], [ValType::F32, ValType::I64]);
    linker.func_new_async("host", "pair", ty, |caller, params, results| {
        Box::new(async move {
            for _ in 0..*caller.data() {
                once_more().await;
            }
            results.clone_from_slice(&[params[1].clone(), params[0].clone()]);
            if params[0].i64() == Some(13) {
                results[0] = Val::I32(1);
            }
            Ok(())
        })
    })?;
    Ok((linker, Module::new(engine, STARTS)?))
}

#[test]
fn start_functions_and_functions_of_any_type_wait() -> Outcome {
    for engine in engines()? {
        let (linker, module) = starting(&engine)?;
        let mut store = Store::new(&engine, 3);
        let error = linker.instantiate(&mut store, &module).expect_err("nobody awaits it");
        assert!(error.to_string().contains("call_async"), "{error}");
        let (instance, polls) = drive(linker.instantiate_async(&mut store, &module));
        assert_eq!(polls, 4);
        let get = instance?.get_typed_func::<(), i32>(&mut store, "get")?;
        assert_eq!(get.call(&mut store, ())?, 6);
        let pre = linker.instantiate_pre(&module)?;
        let (instance, polls) = drive(pre.instantiate_async(&mut store));
        assert_eq!(polls, 4);
        let swap = instance?.get_func(&mut store, "swap").ok_or("exported")?;
        let mut results = [Val::I32(0), Val::I32(0)];
        let params = [Val::I64(7), Val::F32(8)];
        let (done, polls) = drive(swap.call_async(&mut store, &params, &mut results));
        done?;
        assert_eq!(polls, 4);
        assert!(matches!(results, [Val::F32(8), Val::I64(7)]), "{results:?}");
        let params = [Val::I64(13), Val::F32(8)];
        let (done, _) = drive(swap.call_async(&mut store, &params, &mut results));
        assert!(done.expect_err("the host gives an i32").to_string().contains("host function"));
        let (done, _) = drive(swap.call_async(&mut store, &[], &mut results));
        assert!(done.expect_err("no arguments").to_string().contains("expected 2 arguments"));
    }
    Ok(())
}

#[test]
fn host_functions_of_a_store_wait_too() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, 2_u32);
    let typed = Func::wrap_async(&mut store, |mut caller: Caller<'_, u32>, (n,): (i32,)| {
        Box::new(async move {
            once_more().await;
            *caller.data_mut() += 1;
            n * 2
        })
    });
    let ty = FuncType::new([], [ValType::I32]);
    let dynamic = Func::new_async(&mut store, ty, |caller, _, results| {
        Box::new(async move {
            once_more().await;
            results[0] = Val::I32(*caller.data() as i32);
            Ok(())
        })
    });
    let mut results = [Val::I32(0)];
    let (done, polls) = drive(typed.call_async(&mut store, &[Val::I32(21)], &mut results));
    done?;
    assert_eq!((results[0].i32(), polls), (Some(42), 2));
    let (done, polls) = drive(dynamic.call_async(&mut store, &[], &mut results));
    done?;
    assert_eq!((results[0].i32(), polls), (Some(3), 2));
    assert!(dynamic.call(&mut store, &[], &mut results).is_err());
    Ok(())
}

#[test]
fn a_caught_panic_of_a_call_within_leaves_the_call_around_it_able_to_wait() -> Outcome {
    let engine = Engine::default();
    let mut linker: Linker<u32> = Linker::new(&engine);
    linker.func_wrap_async("host", "wait", |_: Caller<'_, u32>, n: i32| {
        Box::new(async move {
            once_more().await;
            Ok(n + 1)
        })
    })?;
    linker.func_wrap("host", "panic", |_: Caller<'_, u32>| -> Result<()> { panic!("on purpose") })?;
    linker.func_wrap("host", "attempt", |mut caller: Caller<'_, u32>| -> Result<()> {
        let Some(Extern::Func(panics)) = caller.get_export("panics") else { panic!("it is exported") };
        let call = std::panic::AssertUnwindSafe(|| panics.call(&mut caller, &[], &mut []));
        std::panic::catch_unwind(call).expect_err("it panics");
        *caller.data_mut() += 1;
        Ok(())
    })?;
    let module = Module::new(
        &engine,
        r#"(module
            (import "host" "wait" (func $wait (param i32) (result i32)))
            (import "host" "panic" (func $panic))
            (import "host" "attempt" (func $attempt))
            (func (export "panics") (call $panic))
            (func (export "run") (param i32) (result i32) (call $attempt) (call $wait (local.get 0))))"#,
    )?;
    let mut store = Store::new(&engine, 0);
    let instance = linker.instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    let (result, polls) = drive(run.call_async(&mut store, 6));
    assert_eq!((result?, polls, *store.data()), (7, 2, 1));
    Ok(())
}
