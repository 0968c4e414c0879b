//! Pooled instances see nothing of earlier ones, and leave nothing in the process.

use wprof::*;

use super::{Outcome, engines};

/// A memory with data and a function that sums it, a page more on demand, and a table.
const PROGRAM: &str = r#"(module
    (memory (export "memory") 2 10)
    (data (i32.const 8) "\01\02")
    (data (i32.const 9) "\05")
    (data (i32.const 100000) "\07")
    (data $passive "\09")
    (table 4 4 funcref)
    (global $runs (mut i32) (i32.const 0))
    (func (export "sum") (result i32)
        (global.set $runs (i32.add (global.get $runs) (i32.const 1)))
        (i32.add (i32.load8_u (i32.const 8)) (i32.add (i32.load8_u (i32.const 9)) (i32.load8_u (i32.const 100000)))))
    (func (export "runs") (result i32) (global.get $runs))
    (func (export "spoil") (result i32)
        (memory.fill (i32.const 0) (i32.const 255) (i32.const 131072))
        (memory.init $passive (i32.const 8) (i32.const 0) (i32.const 1))
        (drop (memory.grow (i32.const 3)))
        (memory.fill (i32.const 131072) (i32.const 255) (i32.const 196608))
        (memory.size))
    (func (export "beyond") (result i32) (i32.load (i32.const 131072))))"#;

fn pooling(engine: &Engine, count: usize) -> Result<Engine> {
    Engine::new(engine.config().clone().pooling(Some(PoolingConfig::for_instances(count))))
}

/// Returns the observable state of an instance in its own store, before and after it has overwritten all that it can.
fn use_one(module: &Module) -> Result<Vec<i32>> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    let mut call = |name: &str| instance.get_typed_func::<(), i32>(&mut store, name)?.call(&mut store, ());
    assert_eq!(call("beyond").err().and_then(|e| e.trap()), Some(Trap::MemoryOutOfBounds));
    let seen = vec![call("sum")?, call("runs")?, call("spoil")?, call("sum")?, call("beyond")?];
    let memory = instance.get_memory(&mut store, "memory").expect("exported");
    assert_eq!(memory.size(&store), 5);
    Ok(seen)
}

#[test]
fn each_instance_begins_as_the_first() -> Outcome {
    for engine in engines()? {
        let expected = use_one(&Module::new(&engine, PROGRAM)?)?;
        assert_eq!(expected[..3], [13, 1, 5]);
        let pooled = pooling(&engine, 2)?;
        let module = Module::new(&pooled, PROGRAM)?;
        for _ in 0..5 {
            assert_eq!(use_one(&module)?, expected);
            assert_eq!(pooled.pooled(), (1, 1));
        }
        // Another module of the same shape must not see the memories of this one.
        let other = Module::new(&pooled, PROGRAM.replace("\\07", "\\08"))?;
        assert_eq!(use_one(&other)?[0], 14);
        assert_eq!((use_one(&module)?, use_one(&other)?[0]), (expected, 14));
    }
    Ok(())
}

#[test]
fn instances_that_live_together_share_nothing_that_they_write() -> Outcome {
    let engine = pooling(&Engine::default(), 4)?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut store = Store::new(&engine, ());
    let all = (0..10u8).map(|_| Instance::new(&mut store, &module, &[])).collect::<Result<Vec<_>>>()?;
    let memories: Vec<Memory> =
        all.iter().map(|i| i.get_memory(&mut store, "memory").expect("exported")).collect();
    for (n, memory) in (0..).zip(&memories) {
        memory.write(&mut store, 8, &[n])?;
    }
    for (n, instance) in (0..).zip(&all) {
        let sum = instance.get_typed_func::<(), i32>(&mut store, "sum")?;
        assert_eq!(sum.call(&mut store, ())?, n + 12);
    }
    assert_eq!(engine.pooled(), (0, 0));
    drop(store);
    assert_eq!(engine.pooled(), (4, 4), "no more are kept than was said");
    Ok(())
}

#[test]
fn exact_counts_of_an_instance_begin_at_zero() -> Outcome {
    let engine = pooling(&Engine::with_profiling(ProfilingConfig::Exact(Collect::Paths))?, 8)?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut profiles = Vec::new();
    for _ in 0..3 {
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        instance.get_typed_func::<(), i32>(&mut store, "sum")?.call(&mut store, ())?;
        profiles.push(instance.profile(&store)?);
    }
    profiles[0].verify()?;
    assert!(profiles[0] == profiles[1] && profiles[1] == profiles[2]);
    Ok(())
}

#[test]
fn data_that_depends_on_imports_is_written_as_ever() -> Outcome {
    let engine = pooling(&Engine::default(), 8)?;
    let text = r#"(module (global $at (import "host" "at") i32) (memory (export "memory") 1)
        (data (global.get $at) "x"))"#;
    let module = Module::new(&engine, text)?;
    for at in [7, 70, 700] {
        let mut store = Store::new(&engine, ());
        let global = Global::new(&mut store, GlobalType::new(ValType::I32, false), Val::I32(at))?;
        let instance = Instance::new(&mut store, &module, &[global.into()])?;
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        assert_eq!(memory.data(&store).iter().position(|&byte| byte == b'x'), Some(at as usize));
        assert_eq!(memory.data(&store).iter().filter(|&&byte| byte != 0).count(), 1);
    }
    Ok(())
}

#[test]
fn data_that_does_not_fit_is_an_error_as_ever() -> Outcome {
    let engine = pooling(&Engine::default(), 8)?;
    let module = Module::new(&engine, r#"(module (memory 1) (data (i32.const 65535) "xy"))"#)?;
    let error = Instance::new(&mut Store::new(&engine, ()), &module, &[]).err().ok_or("made")?;
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    Ok(())
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").expect("procfs").lines().count()
}

/// Both parts count the mappings of the process, so they run one after the other.
#[test]
fn thousands_live_at_once_and_more_one_after_the_other() -> Outcome {
    thousands_live_in_one_process()?;
    one_after_the_other_leaves_nothing()
}

fn thousands_live_in_one_process() -> Outcome {
    const COUNT: usize = 10_000;
    let engine = pooling(&Engine::default(), COUNT)?;
    let module = Module::new(&engine, PROGRAM)?;
    let before = mappings();
    let mut store = Store::new(&engine, ());
    for _ in 0..COUNT {
        Instance::new(&mut store, &module, &[])?;
    }
    // A process may have 65,530 mappings.
    let all = mappings() - before;
    assert!(all <= 4 * COUNT, "{all} mappings");
    Ok(())
}

fn one_after_the_other_leaves_nothing() -> Outcome {
    let engine = pooling(&Engine::default(), 8)?;
    // A module with one more megabyte of data.
    let data =
        format!("(memory (export \"memory\") 18) (data (i32.const 131072) \"{}\")", "x".repeat(1 << 20));
    let module = Module::new(&engine, PROGRAM.replace("(memory (export \"memory\") 2 10)", &data))?;
    let rounds = std::env::var("WPROF_INSTANCES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let before = mappings();
    for _ in 0..rounds {
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let sum = instance.get_typed_func::<(), i32>(&mut store, "sum")?;
        assert_eq!(sum.call(&mut store, ())?, 13);
    }
    assert_eq!(engine.pooled(), (1, 1));
    // Mappings of other tests in this process come and go.
    assert!(mappings() < before + rounds / 2, "{} mappings, {before} before", mappings());
    Ok(())
}

#[test]
fn however_much_is_kept_of_what_was_written_the_next_instance_begins_as_the_first() -> Outcome {
    // Places around the pages of the data, on pages of zeros, and on grown ones.
    let places =
        [0, 8, 4095, 4096, 8191, 99_999, 100_000, 102_399, 102_400, 131_071, 131_072, 200_000, 327_679];
    for kept_bytes in [0, 4096, 3 * 4096, 64 << 10, 1 << 20] {
        let mut pooling = PoolingConfig::for_instances(1);
        pooling.kept_bytes = kept_bytes;
        let engine = Engine::new(Config::new().pooling(Some(pooling)))?;
        let module = Module::new(&engine, PROGRAM)?;
        // Each time at more places, then at every one of many pages, then at more places again.
        for round in 0..=2 * places.len() + 1 {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            let memory = instance.get_memory(&mut store, "memory").expect("exported");
            let bytes = memory.data(&store);
            let nonzero: Vec<_> = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).collect();
            assert_eq!(nonzero, [(8, &1), (9, &5), (100_000, &7)], "{kept_bytes} {round}");
            memory.grow(&mut store, 3)?;
            assert!(memory.data(&store)[131_072..].iter().all(|byte| *byte == 0), "{kept_bytes} {round}");
            if round == places.len() {
                memory.data_mut(&mut store).iter_mut().step_by(4096).for_each(|byte| *byte = 0xff);
            }
            for at in &places[..round % (places.len() + 1)] {
                memory.write(&mut store, *at, &[0xff])?;
            }
        }
        assert_eq!(engine.pooled(), (1, 1));
    }
    Ok(())
}

#[test]
fn a_store_that_was_asked_to_stop_leaves_no_request_to_the_next() -> Outcome {
    for engine in engines()? {
        let engine = pooling(&engine, 2)?;
        let text = r#"(module (func (export "run") (param i32)
            (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
        let module = Module::new(&engine, text)?;
        for round in 0..6 {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
            run.call(&mut store, 10_000)?;
            match round % 3 {
                0 => store.interrupt_handle().interrupt(),
                1 => {
                    store.interrupt_handle().interrupt();
                    let error = run.call(&mut store, 1).expect_err("it was asked to stop");
                    assert_eq!(error.trap(), Some(Trap::Interrupt));
                }
                _ => store.set_deadline(Some(std::time::Instant::now()))?,
            }
        }
    }
    Ok(())
}

#[test]
fn a_handle_that_outlives_its_store_stops_no_other() -> Outcome {
    let engine = pooling(&Engine::new(Config::new().interruptible(true))?, 2)?;
    let text = r#"(module (func (export "run") (param i32)
        (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let module = Module::new(&engine, text)?;
    let old = Store::new(&engine, ()).interrupt_handle();
    let mut store = Store::new(&engine, ());
    let run = Instance::new(&mut store, &module, &[])?.get_typed_func::<i32, ()>(&mut store, "run")?;
    old.interrupt();
    run.call(&mut store, 10_000)?;
    drop(old);
    let mut next = Store::new(&engine, ());
    let run = Instance::new(&mut next, &module, &[])?.get_typed_func::<i32, ()>(&mut next, "run")?;
    Ok(run.call(&mut next, 10_000)?)
}

#[test]
fn data_is_the_same_where_it_is_copied() -> Outcome {
    let mut config = Config::new();
    config.allocation_strategy(PoolingConfig::for_instances(2)).memory_init_cow(false);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, PROGRAM)?;
    let expected = use_one(&Module::new(&Engine::default(), PROGRAM)?)?;
    for _ in 0..3 {
        assert_eq!(use_one(&module)?, expected);
        assert_eq!(engine.pooled(), (1, 1));
    }
    let engine = Engine::new(config.allocation_strategy(InstanceAllocationStrategy::OnDemand))?;
    assert_eq!(use_one(&Module::new(&engine, PROGRAM)?)?, expected);
    assert_eq!(engine.pooled(), (0, 0));
    Ok(())
}

/// A table with a function in it, which others overwrite, and one that grows.
const TABLES: &str = r#"(module
    (table $own (export "own") 8 8 funcref)
    (table $grown 3 funcref)
    (elem (table $own) (i32.const 2) func $f)
    (func $f)
    (func (export "set") (param i32) (result i32)
        (drop (table.grow $grown (ref.null func) (local.get 0)))
        (table.fill $own (i32.const 0) (ref.func $f) (i32.const 8))
        (i32.const 0))
    (func (export "nulls") (result i32) (local $i i32) (local $n i32)
        (loop $again
            (local.set $n (i32.add (local.get $n) (ref.is_null (table.get $own (local.get $i)))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
        (local.get $n)))"#;

#[test]
fn tables_of_earlier_instances_are_empty_again() -> Outcome {
    for engine in engines()? {
        let mut config = engine.config().clone();
        let pool = PoolingConfig::for_instances(4).tables(2);
        let engine = Engine::new(config.pooling(Some(pool)))?;
        let module = Module::new(&engine, TABLES)?;
        let use_one = |grows: i32| -> Result<(i32, i32)> {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            let nulls = instance.get_typed_func::<(), i32>(&mut store, "nulls")?;
            let before = nulls.call(&mut store, ())?;
            instance.get_typed_func::<i32, i32>(&mut store, "set")?.call(&mut store, grows)?;
            Ok((before, nulls.call(&mut store, ())?))
        };
        assert_eq!(engine.pooled_tables_and_stacks().0, 0);
        assert_eq!(use_one(0)?, (7, 0));
        assert_eq!(engine.pooled_tables_and_stacks().0, 2);
        for _ in 0..3 {
            assert_eq!(use_one(5)?, (7, 0));
        }
        assert_eq!(engine.pooled_tables_and_stacks().0, 1, "what has grown is not kept");
        // No more are kept than was said.
        let mut stores = Vec::new();
        for _ in 0..3 {
            let mut store = Store::new(&engine, ());
            Instance::new(&mut store, &module, &[])?;
            stores.push(store);
        }
        assert_eq!(engine.pooled_tables_and_stacks().0, 0);
        drop(stores);
        assert_eq!(engine.pooled_tables_and_stacks().0, 2);
        assert_eq!(use_one(0)?, (7, 0));
    }
    let engine = Engine::new(Config::new().pooling(Some(PoolingConfig::for_instances(4).tables(0))))?;
    let mut store = Store::new(&engine, ());
    Instance::new(&mut store, &Module::new(&engine, TABLES)?, &[])?;
    drop(store);
    assert_eq!(engine.pooled_tables_and_stacks().0, 0);
    Ok(())
}

/// Large tables would keep much memory.
#[test]
fn tables_of_more_bytes_than_are_kept_are_given_back() -> Outcome {
    let engine = Engine::new(Config::new().pooling(Some(PoolingConfig::default())))?;
    for (elements, kept) in [(8 << 10, 1), ((8 << 10) + 1, 1)] {
        let module = Module::new(&engine, format!("(module (table {elements} funcref))"))?;
        let mut store = Store::new(&engine, ());
        Instance::new(&mut store, &module, &[])?;
        drop(store);
        assert_eq!(engine.pooled_tables_and_stacks().0, kept, "{elements}");
    }
    Ok(())
}

#[test]
fn so_many_stacks_are_kept_as_was_said() -> Outcome {
    for (pooling, most) in [(None, 5), (Some(PoolingConfig::default().stacks(2)), 2)] {
        let engine = Engine::new(Config::new().pooling(pooling))?;
        // Calls that wait at the same time need a stack each.
        let waiting: Vec<_> = (0..5).map(|_| Waits::new(&engine)).collect::<Result<_>>()?;
        assert_eq!(engine.pooled_tables_and_stacks().1, 0);
        drop(waiting);
        assert_eq!(engine.pooled_tables_and_stacks().1, most);
    }
    Ok(())
}

/// A call that waits in the host.
struct Waits {
    _call: std::pin::Pin<Box<dyn Future<Output = Result<()>>>>,
}

impl Waits {
    fn new(engine: &Engine) -> Result<Waits> {
        let mut linker: Linker<()> = Linker::new(engine);
        linker.func_wrap_async("host", "wait", |_: Caller<'_, ()>, (): ()| {
            Box::new(async { std::future::pending::<()>().await })
        })?;
        let text = r#"(module (import "host" "wait" (func $wait)) (func (export "run") (call $wait)))"#;
        let module = Module::new(engine, text)?;
        let engine = engine.clone();
        let mut call: std::pin::Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(async move {
            let mut store = Store::new(&engine, ());
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
            run.call_async(&mut store, ()).await
        });
        let polled = call.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        assert!(polled.is_pending());
        Ok(Waits { _call: call })
    }
}
