//! Hooks run whenever control passes between the host and wasm code.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wprof::CallHook::{CallingHost, CallingWasm, ReturningFromHost, ReturningFromWasm};
use wprof::*;

use super::{Outcome, engines};

const WAT: &str = r#"(module
    (import "host" "back" (func $back (param i32) (result i32)))
    (func (export "run") (param i32) (result i32) (call $back (local.get 0)))
    (func (export "trap") unreachable)
    (func (export "plain")))"#;

/// The observed transitions, and the one at which the hook fails.
#[derive(Default)]
struct Seen {
    passages: Vec<CallHook>,
    fails_at: Option<usize>,
}

fn hooked(engine: &Engine) -> Result<(Store<Seen>, Instance)> {
    let mut store = Store::new(engine, Seen::default());
    store.call_hook(|mut context, passage| {
        let seen = context.data_mut();
        seen.passages.push(passage);
        if seen.fails_at == Some(seen.passages.len()) { Err(Exit(9).into()) } else { Ok(()) }
    });
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "back", |mut caller: Caller<'_, Seen>, x: i32| -> Result<i32> {
        if x < 0 {
            return Err(Error::msg("negative"));
        }
        let plain = caller.get_export("plain").and_then(Extern::into_func).expect("exported");
        plain.call(&mut caller, &[], &mut [])?;
        Ok(x + 1)
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(engine, WAT)?)?;
    Ok((store, instance))
}

const ALL: [CallHook; 6] =
    [CallingWasm, CallingHost, CallingWasm, ReturningFromWasm, ReturningFromHost, ReturningFromWasm];

#[test]
fn each_passage_is_told_of_in_order() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = hooked(&engine)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 4)?, 5);
        assert_eq!(std::mem::take(&mut store.data_mut().passages), ALL);
        // The hooks also run when calls end early.
        assert!(run.call(&mut store, -1).is_err());
        let failed = [CallingWasm, CallingHost, ReturningFromHost, ReturningFromWasm];
        assert_eq!(std::mem::take(&mut store.data_mut().passages), failed);
        let trap = instance.get_typed_func::<(), ()>(&mut store, "trap")?;
        assert_eq!(
            trap.call(&mut store, ()).expect_err("it traps").trap(),
            Some(Trap::UnreachableCodeReached)
        );
        assert_eq!(store.data().passages, [CallingWasm, ReturningFromWasm]);
    }
    Ok(())
}

#[test]
fn an_error_at_any_passage_ends_the_program() -> Outcome {
    for engine in engines()? {
        for at in 1..=ALL.len() {
            let (mut store, instance) = hooked(&engine)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            store.data_mut().fails_at = Some(at);
            assert_eq!(run.call(&mut store, 4).expect_err("the hook fails").i32_exit(), Some(9), "{at}");
            let passages = std::mem::take(&mut store.data_mut().passages);
            let count = |wanted| passages.iter().filter(|&&passage| passage == wanted).count();
            let unmatched = usize::from(matches!(ALL[at - 1], CallingWasm | CallingHost));
            let begun = count(CallingWasm) + count(CallingHost);
            assert_eq!(count(ReturningFromWasm) + count(ReturningFromHost) + unmatched, begun, "{at}");
            store.data_mut().fails_at = None;
            assert_eq!(run.call(&mut store, 4)?, 5, "the store is as it was");
        }
    }
    Ok(())
}

#[test]
fn a_hook_may_call_wasm_code_of_which_it_is_not_told() -> Outcome {
    let engine = Engine::default();
    let (mut store, instance) = hooked(&engine)?;
    let plain = instance.get_typed_func::<(), ()>(&mut store, "plain")?;
    store.call_hook(move |mut context, passage| {
        context.data_mut().passages.push(passage);
        plain.call(&mut context, ())
    });
    plain.call(&mut store, ())?;
    assert_eq!(store.data().passages, [CallingWasm, ReturningFromWasm]);
    Ok(())
}

#[test]
fn a_panic_of_a_hook_goes_on_from_the_call_and_the_store_goes_on() -> Outcome {
    for engine in engines()? {
        for at in 1..=ALL.len() {
            let (mut store, instance) = hooked(&engine)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            store.call_hook(move |mut context, passage| {
                let passages = &mut context.data_mut().passages;
                passages.push(passage);
                assert!(passages.len() != at, "at passage {at}");
                Ok(())
            });
            let call = std::panic::AssertUnwindSafe(|| run.call(&mut store, 4));
            let panic = std::panic::catch_unwind(call).expect_err("the hook panics");
            assert_eq!(panic.downcast_ref(), Some(&format!("at passage {at}")));
            store.data_mut().passages = vec![CallingWasm; ALL.len()];
            assert_eq!(run.call(&mut store, 4)?, 5, "the store is as it was");
        }
    }
    Ok(())
}

/// A hook that waits once at each passage.
struct Slow;

impl CallHookHandler<Seen> for Slow {
    fn handle_call_event<'a>(
        &'a self,
        mut store: StoreContextMut<'a, Seen>,
        passage: CallHook,
    ) -> Box<dyn Future<Output = Result<()>> + Send + 'a> {
        Box::new(async move {
            let mut polled = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            let seen = store.data_mut();
            seen.passages.push(passage);
            if seen.fails_at == Some(seen.passages.len()) { Err(Exit(9).into()) } else { Ok(()) }
        })
    }
}

/// Polls a future until it is ready, each time on another thread; returns how often.
fn drive<F: Future<Output: Send> + Send>(future: F) -> (F::Output, usize) {
    let mut future = pin!(future);
    for polls in 1.. {
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let polled = std::thread::scope(|scope| scope.spawn(&mut poll).join().expect("no panic"));
        if let Poll::Ready(output) = polled {
            return (output, polls);
        }
    }
    unreachable!("it is ready at some time")
}

/// A store with a hook that waits, and an instance whose function `run` calls the host.
fn waiting(engine: &Engine) -> Result<(Store<Seen>, Instance)> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "back", |x: i32| x + 1)?;
    let mut store = Store::new(engine, Seen::default());
    let instance = linker.instantiate(&mut store, &Module::new(engine, WAT)?)?;
    store.call_hook_async(Slow);
    Ok((store, instance))
}

#[test]
fn hooks_wait_at_each_passage() -> Outcome {
    let all = [CallingWasm, CallingHost, ReturningFromHost, ReturningFromWasm];
    for engine in engines()? {
        let (mut store, instance) = waiting(&engine)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        let (result, polls) = drive(run.call_async(&mut store, 4));
        assert_eq!((result?, polls), (5, 5));
        assert_eq!(std::mem::take(&mut store.data_mut().passages), all);
        for at in 1..=all.len() {
            store.data_mut().fails_at = Some(at);
            let (result, _) = drive(run.call_async(&mut store, 4));
            assert_eq!(result.expect_err("the hook fails").i32_exit(), Some(9), "{at}");
            store.data_mut().passages.clear();
        }
        store.data_mut().fails_at = None;
        let error = run.call(&mut store, 4).expect_err("nobody awaits it");
        assert!(error.to_string().contains("use call_async"), "{error}");
        assert!(store.data().passages.is_empty());
        assert_eq!(drive(run.call_async(&mut store, 4)).0?, 5);
    }
    Ok(())
}

#[test]
fn a_call_that_is_dropped_while_its_hook_waits_ends_there() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = waiting(&engine)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        for polls in 1..=4 {
            let mut call = Box::pin(run.call_async(&mut store, 4));
            for _ in 0..polls {
                assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            drop(call);
            assert_eq!(std::mem::take(&mut store.data_mut().passages).len(), polls - 1);
        }
        assert_eq!(drive(run.call_async(&mut store, 4)).0?, 5);
    }
    Ok(())
}
