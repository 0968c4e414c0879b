//! The embedding API: the guarantees for embedders except those about traps.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn instantiate(wat: &str) -> std::result::Result<(Store<()>, Instance), Error> {
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    Ok((store, instance))
}

#[test]
fn a_function_computes() -> Outcome {
    let (mut store, instance) = instantiate(
        r#"(module (func $fib (export "fib") (param i32) (result i32)
            (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
              (then (local.get 0))
              (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                             (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#,
    )?;
    let fib = instance.get_typed_func::<u32, u32>(&mut store, "fib")?;
    assert_eq!(fib.call(&mut store, 20)?, 6765);
    Ok(())
}

#[test]
fn values_of_all_types_pass_through_wasm_and_host() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module
            (type $t (func (param i32 i64 f32 f64 v128 funcref externref i32 i32 i32 i32)
                           (result i32 i64 f32 f64 v128 funcref externref i32 i32 i32 i32)))
            (import "h" "f" (func $f (type $t)))
            (func (export "run") (type $t)
                (call $f (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
                    (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10))))"#,
    )?;
    let mut store = Store::new(&engine, 0);
    let ty = module.get_export("run").expect("exported");
    let ExternType::Func(ty) = ty else { panic!("a function") };
    let echo = Func::new(&mut store, ty, |mut caller, params, results| {
        *caller.data_mut() += 1;
        results.clone_from_slice(params);
        Ok(())
    });
    let instance = Instance::new(&mut store, &module, &[echo.into()])?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let params = [
        Val::I32(-1),
        Val::I64(i64::MIN),
        Val::from(1.5f32),
        Val::from(-0.0f64),
        Val::V128(u128::MAX - 5),
        Val::FuncRef(Some(run)),
        Val::from(ExternRef::new("text")),
        Val::I32(1),
        Val::I32(2),
        Val::I32(3),
        Val::I32(4),
    ];
    let mut results = vec![Val::I32(0); params.len()];
    run.call(&mut store, &params, &mut results)?;
    assert_eq!(results[1].i64(), Some(i64::MIN));
    assert_eq!(results[2].f32(), Some(1.5));
    assert_eq!(results[3].f64().map(f64::to_bits), Some((-0.0f64).to_bits()));
    assert_eq!(results[4].v128(), Some(u128::MAX - 5));
    let Val::FuncRef(Some(f)) = &results[5] else { panic!("a function") };
    assert_eq!(*f, run);
    let Val::ExternRef(Some(e)) = &results[6] else { panic!("a value") };
    assert_eq!(e.downcast_ref::<&str>(), Some(&"text"));
    assert_eq!(results[10].i32(), Some(4));
    assert_eq!(store.into_data(), 1);
    Ok(())
}

#[test]
fn all_missing_imports_are_listed_at_once() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module (import "a" "f" (func (param i32))) (import "a" "ok" (func)) (import "b" "m" (memory 1)))"#,
    )?;
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.func_wrap("a", "ok", || ())?;
    let error = linker.instantiate(Store::new(&engine, ()), &module).expect_err("missing");
    assert_eq!(error.kind(), ErrorKind::Link);
    let text = error.to_string();
    assert!(text.contains("`a::f` (function (i32) -> ())") && text.contains("`b::m` (memory 1)"), "{text}");
    assert!(!text.contains("ok"), "{text}");
    linker.func_wrap("a", "ok", || ()).expect_err("taken");
    linker.allow_shadowing(true).func_wrap("a", "ok", || ())?;
    Ok(())
}

#[test]
fn an_import_of_another_type_is_refused_with_both_types() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    let check = |store: &mut Store<()>, import: &str| -> Result<Instance> {
        let module = Module::new(&engine, format!("(module (import \"m\" \"x\" {import}))"))?;
        Instance::new(store, &module, &[memory.into()])
    };
    check(&mut store, "(memory 1)")?;
    let error = check(&mut store, "(memory 1 2)").expect_err("no maximum");
    assert_eq!(error.to_string(), "incompatible import type for `m::x`: expected memory 1 2, found memory 1");
    check(&mut store, "(memory 2)").expect_err("too small");
    check(&mut store, "(memory i64 1)").expect_err("other index type");
    check(&mut store, "(func)").expect_err("other kind");
    memory.grow(&mut store, 1)?;
    check(&mut store, "(memory 2)")?;
    Ok(())
}

#[test]
fn instances_call_each_other_and_share_memory_table_and_global() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let a = Module::new(
        &engine,
        r#"(module (memory (export "m") 1) (table (export "t") 2 funcref) (global (export "g") (mut i32) (i32.const 5))
            (func $own (export "own") (result i32) (i32.load (i32.const 0)))
            (elem (i32.const 0) $own))"#,
    )?;
    let a = linker.instantiate(&mut store, &a)?;
    linker.instance(&mut store, "a", a)?;
    let b = Module::new(
        &engine,
        r#"(module (import "a" "m" (memory 1)) (import "a" "t" (table 2 funcref))
            (import "a" "g" (global $g (mut i32))) (import "a" "own" (func $f (result i32)))
            (type $t (func (result i32)))
            (func $mine (result i32) (global.get $g)) (elem (i32.const 1) func $mine)
            (func (export "direct") (result i32) (i32.store (i32.const 0) (i32.const 77)) (call $f))
            (func (export "table") (param i32) (result i32) (call_indirect (type $t) (local.get 0)))
            (func (export "tail") (result i32) (return_call $f)))"#,
    )?;
    let b = linker.instantiate(&mut store, &b)?;
    assert_eq!(b.get_typed_func::<(), i32>(&mut store, "direct")?.call(&mut store, ())?, 77);
    let table = b.get_typed_func::<i32, i32>(&mut store, "table")?;
    assert_eq!(table.call(&mut store, 0)?, 77);
    a.get_global(&mut store, "g").expect("exported").set(&mut store, Val::I32(6))?;
    assert_eq!(table.call(&mut store, 1)?, 6);
    assert_eq!(b.get_typed_func::<(), i32>(&mut store, "tail")?.call(&mut store, ())?, 77);
    // The host can call a function that b put into a's table.
    let Some(Ref::Func(Some(f))) = a.get_table(&mut store, "t").expect("exported").get(&mut store, 1) else {
        panic!("a function")
    };
    assert_eq!(f.typed::<(), i32>(&store)?.call(&mut store, ())?, 6);
    Ok(())
}

#[test]
fn a_memory_grows_under_wasm_and_host_wherever_it_lies() -> Outcome {
    let wat = |index: &str| {
        format!(
            r#"(module (memory (export "m") {index} 1 200)
                (func (export "grow") (param {p}) (result {p}) (memory.grow (local.get 0)))
                (func (export "set") (param {p} i32) (i32.store (local.get 0) (local.get 1)))
                (func (export "get") (param {p}) (result i32) (i32.load (local.get 0)))
                (func (export "both") (param {p}) (result i32)
                    (i32.store ({p}.const 8) (i32.const 4))
                    (drop (memory.grow ({p}.const 50)))
                    (i32.add (i32.load ({p}.const 8)) (i32.load (local.get 0)))))"#,
            p = if index.is_empty() { "i32" } else { index }
        )
    };
    for (index, reservation) in [("", 4u64 << 30), ("", 1 << 17), ("i64", 4 << 30)] {
        let engine = Engine::new(Config::new().memory_reservation(reservation))?;
        let module = Module::new(&engine, wat(index))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let memory = instance.get_memory(&mut store, "m").expect("exported");
        let call = |store: &mut Store<()>, name: &str, address: u64, value: i32| -> Result<Val> {
            let address = if index.is_empty() { Val::I32(address as i32) } else { Val::I64(address as i64) };
            let params = [address, Val::I32(value)];
            let func = instance.get_func(&mut *store, name).expect("exported");
            let ty = func.ty(&*store);
            let mut results = vec![Val::I32(0); ty.results().len()];
            func.call(store, &params[..ty.params().len()], &mut results)?;
            Ok(results.pop().unwrap_or(Val::I32(0)))
        };
        call(&mut store, "set", 65532, 1)?;
        assert_eq!(
            call(&mut store, "get", 65533, 0).expect_err("beyond").trap(),
            Some(Trap::MemoryOutOfBounds)
        );
        call(&mut store, "grow", 2, 0)?;
        call(&mut store, "set", 3 * 65536 - 4, 2)?;
        assert_eq!(memory.grow(&mut store, 3)?, 3);
        assert_eq!(call(&mut store, "get", 65532, 0)?.i32(), Some(1));
        assert_eq!(call(&mut store, "both", 3 * 65536 - 4, 0)?.i32(), Some(6));
        assert_eq!(memory.size(&store), 56);
        memory.grow(&mut store, 145).expect_err("beyond the maximum");
        memory.write(&mut store, 4, b"text")?;
        let mut text = [0; 4];
        memory.read(&store, 4, &mut text)?;
        assert_eq!(&text, b"text");
        memory.read(&store, 56 * 65536 - 3, &mut text).expect_err("beyond the end");
    }
    Ok(())
}

#[test]
fn externrefs_live_as_long_as_something_refers_to_them() -> Outcome {
    use std::sync::Arc;
    let (mut store, instance) = instantiate(
        r#"(module (table (export "t") 4 externref) (global (export "g") (mut externref) (ref.null extern))
            (func (export "keep") (param externref) (table.set (i32.const 1) (local.get 0)) (global.set 0 (local.get 0)))
            (func (export "pass") (param externref) (result externref) (local.get 0)))"#,
    )?;
    let token = Arc::new(());
    let keep = instance.get_typed_func::<Option<ExternRef>, ()>(&mut store, "keep")?;
    keep.call(&mut store, Some(ExternRef::new(token.clone())))?;
    let pass = instance.get_typed_func::<Option<ExternRef>, Option<ExternRef>>(&mut store, "pass")?;
    for i in 0..10_000 {
        let back = pass.call(&mut store, Some(ExternRef::new(i)))?.expect("not null");
        assert_eq!(back.downcast_ref::<i32>(), Some(&i));
    }
    assert!(store.externref_count() < 3000, "garbage is collected: {}", store.externref_count());
    assert!(pass.call(&mut store, None)?.is_none());
    store.gc();
    assert_eq!((store.externref_count(), Arc::strong_count(&token)), (1, 2));
    keep.call(&mut store, None)?;
    store.gc();
    assert_eq!((store.externref_count(), Arc::strong_count(&token)), (0, 1));
    Ok(())
}

#[test]
fn tables_grow_and_are_read_and_written_from_both_sides() -> Outcome {
    let (mut store, instance) = instantiate(
        r#"(module (table (export "t") 1 10 funcref) (type $t (func (result i32)))
            (func (export "call") (param i32) (result i32) (call_indirect (type $t) (local.get 0)))
            (func (export "grow") (param i32) (result i32) (table.grow (ref.null func) (local.get 0))))"#,
    )?;
    let table = instance.get_table(&mut store, "t").expect("exported");
    let seven = Func::wrap(&mut store, || 7);
    assert_eq!(table.grow(&mut store, 3, Ref::Func(Some(seven)))?, 1);
    let call = instance.get_typed_func::<i32, i32>(&mut store, "call")?;
    assert_eq!(call.call(&mut store, 3)?, 7);
    let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow")?;
    assert_eq!((grow.call(&mut store, 6)?, grow.call(&mut store, 1)?), (4, -1));
    assert_eq!(table.size(&store), 10);
    assert!(table.get(&mut store, 9).is_some_and(|r| r.is_null()));
    assert!(table.get(&mut store, 10).is_none());
    table.set(&mut store, 10, Ref::Func(None)).expect_err("beyond the end");
    table.set(&mut store, 0, Ref::Extern(None)).expect_err("another type");
    table.set(&mut store, 0, Ref::Func(Some(seven)))?;
    assert_eq!(call.call(&mut store, 0)?, 7);
    Ok(())
}

#[test]
fn threads_share_a_module_and_compile_it_together() -> Outcome {
    let funcs: String = (0..200)
        .map(|i| format!("(func $f{i} (param i32) (result i32) (i32.add (local.get 0) (i32.const {i})))"))
        .collect();
    let calls: String = (0..200).map(|i| format!("(local.set 0 (call $f{i} (local.get 0)))")).collect();
    let wat =
        format!("(module {funcs} (func (export \"run\") (param i32) (result i32) {calls} (local.get 0)))");
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    std::thread::scope(|scope| {
        for start in 0..8 {
            let (engine, module) = (&engine, &module);
            scope.spawn(move || {
                let mut store = Store::new(engine, ());
                let instance = Instance::new(&mut store, module, &[]).expect("instantiated");
                let run = instance.get_typed_func::<i32, i32>(&mut store, "run").expect("exported");
                for _ in 0..100 {
                    assert_eq!(run.call(&mut store, start).expect("no trap"), start + 199 * 100);
                }
            });
        }
    });
    assert_eq!(module.compiled().0, 201);
    Ok(())
}

#[test]
fn a_store_moves_between_threads() -> Outcome {
    let (mut store, instance) = instantiate(r#"(module (func $f (export "deep") (call $f)))"#)?;
    let deep = instance.get_typed_func::<(), ()>(&mut store, "deep")?;
    for _ in 0..3 {
        assert_eq!(deep.call(&mut store, ()).expect_err("overflow").trap(), Some(Trap::StackOverflow));
        let thread = std::thread::spawn(move || {
            assert_eq!(deep.call(&mut store, ()).expect_err("overflow").trap(), Some(Trap::StackOverflow));
            store
        });
        store = thread.join().expect("no panic");
    }
    Ok(())
}

#[test]
fn an_interrupt_takes_effect_at_polls_and_at_host_calls() -> Outcome {
    let wat = r#"(module (import "h" "f" (func $f)) (func (export "spin") (loop (call $f) (br 0)))
        (func (export "quiet") (loop (br 0))) (func (export "short")))"#;
    for polls in [false, true] {
        let engine = Engine::new(Config::new().interruptible(polls))?;
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let f = Func::wrap(&mut store, || ());
        let instance = Instance::new(&mut store, &module, &[f.into()])?;
        let short = instance.get_typed_func::<(), ()>(&mut store, "short")?;
        for name in if polls { vec!["spin", "quiet"] } else { vec!["spin"] } {
            let func = instance.get_typed_func::<(), ()>(&mut store, name)?;
            for _ in 0..20 {
                let handle = store.interrupt_handle();
                let other = std::thread::spawn(move || handle.interrupt());
                assert_eq!(func.call(&mut store, ()).expect_err("interrupted").trap(), Some(Trap::Interrupt));
                other.join().expect("no panic");
                short.call(&mut store, ())?;
            }
        }
        store.interrupt_handle().interrupt();
        assert_eq!(short.call(&mut store, ()).expect_err("at entry").trap(), Some(Trap::Interrupt));
        short.call(&mut store, ())?;
    }
    Ok(())
}

#[test]
fn limits_are_errors_at_instantiation_and_failures_of_growth() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    store.set_limits(StoreLimits {
        memory_size: 2 << 16,
        table_elements: 5,
        instances: 3,
        ..StoreLimits::default()
    });
    let module = |wat: &str| Module::new(&engine, wat);
    let refused = |store: &mut Store<()>, wat: &str| -> Result<ErrorKind> {
        Ok(Instance::new(store, &module(wat)?, &[]).expect_err("limit").kind())
    };
    assert_eq!(refused(&mut store, "(module (memory 3))")?, ErrorKind::Limit);
    assert_eq!(refused(&mut store, "(module (table 6 funcref))")?, ErrorKind::Limit);
    let grows =
        module(r#"(module (memory 1) (func (export "grow") (result i32) (memory.grow (i32.const 1))))"#)?;
    let instance = Instance::new(&mut store, &grows, &[])?;
    let grow = instance.get_typed_func::<(), i32>(&mut store, "grow")?;
    assert_eq!((grow.call(&mut store, ())?, grow.call(&mut store, ())?), (1, -1));
    assert_eq!(refused(&mut store, "(module)")?, ErrorKind::Limit);
    let engine = Engine::new(Config::new().max_module_size(10))?;
    let error = Module::new(&engine, b"\0asm\x01\0\0\0\0\x02\x01a").expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::Limit);
    Ok(())
}

#[test]
fn a_bad_module_is_an_error_with_an_offset() {
    let engine = Engine::default();
    let error = Module::new(&engine, b"\0asm\x01\0\0\0\x01\x02\x01").expect_err("truncated");
    assert_eq!(error.kind(), ErrorKind::Module);
    assert!(error.to_string().contains("offset 0x"), "{error}");
    let error = Module::new(&engine, "(module (func (result i32)))").expect_err("invalid");
    assert!(error.to_string().contains("type mismatch"), "{error}");
    assert_eq!(Module::new(&engine, "(modul").expect_err("no text").kind(), ErrorKind::Module);
    assert!(Module::validate(&engine, b"\0asm\x01\0\0\0").is_ok());
}

#[test]
#[should_panic(expected = "object used with the wrong store")]
fn a_handle_of_another_store_panics() {
    let (mut store, instance) = instantiate(r#"(module (func (export "f")))"#).expect("instantiated");
    let func = instance.get_typed_func::<(), ()>(&mut store, "f").expect("exported");
    let mut other = Store::new(store.engine(), ());
    let _ = func.call(&mut other, ());
}

#[test]
fn wrong_arguments_and_types_are_errors() -> Outcome {
    let (mut store, instance) =
        instantiate(r#"(module (func (export "f") (param i32) (result i64) (i64.const 1)))"#)?;
    let func = instance.get_func(&mut store, "f").expect("exported");
    let mut result = [Val::I32(0)];
    assert_eq!(func.call(&mut store, &[], &mut result).expect_err("too few").kind(), ErrorKind::Type);
    assert_eq!(func.call(&mut store, &[Val::I64(1)], &mut result).expect_err("i64").kind(), ErrorKind::Type);
    assert_eq!(func.call(&mut store, &[Val::I32(1)], &mut []).expect_err("no room").kind(), ErrorKind::Type);
    func.call(&mut store, &[Val::I32(1)], &mut result)?;
    assert_eq!(result[0].i64(), Some(1));
    let error = instance.get_typed_func::<i32, i32>(&mut store, "f").expect_err("another type");
    assert_eq!(error.to_string(), "function `f`: type mismatch: it is (i32) -> (i64), not (i32) -> (i32)");
    Ok(())
}

#[test]
fn a_host_function_takes_sixteen_parameters_and_returns_a_tuple() -> Outcome {
    let engine = Engine::default();
    let p = "i32 ".repeat(16);
    let gets: String = (0..16).map(|i| format!("(local.get {i})")).collect();
    let module = Module::new(
        &engine,
        format!(
            r#"(module (import "h" "f" (func $f (param {p}) (result i32 f64 i64)))
                (func (export "run") (param {p}) (result i32 f64 i64) (call $f {gets})))"#
        ),
    )?;
    let mut linker: Linker<u32> = Linker::new(&engine);
    #[rustfmt::skip]
    linker.func_wrap("h", "f", |mut caller: Caller<'_, u32>, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32,
        h: i32, i: i32, j: i32, k: i32, l: i32, m: i32, n: i32, o: i32, p: i32| -> Result<(i32, f64, u64)> {
        *caller.data_mut() += 1;
        Ok((a + b + c + d + e + f + g + h + i + j + k + l + m + n + o, f64::from(p), 9))
    })?;
    let mut store = Store::new(&engine, 0);
    let instance = linker.instantiate(&mut store, &module)?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let mut results = vec![Val::I32(0); 3];
    let params: Vec<Val> = (1..=16).map(Val::I32).collect();
    run.call(&mut store, &params, &mut results)?;
    assert_eq!((results[0].i32(), results[1].f64(), results[2].i64()), (Some(120), Some(16.0), Some(9)));
    assert_eq!(*store.data(), 1);
    Ok(())
}

#[test]
fn code_is_freed_with_its_module() -> Outcome {
    let engine = Engine::default();
    // If nothing were freed, the code would take far more than one reservation holds.
    let body: String =
        (0..400).map(|i| format!("(local.set 0 (i32.mul (local.get 0) (i32.const {i})))")).collect();
    let wat = format!("(module (func (export \"f\") (param i32) (result i32) {body} (local.get 0)))");
    for _ in 0..50 {
        let module = Module::new(&engine, &wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let f = instance.get_typed_func::<i32, i32>(&mut store, "f")?;
        assert_eq!(f.call(&mut store, 1)?, 0);
        drop(store);
        assert_eq!(module.compiled().0, 1);
    }
    Ok(())
}

#[test]
fn imports_and_exports_have_types() -> Outcome {
    let module = Module::new(
        &Engine::default(),
        r#"(module $named (import "a" "g" (global (mut f64))) (func $inner (export "f") (param i32)))"#,
    )?;
    let imports: Vec<_> =
        module.imports().map(|i| format!("{}.{} {}", i.module(), i.name(), i.ty())).collect();
    assert_eq!(imports, ["a.g global (mut f64)"]);
    let exports: Vec<_> = module.exports().map(|e| format!("{} {}", e.name(), e.ty())).collect();
    assert_eq!(exports, ["f function (i32) -> ()"]);
    assert_eq!((module.name(), module.func_name(0)), (Some("named"), Some("inner")));
    Ok(())
}

#[test]
fn a_file_of_more_bytes_than_are_allowed_is_not_read() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    // The file is sparse, and would not fit into memory.
    file.as_file().set_len(1 << 42)?;
    let engine = Engine::new(&Config::new())?;
    let error = Module::from_file(&engine, file.path()).expect_err("it is too large");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("Config::max_module_size"), "{error}");
    // A file that is not regular has no size before it is read.
    let mut config = Config::new();
    config.max_module_size(1000);
    let engine = Engine::new(&config)?;
    let error = Module::from_file(&engine, "/dev/zero").expect_err("it has no end");
    assert_eq!(error.kind(), ErrorKind::Limit);
    Ok(())
}

#[test]
fn a_module_tells_what_its_instances_need() -> Outcome {
    let engine = Engine::default();
    let needs = |text: &str| -> Result<_> {
        let needed = Module::new(&engine, text)?.resources_required();
        let memories = (needed.num_memories, needed.max_initial_memory_size);
        Ok((memories, (needed.num_tables, needed.max_initial_table_size)))
    };
    let text = r#"(module (import "m" "m" (memory 99)) (import "m" "t" (table 99 funcref))
        (memory 3 7) (memory 5) (table 20 30 funcref))"#;
    assert_eq!(needs(text)?, ((2, Some(5)), (1, Some(20))));
    assert_eq!(needs("(module)")?, ((0, None), (0, None)));
    Ok(())
}
