//! Modules whose imports are resolved and checked once.

use wprof::*;

use super::Outcome;

const ADDS: &str = r#"(module
    (import "host" "add" (func $add (param i32) (result i32)))
    (global $sum (mut i32) (i32.const 0))
    (func (export "add") (param i32) (result i32)
        (global.set $sum (i32.add (global.get $sum) (call $add (local.get 0))))
        (global.get $sum)))"#;

fn adding(engine: &Engine) -> Result<Linker<i32>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "add", |caller: Caller<'_, i32>, x: i32| x + caller.data())?;
    Ok(linker)
}

#[test]
fn a_module_is_instantiated_many_times_in_many_stores_and_threads() -> Outcome {
    let engine = Engine::default();
    let mut linker = adding(&engine)?;
    let pre = linker.instantiate_pre(&Module::new(&engine, ADDS)?)?;
    // A later definition has no effect.
    linker.allow_shadowing(true).func_wrap("host", "add", |_: i32| -1)?;
    drop(linker);
    std::thread::scope(|scope| {
        let work = |data: i32| {
            let pre = pre.clone();
            move || -> Result<()> {
                let mut store = Store::new(pre.module().engine(), data);
                for _ in 0..10 {
                    let instance = pre.instantiate(&mut store)?;
                    let add = instance.get_typed_func::<i32, i32>(&mut store, "add")?;
                    assert_eq!(
                        (add.call(&mut store, 1)?, add.call(&mut store, 2)?),
                        (1 + data, 3 + 2 * data)
                    );
                }
                Ok(())
            }
        };
        let threads: Vec<_> = (0..4).map(|data| scope.spawn(work(data))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(())
}

#[test]
fn types_are_checked_when_imports_are_found() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(&engine, ADDS)?;
    let mut linker = Linker::<()>::new(&engine);
    let error = linker.instantiate_pre(&module).expect_err("nothing is defined");
    assert!(error.to_string().contains("unknown import: `host::add`"), "{error}");
    linker.func_wrap("host", "add", |_: i64| 1)?;
    let error = linker.instantiate_pre(&module).expect_err("another type");
    assert_eq!(error.kind(), ErrorKind::Link);
    assert!(error.to_string().contains("incompatible import type for `host::add`"), "{error}");
    Ok(())
}

#[test]
fn things_of_a_store_are_imported_as_they_are() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let memory = Memory::new(&mut store, MemoryType::new(1, Some(4)))?;
    let global = Global::new(&mut store, GlobalType::new(ValType::I32, true), Val::I32(5))?;
    linker.define(&store, "env", "memory", memory)?.define(&store, "env", "global", global)?;
    let text = r#"(module (import "env" "memory" (memory 2 4)) (import "env" "global" (global $g (mut i32)))
        (func (export "run") (global.set $g (i32.load8_u (i32.const 65536)))))"#;
    let module = Module::new(&engine, text)?;
    assert!(linker.instantiate_pre(&module).is_err(), "the memory is too small");
    memory.grow(&mut store, 1)?;
    linker.allow_shadowing(true).define(&store, "env", "memory", memory)?;
    let pre = linker.instantiate_pre(&module)?;
    memory.write(&mut store, 65536, &[9])?;
    let instance = pre.instantiate(&mut store)?;
    instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    assert_eq!(global.get(&mut store).i32(), Some(9));
    Ok(())
}

#[test]
#[should_panic(expected = "of one engine")]
fn a_store_of_another_engine_is_noticed() {
    let engine = Engine::default();
    let pre = adding(&engine).and_then(|l| l.instantiate_pre(&Module::new(&engine, ADDS)?)).expect("fits");
    let _ = pre.instantiate(Store::new(&Engine::default(), 1));
}

#[test]
fn a_linker_tells_what_it_has() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, 3);
    let mut linker = adding(&engine)?;
    let global = Global::new(&mut store, GlobalType::new(ValType::I64, false), Val::I64(5))?;
    linker.define(&store, "env", "five", global)?;
    let mut all: Vec<_> = linker
        .iter(&mut store)
        .map(|(module, name, item)| (module, name, item.into_func().is_some()))
        .collect();
    all.sort_unstable();
    assert_eq!(all, [("env", "five", false), ("host", "add", true)]);
    let func = linker.iter(&mut store).find_map(|(_, _, item)| item.into_func()).expect("there is one");
    assert_eq!(func.typed::<i32, i32>(&store)?.call(&mut store, 4)?, 7);
    Ok(())
}

#[test]
fn a_reactor_is_one_instance_and_a_command_one_for_each_call() -> Outcome {
    let count = r#"(global $n (mut i32) (i32.const 0))
        (func (export "count") (result i32)
            (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n))"#;
    let start = r#"(func (export "_start"))"#;
    let initialize = r#"(func (export "_initialize") (global.set $n (i32.const 10)))"#;
    let main = r#"(module (import "m" "count" (func $count (result i32)))
        (func (export "run") (result i32) (drop (call $count)) (call $count)))"#;
    for (more, expected) in [("", 2), (initialize, 12), (start, 1)] {
        let engine = Engine::default();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.module(&mut store, "m", &Module::new(&engine, format!("(module {count} {more})"))?)?;
        let instance = linker.instantiate(&mut store, &Module::new(&engine, main)?)?;
        let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, ())?, expected, "{more}");
    }
    Ok(())
}
