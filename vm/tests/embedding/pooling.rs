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
