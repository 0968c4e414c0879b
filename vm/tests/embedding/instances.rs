//! Which modules can be instantiated, and when.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a module with the fault `broken` and a function that would read the host's memory if it ran without an
/// instance.
fn load_with(broken: &str) -> String {
    format!(
        r#"(module {broken}
            (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
            (func (export "store") (param i32) (i32.store (local.get 0) (i32.const 1))))"#
    )
}

#[test]
fn an_instance_that_could_not_be_made_is_not_found() -> Outcome {
    let limits = StoreLimits { memory_size: 1 << 20, table_elements: 10, ..StoreLimits::default() };
    let engine = Engine::new(Config::new().limits(limits))?;
    let all = [
        ("(memory 17)", ErrorKind::Limit),
        ("(table 11 funcref) (memory 1)", ErrorKind::Limit),
        ("(memory 1) (data (i32.const 65536) \"x\")", ErrorKind::Trap),
        ("(memory 1) (table 1 funcref) (func $f) (elem (i32.const 1) $f)", ErrorKind::Trap),
    ];
    for (broken, kind) in all {
        let module = Module::new(&engine, load_with(broken))?;
        let mut store = Store::new(&engine, ());
        let error = Instance::new(&mut store, &module, &[]).expect_err(broken);
        assert_eq!(error.kind(), kind, "{broken}: {error}");
        assert_eq!(Instance::newest_of(&store, &module), None, "{broken}");
    }
    Ok(())
}

#[test]
fn the_newest_instance_is_the_last_that_was_made() -> Outcome {
    let engine = Engine::default();
    let module =
        Module::new(&engine, load_with("(import \"m\" \"m\" (memory 1)) (data (i32.const 65535) \"abc\")"))?;
    let mut store = Store::new(&engine, ());
    let [small, large] = [1, 2].map(|pages| Memory::new(&mut store, MemoryType::new(pages, None)));
    let (small, large) = (small?, large?);
    let made = Instance::new(&mut store, &module, &[large.into()])?;
    assert!(Instance::new(&mut store, &module, &[small.into()]).is_err());
    assert_eq!(Instance::newest_of(&store, &module), Some(made));
    Ok(())
}

#[test]
fn a_start_function_that_calls_the_host_has_its_memory() -> Outcome {
    let engine = Engine::default();
    let wat = r#"(module (import "h" "f" (func $f)) (memory (export "m") 1) (data (i32.const 7) "seven")
        (func $start (call $f) unreachable) (start $start))"#;
    let module = Module::new(&engine, wat)?;
    let (mut store, mut linker) = (Store::new(&engine, Vec::new()), Linker::new(&engine));
    let of = module.clone();
    linker.func_wrap("h", "f", move |mut caller: Caller<'_, Vec<u8>>| {
        let instance = Instance::newest_of(&caller, &of).expect("it is there");
        assert_eq!(Some(instance), caller.instance());
        let memory = instance.get_memory(&mut caller, "m").expect("exported");
        let seven = memory.data(&mut caller)[7..12].to_vec();
        caller.data_mut().extend(seven);
    })?;
    let error = linker.instantiate(&mut store, &module).expect_err("it traps");
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
    assert_eq!(store.data(), b"seven");
    assert!(Instance::newest_of(&store, &module).is_some(), "its code has run, so that it has a profile");
    Ok(())
}
