//! What components import and export besides functions of their own: core modules, and imports that are exported again.

use std::sync::{Arc, Mutex};

use wprof::component::{Component, Instance, Linker, Resource, ResourceAny, ResourceType, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A component that exports what it imports: functions of several shapes, and those of an instance.
const AGAIN: &str = r#"(component
    (import "add" (func $add (param "a" u32) (param "b" u32) (result u32)))
    (import "turn" (func $turn (param "text" string) (result string)))
    (import "sum" (func $sum (param "all" (list u64)) (result (tuple u64 u32))))
    (import "many" (func $many
        (param "a" string) (param "b" string) (param "c" string) (param "d" string) (param "e" string)
        (param "f" string) (param "g" string) (param "h" string) (param "i" string) (result (list string))))
    (import "fail" (func $fail))
    (import "test:things/all" (instance $all
        (export "thing" (type $thing (sub resource)))
        (export "make" (func (param "n" u32) (result (own $thing))))
        (export "look" (func (param "thing" (borrow $thing)) (result u32)))))
    (export "add" (func $add))
    (export "again" (func $add))
    (export "turn" (func $turn))
    (export "sum" (func $sum))
    (export "many" (func $many))
    (export "fail" (func $fail))
    (export "test:things/all" (instance $all)))"#;

struct Thing(u32);

fn linker(engine: &Engine) -> Result<Linker<component::ResourceTable>> {
    let mut linker = Linker::<component::ResourceTable>::new(engine);
    let mut root = linker.root();
    root.func_wrap("add", |_, (a, b): (u32, u32)| Ok((a + b,)))?;
    root.func_wrap("turn", |_, (text,): (String,)| Ok((text.chars().rev().collect::<String>(),)))?;
    root.func_new("sum", |_, params, results| {
        let [Val::List(all)] = params else { unreachable!("the import's type") };
        let sum = all.iter().map(|value| if let Val::U64(value) = value { *value } else { 0 }).sum();
        results[0] = Val::Tuple(vec![Val::U64(sum), Val::U32(all.len() as u32)]);
        Ok(())
    })?;
    root.func_new("many", |_, params, results| {
        results[0] = Val::List(params.iter().rev().cloned().collect());
        Ok(())
    })?;
    root.func_wrap("fail", |_, (): ()| Err::<(), Error>(Error::msg("on purpose")))?;
    let mut all = linker.instance("test:things/all")?;
    all.resource("thing", ResourceType::host::<Thing>(), |mut store, rep| {
        store.data_mut().delete(Resource::<Thing>::new_own(rep)).map(drop).map_err(Error::msg)
    })?;
    all.func_wrap("make", |mut store: StoreContextMut<'_, component::ResourceTable>, (n,): (u32,)| {
        Ok((store.data_mut().push(Thing(n)).map_err(Error::msg)?,))
    })?;
    all.func_wrap(
        "look",
        |store: StoreContextMut<'_, component::ResourceTable>, (thing,): (Resource<Thing>,)| {
            Ok((store.data().get(&thing).map_err(Error::msg)?.0,))
        },
    )?;
    Ok(linker)
}

fn call<T: 'static>(store: &mut Store<T>, instance: &Instance, name: &str, params: &[Val]) -> Result<Val> {
    let func = instance.get_func(name).expect("it is exported");
    let mut results = vec![Val::Bool(false); usize::from(func.ty().result().is_some())];
    func.call(store, params, &mut results)?;
    Ok(results.pop().unwrap_or(Val::Bool(true)))
}

#[test]
fn imports_that_are_exported_again_are_called() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, AGAIN)?;
    let mut store = Store::new(&engine, component::ResourceTable::new());
    let instance = linker(&engine)?.instantiate(&mut store, &component)?;
    for name in ["add", "again"] {
        assert_eq!(call(&mut store, &instance, name, &[Val::U32(40), Val::U32(2)])?, Val::U32(42));
    }
    let text = |text: &str| Val::String(text.to_owned());
    assert_eq!(call(&mut store, &instance, "turn", &[text("añb")])?, text("bña"));
    assert!(call(&mut store, &instance, "fail", &[]).unwrap_err().to_string().contains("on purpose"));
    // A failure ends nothing, since it is the host's: there is no state of a component's that it could spoil.
    let all: Vec<Val> = (0..20_000).map(Val::U64).collect();
    let sum = Val::Tuple(vec![Val::U64(199_990_000), Val::U32(20_000)]);
    for _ in 0..50 {
        assert_eq!(call(&mut store, &instance, "sum", &[Val::List(all.clone())])?, sum);
    }
    let many: Vec<Val> = "abcdefghi".chars().map(|c| text(&c.to_string().repeat(9))).collect();
    let turned = Val::List(many.iter().rev().cloned().collect());
    assert_eq!(call(&mut store, &instance, "many", &many)?, turned);
    let typed = instance.get_typed_func::<(String,), (String,)>("turn")?;
    assert_eq!(typed.call(&mut store, ("abc".to_owned(),))?, ("cba".to_owned(),));
    assert!(instance.get_typed_func::<(u32,), (String,)>("turn").is_err());
    Ok(())
}

#[test]
fn resources_pass_through_imports_that_are_exported_again() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, AGAIN)?;
    let mut store = Store::new(&engine, component::ResourceTable::new());
    let instance = linker(&engine)?.instantiate(&mut store, &component)?;
    let make = instance.get_typed_func::<(u32,), (ResourceAny,)>("test:things/all#make")?;
    let look = instance.get_typed_func::<(ResourceAny,), (u32,)>("test:things/all#look")?;
    for n in 0..300 {
        let (thing,) = make.call(&mut store, (n,))?;
        assert_eq!(look.call(&mut store, (thing.clone(),))?, (n,));
        assert_eq!(look.call(&mut store, (thing.clone(),))?, (n,));
        thing.resource_drop(&mut store)?;
        assert!(look.call(&mut store, (thing,)).is_err(), "it is dropped");
    }
    Ok(())
}

/// A host function that calls an export of the same component, which is an import: nothing of the component runs.
#[test]
fn imports_that_are_exported_again_may_call_each_other() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(
        &engine,
        r#"(component
        (import "down" (func $down (param "n" string) (result string)))
        (export "down" (func $down)))"#,
    )?;
    let itself: Arc<Mutex<Option<Instance>>> = Arc::default();
    let mut linker = Linker::new(&engine);
    let of_func = itself.clone();
    linker.root().func_wrap("down", move |mut store, (text,): (String,)| {
        let mut rest = text.chars();
        let Some(first) = rest.next() else { return Ok((String::new(),)) };
        let instance = of_func.lock().unwrap().clone().expect("set below");
        let down = instance.get_typed_func::<(String,), (String,)>("down")?;
        let (inner,) = down.call(&mut store, (rest.as_str().to_owned(),))?;
        Ok((format!("{first}({inner})"),))
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    *itself.lock().unwrap() = Some(instance.clone());
    let params = [Val::String("abcd".to_owned())];
    assert_eq!(call(&mut store, &instance, "down", &params)?, Val::String("a(b(c(d())))".to_owned()));
    Ok(())
}

/// A component that gives an imported module a function, and exports one of its functions.
const WITH_MODULE: &str = r#"(component
    (import "base" (func $base (result u32)))
    (import "code" (core module $code
        (import "host" "base" (func (result i32)))
        (import "host" "other" (func (param i64)))
        (export "memory" (memory 1))
        (export "run" (func (param i32) (result i32)))))
    (core func $lowered (canon lower (func $base)))
    (core module $others (func (export "other") (param i64)))
    (core instance $others (instantiate $others))
    (core instance $i (instantiate $code (with "host" (instance
        (export "base" (func $lowered))
        (export "other" (func $others "other"))))))
    (export "code" (core module $code))
    (func (export "run") (param "x" u32) (result u32) (canon lift (core func $i "run"))))"#;

fn with_module(text: &str) -> Result<Val> {
    let engine = Engine::default();
    let component = Component::new(&engine, WITH_MODULE)?;
    let module = Module::new(&engine, text)?;
    let mut linker = Linker::new(&engine);
    linker.root().func_wrap("base", |_, (): ()| Ok((40_u32,)))?;
    linker.root().module("code", &module)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    let exported = instance.get_module("code").expect("it is exported");
    assert_eq!(exported.hash(), module.hash());
    assert!(instance.get_module("run").is_none() && instance.get_func("code").is_none());
    call(&mut store, &instance, "run", &[Val::U32(2)])
}

#[test]
fn core_modules_are_imported() -> Outcome {
    // It imports less than it may, and exports more than it must.
    let fits = r#"(module (import "host" "base" (func $base (result i32))) (memory (export "memory") 2)
        (global (export "more") i32 (i32.const 0))
        (func (export "run") (param i32) (result i32) (i32.add (call $base) (local.get 0))))"#;
    assert_eq!(with_module(fits)?, Val::U32(42));
    let run = r#"(func (export "run") (param i32) (result i32) (local.get 0))"#;
    let memory = r#"(memory (export "memory") 1)"#;
    for (module, why) in [
        (format!("(module {run})"), "its export `memory` must be memory 1, found nothing"),
        (format!(r#"(module {run} (memory (export "memory") 0))"#), "found memory 0"),
        (format!(r#"(module {memory} (func (export "run")))"#), "its export `run` must be"),
        (
            format!(r#"(module (import "host" "third" (func)) {memory} {run})"#),
            "its import `host::third` is not given to it",
        ),
        (
            format!(r#"(module (import "host" "base" (func)) {memory} {run})"#),
            "its import `host::base` must be function () -> (), found function () -> (i32)",
        ),
    ] {
        let error = with_module(&module).unwrap_err().to_string();
        assert!(error.contains("module `code` does not fit its import") && error.contains(why), "{error}");
    }
    Ok(())
}

/// What is resolved once is instantiated in several stores, with resources of their own.
#[test]
fn imports_are_resolved_once_for_many_instances() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, AGAIN)?;
    let mut linker = linker(&engine)?;
    let pre = linker.instantiate_pre(&component)?;
    linker.allow_shadowing(true).root().func_wrap("add", |_, (_, _): (u32, u32)| Ok((0_u32,)))?;
    for n in [1, 2] {
        let mut store = Store::new(&engine, component::ResourceTable::new());
        let instances = [pre.instantiate(&mut store)?, pre.clone().instantiate(&mut store)?];
        for instance in &instances {
            assert_eq!(call(&mut store, instance, "add", &[Val::U32(40), Val::U32(n)])?, Val::U32(40 + n));
            let thing = call(&mut store, instance, "test:things/all#make", &[Val::U32(n)])?;
            assert_eq!(call(&mut store, instance, "test:things/all#look", &[thing])?, Val::U32(n));
        }
    }
    let error = Linker::<()>::new(&engine).instantiate_pre(&component).expect_err("nothing is defined");
    assert!(error.to_string().contains("unknown imports"), "{error}");
    assert_eq!(pre.component().imports().count(), component.imports().count());
    Ok(())
}

#[test]
fn a_core_module_that_is_missing_is_named() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, WITH_MODULE)?;
    let mut linker = Linker::<()>::new(&engine);
    let missing = linker.instantiate(Store::new(&engine, ()), &component).unwrap_err().to_string();
    assert!(missing.contains("`code` (core module)") && missing.contains("`base`"), "{missing}");
    let no_stub = linker.define_unknown_imports_as_traps(&component).unwrap_err().to_string();
    assert!(no_stub.contains("`code` is a core module"), "{no_stub}");
    Ok(())
}

/// While the host is called, no instance of the component is entered: also not one that is not active itself.
#[test]
fn a_host_function_enters_no_part_of_its_caller() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(
        &engine,
        r#"(component
        (import "host" (func $host))
        (component $other
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func (export "f") (canon lift (core func $i "f"))))
        (instance $other (instantiate $other))
        (core func $lowered (canon lower (func $host)))
        (core module $m (import "" "host" (func $host)) (func (export "run") (call $host)))
        (core instance $i (instantiate $m (with "" (instance (export "host" (func $lowered))))))
        (func (export "run") (canon lift (core func $i "run")))
        (export "other" (func $other "f")))"#,
    )?;
    let itself: Arc<Mutex<Option<Instance>>> = Arc::default();
    let of_func = itself.clone();
    let mut linker = Linker::new(&engine);
    linker.root().func_new("host", move |mut store, _, _| {
        let instance = of_func.lock().unwrap().clone().expect("set below");
        instance.get_func("other").expect("it is exported").call(&mut store, &[], &mut [])
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    *itself.lock().unwrap() = Some(instance.clone());
    call(&mut store, &instance, "other", &[])?;
    let error = call(&mut store, &instance, "run", &[]).unwrap_err().to_string();
    assert!(error.contains("cannot enter component instance"), "{error}");
    // The trap has left the whole component in a state that nobody knows.
    assert!(call(&mut store, &instance, "other", &[]).is_err());
    Ok(())
}

/// The import of one component is the export of another one, by a function of the host between them.
#[test]
fn a_component_calls_another_one_through_the_host() -> Outcome {
    const TYPES: &str = r#"(type $item' (record (field "name" string) (field "cents" u32)))"#;
    let engine = Engine::default();
    let prices = Component::new(
        &engine,
        format!(
            r#"(component {TYPES}
        (export "item" (type $item (eq $item')))
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            ;; What it is given, for a cent a letter.
            (func (export "find") (param i32 i32) (result i32)
                (i32.store (i32.const 16) (i32.const 1))
                (i32.store (i32.const 20) (local.get 0))
                (i32.store (i32.const 24) (local.get 1))
                (i32.store (i32.const 28) (local.get 1))
                (i32.const 16)))
        (core instance $i (instantiate $m))
        (func (export "find") (param "name" string) (result (option $item))
            (canon lift (core func $i "find") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#
        )
        .replace(r#"(export "item" (type $item (eq $item')))"#, r#"(export $item "item" (type $item'))"#),
    )?;
    let till = Component::new(
        &engine,
        format!(
            r#"(component
        (import "shop" (instance $shop {TYPES}
            (export "item" (type $item (eq $item')))
            (export "find" (func (param "name" string) (result (option $item))))))
        (core module $libc
            (memory (export "memory") 1)
            (data (i32.const 8) "bread")
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 2048)))
        (core instance $libc (instantiate $libc))
        (core func $find (canon lower (func $shop "find")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core module $m
            (import "c" "memory" (memory 1))
            (import "shop" "find" (func $find (param i32 i32 i32)))
            (func (export "price") (result i32)
                (call $find (i32.const 8) (i32.const 5) (i32.const 64))
                (i32.load (i32.const 76))))
        (core instance $m (instantiate $m
            (with "c" (instance $libc)) (with "shop" (instance (export "find" (func $find))))))
        (func (export "price") (result u32) (canon lift (core func $m "price"))))"#
        ),
    )?;
    let mut store = Store::new(&engine, ());
    let prices = Linker::new(&engine).instantiate(&mut store, &prices)?;
    let find = prices.get_func("find").ok_or("it is exported")?;
    let mut linker = Linker::new(&engine);
    linker
        .instance("shop")?
        .func_new("find", move |store, params, results| find.call(store, params, results))?;
    let till = linker.instantiate(&mut store, &till)?;
    assert_eq!(till.get_typed_func::<(), (u32,)>("price")?.call(&mut store, ())?, (5,));
    Ok(())
}

/// Of several compatible definitions none but the one with the highest version is taken, in whatever order they were made.
#[test]
fn an_import_gets_the_highest_compatible_version() -> Outcome {
    let engine = Engine::default();
    let text = |version: &str| {
        format!(
            r#"(component
              (import "test:many/which@{version}" (instance $i (export "version" (func (result u32)))))
              (export "test:many/which@{version}" (instance $i)))"#
        )
    };
    let mut defined: Vec<u32> = (0..40).chain(100..110).collect();
    for _ in 0..2 {
        let mut linker = Linker::new(&engine);
        for &number in &defined {
            let mut instance = linker.instance(&format!("test:many/which@0.2.{number}"))?;
            instance.func_wrap("version", move |_, (): ()| Ok((number,)))?;
        }
        linker.instance("test:many/which@0.3.200")?.func_wrap("version", |_, (): ()| Ok((200_u32,)))?;
        for (wanted, found) in [("0.2.50", 109), ("0.2.110", 109), ("0.2.7", 7), ("0.3.0", 200)] {
            let component = Component::new(&engine, text(wanted))?;
            let mut store = Store::new(&engine, ());
            let instance = linker.instantiate(&mut store, &component)?;
            let name = format!("test:many/which@{wanted}#version");
            assert_eq!(call(&mut store, &instance, &name, &[])?, Val::U32(found), "{wanted}");
        }
        defined.reverse();
    }
    Ok(())
}
