//! Values of all types of the component model pass through a component and back.

use std::sync::{Arc, Mutex};

use wprof::component::{Component, Linker, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A core module with memory and an allocator that never frees.
const LIBC: &str = r#"(core module $libc
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
                              (i32.sub (i32.const 0) (local.get 2))))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (block $fits
        (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get 3) (i32.const 65536))))))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  (core func $realloc (alias core export $libc "realloc"))"#;

/// Returns a component whose `run` passes its argument to the import `echo`, and returns the result. `flat` are the
/// core values of the argument, `in_memory` says whether the result is in memory.
fn echo(types: &str, ty: &str, flat: &str, in_memory: bool, encoding: &str) -> String {
    let count = flat.split_whitespace().count();
    let args: String = (0..count).map(|index| format!("(local.get {index})")).collect();
    let (import, result, body) = if in_memory {
        (format!("(param {flat} i32)"), "i32", format!("(call $echo {args} (i32.const 16)) (i32.const 16)"))
    } else {
        (format!("(param {flat}) (result {flat})"), flat, format!("(call $echo {args})"))
    };
    format!(
        r#"(component
  {types}
  (import "echo" (func $echo (param "x" {ty}) (result {ty})))
  {LIBC}
  (core func $lowered (canon lower (func $echo) (memory (core memory $libc "memory")) (realloc $realloc) {encoding}))
  (core module $m
    (import "host" "echo" (func $echo {import}))
    (func (export "run") (param {flat}) (result {result}) {body}))
  (core instance $i (instantiate $m (with "host" (instance (export "echo" (func $lowered))))))
  (func (export "run") (param "x" {ty}) (result {ty})
    (canon lift (core func $i "run") (memory (core memory $libc "memory")) (realloc $realloc) {encoding})))"#
    )
}

/// Runs `echo` with values: the host must see each value, and `run` must return it.
fn round_trip(component: &str, values: &[Val]) -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, component)?;
    let mut linker = Linker::new(&engine);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    linker.root().func_new("echo", move |_, params, results| {
        log.lock().unwrap().push(params[0].clone());
        results[0] = params[0].clone();
        Ok(())
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    let run = instance.get_func("run").expect("it is exported");
    for value in values {
        let mut results = [Val::Bool(false)];
        run.call(&mut store, std::slice::from_ref(value), &mut results)
            .map_err(|error| format!("{value:?}: {error}"))?;
        assert_eq!(results[0], *value);
    }
    assert_eq!(*seen.lock().unwrap(), values);
    Ok(())
}

fn simple(ty: &str, flat: &str, values: &[Val]) -> Outcome {
    round_trip(&echo("", ty, flat, false, ""), values)
}

#[test]
fn numbers_and_characters() -> Outcome {
    simple("bool", "i32", &[Val::Bool(true), Val::Bool(false)])?;
    simple("s8", "i32", &[Val::S8(i8::MIN), Val::S8(-1), Val::S8(i8::MAX)])?;
    simple("u8", "i32", &[Val::U8(0), Val::U8(u8::MAX)])?;
    simple("s16", "i32", &[Val::S16(i16::MIN), Val::S16(-1), Val::S16(i16::MAX)])?;
    simple("u16", "i32", &[Val::U16(0), Val::U16(u16::MAX)])?;
    simple("s32", "i32", &[Val::S32(i32::MIN), Val::S32(i32::MAX)])?;
    simple("u32", "i32", &[Val::U32(0), Val::U32(u32::MAX)])?;
    simple("s64", "i64", &[Val::S64(i64::MIN), Val::S64(i64::MAX)])?;
    simple("u64", "i64", &[Val::U64(0), Val::U64(u64::MAX)])?;
    simple("f32", "f32", &[Val::Float32(1.5), Val::Float32(f32::NEG_INFINITY), Val::Float32(-0.0)])?;
    simple("f64", "f64", &[Val::Float64(1e300), Val::Float64(f64::MIN_POSITIVE)])?;
    simple("char", "i32", &[Val::Char('a'), Val::Char('\u{d7ff}'), Val::Char('\u{10ffff}')])
}

#[test]
fn strings_in_all_encodings() -> Outcome {
    let texts = ["", "plain", "Grüße", "日本 \u{1f600}"].map(|text| Val::String(text.to_owned()));
    for encoding in ["string-encoding=utf8", "string-encoding=utf16", "string-encoding=latin1+utf16"] {
        round_trip(&echo("", "string", "i32 i32", true, encoding), &texts)?;
    }
    Ok(())
}

#[test]
fn lists_with_and_without_pointers() -> Outcome {
    let bytes = (0..100_000).map(|i| Val::U8(i as u8)).collect();
    round_trip(&echo("", "(list u8)", "i32 i32", true, ""), &[Val::List(Vec::new()), Val::List(bytes)])?;
    let text = |text: &str| Val::String(text.to_owned());
    let lists = Val::List(vec![Val::List(vec![text("a"), text("")]), Val::List(Vec::new())]);
    round_trip(&echo("", "(list (list string))", "i32 i32", true, ""), &[lists])
}

#[test]
fn records_and_tuples() -> Outcome {
    let types = r#"(type $t' (record (field "a" u8) (field "b" s64) (field "c" string)))
        (import "t" (type $t (eq $t')))"#;
    let field = |name: &str, value| (name.to_owned(), value);
    let record = Val::Record(vec![
        field("a", Val::U8(7)),
        field("b", Val::S64(-8)),
        field("c", Val::String("nine".to_owned())),
    ]);
    round_trip(&echo(types, "$t", "i32 i64 i32 i32", true, ""), &[record])?;
    let tuple = Val::Tuple(vec![Val::Float32(0.5), Val::Tuple(vec![Val::Bool(true), Val::U16(9)])]);
    round_trip(&echo("", "(tuple f32 (tuple bool u16))", "f32 i32 i32", true, ""), &[tuple])
}

#[test]
fn variants_options_and_results() -> Outcome {
    let types = r#"(type $t' (variant (case "none") (case "small" f32) (case "large" u64) (case "text" string)))
        (import "t" (type $t (eq $t')))"#;
    let case = |name: &str, held: Option<Val>| Val::Variant(name.to_owned(), held.map(Box::new));
    let values = [
        case("none", None),
        case("small", Some(Val::Float32(-1.5))),
        case("large", Some(Val::U64(u64::MAX))),
        case("text", Some(Val::String("x".to_owned()))),
    ];
    round_trip(&echo(types, "$t", "i32 i64 i32", true, ""), &values)?;
    let some = |value| Val::Option(Some(Box::new(value)));
    let options = [Val::Option(None), some(Val::Option(None)), some(some(Val::U8(3)))];
    round_trip(&echo("", "(option (option u8))", "i32 i32 i32", true, ""), &options)?;
    let (ok, err) =
        (|value| Val::Result(Ok(Some(Box::new(value)))), |value| Val::Result(Err(Some(Box::new(value)))));
    let results = [ok(Val::Float64(2.5)), err(Val::S8(-3))];
    round_trip(&echo("", "(result f64 (error s8))", "i32 i64", true, ""), &results)?;
    round_trip(&echo("", "(result)", "i32", false, ""), &[Val::Result(Ok(None)), Val::Result(Err(None))])
}

#[test]
fn enums_and_flags() -> Outcome {
    let types = r#"(type $t' (enum "red" "green" "blue")) (import "t" (type $t (eq $t')))"#;
    let values = ["red", "blue"].map(|name| Val::Enum(name.to_owned()));
    round_trip(&echo(types, "$t", "i32", false, ""), &values)?;
    for count in [1, 8, 9, 32] {
        let names: Vec<String> = (0..count).map(|i| format!("f{i}")).collect();
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let types = format!("(type $t' (flags {})) (import \"t\" (type $t (eq $t')))", quoted.join(" "));
        let values = [Val::Flags(Vec::new()), Val::Flags(names[count - 1..].to_vec()), Val::Flags(names)];
        round_trip(&echo(&types, "$t", "i32", false, ""), &values)?;
        let list = Val::List(values.to_vec());
        round_trip(&echo(&types, "(list $t)", "i32 i32", true, ""), &[list])?;
    }
    Ok(())
}

#[test]
fn more_than_sixteen_core_values_are_passed_in_memory() -> Outcome {
    let ty = format!("(tuple {} string)", "u8 ".repeat(16));
    let mut values: Vec<Val> = (0..16).map(Val::U8).collect();
    values.push(Val::String("last".to_owned()));
    round_trip(&echo("", &ty, "i32", true, ""), &[Val::Tuple(values)])
}

/// A value of a wrong type is refused before anything is called, and later calls still work.
#[test]
fn values_of_other_types_are_refused() -> Outcome {
    let engine = Engine::default();
    let component =
        Component::new(&engine, echo("", "(tuple u8 (option string))", "i32 i32 i32 i32", true, ""))?;
    let mut linker = Linker::new(&engine);
    linker.root().func_new("echo", |_, params, results| {
        results[0] = params[0].clone();
        Ok(())
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    let run = instance.get_func("run").expect("it is exported");
    assert_eq!(run.ty().to_string(), "func(x: tuple<u8, option<string>>) -> tuple<u8, option<string>>");
    let good = Val::Tuple(vec![Val::U8(1), Val::Option(None)]);
    let wrong = [
        vec![],
        vec![good.clone(), good.clone()],
        vec![Val::U8(1)],
        vec![Val::Tuple(vec![Val::U8(1)])],
        vec![Val::Tuple(vec![Val::S8(1), Val::Option(None)])],
        vec![Val::Tuple(vec![Val::U8(1), Val::Option(Some(Box::new(Val::Char('x'))))])],
    ];
    let mut results = [Val::Bool(false)];
    for params in wrong {
        let error = run.call(&mut store, &params, &mut results).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Type, "{params:?}: {error}");
    }
    assert_eq!(run.call(&mut store, &[good], &mut []).unwrap_err().kind(), ErrorKind::Type);
    run.call(&mut store, &[Val::Tuple(vec![Val::U8(1), Val::Option(None)])], &mut results)?;
    Ok(())
}

/// A host function that returns a value of a wrong type ends the call.
#[test]
fn results_of_host_functions_are_checked() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, echo("", "u8", "i32", false, ""))?;
    let mut linker = Linker::new(&engine);
    linker.root().func_new("echo", |_, _, results| {
        results[0] = Val::Char('x');
        Ok(())
    })?;
    let mut store = Store::new(&engine, ());
    let run = linker.instantiate(&mut store, &component)?.get_func("run").expect("it is exported");
    let error = run.call(&mut store, &[Val::U8(1)], &mut [Val::Bool(false)]).unwrap_err();
    assert!(error.to_string().contains("expected a value of type u8, got a char"), "{error}");
    Ok(())
}
