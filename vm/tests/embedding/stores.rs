//! Stores and modules: what they hold, and for how long.

use std::sync::Arc;

use wprof::*;

use super::Outcome;

#[test]
fn a_store_gives_its_data_back() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, String::from("a"));
    store.data_mut().push('b');
    assert_eq!(store.data(), "ab");
    assert!(Engine::same(store.engine(), &engine));
    assert_eq!(store.into_data(), "ab");
}

#[test]
fn what_a_store_holds_ends_with_it() -> Outcome {
    let engine = Engine::default();
    let (data, external) = (Arc::new(1), Arc::new(2));
    let mut store = Store::new(&engine, data.clone());
    let ty = GlobalType::new(ValType::EXTERNREF, true);
    let value = ExternRef::new(external.clone());
    Global::new(&mut store, ty, Val::ExternRef(Some(value)))?;
    assert_eq!((Arc::strong_count(&data), Arc::strong_count(&external)), (2, 2));
    store.gc();
    assert_eq!(Arc::strong_count(&external), 2, "the global has it");
    drop(store);
    assert_eq!((Arc::strong_count(&data), Arc::strong_count(&external)), (1, 1));
    Ok(())
}

#[test]
fn a_global_that_lets_go_frees_what_it_had() -> Outcome {
    let external = Arc::new(2);
    let mut store = Store::new(&Engine::default(), ());
    let value = Val::ExternRef(Some(ExternRef::new(external.clone())));
    let global = Global::new(&mut store, GlobalType::new(ValType::EXTERNREF, true), value)?;
    global.set(&mut store, Val::ExternRef(None))?;
    store.gc();
    assert_eq!((Arc::strong_count(&external), store.externref_count()), (1, 0));
    Ok(())
}

#[test]
fn engines_are_the_same_or_not() {
    let (one, two) = (Engine::default(), Engine::default());
    assert!(Engine::same(&one, &one.clone()) && !Engine::same(&one, &two));
}

#[test]
fn a_module_outlives_what_made_it() -> Outcome {
    let module = {
        let engine = Engine::default();
        Module::new(&engine, r#"(module (func (export "f") (result i32) (i32.const 4)))"#)?
    };
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, &module, &[])?;
    drop(module);
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "f")?.call(&mut store, ())?, 4);
    assert_eq!(instance.module(&store).exports().len(), 1);
    Ok(())
}

#[test]
fn a_module_knows_its_names() -> Outcome {
    let text = r#"(module $m (func $one) (func (export "two")) (func))"#;
    let module = Module::new(&Engine::default(), text)?;
    assert_eq!(module.name(), Some("m"));
    assert_eq!(
        (module.func_name(0), module.func_name(1), module.func_name(9)),
        (Some("one"), Some("two"), None)
    );
    Ok(())
}

#[test]
fn a_module_lists_its_exports_with_types() -> Outcome {
    let text = r#"(module (memory (export "m") 1 2) (func (export "f") (param i32)))"#;
    let module = Module::new(&Engine::default(), text)?;
    assert!(
        matches!(module.get_export("m"), Some(ExternType::Memory(ty)) if ty == MemoryType::new(1, Some(2)))
    );
    let ty = FuncType::new([ValType::I32], []);
    assert!(matches!(module.get_export("f"), Some(ExternType::Func(found)) if found == ty));
    assert!(module.get_export("g").is_none());
    Ok(())
}

#[test]
fn the_same_bytes_have_the_same_hash() -> Outcome {
    let engine = Engine::default();
    let [one, same, other] =
        ["(module)", "(module)", "(module (func))"].map(|text| Module::new(&engine, text));
    let (one, same, other) = (one?, same?, other?);
    assert_eq!(one.hash(), same.hash());
    assert_ne!(one.hash(), other.hash());
    assert_eq!(*one.bytes()?, *b"\0asm\x01\0\0\0");
    Ok(())
}

#[test]
fn validating_says_what_making_says() {
    let engine = Engine::default();
    for (bytes, is_valid) in [(&b"\0asm\x01\0\0\0"[..], true), (b"\0asm\x02\0\0\0", false), (b"", false)] {
        let (validated, made) = (Module::validate(&engine, bytes), Module::new(&engine, bytes).map(drop));
        assert_eq!((validated.is_ok(), made.is_ok()), (is_valid, is_valid), "{bytes:?}");
        if let (Err(a), Err(b)) = (validated, made) {
            assert_eq!((a.kind(), a.to_string()), (ErrorKind::Module, b.to_string()));
        }
    }
}

#[test]
fn limits_of_a_store_hold_for_what_comes_later() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    let limits = StoreLimits { memory_size: 2 << 16, instances: 1, ..StoreLimits::default() };
    store.set_limits(limits);
    assert_eq!(store.limits(), limits);
    assert_eq!(memory.grow(&mut store, 5)?, 1, "it was there before");
    let error = Memory::new(&mut store, MemoryType::new(3, None)).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let module = Module::new(&engine, "(module)")?;
    Instance::new(&mut store, &module, &[])?;
    let error = Instance::new(&mut store, &module, &[]).expect_err("one is allowed");
    assert!(error.to_string().contains("raise StoreLimits::instances"), "{error}");
    Ok(())
}

#[test]
fn limits_of_an_engine_are_those_of_its_stores() -> Outcome {
    let limits = StoreLimits { table_elements: 3, ..StoreLimits::default() };
    let engine = Engine::new(Config::new().limits(limits))?;
    let mut store = Store::new(&engine, ());
    assert_eq!(store.limits(), limits);
    let ty = |size| TableType::new(RefType::FUNCREF, size, None);
    assert!(Table::new(&mut store, ty(3), Ref::Func(None)).is_ok());
    assert!(Table::new(&mut store, ty(4), Ref::Func(None)).is_err());
    Ok(())
}

#[test]
fn an_instance_of_another_engines_module_is_refused() {
    let module = Module::new(&Engine::default(), "(module)").expect("valid");
    let mut store = Store::new(&Engine::default(), ());
    let made =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Instance::new(&mut store, &module, &[])));
    assert!(made.map_or(true, |made| made.is_err()));
}

#[test]
fn imports_are_given_in_order_and_number() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let text = r#"(module (import "" "a" (func $a (result i32))) (import "" "b" (func $b (result i32)))
        (func (export "run") (result i32) (i32.sub (call $a) (call $b))))"#;
    let module = Module::new(&engine, text)?;
    let [seven, two] = [7, 2].map(|n| Extern::from(Func::wrap(&mut store, move || n)));
    let instance = Instance::new(&mut store, &module, &[seven, two])?;
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 5);
    for imports in [&[seven][..], &[seven, two, two]] {
        assert_eq!(Instance::new(&mut store, &module, imports).expect_err("two").kind(), ErrorKind::Link);
    }
    Ok(())
}

#[test]
fn values_say_what_they_are() {
    assert_eq!((Val::I32(1).i32(), Val::I32(1).i64()), (Some(1), None));
    assert_eq!(
        (Val::from(2i64).i64(), Val::from(1.5f32).f32(), Val::from(2.5).f64()),
        (Some(2), Some(1.5), Some(2.5))
    );
    assert_eq!(Val::V128(3).v128(), Some(3));
    assert!(Val::ExternRef(None).to_ref().is_some_and(|found| found.is_null()));
    assert!(Val::I32(0).to_ref().is_none());
    assert_eq!(Ref::null(&RefType::EXTERNREF).ty().heap_type(), &HeapType::Extern);
}

#[test]
fn types_match_what_is_less_precise() {
    let funcref = ValType::FUNCREF;
    let nofunc = ValType::Ref(RefType::NULLFUNCREF);
    assert!(nofunc.matches(&funcref) && !funcref.matches(&nofunc));
    assert!(!ValType::I32.matches(&ValType::I64));
    let precise = FuncType::new([funcref.clone()], [nofunc.clone()]);
    let vague = FuncType::new([nofunc], [funcref]);
    assert_eq!(precise, precise.clone());
    assert_ne!(precise, vague);
    assert_eq!((precise.params().len(), precise.results().len()), (1, 1));
}

#[test]
fn a_store_that_is_interrupted_goes_on_afterwards() -> Outcome {
    for engine in super::engines()? {
        let mut store = Store::new(&engine, ());
        let text = r#"(module (func (export "spin") (loop $l (br $l))) (func (export "f") (result i32) (i32.const 1)))"#;
        let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
        let spin = instance.get_typed_func::<(), ()>(&mut store, "spin")?;
        let handle = store.interrupt_handle();
        let stopper = std::thread::spawn(move || handle.interrupt());
        assert_eq!(spin.call(&mut store, ()).expect_err("it spins").trap(), Some(Trap::Interrupt));
        stopper.join().expect("it does not panic");
        assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "f")?.call(&mut store, ())?, 1);
    }
    Ok(())
}

#[test]
fn text_is_no_binary_module() -> Outcome {
    let engine = Engine::default();
    for bytes in [&b"(module)"[..], b"", b";; \0asm"] {
        let error = Module::from_binary(&engine, bytes).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Module, "{error}");
    }
    assert!(Module::from_binary(&engine, b"\0asm").is_err());
    assert_eq!(
        Module::from_binary(&engine, &wat::parse_str(r#"(module (func (export "f")))"#)?)?.exports().len(),
        1
    );
    Ok(())
}

#[test]
fn a_module_shows_its_machine_code_and_where_it_lies() -> Outcome {
    let text = r#"(module (func $f (export "f") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
        (func (export "g") (param i32) (result i32) (call $f (call $f (local.get 0)))))"#;
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let module = Module::new(&Engine::new(Config::new().strategy(strategy))?, text)?;
        assert!(module.text().is_empty() && module.image_range().is_empty());
        module.compile_all()?;
        let code = module.text();
        assert_eq!(code.len(), module.code_bytes());
        assert!(!code.is_empty());
        let range = module.image_range();
        assert!(range.end.addr() - range.start.addr() >= code.len());
        // Another module has its own.
        let other = Module::new(module.engine(), text)?;
        other.compile_all()?;
        assert!(other.image_range() != range);
    }
    Ok(())
}
