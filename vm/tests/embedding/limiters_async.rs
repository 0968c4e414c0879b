//! Limiters that wait before they decide.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use wprof::*;

use super::{Outcome, engines};

const GROWS: &str = r#"(module
    (import "host" "grow" (func $host (result i32)))
    (memory (export "memory") 1 100) (table (export "table") 2 50 funcref)
    (func (export "memory.grow") (param i32) (result i32) (memory.grow (local.get 0)))
    (func (export "table.grow") (param i32) (result i32) (table.grow (ref.null func) (local.get 0)))
    (func (export "host.grow") (result i32) (call $host)))"#;

/// Waits once.
#[derive(Default)]
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A limiter that waits, and then allows up to `most`.
#[derive(Default)]
struct Slow {
    asked: Vec<(usize, usize, Option<usize>)>,
    answers: usize,
    failed: usize,
    most: usize,
    fails: bool,
    instances: usize,
}

impl Slow {
    async fn answer(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        self.asked.push((current, desired, maximum));
        Once::default().await;
        self.answers += 1;
        if self.fails { Err(Exit(7).into()) } else { Ok(desired <= self.most) }
    }
}

type Answer<'a> = Box<dyn Future<Output = Result<bool>> + Send + 'a>;

impl ResourceLimiterAsync for Slow {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Answer<'_> {
        Box::new(self.answer(current, desired, maximum))
    }

    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        assert_eq!(error.kind(), ErrorKind::Limit);
        self.failed += 1;
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Answer<'_> {
        Box::new(self.answer(current, desired, maximum))
    }

    fn instances(&self) -> usize {
        self.instances
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

fn prepare(engine: &Engine) -> Result<(Store<Slow>, Linker<Slow>, Module)> {
    let slow = Slow { most: 20 << 16, instances: 1, ..Slow::default() };
    let mut store = Store::new(engine, slow);
    store.limiter_async(|slow| slow);
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "grow", |mut caller: Caller<'_, Slow>| -> Result<i32> {
        let memory = caller.get_export("memory").and_then(Extern::into_memory).expect("exported");
        Ok(memory.grow(&mut caller, 1)? as i32)
    })?;
    Ok((store, linker, Module::new(engine, GROWS)?))
}

fn instance(engine: &Engine) -> Result<(Store<Slow>, Instance)> {
    let (mut store, linker, module) = prepare(engine)?;
    let instance = run(linker.instantiate_async(&mut store, &module)).0?;
    store.data_mut().asked.clear();
    store.data_mut().answers = 0;
    Ok((store, instance))
}

#[test]
fn code_waits_for_the_answer_and_goes_on_with_it() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = instance(&engine)?;
        let page = 1 << 16;
        let memory = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
        let table = instance.get_typed_func::<i32, i32>(&mut store, "table.grow")?;
        for (func, delta, expected) in
            [(&memory, 4, 1), (&memory, 16, -1), (&memory, 0, 5), (&table, 3, 2), (&table, 100, -1)]
        {
            let (old, polls) = run(func.call_async(&mut store, delta));
            assert_eq!((old?, polls), (expected, 2), "{delta}");
        }
        let asked = [
            (page, 5 * page, Some(100 * page)),
            (5 * page, 21 * page, Some(100 * page)),
            (5 * page, 5 * page, Some(100 * page)),
            (2, 5, Some(50)),
            (5, 105, Some(50)),
        ];
        assert_eq!(store.data().asked, asked);
        assert_eq!(store.data().answers, 5);
        if engine.config().profiles() {
            assert!(instance.profile(&store).is_ok());
        }
    }
    Ok(())
}

#[test]
fn counts_are_exact_across_the_wait() -> Outcome {
    for collect in [Collect::Edges, Collect::Blocks, Collect::Paths] {
        for strategy in [Strategy::Baseline, Strategy::Optimized] {
            for fails in [false, true] {
                let mut config = Config::new();
                config.count_events(EventModel::built_in("instructions")).strategy(strategy);
                let engine = Engine::new(config.profiling(ProfilingConfig::Exact(collect)))?;
                let (mut store, instance) = instance(&engine)?;
                store.data_mut().fails = fails;
                let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
                let (grown, polls) = run(grow.call_async(&mut store, 1));
                assert_eq!((grown.is_err(), polls), (fails, 2));
                // The local and the growth.
                assert_eq!(store.event_count("instructions")?, 2, "{collect:?} {strategy:?}");
                assert_eq!(instance.profile(&store)?.ops(), 2, "{collect:?} {strategy:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_call_that_waits_for_its_limiter_moves_to_another_thread() -> Outcome {
    let (mut store, instance) = instance(&Engine::default())?;
    let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
    let mut call = Box::pin(grow.call_async(&mut store, 2));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let old = std::thread::scope(|scope| scope.spawn(|| run(call).0).join().expect("it does not panic"))?;
    assert_eq!(old, 1);
    let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
    assert_eq!(memory.size(&store), 3);
    Ok(())
}

#[test]
fn nothing_grows_if_the_call_is_dropped_meanwhile() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = instance(&engine)?;
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
        {
            let mut call = pin!(grow.call_async(&mut store, 2));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
        assert_eq!((memory.size(&store), store.data().answers), (1, 0));
        assert_eq!(run(grow.call_async(&mut store, 2)).0?, 1);
    }
    Ok(())
}

#[test]
fn an_error_of_the_limiter_ends_the_program_at_the_instruction() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = instance(&engine)?;
        store.data_mut().fails = true;
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "table.grow")?;
        let error = run(grow.call_async(&mut store, 1)).0.expect_err("the limiter says so");
        assert_eq!(error.i32_exit(), Some(7), "{error}");
        assert_eq!(error.backtrace().ok_or("wasm code has trapped")?.frames()[0].func_index(), 2);
    }
    Ok(())
}

#[test]
fn calls_that_are_not_awaited_cannot_ask() -> Outcome {
    for engine in engines()? {
        let (mut store, instance) = instance(&engine)?;
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "memory.grow")?;
        let error = grow.call(&mut store, 1).expect_err("nobody could wait");
        assert!(
            error.to_string().contains("an async limiter was called in a call that is not async"),
            "{error}"
        );
        assert!(store.data().asked.is_empty());
        // A host function that is not async may have on its stack what cannot be sent.
        let host = instance.get_typed_func::<(), i32>(&mut store, "host.grow")?;
        let error = run(host.call_async(&mut store, ())).0.expect_err("it is not awaited");
        assert!(error.to_string().contains("host code that is not awaited"), "{error}");
        let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
        assert_eq!(memory.size(&store), 1);
    }
    Ok(())
}

#[test]
fn the_host_waits_for_what_it_makes_and_grows() -> Outcome {
    let (mut store, instance) = instance(&Engine::default())?;
    let memory = instance.get_memory(&mut store, "memory").ok_or("exported")?;
    let table = instance.get_table(&mut store, "table").ok_or("exported")?;
    assert_eq!(memory.grow(&mut store, 1).expect_err("it cannot wait").kind(), ErrorKind::Host);
    assert_eq!(run(memory.grow_async(&mut store, 1)).0?, 1);
    assert_eq!(run(memory.grow_async(&mut store, 50)).0.expect_err("too much").kind(), ErrorKind::Limit);
    assert_eq!(run(table.grow_async(&mut store, 1, Ref::Func(None))).0?, 2);
    let small = MemoryType::new(1, None);
    assert_eq!(Memory::new(&mut store, small).expect_err("it cannot wait").kind(), ErrorKind::Host);
    let made = run(Memory::new_async(&mut store, small)).0?;
    assert_eq!(made.size(&store), 1);
    let ty = TableType::new(RefType::FUNCREF, 3, None);
    assert!(Table::new(&mut store, ty.clone(), Ref::Func(None)).is_err());
    let made = run(Table::new_async(&mut store, ty, Ref::Func(None))).0?;
    assert_eq!(made.size(&store), 3);
    assert_eq!(store.data().answers, 5);
    // The maximum of a memory is told after the answer.
    store.data_mut().most = usize::MAX;
    assert!(run(memory.grow_async(&mut store, 100)).0.is_err());
    assert_eq!(store.data().failed, 1);
    Ok(())
}

#[test]
fn instances_are_made_when_the_limiter_has_answered() -> Outcome {
    let engine = Engine::default();
    let (mut store, linker, module) = prepare(&engine)?;
    let error = linker.instantiate(&mut store, &module).expect_err("it cannot wait");
    assert!(error.to_string().contains("use the async function"), "{error}");
    let (made, polls) = run(linker.instantiate_async(&mut store, &module));
    // One wait for the memory, one for the table.
    assert_eq!((made.is_ok(), polls), (true, 3));
    let error = run(linker.instantiate_async(&mut store, &module)).0.expect_err("one is allowed");
    assert!(error.to_string().contains("the store's limiter allows 1"), "{error}");
    store.data_mut().instances = 2;
    store.data_mut().most = 5;
    let error = run(linker.instantiate_pre(&module)?.instantiate_async(&mut store)).0.expect_err("too large");
    assert!(error.to_string().contains("a memory of 65536 bytes: the store's limiter refuses it"), "{error}");
    Ok(())
}

#[test]
fn the_last_limiter_that_was_set_is_asked() -> Outcome {
    struct Both(Slow, StoreLimits);
    let engine = Engine::default();
    let slow = Slow { most: usize::MAX, instances: 9, ..Slow::default() };
    let mut store = Store::new(&engine, Both(slow, StoreLimits::default()));
    store.limiter(|both| &mut both.1);
    store.limiter_async(|both| &mut both.0);
    assert!(Memory::new(&mut store, MemoryType::new(1, None)).is_err());
    store.limiter(|both| &mut both.1);
    assert!(Memory::new(&mut store, MemoryType::new(1, None)).is_ok());
    assert!(store.data().0.asked.is_empty());
    Ok(())
}
