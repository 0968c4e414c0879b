//! Sampled time of calls that wait: their fibers are polled on several threads, and each thread has timers of its own.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use wprof::*;

use crate::time::{assert_share, clock, time_of, timed};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Works, and waits in the host behind each round of work.
const PROGRAM: &str = r#"(module
    (import "host" "wait" (func $wait))
    (func $work (param $n i64) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 0x5851f42d4c957f2d)) (local.get $n)))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $again (i64.ne (local.get $n) (i64.const 0))))
        (local.get $x))
    (func $round (param $n i64) (result i64) (local $x i64)
        (local.set $x (call $work (local.get $n)))
        (call $wait)
        (local.get $x))
    (func (export "run") (param $rounds i64) (param $n i64) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.xor (local.get $x) (call $round (local.get $n))))
            (br_if $again (i64.ne (local.tee $rounds (i64.sub (local.get $rounds) (i64.const 1))) (i64.const 0))))
        (local.get $x)))"#;

/// Is pending at the first poll, and ready at the second one.
async fn once_more() {
    let mut polled = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Polls a future until it is ready, in turn on this thread and on another one. Returns what it returned, and the
/// processor time that each of the two took.
fn drive<F: Future + Send>(future: F) -> (F::Output, [u64; 2])
where
    F::Output: Send,
{
    let mut future = pin!(future);
    let took = [const { AtomicU64::new(0) }; 2];
    for polls in 0.. {
        let which = polls % 2;
        let mut poll = || {
            let began = clock();
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            took[which].fetch_add(clock() - began, Ordering::Relaxed);
            polled
        };
        let polled = match which {
            0 => poll(),
            _ => thread::scope(|scope| scope.spawn(poll).join().expect("no panic")),
        };
        if let Poll::Ready(output) = polled {
            return (output, took.map(AtomicU64::into_inner));
        }
    }
    unreachable!("it is polled until it is ready")
}

#[test]
fn a_call_that_changes_threads_is_sampled_on_each() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let mut config = Config::new();
        config.strategy(strategy).sample_time(Some(1000));
        let engine = Engine::new(&config)?;
        let mut linker: Linker<()> = Linker::new(&engine);
        linker.func_wrap_async("host", "wait", |_: Caller<'_, ()>, (): ()| Box::new(once_more()))?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &Module::new(&engine, PROGRAM)?)?;
        let run = instance.get_typed_func::<(i64, i64), i64>(&mut store, "run")?;
        // Each round takes some ten milliseconds or more.
        let (result, took) = drive(run.call_async(&mut store, (24, 20_000_000)));
        result?;
        let profile = instance.profile(&store)?;
        let time = time_of(&profile);
        let all = time.total();
        let how = format!("{strategy:?}");
        // Neither thread has all the time, so the sum needs samples of both.
        let sum = took[0] + took[1];
        assert!(took.iter().all(|&took| took > sum / 4), "{how}: {took:?}");
        let sampled = all.time_ns as f64 / sum as f64;
        assert!((0.75..1.2).contains(&sampled), "{how}: {all:?} of {took:?}");
        assert_share(&how, timed(time, "work").0, all, 1.0);
        assert_share(&how, timed(time, "round").1, all, 1.0);
        assert_share(&how, timed(time, "run").1, all, 1.0);
    }
    Ok(())
}
