//! Waiting at 64-bit cells, in all tiers: what a wait returns, and what ends it.

use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Announces at 0 that it is about to wait at 8.
const WAITING: &str = r#"(module
    (import "env" "memory" (memory 1 1 shared))
    (func (export "wait") (param $expected i64) (param $time i64) (result i32)
        (i32.atomic.store (i32.const 0) (i32.const 1))
        (memory.atomic.wait64 (i32.const 8) (local.get $expected) (local.get $time)))
    (func (export "notify") (param $most i32) (result i32)
        (memory.atomic.notify (i32.const 8) (local.get $most))))"#;

const NOTIFIED: i32 = 0;
const NOT_EQUAL: i32 = 1;
const TIMED_OUT: i32 = 2;

/// A value of which 32-bit waits would see one half.
const VALUE: i64 = 0x0123_4567_89ab_cdef;

/// An instance in a store of its own, which imports the memory.
struct Waiting {
    store: Store<()>,
    wait: TypedFunc<(i64, i64), i32>,
    notify: TypedFunc<i32, i32>,
}

impl Waiting {
    fn new(engine: &Engine, memory: &SharedMemory) -> Result<Waiting> {
        let mut store = Store::new(engine, ());
        let import = Memory::from_shared(&mut store, memory)?;
        let instance = Instance::new(&mut store, &Module::new(engine, WAITING)?, &[import.into()])?;
        let wait = instance.get_typed_func(&mut store, "wait")?;
        let notify = instance.get_typed_func(&mut store, "notify")?;
        Ok(Waiting { store, wait, notify })
    }

    fn wait(&mut self, expected: i64, time: i64) -> std::result::Result<i32, Option<Trap>> {
        self.wait.call(&mut self.store, (expected, time)).map_err(|error| error.trap())
    }
}

fn engines() -> Vec<Engine> {
    let of = |strategy| {
        let mut config = Config::new();
        config.strategy(strategy).interruptible(true);
        config
    };
    let mut exact = of(Strategy::Tiered);
    exact.profiling(ProfilingConfig::Exact(Collect::Paths));
    let mut adaptive = of(Strategy::Tiered);
    adaptive.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
    let configs = [of(Strategy::Baseline), of(Strategy::Optimized), exact, adaptive];
    configs.iter().map(|config| Engine::new(config).expect("an engine for this machine")).collect()
}

/// Returns a memory whose cell has the value.
fn memory(engine: &Engine) -> Result<SharedMemory> {
    let memory = SharedMemory::new(engine, MemoryType::shared(1, 1))?;
    memory.write(8, &VALUE.to_le_bytes())?;
    Ok(memory)
}

/// Returns once a thread is about to wait.
fn until_about_to_wait(memory: &SharedMemory) {
    let mut word = [0; 4];
    while word == [0; 4] {
        memory.read(0, &mut word).expect("in the memory");
        std::thread::yield_now();
    }
}

#[test]
fn a_wait_compares_all_64_bits_before_it_waits() -> Outcome {
    for engine in engines() {
        let memory = memory(&engine)?;
        let mut waiting = Waiting::new(&engine, &memory)?;
        // Without end, so that a test that finds the values equal does not end either.
        for other in [0, VALUE ^ 1, VALUE ^ 1 << 32, VALUE ^ i64::MIN, VALUE & 0xffff_ffff, VALUE >> 32] {
            assert_eq!(waiting.wait(other, -1), Ok(NOT_EQUAL), "{other:x}");
        }
        assert_eq!(waiting.wait(VALUE, 0), Ok(TIMED_OUT));
    }
    Ok(())
}

#[test]
fn a_wait_ends_after_its_time_and_takes_at_least_that() -> Outcome {
    for engine in engines() {
        let memory = memory(&engine)?;
        let mut waiting = Waiting::new(&engine, &memory)?;
        for nanoseconds in [0, 1, 999, 3_000_000] {
            let start = Instant::now();
            assert_eq!(waiting.wait(VALUE, nanoseconds), Ok(TIMED_OUT));
            assert!(start.elapsed() >= Duration::from_nanos(nanoseconds as u64), "{nanoseconds}");
        }
        assert_eq!(memory.notify(8, u32::MAX)?, 0, "nobody is left");
    }
    Ok(())
}

#[test]
fn each_thread_that_waits_is_woken_once_by_the_host_and_by_a_program() -> Outcome {
    const THREADS: u32 = 3;
    for engine in engines() {
        let memory = memory(&engine)?;
        let mut other = Waiting::new(&engine, &memory)?;
        // A negative time, however small, and one that is longer than any run are without end.
        let times = [-1, i64::MIN, i64::MAX];
        std::thread::scope(|scope| -> Result<()> {
            let wait = |time| {
                let (engine, memory) = (&engine, &memory);
                scope.spawn(move || Waiting::new(engine, memory).expect("an instance").wait(VALUE, time))
            };
            let threads = times.map(wait);
            let mut woken = memory.notify(8, 0)?;
            assert_eq!(woken, 0, "none of them was to be woken");
            while woken < THREADS {
                woken += memory.notify(8, 1)?;
                woken += other.notify.call(&mut other.store, 1)? as u32;
                std::thread::yield_now();
            }
            assert_eq!(woken, THREADS);
            for thread in threads {
                assert_eq!(thread.join().expect("no panic"), Ok(NOTIFIED));
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_wait_without_end_is_ended_by_an_interruption() -> Outcome {
    for engine in engines() {
        let memory = memory(&engine)?;
        let mut waiting = Waiting::new(&engine, &memory)?;
        let (handle, seen) = (waiting.store.interrupt_handle(), memory.clone());
        let interrupter = std::thread::spawn(move || {
            until_about_to_wait(&seen);
            handle.interrupt();
        });
        assert_eq!(waiting.wait(VALUE, -1), Err(Some(Trap::Interrupt)));
        interrupter.join().expect("no panic");
        // An interruption before the wait ends it, too; and neither leaves a waiter.
        waiting.store.interrupt_handle().interrupt();
        assert_eq!(waiting.wait(VALUE, -1), Err(Some(Trap::Interrupt)));
        assert_eq!(memory.notify(8, u32::MAX)?, 0, "nobody is left");
        assert_eq!(waiting.wait(VALUE, 0), Ok(TIMED_OUT), "the store goes on");
    }
    Ok(())
}

#[test]
fn a_wait_without_end_is_ended_by_a_deadline() -> Outcome {
    for engine in engines() {
        let memory = memory(&engine)?;
        let mut waiting = Waiting::new(&engine, &memory)?;
        waiting.store.set_deadline(Some(Instant::now() + Duration::from_millis(5)))?;
        assert_eq!(waiting.wait(VALUE, -1), Err(Some(Trap::Deadline)));
        // A deadline that is over before the wait begins ends it, too. It is removed then.
        waiting.store.set_deadline(Some(Instant::now()))?;
        assert_eq!(waiting.wait(VALUE, i64::MAX), Err(Some(Trap::Deadline)));
        assert_eq!(waiting.wait(VALUE, 0), Ok(TIMED_OUT));
        assert_eq!(memory.notify(8, u32::MAX)?, 0, "nobody is left");
    }
    Ok(())
}

/// Stores that end while a thread waits in another one, among them that whose module made the memory.
#[test]
fn a_wait_outlives_other_stores_and_ends_with_its_own() -> Outcome {
    for engine in engines() {
        let mut owner = Store::new(&engine, ());
        let module = Module::new(&engine, r#"(module (memory (export "memory") 1 1 shared))"#)?;
        let exported = Instance::new(&mut owner, &module, &[])?.get_memory(&mut owner, "memory");
        let memory = exported.and_then(|memory| memory.shared(&owner)).expect("a shared memory");
        memory.write(8, &VALUE.to_le_bytes())?;
        let stranger = Waiting::new(&engine, &memory)?;
        let stale = stranger.store.interrupt_handle();
        std::thread::scope(|scope| -> Result<()> {
            let waiting = scope.spawn(|| {
                let mut waiting = Waiting::new(&engine, &memory).expect("an instance");
                let result = waiting.wait(VALUE, -1);
                drop(waiting);
                (result, memory.notify(8, u32::MAX).expect("in the memory"))
            });
            until_about_to_wait(&memory);
            drop((owner, stranger));
            // A handle of a store that has ended stops nobody.
            stale.interrupt();
            while memory.notify(8, 1)? == 0 {
                std::thread::yield_now();
            }
            assert_eq!(waiting.join().expect("no panic"), (Ok(NOTIFIED), 0));
            Ok(())
        })?;
    }
    Ok(())
}
