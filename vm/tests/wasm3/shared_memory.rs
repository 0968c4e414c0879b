//! Memories that several threads share.

use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Adds to a cell with and without a lock on which threads wait, as pthread's mutex does: 0 is free, 1 locked, 2
/// locked with waiters.
const COUNTING: &str = r#"(module
    (import "env" "memory" (memory 1 4 shared))
    (func $lock (local $was i32)
        (if (local.tee $was (i32.atomic.rmw.cmpxchg (i32.const 8) (i32.const 0) (i32.const 1)))
            (then (loop $again
                (if (i32.or (i32.eq (local.get $was) (i32.const 2))
                        (i32.ne (i32.atomic.rmw.cmpxchg (i32.const 8) (i32.const 1) (i32.const 2)) (i32.const 0)))
                    (then (drop (memory.atomic.wait32 (i32.const 8) (i32.const 2) (i64.const -1)))))
                (br_if $again
                    (local.tee $was (i32.atomic.rmw.cmpxchg (i32.const 8) (i32.const 0) (i32.const 2))))))))
    (func $unlock
        (if (i32.ne (i32.atomic.rmw.sub (i32.const 8) (i32.const 1)) (i32.const 1))
            (then
                (i32.atomic.store (i32.const 8) (i32.const 0))
                (drop (memory.atomic.notify (i32.const 8) (i32.const 1))))))
    (func (export "run") (param $n i32)
        (loop $again
            (drop (i64.atomic.rmw.add (i32.const 0) (i64.const 3)))
            (call $lock)
            (i64.store (i32.const 16) (i64.add (i64.load (i32.const 16)) (i64.const 1)))
            (call $unlock)
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

fn configs() -> Vec<Config> {
    let of = |strategy| {
        let mut config = Config::new();
        config.strategy(strategy).promote_after(50);
        config
    };
    let mut checked = of(Strategy::Optimized);
    checked.memory_reservation(0).memory_guard_size(0);
    let mut exact = of(Strategy::Tiered);
    exact.profiling(ProfilingConfig::Exact(Collect::Edges));
    let mut adaptive = of(Strategy::Tiered);
    adaptive.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
    vec![of(Strategy::Baseline), of(Strategy::Tiered), checked, exact, adaptive]
}

/// The index of the engine that counts edges.
const EXACT: usize = 3;

fn number(memory: &SharedMemory, at: usize) -> Result<u64> {
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Runs a function of one `i32` on several threads, each with its own store, and returns the results of `end` for
/// each.
fn on_threads<R: Send>(
    engine: &Engine,
    wat: &str,
    memory: &SharedMemory,
    args: &[i32],
    end: impl Fn(&Store<()>, Instance, Result<()>) -> R + Sync,
) -> Result<Vec<R>> {
    let module = Module::new(engine, wat)?;
    let mut linker = Linker::<()>::new(engine);
    linker.define_shared_memory("env", "memory", memory)?;
    let barrier = Barrier::new(args.len());
    let run = |arg: i32| -> Result<R> {
        let mut store = Store::new(engine, ());
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        barrier.wait();
        let result = run.call(&mut store, arg);
        Ok(end(&store, instance, result))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = args.iter().map(|&arg| scope.spawn(move || run(arg))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn threads_add_to_one_cell_and_lock_another() -> Outcome {
    const ROUNDS: i32 = 2000;
    for (number_of_config, config) in configs().iter().enumerate() {
        let engine = Engine::new(config)?;
        let memory = SharedMemory::new(&engine, MemoryType::shared(1, 4))?;
        let profiles = on_threads(&engine, COUNTING, &memory, &[ROUNDS; 4], |store, instance, result| {
            result.expect("it ends");
            (number_of_config == EXACT).then(|| instance.profile(store).expect("counted"))
        })?;
        assert_eq!(number(&memory, 0)?, 3 * 4 * ROUNDS as u64, "{config:?}");
        assert_eq!(number(&memory, 16)?, 4 * ROUNDS as u64, "{config:?}");
        // Each thread has its own counters, and their sum is the program's.
        let calls = |profile: &profiler::Profile, name: &str| {
            profile.functions.iter().find(|f| f.name.as_deref() == Some(name)).map_or(0, |f| f.calls())
        };
        let mut profiles = profiles.into_iter().flatten();
        let Some(mut sum) = profiles.next() else { continue };
        for profile in profiles {
            assert_eq!((calls(&profile, "lock"), calls(&profile, "unlock")), (ROUNDS as u64, ROUNDS as u64));
            sum.merge(&profile)?;
        }
        assert_eq!(calls(&sum, "lock"), 4 * ROUNDS as u64);
    }
    Ok(())
}

const WAITING: &str = r#"(module
    (import "env" "memory" (memory 1 1 shared))
    (func (export "run") (param $time i32)
        (i32.atomic.store (i32.const 4) (i32.const 1))
        (i32.atomic.store (i32.const 8)
            (i32.add (i32.const 10)
                (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.extend_i32_s (local.get $time)))))))"#;

/// Waits until the thread is about to wait.
fn until_it_waits(memory: &SharedMemory) -> Result<()> {
    while number(memory, 4)? as u32 == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    Ok(())
}

#[test]
fn who_waits_is_woken_by_the_host_by_time_or_not_at_all() -> Outcome {
    for config in configs() {
        let engine = Engine::new(&config)?;
        let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1))?;
        let run = |time| {
            on_threads(&engine, WAITING, &memory, &[time], |_, _, result| result.map_err(|e| e.trap()))
        };
        std::thread::scope(|scope| -> Result<()> {
            let waiting = scope.spawn(|| run(-1));
            until_it_waits(&memory)?;
            let mut woken = 0;
            while woken == 0 {
                woken = memory.notify(0, 1)?;
            }
            waiting.join().expect("no panic")?;
            Ok(())
        })?;
        assert_eq!(number(&memory, 8)?, 10, "notified");
        assert_eq!(run(1_000_000)?, [Ok(())]);
        assert_eq!(number(&memory, 8)?, 12, "timed out");
        memory.write(0, &[1])?;
        assert_eq!(run(-1)?, [Ok(())]);
        assert_eq!(number(&memory, 8)?, 11, "something else is there");
    }
    Ok(())
}

#[test]
fn who_waits_is_woken_by_an_interruption_and_a_deadline() -> Outcome {
    let engine = Engine::new(Config::new().interruptible(true))?;
    let module = Module::new(&engine, WAITING)?;
    let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1))?;
    let mut store = Store::new(&engine, ());
    let import = Memory::from_shared(&mut store, &memory)?;
    let instance = Instance::new(&mut store, &module, &[import.into()])?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
    let (handle, seen) = (store.interrupt_handle(), memory.clone());
    let interrupter = std::thread::spawn(move || until_it_waits(&seen).map(|()| handle.interrupt()));
    assert_eq!(run.call(&mut store, -1).expect_err("interrupted").trap(), Some(Trap::Interrupt));
    interrupter.join().expect("no panic")?;
    store.set_deadline(Some(Instant::now() + Duration::from_millis(30)))?;
    assert_eq!(run.call(&mut store, -1).expect_err("late").trap(), Some(Trap::Deadline));
    assert_eq!(memory.notify(0, u32::MAX)?, 0, "nobody is left");
    Ok(())
}

#[test]
fn hosts_wait_and_notify_as_programs_do() -> Outcome {
    let engine = Engine::default();
    let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1))?;
    assert_eq!(memory.wait32(8, 1, None)?, WaitOutcome::NotEqual);
    assert_eq!(memory.wait32(8, 0, Some(Duration::from_millis(2)))?, WaitOutcome::TimedOut);
    assert!(memory.wait32(6, 0, None).is_err() && memory.notify(65536, 1).is_err());
    let (sender, receiver) = mpsc::channel();
    let other = memory.clone();
    let waiting = std::thread::spawn(move || {
        sender.send(()).expect("somebody listens");
        other.wait32(8, 0, None)
    });
    receiver.recv()?;
    while memory.notify(8, 1)? == 0 {
        std::thread::yield_now();
    }
    assert_eq!(waiting.join().expect("no panic")?, WaitOutcome::Notified);
    Ok(())
}

/// One instance defines the memory, others import it: all observe every write, and every growth.
#[test]
fn exported_memories_are_shared_with_other_stores_and_grow_for_all() -> Outcome {
    let owner = r#"(module (memory (export "memory") 1 3 shared) (data (i32.const 100) "abc") (data $more "defg")
        (func (export "grow") (result i32) (memory.grow (i32.const 1)))
        (func (export "init") (memory.init $more (i32.const 103) (i32.const 1) (i32.const 2)))
        (func (export "move") (memory.copy (i32.const 101) (i32.const 100) (i32.const 4))
            (memory.fill (i32.const 200) (i32.const 7) (i32.const 70000)))
        (func (export "size") (result i32) (memory.size)))"#;
    let user = r#"(module (import "owner" "memory" (memory 1 3 shared))
        (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
        (func (export "size") (result i32) (memory.size)))"#;
    for config in configs() {
        let engine = Engine::new(&config)?;
        let (mut first, mut second) = (Store::new(&engine, ()), Store::new(&engine, ()));
        let owner = Instance::new(&mut first, &Module::new(&engine, owner)?, &[])?;
        let exported = owner.get_memory(&mut first, "memory").expect("exported");
        let memory = exported.shared(&first).expect("it is shared");
        assert_eq!(Memory::from_shared(&mut first, &memory)?, exported, "it is there already");
        let mut linker = Linker::new(&engine);
        linker.define_shared_memory("owner", "memory", &memory)?;
        let user = linker.instantiate(&mut second, &Module::new(&engine, user)?)?;
        let load = user.get_typed_func::<i32, i32>(&mut second, "load")?;
        let size = user.get_typed_func::<(), i32>(&mut second, "size")?;
        assert_eq!(load.call(&mut second, 102)?, i32::from(b'c'));
        assert_eq!(load.call(&mut second, 65536).expect_err("beyond").trap(), Some(Trap::MemoryOutOfBounds));
        assert_eq!(owner.get_typed_func::<(), i32>(&mut first, "grow")?.call(&mut first, ())?, 1);
        assert_eq!((size.call(&mut second, ())?, memory.size()), (2, 2));
        assert_eq!(load.call(&mut second, 65536)?, 0);
        owner.get_typed_func::<(), ()>(&mut first, "init")?.call(&mut first, ())?;
        owner.get_typed_func::<(), ()>(&mut first, "move")?.call(&mut first, ())?;
        let mut bytes = [0; 6];
        memory.read(100, &mut bytes)?;
        assert_eq!(&bytes, b"aabce\0");
        let at = |store: &mut Store<()>, at| load.call(store, at);
        assert_eq!(
            [at(&mut second, 199)?, at(&mut second, 200)?, at(&mut second, 70199)?, at(&mut second, 70200)?],
            [0, 7, 7, 0]
        );
        memory.grow(1)?;
        assert_eq!(owner.get_typed_func::<(), i32>(&mut first, "size")?.call(&mut first, ())?, 3);
        assert!(memory.grow(1).is_err(), "that is its maximum");
        // The memory outlives the store that created it.
        drop(first);
        assert_eq!(at(&mut second, 100)?, i32::from(b'a'));
    }
    Ok(())
}

#[test]
fn shared_memories_fit_only_where_shared_ones_are_wanted() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let wants =
        |ty: &str| Module::new(&engine, format!("(module (import \"env\" \"memory\" (memory {ty})))"));
    let shared = SharedMemory::new(&engine, MemoryType::shared(1, 2))?;
    let in_store = Memory::from_shared(&mut store, &shared)?;
    let own = Memory::new(&mut store, MemoryType::new(1, Some(2)))?;
    assert!(Instance::new(&mut store, &wants("1 2 shared")?, &[in_store.into()]).is_ok());
    for (ty, memory) in
        [("1 2", in_store), ("1 2 shared", own), ("1 1 shared", in_store), ("2 2 shared", in_store)]
    {
        let error = Instance::new(&mut store, &wants(ty)?, &[memory.into()]).expect_err(ty);
        assert_eq!(error.kind(), ErrorKind::Link, "{ty}");
    }
    assert!(own.shared(&store).is_none());
    let other = Engine::default();
    assert_eq!(
        Memory::from_shared(Store::new(&other, ()), &shared).expect_err("of another engine").kind(),
        ErrorKind::Link
    );
    assert!(SharedMemory::new(&engine, MemoryType::new(1, Some(1))).is_err(), "it would not be shared");
    Ok(())
}

#[test]
#[should_panic(expected = "a shared memory has no slice")]
fn there_are_no_slices_of_shared_memories() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1)).expect("made");
    Memory::from_shared(&mut store, &memory).expect("of this engine").data(&store);
}
