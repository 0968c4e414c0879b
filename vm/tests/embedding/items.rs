//! Memories, globals and tables, as the host sees them.

use wprof::*;

use super::Outcome;

fn store() -> Store<()> {
    Store::new(&Engine::default(), ())
}

fn instance(store: &mut Store<()>, text: &str) -> Result<Instance> {
    let module = Module::new(store.engine(), text)?;
    Instance::new(store, &module, &[])
}

#[test]
fn a_memory_is_read_and_written_within_its_bounds() -> Outcome {
    let mut store = store();
    let memory = Memory::new(&mut store, MemoryType::new(1, Some(1)))?;
    memory.write(&mut store, 65532, b"abcd")?;
    let mut four = [0; 4];
    memory.read(&store, 65532, &mut four)?;
    assert_eq!(four, *b"abcd");
    assert!(memory.write(&mut store, 65533, b"efgh").is_err());
    assert!(memory.read(&store, 65533, &mut four).is_err());
    assert!(memory.read(&store, usize::MAX, &mut four).is_err());
    assert!(memory.read(&store, 65536, &mut []).is_ok());
    memory.read(&store, 65532, &mut four)?;
    assert_eq!(four, *b"abcd", "what does not fit is not written at all");
    Ok(())
}

#[test]
fn a_memory_grows_up_to_its_maximum_and_keeps_its_bytes() -> Outcome {
    let mut store = store();
    let memory = Memory::new(&mut store, MemoryType::new(1, Some(3)))?;
    memory.data_mut(&mut store)[100] = 7;
    assert_eq!(memory.grow(&mut store, 0)?, 1);
    assert_eq!(memory.grow(&mut store, 2)?, 1);
    assert_eq!((memory.size(&store), memory.data_size(&store)), (3, 3 << 16));
    let error = memory.grow(&mut store, 1).expect_err("3 pages are the maximum");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!((memory.data(&store)[100], memory.data(&store)[(3 << 16) - 1]), (7, 0));
    assert_eq!(memory.ty(&store), MemoryType::new(3, Some(3)));
    Ok(())
}

#[test]
fn a_memory_of_64_bits_is_as_any_other() -> Outcome {
    let mut store = store();
    let memory = Memory::new(&mut store, MemoryType::new64(1, Some(1 << 20)))?;
    assert!(memory.ty(&store).is_64);
    memory.write(&mut store, 10, &[1])?;
    assert_eq!(memory.grow(&mut store, 1)?, 1);
    assert_eq!(memory.data(&store)[10], 1);
    Ok(())
}

#[test]
fn wasm_and_host_see_each_others_bytes() -> Outcome {
    let mut store = store();
    let text = r#"(module (memory (export "m") 1)
        (func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0)))
        (func (export "set") (param i32 i32) (i32.store8 (local.get 0) (local.get 1))))"#;
    let instance = instance(&mut store, text)?;
    let memory = instance.get_memory(&mut store, "m").ok_or("exported")?;
    memory.data_mut(&mut store)[5] = 200;
    assert_eq!(instance.get_typed_func::<i32, i32>(&mut store, "get")?.call(&mut store, 5)?, 200);
    instance.get_typed_func::<(i32, i32), ()>(&mut store, "set")?.call(&mut store, (6, 99))?;
    assert_eq!(memory.data(&store)[6], 99);
    Ok(())
}

#[test]
fn bytes_and_data_of_a_store_are_used_at_once() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, vec![1u8, 2, 3]);
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    let (bytes, data) = memory.data_and_store_mut(&mut store);
    bytes[..3].copy_from_slice(data);
    data.push(bytes[0]);
    assert_eq!(memory.data(&store)[..4], [1, 2, 3, 0]);
    assert_eq!(store.data(), &[1, 2, 3, 1]);
    Ok(())
}

#[test]
fn a_shared_memory_has_no_slice() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let shared = SharedMemory::new(&engine, MemoryType::shared(1, 2))?;
    let memory = Memory::from_shared(&mut store, &shared)?;
    shared.write(0, &[1, 2])?;
    let mut two = [0; 2];
    memory.read(&store, 0, &mut two)?;
    assert_eq!(two, [1, 2]);
    assert!(memory.shared(&store).is_some());
    let sliced = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.data(&store).len()));
    assert!(sliced.is_err());
    Ok(())
}

#[test]
fn a_memory_whose_minimum_is_above_its_maximum_is_refused() {
    let mut store = store();
    assert!(Memory::new(&mut store, MemoryType::new(1 << 16, None)).is_ok(), "4 GiB are reserved, not used");
    let text = "(module (memory 3 2))";
    assert!(Module::new(store.engine(), text).is_err());
}

#[test]
fn globals_of_all_types_keep_their_values() -> Outcome {
    let mut store = store();
    let func = Func::wrap(&mut store, || 5i32);
    let external = ExternRef::new("x");
    let values: [Val; 7] = [
        Val::I32(-1),
        Val::I64(i64::MIN),
        Val::F32(f32::NAN.to_bits() | 1),
        Val::F64(1.5f64.to_bits()),
        Val::V128(u128::MAX - 1),
        Val::FuncRef(Some(func)),
        Val::ExternRef(Some(external)),
    ];
    for value in values {
        let ty = value.ty();
        let global = Global::new(&mut store, GlobalType::new(ty.clone(), true), Val::default_for(&ty))?;
        assert_eq!(format!("{:?}", global.get(&mut store)), format!("{:?}", Val::default_for(&ty)));
        global.set(&mut store, value.clone())?;
        assert_eq!(format!("{:?}", global.get(&mut store)), format!("{value:?}"), "{ty}");
    }
    Ok(())
}

#[test]
fn an_immutable_global_stays() -> Outcome {
    let mut store = store();
    let global = Global::new(&mut store, GlobalType::new(ValType::I32, false), Val::I32(5))?;
    let error = global.set(&mut store, Val::I32(6)).expect_err("it is immutable");
    assert_eq!(error.kind(), ErrorKind::Type);
    assert_eq!(error.to_string(), "an immutable global cannot be set");
    assert_eq!(global.get(&mut store).i32(), Some(5));
    assert!(!global.ty(&store).mutable);
    Ok(())
}

#[test]
fn a_global_takes_values_of_its_type_only() -> Outcome {
    let mut store = store();
    let ty = GlobalType::new(ValType::I64, true);
    assert_eq!(Global::new(&mut store, ty.clone(), Val::I32(1)).expect_err("i32").kind(), ErrorKind::Type);
    let global = Global::new(&mut store, ty, Val::I64(1))?;
    assert_eq!(global.set(&mut store, Val::F64(0)).expect_err("f64").kind(), ErrorKind::Type);
    assert_eq!(global.get(&mut store).i64(), Some(1));
    Ok(())
}

#[test]
fn two_instances_share_a_global() -> Outcome {
    let mut store = store();
    let global = Global::new(&mut store, GlobalType::new(ValType::I32, true), Val::I32(0))?;
    let text = r#"(module (import "" "" (global $g (mut i32)))
        (func (export "add") (global.set $g (i32.add (global.get $g) (i32.const 1)))))"#;
    let module = Module::new(store.engine(), text)?;
    for expected in 1..=2 {
        let instance = Instance::new(&mut store, &module, &[global.into()])?;
        instance.get_typed_func::<(), ()>(&mut store, "add")?.call(&mut store, ())?;
        assert_eq!(global.get(&mut store).i32(), Some(expected));
    }
    Ok(())
}

#[test]
fn a_table_is_read_and_written_within_its_bounds() -> Outcome {
    let mut store = store();
    let table = Table::new(&mut store, TableType::new(RefType::FUNCREF, 2, None), Ref::Func(None))?;
    let func = Func::wrap(&mut store, || 7i32);
    table.set(&mut store, 1, Ref::Func(Some(func)))?;
    assert!(matches!(table.get(&mut store, 0), Some(Ref::Func(None))));
    assert!(matches!(table.get(&mut store, 1), Some(Ref::Func(Some(found))) if found == func));
    assert!(table.get(&mut store, 2).is_none() && table.get(&mut store, u64::MAX).is_none());
    let error = table.set(&mut store, 2, Ref::Func(None)).expect_err("beyond the end");
    assert_eq!(error.to_string(), "element 2 of a table of 2");
    Ok(())
}

#[test]
fn a_table_grows_with_a_value_up_to_its_maximum() -> Outcome {
    let mut store = store();
    let table = Table::new(&mut store, TableType::new(RefType::EXTERNREF, 1, Some(3)), Ref::Extern(None))?;
    let value = ExternRef::new(5u8);
    assert_eq!(table.grow(&mut store, 2, Ref::Extern(Some(value.clone())))?, 1);
    assert_eq!(table.grow(&mut store, 1, Ref::Extern(None)).expect_err("3 at most").kind(), ErrorKind::Limit);
    assert_eq!(table.size(&store), 3);
    let Some(Ref::Extern(Some(found))) = table.get(&mut store, 2) else { return Err("it is new".into()) };
    assert!(ExternRef::ptr_eq(&found, &value));
    assert!(matches!(table.get(&mut store, 0), Some(Ref::Extern(None))));
    assert_eq!(table.ty(&store), TableType::new(RefType::EXTERNREF, 3, Some(3)));
    Ok(())
}

#[test]
fn a_table_takes_elements_of_its_type_only() -> Outcome {
    let mut store = store();
    let ty = TableType::new(RefType::FUNCREF, 1, None);
    let external = || Ref::Extern(Some(ExternRef::new(1)));
    assert_eq!(Table::new(&mut store, ty.clone(), external()).expect_err("extern").kind(), ErrorKind::Type);
    let table = Table::new(&mut store, ty, Ref::Func(None))?;
    assert_eq!(table.set(&mut store, 0, external()).expect_err("extern").kind(), ErrorKind::Type);
    assert_eq!(table.grow(&mut store, 1, external()).expect_err("extern").kind(), ErrorKind::Type);
    assert_eq!(table.size(&store), 1);
    Ok(())
}

#[test]
fn wasm_calls_what_the_host_puts_into_its_table() -> Outcome {
    let mut store = store();
    let text = r#"(module (type $f (func (param i32) (result i32))) (table (export "t") 1 funcref)
        (func (export "run") (param i32) (result i32) (call_indirect (type $f) (local.get 0) (i32.const 0))))"#;
    let instance = instance(&mut store, text)?;
    let (table, run) = (
        instance.get_table(&mut store, "t").ok_or("exported")?,
        instance.get_typed_func::<i32, i32>(&mut store, "run")?,
    );
    assert_eq!(run.call(&mut store, 1).expect_err("null").trap(), Some(Trap::IndirectCallToNull));
    let double = Func::wrap(&mut store, |x: i32| 2 * x);
    table.set(&mut store, 0, Ref::Func(Some(double)))?;
    assert_eq!(run.call(&mut store, 21)?, 42);
    let other = Func::wrap(&mut store, |x: i64| x);
    table.set(&mut store, 0, Ref::Func(Some(other)))?;
    assert_eq!(run.call(&mut store, 1).expect_err("another type").trap(), Some(Trap::BadSignature));
    Ok(())
}

#[test]
fn exports_are_found_by_name_and_kind() -> Outcome {
    let mut store = store();
    let text = r#"(module (memory (export "m") 1) (global (export "g") i32 (i32.const 1)) (table (export "t") 1 funcref)
        (tag (export "e")) (func (export "f")))"#;
    let instance = instance(&mut store, text)?;
    let names: Vec<String> = instance.exports(&store).map(|export| export.name().to_owned()).collect();
    assert_eq!(names, ["m", "g", "t", "e", "f"]);
    assert!(instance.get_memory(&mut store, "m").is_some() && instance.get_memory(&mut store, "g").is_none());
    assert!(instance.get_global(&mut store, "g").is_some() && instance.get_global(&mut store, "t").is_none());
    assert!(instance.get_table(&mut store, "t").is_some() && instance.get_table(&mut store, "e").is_none());
    assert!(instance.get_tag(&mut store, "e").is_some() && instance.get_tag(&mut store, "f").is_none());
    assert!(instance.get_func(&mut store, "f").is_some() && instance.get_func(&mut store, "m").is_none());
    assert!(instance.get_export(&mut store, "nothing").is_none());
    Ok(())
}

#[test]
fn the_same_export_is_the_same_handle() -> Outcome {
    let mut store = store();
    let text = r#"(module (memory (export "m") 1) (export "again" (memory 0)) (func $f (export "f")) (export "g" (func $f)))"#;
    let instance = instance(&mut store, text)?;
    assert_eq!(instance.get_memory(&mut store, "m"), instance.get_memory(&mut store, "again"));
    assert_eq!(instance.get_func(&mut store, "f"), instance.get_func(&mut store, "g"));
    assert_ne!(instance.get_func(&mut store, "f"), Some(Func::wrap(&mut store, || ())));
    Ok(())
}

#[test]
fn a_handle_of_another_store_is_noticed() {
    let (mut one, mut two) = (store(), store());
    let memory = Memory::new(&mut one, MemoryType::new(1, None)).expect("a memory");
    let size = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.size(&two)));
    assert!(size.is_err());
    let global = Global::new(&mut two, GlobalType::new(ValType::I32, true), Val::I32(1)).expect("a global");
    let set = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| global.set(&mut one, Val::I32(2))));
    assert!(set.is_err());
    assert_eq!(global.get(&mut two).i32(), Some(1));
}

fn numbers(store: &mut Store<()>, table: Table) -> Vec<Option<u32>> {
    let of = |store: &mut Store<()>, i| match table.get(&mut *store, i) {
        Some(Ref::Extern(Some(value))) => value.downcast_ref::<u32>().copied(),
        _ => None,
    };
    (0..table.size(&*store)).map(|i| of(store, i)).collect()
}

#[test]
fn ranges_of_tables_are_filled_and_copied_or_left_alone() -> Outcome {
    let mut store = store();
    let one = |value: u32| Ref::Extern(Some(ExternRef::new(value)));
    let ty = TableType::new(RefType::EXTERNREF, 4, None);
    let table = Table::new(&mut store, ty.clone(), Ref::Extern(None))?;
    let other = Table::new(&mut store, ty, one(9))?;
    table.fill(&mut store, 1, one(5), 2)?;
    assert_eq!(numbers(&mut store, table), [None, Some(5), Some(5), None]);
    Table::copy(&mut store, &table, 3, &other, 0, 1)?;
    Table::copy(&mut store, &table, 0, &table, 1, 3)?;
    assert_eq!(numbers(&mut store, table), [Some(5), Some(5), Some(9), Some(9)]);
    table.fill(&mut store, 4, one(1), 0)?;
    let before = numbers(&mut store, table);
    assert!(
        table.fill(&mut store, 3, one(1), 2).is_err() && table.fill(&mut store, u64::MAX, one(1), 2).is_err()
    );
    assert!(table.fill(&mut store, 0, Ref::Func(None), 1).is_err(), "another type");
    assert!(Table::copy(&mut store, &table, 0, &other, 3, 2).is_err());
    let funcs = TableType::new(RefType::FUNCREF, 4, None);
    let funcs = Table::new(&mut store, funcs, Ref::Func(None))?;
    assert!(Table::copy(&mut store, &table, 0, &funcs, 0, 1).is_err(), "another type");
    assert_eq!(numbers(&mut store, table), before);
    Ok(())
}
