//! Limiters decide how many resources a store may use.

use wprof::*;

use super::{Outcome, engines};

const GROWS: &str = r#"(module
    (memory (export "memory") 1 100) (table (export "table") 2 50 funcref)
    (func (export "memory.grow") (param i32) (result i32) (memory.grow (local.get 0)))
    (func (export "table.grow") (param i32) (result i32) (table.grow (ref.null func) (local.get 0))))"#;

/// A limiter that records its requests.
#[derive(Default)]
struct Watcher {
    asked: Vec<(usize, usize, Option<usize>)>,
    failed: usize,
    most: usize,
    traps: bool,
    panics: bool,
    instances: usize,
}

impl Watcher {
    fn answer(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        self.asked.push((current, desired, maximum));
        assert!(!self.panics, "the limiter panics");
        match desired <= self.most {
            false if self.traps => Err(Exit(7).into()),
            fits => Ok(fits),
        }
    }
}

impl ResourceLimiter for Watcher {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        self.answer(current, desired, maximum)
    }

    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        assert_eq!(error.kind(), ErrorKind::Limit);
        self.failed += 1;
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        self.answer(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, _: Error) -> Result<()> {
        self.failed += 1;
        Ok(())
    }

    fn instances(&self) -> usize {
        self.instances
    }
}

fn watched(engine: &Engine) -> Result<(Store<Watcher>, Instance)> {
    let mut store = Store::new(engine, Watcher { most: 20 << 16, instances: 1, ..Watcher::default() });
    store.limiter(|watcher| watcher);
    let instance = Instance::new(&mut store, &Module::new(engine, GROWS)?, &[])?;
    Ok((store, instance))
}

#[test]
fn a_limiter_is_asked_before_things_are_made_and_grow() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = watched(&engine)?;
        let page = 1 << 16;
        let made = [(0, page, Some(100 * page)), (0, 2, Some(50))];
        assert_eq!(std::mem::take(&mut store.data_mut().asked), made);
        let memory = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
        let table = instance.get_typed_func::<i32, i32>(&mut store, "table.grow")?;
        assert_eq!(
            (memory.call(&mut store, 4)?, memory.call(&mut store, 16)?),
            (1, -1),
            "20 pages are allowed"
        );
        assert_eq!((table.call(&mut store, 3)?, table.call(&mut store, 100)?), (2, -1), "its maximum is 50");
        let asked = [
            (page, 5 * page, Some(100 * page)),
            (5 * page, 21 * page, Some(100 * page)),
            (2, 5, Some(50)),
            (5, 105, Some(50)),
        ];
        assert_eq!(std::mem::take(&mut store.data_mut().asked), asked);
        assert_eq!(store.data().failed, 1, "the table could not grow although it might");
        // Growth by the host is a request, too.
        let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
        assert_eq!(memory.grow(&mut store, 15)?, 5);
        assert_eq!(memory.grow(&mut store, 1).expect_err("too much").kind(), ErrorKind::Limit);
        assert_eq!(memory.size(&store), 20);
    }
    Ok(())
}

#[test]
fn an_error_of_a_limiter_ends_the_program_at_the_instruction() -> Outcome {
    for engine in engines()? {
        for name in ["memory.grow", "table.grow"] {
            let (mut store, instance) = watched(&engine)?;
            let grow = instance.get_typed_func::<i32, i32>(&mut store, name)?;
            assert!(grow.call(&mut store, 1)? > 0);
            store.data_mut().traps = true;
            store.data_mut().most = 0;
            let error = grow.call(&mut store, 1).expect_err("the limiter says so");
            assert_eq!(error.i32_exit(), Some(7), "{name}: {error}");
            let frames = error.backtrace().ok_or("wasm code has trapped")?.frames();
            assert_eq!(frames.len(), 1, "{name}");
            assert_eq!(frames[0].func_index(), u32::from(name == "table.grow"));
            store.data_mut().most = usize::MAX;
            assert!(grow.call(&mut store, 1)? > 0, "the store is as it was");
            if engine.config().profiles() {
                let profile = instance.profile(&store);
                assert!(profile.is_ok(), "{name}: {profile:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn exact_counts_hold_where_a_limiter_ends_the_program() -> Outcome {
    let text = r#"(module (memory 1)
        (func (export "run") (result i32)
            (nop) (nop) (i32.add (memory.grow (i32.const 1)) (memory.grow (i32.const 100)))))"#;
    for collect in [Collect::Edges, Collect::Blocks, Collect::AllBlocks] {
        for strategy in [Strategy::Baseline, Strategy::Optimized] {
            let mut config = Config::new();
            config.count_events(EventModel::built_in("instructions")).strategy(strategy);
            let engine = Engine::new(config.profiling(ProfilingConfig::Exact(collect)))?;
            let mut store = Store::new(
                &engine,
                Watcher { most: 9 << 16, traps: true, instances: 1, ..Watcher::default() },
            );
            store.limiter(|watcher| watcher);
            let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
            let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
            assert!(run.call(&mut store, ()).is_err());
            // Two instructions without effect, two constants, and both growth instructions.
            assert_eq!(store.event_count("instructions")?, 6, "{collect:?} {strategy:?}");
            assert_eq!(instance.profile(&store)?.ops(), 6, "{collect:?} {strategy:?}");
        }
    }
    Ok(())
}

#[test]
fn a_panic_of_a_limiter_goes_on_from_the_call() -> Outcome {
    let (mut store, instance) = watched(&Engine::default())?;
    let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
    store.data_mut().panics = true;
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| grow.call(&mut store, 1)));
    assert_eq!(caught.expect_err("it panics").downcast_ref(), Some(&"the limiter panics"));
    store.data_mut().panics = false;
    assert_eq!(grow.call(&mut store, 1)?, 1);
    Ok(())
}

#[test]
fn what_a_limiter_refuses_is_not_made() -> Outcome {
    let engine = Engine::default();
    let (mut store, _) = watched(&engine)?;
    let module = Module::new(&engine, GROWS)?;
    let error = Instance::new(&mut store, &module, &[]).expect_err("one is allowed");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("1 more instances beside 1: the store's limiter allows 1"), "{error}");
    store.data_mut().instances = 2;
    store.data_mut().most = 1;
    let error = Instance::new(&mut store, &module, &[]).expect_err("a page is too much");
    assert!(error.to_string().contains("a memory of 65536 bytes: the store's limiter refuses it"), "{error}");
    assert!(Memory::new(&mut store, MemoryType::new(1, None)).is_err());
    assert!(Table::new(&mut store, TableType::new(RefType::FUNCREF, 2, None), Ref::Func(None)).is_err());
    assert!(Table::new(&mut store, TableType::new(RefType::FUNCREF, 1, None), Ref::Func(None)).is_ok());
    Ok(())
}

/// The limiter calls code of another store, which traps: a backtrace finds all frames.
#[test]
fn a_limiter_may_run_wasm_code_of_another_store() -> Outcome {
    struct Other {
        store: Store<()>,
        instance: Instance,
        frames: Vec<usize>,
    }
    impl ResourceLimiter for Other {
        fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            let fail = self.instance.get_typed_func::<(), ()>(&mut self.store, "fail")?;
            let error = fail.call(&mut self.store, ()).expect_err("it traps");
            self.frames.push(error.backtrace().map_or(0, |backtrace| backtrace.frames().len()));
            Ok(true)
        }

        fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            Ok(true)
        }
    }
    for engine in engines()? {
        let fails = Module::new(&engine, r#"(module (func (export "fail") unreachable))"#)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &fails, &[])?;
        let mut store = Store::new(&engine, Other { store, instance, frames: Vec::new() });
        store.limiter(|other| other);
        let text = r#"(module (memory 1) (func $inner (result i32) (memory.grow (i32.const 1)))
            (func (export "run") (result i32) (i32.add (call $inner) (i32.const 1))))"#;
        let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
        let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, ())?, 2);
        assert_eq!(store.data().frames, [1, 3], "{:?}", engine.config());
    }
    Ok(())
}

#[test]
fn limits_are_a_limiter() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(&engine, GROWS)?;
    for traps in [false, true] {
        let builder = StoreLimitsBuilder::new().memory_size(3 << 16).table_elements(4).instances(1);
        let limits = builder.memories(1).tables(1).trap_on_grow_failure(traps).build();
        let mut store = Store::new(&engine, limits);
        store.limiter(|limits| limits);
        let instance = Instance::new(&mut store, &module, &[])?;
        for (name, fits) in [("memory.grow", 2), ("table.grow", 2)] {
            let grow = instance.get_typed_func::<i32, i32>(&mut store, name)?;
            assert!(grow.call(&mut store, fits)? > 0);
            match grow.call(&mut store, 1) {
                Ok(old) => assert_eq!((old, traps), (-1, false)),
                Err(error) => {
                    assert_eq!((error.kind(), traps), (ErrorKind::Limit, true));
                    assert!(error.to_string().contains("is above the limit of"), "{error}");
                }
            }
        }
        assert!(Instance::new(&mut store, &module, &[]).is_err());
        assert!(Memory::new(&mut store, MemoryType::new(0, None)).is_err());
        assert!(Table::new(&mut store, TableType::new(RefType::FUNCREF, 0, None), Ref::Func(None)).is_err());
    }
    Ok(())
}

#[test]
fn limits_that_are_set_hold_besides() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, StoreLimitsBuilder::new().memory_size(50 << 16).build());
    store.set_limits(StoreLimits { memory_size: 2 << 16, ..StoreLimits::default() });
    store.limiter(|limits| limits);
    let instance = Instance::new(&mut store, &Module::new(&engine, GROWS)?, &[])?;
    let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
    assert_eq!((grow.call(&mut store, 2)?, grow.call(&mut store, 1)?), (-1, 1));
    Ok(())
}
