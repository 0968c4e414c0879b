//! Linkers find imports by name.

use wprof::*;

use super::Outcome;

const USES_ONE: &str = r#"(module (import "a" "f" (func $f (result i32)))
    (func (export "run") (result i32) (call $f)))"#;

fn one(engine: &Engine) -> Result<Linker<()>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("a", "f", || 1)?;
    Ok(linker)
}

fn run(linker: &Linker<()>, text: &str) -> Result<i32> {
    let mut store = Store::new(linker.engine(), ());
    let instance = linker.instantiate(&mut store, &Module::new(linker.engine(), text)?)?;
    instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())
}

fn refused<T>(result: Result<T>, kind: ErrorKind, part: &str) {
    let error = result.err().expect("it is refused");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_name_is_defined_once() -> Outcome {
    let mut linker = one(&Engine::default())?;
    refused(linker.func_wrap("a", "f", || 2).map(drop), ErrorKind::Link, "`a::f` is defined already");
    assert_eq!(run(&linker, USES_ONE)?, 1);
    Ok(())
}

#[test]
fn a_name_is_defined_again_where_shadowing_is_allowed() -> Outcome {
    let mut linker = one(&Engine::default())?;
    linker.allow_shadowing(true).func_wrap("a", "f", || 2)?;
    assert_eq!(run(&linker, USES_ONE)?, 2);
    linker.allow_shadowing(false);
    refused(linker.func_wrap("a", "f", || 3).map(drop), ErrorKind::Link, "defined already");
    Ok(())
}

#[test]
fn the_same_name_in_another_module_is_another_name() -> Outcome {
    let mut linker = one(&Engine::default())?;
    linker.func_wrap("b", "f", || 2)?;
    assert_eq!(run(&linker, USES_ONE)?, 1);
    assert_eq!(run(&linker, &USES_ONE.replace("\"a\"", "\"b\""))?, 2);
    Ok(())
}

#[test]
fn an_alias_is_the_same_item() -> Outcome {
    let mut linker = one(&Engine::default())?;
    linker.alias("a", "f", "c", "g")?;
    assert_eq!(run(&linker, &USES_ONE.replace("\"a\" \"f\"", "\"c\" \"g\""))?, 1);
    refused(linker.alias("a", "nothing", "c", "h").map(drop), ErrorKind::Link, "`a::nothing` is not defined");
    refused(linker.alias("a", "f", "c", "g").map(drop), ErrorKind::Link, "defined already");
    Ok(())
}

#[test]
fn a_clone_has_the_same_names_and_then_its_own() -> Outcome {
    let linker = one(&Engine::default())?;
    let mut other = linker.clone();
    other.func_wrap("a", "g", || 2)?;
    let uses_other = USES_ONE.replace("\"f\"", "\"g\"");
    assert_eq!((run(&other, USES_ONE)?, run(&other, &uses_other)?), (1, 2));
    refused(run(&linker, &uses_other), ErrorKind::Link, "a::g");
    Ok(())
}

#[test]
fn unknown_imports_trap_when_they_are_called_and_not_before() -> Outcome {
    let engine = Engine::default();
    let text = r#"(module (import "x" "y" (func $y (param i32) (result i64)))
        (import "a" "f" (func $f (result i32)))
        (func (export "run") (result i32) (call $f))
        (func (export "calls") (drop (call $y (i32.const 1)))))"#;
    let module = Module::new(&engine, text)?;
    let mut linker = one(&engine)?;
    linker.define_unknown_imports_as_traps(&module)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 1);
    let calls = instance.get_typed_func::<(), ()>(&mut store, "calls")?;
    let error = calls.call(&mut store, ()).expect_err("nobody has defined it");
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
    assert!(error.to_string().contains("x::y") && error.to_string().contains("unknown import"), "{error}");
    Ok(())
}

#[test]
fn only_functions_can_be_unknown() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(&engine, r#"(module (import "a" "m" (memory 1)))"#)?;
    let mut linker = one(&engine)?;
    refused(linker.define_unknown_imports_as_traps(&module), ErrorKind::Link, "a::m");
    Ok(())
}

#[test]
fn all_exports_of_an_instance_are_defined_at_once() -> Outcome {
    let engine = Engine::default();
    let text = r#"(module (memory (export "m") 1) (global (export "g") i32 (i32.const 7)) (table (export "t") 1 funcref)
        (func (export "f") (result i32) (i32.const 3)))"#;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
    let mut linker = Linker::new(&engine);
    linker.instance(&mut store, "all", instance)?;
    for (name, is_there) in [("m", true), ("g", true), ("t", true), ("f", true), ("other", false)] {
        assert_eq!(linker.get(&mut store, "all", name).is_some(), is_there, "{name}");
    }
    let text = r#"(module (import "all" "f" (func $f (result i32))) (import "all" "g" (global $g i32))
        (func (export "run") (result i32) (i32.add (call $f) (global.get $g))))"#;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, text)?)?;
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 10);
    Ok(())
}

#[test]
fn host_functions_come_into_each_store_that_asks() -> Outcome {
    let engine = Engine::default();
    let linker = one(&engine)?;
    for _ in 0..3 {
        let mut store = Store::new(&engine, ());
        let func = linker.get(&mut store, "a", "f").and_then(Extern::into_func).ok_or("defined")?;
        assert_eq!(func.typed::<(), i32>(&store)?.call(&mut store, ())?, 1);
    }
    Ok(())
}

#[test]
fn all_definitions_are_listed() -> Outcome {
    let mut linker = one(&Engine::default())?;
    linker.func_wrap("b", "g", |x: i64| x)?;
    let mut store = Store::new(linker.engine(), ());
    let mut all: Vec<_> =
        linker.iter(&mut store).map(|(module, name, _)| format!("{module}::{name}")).collect();
    all.sort();
    assert_eq!(all, ["a::f", "b::g"]);
    Ok(())
}

#[test]
fn an_import_of_another_kind_is_refused() -> Outcome {
    let linker = one(&Engine::default())?;
    let text = r#"(module (import "a" "f" (global i32)) (func (export "run") (result i32) (i32.const 0)))"#;
    refused(run(&linker, text), ErrorKind::Link, "a::f");
    let text = USES_ONE
        .replace("(result i32)))\n", "(param i32) (result i32)))\n")
        .replace("(call $f)", "(i32.const 0)");
    refused(run(&linker, &text), ErrorKind::Link, "a::f");
    Ok(())
}

#[test]
fn a_memory_fits_if_it_is_large_enough_and_its_maximum_small_enough() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(2, Some(5)))?;
    let mut linker = Linker::new(&engine);
    linker.define(&store, "a", "m", memory)?;
    for (ty, fits) in
        [("1", true), ("2 5", true), ("1 9", true), ("3", false), ("1 4", false), ("i64 1", false)]
    {
        let module = Module::new(&engine, format!(r#"(module (import "a" "m" (memory {ty})))"#))?;
        assert_eq!(linker.instantiate(&mut store, &module).is_ok(), fits, "{ty}");
    }
    // What it has grown to counts.
    memory.grow(&mut store, 1)?;
    let module = Module::new(&engine, r#"(module (import "a" "m" (memory 3)))"#)?;
    assert!(linker.instantiate(&mut store, &module).is_ok());
    Ok(())
}

#[test]
fn a_global_fits_exactly() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let global = Global::new(&mut store, GlobalType::new(ValType::I32, true), Val::I32(1))?;
    let mut linker = Linker::new(&engine);
    linker.define(&store, "a", "g", global)?;
    for (ty, fits) in [("(mut i32)", true), ("i32", false), ("(mut i64)", false), ("(mut f32)", false)] {
        let module = Module::new(&engine, format!(r#"(module (import "a" "g" (global {ty})))"#))?;
        assert_eq!(linker.instantiate(&mut store, &module).is_ok(), fits, "{ty}");
    }
    Ok(())
}

#[test]
fn a_table_fits_by_element_and_size() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let table = Table::new(&mut store, TableType::new(RefType::FUNCREF, 2, Some(4)), Ref::Func(None))?;
    let mut linker = Linker::new(&engine);
    linker.define(&store, "a", "t", table)?;
    for (ty, fits) in [
        ("2 funcref", true),
        ("1 4 funcref", true),
        ("3 funcref", false),
        ("1 3 funcref", false),
        ("1 externref", false),
    ] {
        let module = Module::new(&engine, format!(r#"(module (import "a" "t" (table {ty})))"#))?;
        assert_eq!(linker.instantiate(&mut store, &module).is_ok(), fits, "{ty}");
    }
    Ok(())
}

#[test]
fn an_import_that_is_named_twice_is_one_item() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let global = Global::new(&mut store, GlobalType::new(ValType::I32, true), Val::I32(1))?;
    let mut linker = Linker::new(&engine);
    linker.define(&store, "a", "g", global)?;
    let text = r#"(module (import "a" "g" (global $x (mut i32))) (import "a" "g" (global $y (mut i32)))
        (func (export "run") (result i32) (global.set $x (i32.const 5)) (global.get $y)))"#;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, text)?)?;
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 5);
    Ok(())
}

#[test]
fn a_start_function_that_traps_makes_no_instance() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let module = Module::new(&engine, "(module (func $start unreachable) (start $start))")?;
    let error = Linker::new(&engine).instantiate(&mut store, &module).expect_err("it traps");
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
    assert_eq!(error.backtrace().map(|backtrace| backtrace.frames().len()), Some(1));
    Ok(())
}

#[test]
fn a_segment_that_does_not_fit_traps_and_what_came_before_is_written() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    let mut linker = Linker::new(&engine);
    linker.define(&store, "a", "m", memory)?;
    let text =
        r#"(module (import "a" "m" (memory 1)) (data (i32.const 0) "ab") (data (i32.const 65535) "cd"))"#;
    let error = linker.instantiate(&mut store, &Module::new(&engine, text)?).expect_err("too long");
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    assert_eq!(memory.data(&store)[..2], *b"ab");
    assert_eq!(memory.data(&store)[65535], 0);
    Ok(())
}

#[test]
fn what_is_unknown_may_return_zeros_and_nulls() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module (import "a" "f" (func $f (result i32)))
            (import "a" "g" (func $g (param i32) (result externref)))
            (func (export "run") (result i32)
                (i32.add (call $f) (ref.is_null (call $g (i32.const 1))))))"#,
    )?;
    let mut linker = one(&engine)?;
    linker.define_unknown_imports_as_default_values(&module)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 2);
    let import = module.imports().next().ok_or("there are two")?;
    assert!(linker.get_by_import(&mut store, &import).is_some());
    let never_null = r#"(module (type $f (func)) (import "b" "h" (func (result (ref $f)))))"#;
    refused(
        linker.define_unknown_imports_as_default_values(&Module::new(&engine, never_null)?),
        ErrorKind::Link,
        "b::h",
    );
    Ok(())
}

#[test]
fn the_default_function_has_no_name_or_is_the_start_or_does_nothing() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    linker.func_wrap("both", "", || 1)?.func_wrap("both", "_start", || 2)?;
    linker.func_wrap("start", "_start", || 2)?.func_wrap("start", "other", || 3)?;
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    linker.define(&store, "wrong", "", memory)?.func_wrap("wrong", "_start", || 2)?;
    for (module, expected) in [("both", 1), ("start", 2)] {
        let found = linker.get_default(&mut store, module)?.typed::<(), i32>(&store)?;
        assert_eq!(found.call(&mut store, ())?, expected, "{module}");
    }
    linker.get_default(&mut store, "nothing")?.typed::<(), ()>(&store)?.call(&mut store, ())?;
    refused(linker.get_default(&mut store, "wrong"), ErrorKind::Link, "`wrong::` is no function");
    Ok(())
}
