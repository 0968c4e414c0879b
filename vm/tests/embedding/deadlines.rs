//! Embedders decide what happens at deadlines.

use std::time::{Duration, Instant};

use wprof::profiler::BurstLengths;
use wprof::*;

use super::{Outcome, engines};

const WAT: &str = r#"(module
    (import "host" "work" (func $work))
    (func (export "loop") (param $n i64) (result i64) (local $i i64) (local $sum i64) (local $x f64)
        (loop $again
            (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31)) (local.get $i)))
            (local.set $x (f64.add (local.get $x) (f64.const 0.5)))
            (br_if $again (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (local.get $n))))
        (i64.add (local.get $sum) (i64.trunc_f64_s (local.get $x))))
    (func (export "work") (param $n i64) (result i64)
        (loop $again
            (call $work)
            (br_if $again (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))
        (i64.const 0)))"#;

fn sum(n: i64) -> i64 {
    (0..n).fold(0_i64, |sum, i| sum.wrapping_mul(31).wrapping_add(i)).wrapping_add(n / 2)
}

/// How often the callback ran, and how often it still lets the program go on.
struct Patience {
    asked: usize,
    left: usize,
    more: Duration,
}

fn patient(engine: &Engine, left: usize, more: Duration) -> Result<(Store<Patience>, Instance)> {
    let mut store = Store::new(engine, Patience { asked: 0, left, more });
    store.deadline_callback(|patience| {
        patience.asked += 1;
        Ok(match patience.asked <= patience.left {
            true => UpdateDeadline::Continue(patience.more),
            false => UpdateDeadline::Interrupt,
        })
    });
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "work", || {
        let began = Instant::now();
        while began.elapsed() < Duration::from_micros(500) {
            std::hint::spin_loop();
        }
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(engine, WAT)?)?;
    Ok((store, instance))
}

/// Returns the engines of [`engines`], and others with code in which checks fire, in bursts and between them.
fn stoppable() -> Result<Vec<Engine>> {
    let mut all = engines()?;
    for (checking, instrumented) in [(BurstLengths::FOREVER, 1), (1, BurstLengths::FOREVER), (1000, 10)] {
        let lengths = BurstLengths::new(checking, instrumented);
        let profiling = ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
        all.push(Engine::new(Config::new().profiling(profiling).interruptible(true))?);
    }
    let mut conservative = Config::conservative();
    all.push(Engine::new(conservative.interruptible(true))?);
    Ok(all)
}

#[test]
fn a_program_that_goes_on_computes_the_same() -> Outcome {
    let n = 3_000_000;
    for engine in stoppable()? {
        let (mut store, instance) = patient(&engine, usize::MAX, Duration::from_micros(200))?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "loop")?;
        store.set_deadline(Some(Instant::now() + Duration::from_micros(200)))?;
        let mut rounds = 0;
        while store.data().asked < 3 && rounds < 2000 {
            assert_eq!(run.call(&mut store, n)?, sum(n), "{:?}", engine.config());
            rounds += 1;
        }
        assert!(store.data().asked >= 3, "{rounds} {:?}", engine.config());
    }
    Ok(())
}

#[test]
fn a_program_ends_when_the_embedder_says_so() -> Outcome {
    for engine in stoppable()? {
        for name in ["loop", "work"] {
            let (mut store, instance) = patient(&engine, 3, Duration::from_millis(2))?;
            let run = instance.get_typed_func::<i64, i64>(&mut store, name)?;
            let began = Instant::now();
            store.set_deadline(Some(began + Duration::from_millis(2)))?;
            let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
            assert_eq!(error.trap(), Some(Trap::Deadline), "{name} {:?}: {error}", engine.config());
            assert_eq!(store.data().asked, 4, "{name}");
            assert!(began.elapsed() >= Duration::from_millis(8), "{name}");
            assert!(error.backtrace().is_some_and(|backtrace| !backtrace.frames().is_empty()), "{name}");
            assert_eq!(run.call(&mut store, 2)?, if name == "loop" { sum(2) } else { 0 }, "it is over");
            if engine.config().profiles() {
                assert!(instance.profile(&store).is_ok());
            }
        }
    }
    Ok(())
}

#[test]
fn an_error_ends_the_program_and_a_panic_goes_on() -> Outcome {
    for engine in stoppable()? {
        let (mut store, instance) = patient(&engine, 0, Duration::ZERO)?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "loop")?;
        store.deadline_callback(|_| Err(Exit(5).into()));
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
        assert_eq!(error.i32_exit(), Some(5), "{:?}: {error}", engine.config());
        store.deadline_callback(|_| panic!("too late"));
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        let caught =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.call(&mut store, i64::MAX)));
        assert_eq!(caught.expect_err("it panics").downcast_ref(), Some(&"too late"));
        assert_eq!(run.call(&mut store, 10)?, sum(10));
    }
    Ok(())
}

#[test]
fn others_can_still_interrupt() -> Outcome {
    for engine in stoppable()? {
        let (mut store, instance) = patient(&engine, usize::MAX, Duration::from_micros(100))?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "loop")?;
        let handle = store.interrupt_handle();
        store.set_deadline(Some(Instant::now()))?;
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            handle.interrupt();
        });
        let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
        assert_eq!(error.trap(), Some(Trap::Interrupt), "{:?}", engine.config());
        other.join().expect("no panic");
    }
    Ok(())
}

/// The callback runs wasm code of another store, which traps, and has its own deadlines.
#[test]
fn who_is_asked_may_run_wasm_code_of_another_store() -> Outcome {
    for engine in stoppable()? {
        let (mut store, instance) = patient(&engine, 0, Duration::ZERO)?;
        let fails =
            Module::new(&engine, r#"(module (func $f unreachable) (func (export "fail") (call $f)))"#)?;
        let mut other = Store::new(&engine, ());
        let fail = Instance::new(&mut other, &fails, &[])?.get_typed_func::<(), ()>(&mut other, "fail")?;
        store.deadline_callback(move |patience| {
            let error = fail.call(&mut other, ()).expect_err("it traps");
            let frames = error.backtrace().map_or(0, |backtrace| backtrace.frames().len());
            patience.asked += 1;
            match patience.asked {
                5 => Err(Exit(frames as i32).into()),
                _ => Ok(UpdateDeadline::Continue(Duration::from_micros(300))),
            }
        });
        let run = instance.get_typed_func::<i64, i64>(&mut store, "loop")?;
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
        assert_eq!(error.i32_exit(), Some(3), "two there, and the loop: {:?}", engine.config());
    }
    Ok(())
}

/// An operation that takes long is completed, even if it is the last one before the callback.
#[test]
fn large_operations_are_not_left_in_the_middle() -> Outcome {
    let engine = Engine::new(Config::new().profiling(ProfilingConfig::Off).interruptible(true))?;
    let text = r#"(module (memory (export "memory") 1024)
        (func (export "fill") (param i32)
            (loop $again
                (memory.fill (i32.const 0) (local.get 0) (i32.const 0x4000000))
                (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let mut store = Store::new(&engine, 0);
    store.deadline_callback(|asked| {
        *asked += 1;
        Ok(UpdateDeadline::Continue(Duration::from_millis(1)))
    });
    let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
    let fill = instance.get_typed_func::<i32, ()>(&mut store, "fill")?;
    store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
    fill.call(&mut store, 20)?;
    assert!(*store.data() > 0);
    let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
    assert!(memory.data(&store).iter().all(|&byte| byte == 1));
    Ok(())
}

/// A deadline runs the callback of a waiting thread, which then goes on waiting for its wake-up.
#[test]
fn who_waits_at_a_shared_memory_waits_on() -> Outcome {
    for engine in engines()? {
        let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1))?;
        let text = r#"(module (import "env" "memory" (memory 1 1 shared))
            (func (export "wait") (result i32)
                (memory.atomic.wait32 (i32.const 8) (i32.const 0) (i64.const -1))))"#;
        let mut linker = Linker::new(&engine);
        linker.define_shared_memory("env", "memory", &memory)?;
        let mut store = Store::new(&engine, 0);
        let waker = memory.clone();
        // The callback wakes the thread, which is still waiting then.
        store.deadline_callback(move |asked| {
            *asked += 1;
            if *asked == 3 {
                assert_eq!(waker.notify(8, 1)?, 1);
            }
            Ok(UpdateDeadline::Continue(Duration::from_millis(1)))
        });
        let instance = linker.instantiate(&mut store, &Module::new(&engine, text)?)?;
        let wait = instance.get_typed_func::<(), i32>(&mut store, "wait")?;
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        assert_eq!(wait.call(&mut store, ())?, 0, "notified");
        assert!(*store.data() >= 3);
        store.deadline_callback(|_| Ok(UpdateDeadline::Interrupt));
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        assert_eq!(wait.call(&mut store, ()).expect_err("nobody wakes it").trap(), Some(Trap::Deadline));
    }
    Ok(())
}
