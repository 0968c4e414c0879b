//! Host functions of components with a static type, and resources that are Rust values in a table.

use wprof::component::{Component, Linker, Resource, ResourceTable, ResourceType, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a component that passes its arguments to an import of the same type, and returns the import's results.
fn echo(params: &str, results: &str, core: &str, core_result: &str) -> String {
    let gets: String = (0..core.split_whitespace().count()).map(|i| format!("(local.get {i})")).collect();
    let (more, call) = match core_result {
        "i32 at 16" => (" i32", format!("(call $f {gets} (i32.const 16)) (i32.const 16)")),
        _ => ("", format!("(call $f {gets})")),
    };
    let lowered = if core_result == "i32 at 16" { String::new() } else { format!("(result {core_result})") };
    let lifted = if core_result == "i32 at 16" { "i32" } else { core_result };
    format!(
        r#"(component
        (import "f" (func $f {params} (result {results})))
        (core module $libc
            (memory (export "memory") 1)
            (global $next (mut i32) (i32.const 1024))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.get $next)
                (global.set $next (i32.add (global.get $next) (local.get 3)))))
        (core instance $libc (instantiate $libc))
        (core func $lowered (canon lower (func $f)
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core module $m
            (import "h" "f" (func $f (param {core}{more}) {lowered}))
            (func (export "run") (param {core}) (result {lifted}) {call}))
        (core instance $m (instantiate $m (with "h" (instance (export "f" (func $lowered))))))
        (func (export "run") {params} (result {results}) (canon lift (core func $m "run")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")))))"#
    )
}

fn call(text: &str, define: impl FnOnce(&mut Linker<()>) -> Result<()>, params: &[Val]) -> Result<Val> {
    let engine = Engine::default();
    let component = Component::new(&engine, text)?;
    let mut linker = Linker::new(&engine);
    define(&mut linker)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    let mut results = [Val::Bool(false)];
    instance.get_func("run").expect("it is exported").call(&mut store, params, &mut results)?;
    let [result] = results;
    Ok(result)
}

fn text(text: &str) -> Val {
    Val::String(text.to_owned())
}

#[test]
fn closures_take_and_give_rust_values() -> Outcome {
    let sum = echo(r#"(param "a" u8) (param "b" s64)"#, "s64", "i32 i64", "i64");
    let define = |linker: &mut Linker<()>| {
        linker.root().func_wrap("f", |_, (a, b): (u8, i64)| Ok((i64::from(a) + b,)))
    };
    assert_eq!(call(&sum, define, &[Val::U8(200), Val::S64(-300)])?, Val::S64(-100));

    let lists = echo(
        r#"(param "a" (list string)) (param "b" (option f64))"#,
        "(tuple string u32)",
        "i32 i32 i32 f64",
        "i32 at 16",
    );
    let define = |linker: &mut Linker<()>| {
        linker.root().func_wrap("f", |_, (a, b): (Vec<String>, Option<f64>)| {
            Ok(((a.join("+"), b.map_or(0, |b| b as u32)),))
        })
    };
    let list = Val::List(vec![text("x"), text("\u{e9}"), text("")]);
    let some = Val::Option(Some(Box::new(Val::Float64(7.5))));
    assert_eq!(call(&lists, define, &[list, some])?, Val::Tuple(vec![text("x+\u{e9}+"), Val::U32(7)]));

    let results = echo(
        r#"(param "a" (result (list u8) (error char)))"#,
        "(result (list u16) (error bool))",
        "i32 i32 i32",
        "i32 at 16",
    );
    let define = |linker: &mut Linker<()>| {
        linker.root().func_wrap("f", |_, (a,): (std::result::Result<Vec<u8>, char>,)| {
            Ok((a.map(|bytes| bytes.into_iter().map(u16::from).collect::<Vec<_>>()).map_err(|c| c == 'x'),))
        })
    };
    let ok = Val::Result(Ok(Some(Box::new(Val::List(vec![Val::U8(1), Val::U8(255)])))));
    let expected = Val::Result(Ok(Some(Box::new(Val::List(vec![Val::U16(1), Val::U16(255)])))));
    assert_eq!(call(&results, define, &[ok])?, expected);
    let error = Val::Result(Err(Some(Box::new(Val::Char('x')))));
    assert_eq!(call(&results, define, &[error])?, Val::Result(Err(Some(Box::new(Val::Bool(true))))));
    Ok(())
}

#[test]
fn a_closure_of_another_type_is_refused_when_the_component_is_instantiated() {
    let text = echo(r#"(param "a" u8) (param "b" s64)"#, "s64", "i32 i64", "i64");
    let parameters = |linker: &mut Linker<()>| linker.root().func_wrap("f", |_, (_,): (u8,)| Ok((0_i64,)));
    let result = |linker: &mut Linker<()>| linker.root().func_wrap("f", |_, (_, _): (u8, i64)| Ok((0_u64,)));
    let none = |linker: &mut Linker<()>| linker.root().func_wrap("f", |_, (_, _): (u8, i64)| Ok(()));
    type Define = fn(&mut Linker<()>) -> Result<()>;
    for (define, what) in [(parameters as Define, "parameters"), (result, "result"), (none, "result")] {
        let error = call(&text, define, &[Val::U8(0), Val::S64(0)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Link, "{error}");
        let message = error.to_string();
        assert!(message.contains("import `f` has another type") && message.contains(what), "{message}");
    }
}

#[test]
fn resources_are_rust_values_in_a_table() -> Outcome {
    const USES: &str = r#"(component
        (import "counters" (instance $i (export "counter" (type $c (sub resource)))
            (export "new" (func (param "from" u32) (result (own $c))))
            (export "next" (func (param "c" (borrow $c)) (result u32)))))
        (alias export $i "counter" (type $c))
        (core func $new (canon lower (func $i "new")))
        (core func $next (canon lower (func $i "next")))
        (core func $drop (canon resource.drop $c))
        (core module $m
            (import "h" "new" (func $new (param i32) (result i32)))
            (import "h" "next" (func $next (param i32) (result i32)))
            (import "h" "drop" (func $drop (param i32)))
            (func (export "run") (param i32) (result i32) (local i32)
                (local.set 1 (call $new (local.get 0)))
                (drop (call $next (local.get 1)))
                (call $next (local.get 1))
                (call $drop (local.get 1))))
        (core instance $m (instantiate $m (with "h" (instance
            (export "new" (func $new)) (export "next" (func $next)) (export "drop" (func $drop))))))
        (func (export "run") (param "from" u32) (result u32) (canon lift (core func $m "run"))))"#;
    struct Counter(u32);
    let engine = Engine::default();
    let component = Component::new(&engine, USES)?;
    let mut linker: Linker<ResourceTable> = Linker::new(&engine);
    let mut counters = linker.instance("counters")?;
    counters.resource("counter", ResourceType::host::<Counter>(), |mut store, rep| {
        store.data_mut().delete(Resource::<Counter>::new_own(rep))?;
        Ok(())
    })?;
    counters.func_wrap("new", |mut store, (from,): (u32,)| Ok((store.data_mut().push(Counter(from))?,)))?;
    counters.func_wrap("next", |mut store, (counter,): (Resource<Counter>,)| {
        assert!(!counter.owned());
        let counter = store.data_mut().get_mut(&counter)?;
        counter.0 += 1;
        Ok((counter.0,))
    })?;
    let mut store = Store::new(&engine, ResourceTable::new());
    let instance = linker.instantiate(&mut store, &component)?;
    let run = instance.get_func("run").expect("it is exported");
    let mut results = [Val::Bool(false)];
    run.call(&mut store, &[Val::U32(40)], &mut results)?;
    assert_eq!(results, [Val::U32(42)]);
    assert!(store.data().is_empty(), "it was dropped");

    let mut wrong: Linker<ResourceTable> = Linker::new(&engine);
    let mut counters = wrong.instance("counters")?;
    counters.resource("counter", ResourceType::named("another"), |_, _| Ok(()))?;
    counters.func_wrap("new", |mut store, (from,): (u32,)| Ok((store.data_mut().push(Counter(from))?,)))?;
    counters.func_wrap("next", |_, (_,): (Resource<Counter>,)| Ok((0_u32,)))?;
    let error = wrong.instantiate(&mut Store::new(&engine, ResourceTable::new()), &component).unwrap_err();
    assert!(error.to_string().contains("another"), "{error}");
    Ok(())
}

#[test]
fn unknown_imports_give_zeros() -> Outcome {
    let define = |linker: &mut Linker<()>, text: &str| {
        let component = Component::new(&Engine::default(), text)?;
        linker.define_unknown_imports_as_zeros(&component)
    };
    let numbers = echo(r#"(param "a" u8) (param "b" s64)"#, "s64", "i32 i64", "i64");
    assert_eq!(call(&numbers, |l| define(l, &numbers), &[Val::U8(9), Val::S64(7)])?, Val::S64(0));
    let many = echo(
        r#"(param "a" (list string))"#,
        "(tuple string (option u8) (result (list u8) (error char)) (list f64) (tuple bool char))",
        "i32 i32",
        "i32 at 16",
    );
    let result = call(&many, |l| define(l, &many), &[Val::List(vec![text("x")])])?;
    let empty = Val::Result(Ok(Some(Box::new(Val::List(Vec::new())))));
    let pair = Val::Tuple(vec![Val::Bool(false), Val::Char('\0')]);
    assert_eq!(result, Val::Tuple(vec![text(""), Val::Option(None), empty, Val::List(Vec::new()), pair]));
    Ok(())
}

/// The component can drop a resource that an import returns.
#[test]
fn unknown_resources_are_there_and_nobody_else_s() -> Outcome {
    const USES: &str = r#"(component
        (import "counters" (instance $i (export "counter" (type $c (sub resource)))
            (export "new" (func (result (own $c))))
            (export "next" (func (param "c" (borrow $c)) (result u32)))))
        (alias export $i "counter" (type $c))
        (core func $new (canon lower (func $i "new")))
        (core func $next (canon lower (func $i "next")))
        (core func $drop (canon resource.drop $c))
        (core module $m
            (import "h" "new" (func $new (result i32)))
            (import "h" "next" (func $next (param i32) (result i32)))
            (import "h" "drop" (func $drop (param i32)))
            (func (export "run") (result i32) (local i32)
                (local.set 0 (call $new))
                (i32.add (call $next (local.get 0)) (i32.const 5))
                (call $drop (local.get 0))))
        (core instance $m (instantiate $m (with "h" (instance
            (export "new" (func $new)) (export "next" (func $next)) (export "drop" (func $drop))))))
        (func (export "run") (result u32) (canon lift (core func $m "run"))))"#;
    let define = |linker: &mut Linker<()>| {
        linker.define_unknown_imports_as_zeros(&Component::new(&Engine::default(), USES)?)
    };
    assert_eq!(call(USES, define, &[])?, Val::U32(5));
    Ok(())
}
