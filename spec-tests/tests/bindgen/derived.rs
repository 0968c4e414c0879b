//! Rust types that derive what stands for a component's types, in calls of the component and of the host.

use wprof::component::{Component, ComponentType, Instance, Lift, Linker, Lower, Val, flags};
use wprof::{Engine, Store};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(ComponentType, Lift, Lower, Clone, Copy, Debug, PartialEq)]
#[component(enum)]
#[repr(u8)]
enum Color {
    Red,
    #[component(name = "dark-green")]
    Green,
}

#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq)]
#[component(record)]
struct Entry<T> {
    r#type: u8,
    #[component(name = "the-value")]
    value: T,
    color: Option<Color>,
    marks: Marks,
}

#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq)]
#[component(variant)]
enum Change {
    Clear,
    Put(Entry<String>),
    Scale(f64),
}

/// Without attributes.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq)]
enum Only {
    One(u64),
}

flags! {
    Marks {
        #[component(name = "read-all")]
        const READ_ALL;
        const WRITE;
    }
}

const TYPES: &str = r#"
  (type $color' (enum "red" "dark-green"))
  (import "color" (type $color (eq $color')))
  (type $marks' (flags "read-all" "write"))
  (import "marks" (type $marks (eq $marks')))
  (type $entry' (record (field "type" u8) (field "the-value" string) (field "color" (option $color)) (field "marks" $marks)))
  (import "entry" (type $entry (eq $entry')))
  (type $change' (variant (case "clear") (case "put" $entry) (case "scale" float64)))
  (import "change" (type $change (eq $change')))
  (type $only' (variant (case "one" u64)))
  (import "only" (type $only (eq $only')))"#;

/// Passes what it gets to the host, and returns what that returns: lists in memory, an entry and the only case as core
/// values.
fn text() -> String {
    format!(
        r#"(component {TYPES}
  (import "changed" (func $changed (param "x" (list $change)) (result (list $change))))
  (import "entered" (func $entered (param "x" $entry) (param "y" $only) (result (tuple $entry $only))))
  (core module $libc
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3)))))
  (core instance $libc (instantiate $libc))
  (core func $changed' (canon lower (func $changed) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $entered' (canon lower (func $entered) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core module $m
    (import "" "changed" (func $changed (param i32 i32 i32)))
    (import "" "entered" (func $entered (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))
    (func (export "changed") (param i32 i32) (result i32)
      (call $changed (local.get 0) (local.get 1) (i32.const 16)) (i32.const 16))
    (func (export "entered") (param i32 i32 i32 i32 i32 i32 i32 i64) (result i32)
      (call $entered (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6)
        (local.get 7) (i32.const 64))
      (i32.const 64)))
  (core instance $m (instantiate $m (with "" (instance (export "changed" (func $changed')) (export "entered" (func $entered'))))))
  (func (export "run-changed") (param "x" (list $change)) (result (list $change)) (canon lift (core func $m "changed")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (func (export "run-entered") (param "x" $entry) (param "y" $only) (result (tuple $entry $only))
    (canon lift (core func $m "entered") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")))))"#
    )
}

fn instance() -> wprof::Result<(Store<()>, Instance)> {
    let engine = Engine::default();
    let component = Component::new(&engine, text())?;
    let mut linker = Linker::new(&engine);
    let mut root = linker.root();
    root.func_wrap("changed", |_, (mut changes,): (Vec<Change>,)| {
        changes.reverse();
        Ok((changes,))
    })?;
    root.func_wrap("entered", |_, (entry, Only::One(number)): (Entry<String>, Only)| {
        let other = Entry { r#type: entry.r#type + 1, marks: entry.marks | Marks::WRITE, ..entry };
        Ok(((other, Only::One(number * 2)),))
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    Ok((store, instance))
}

fn entry() -> Entry<String> {
    Entry { r#type: 7, value: "a text".to_owned(), color: Some(Color::Green), marks: Marks::READ_ALL }
}

#[test]
fn derived_types_come_through_calls_and_host_functions() -> Outcome {
    let (mut store, instance) = instance()?;
    let changed = instance.get_typed_func::<(Vec<Change>,), (Vec<Change>,)>("run-changed")?;
    let all = vec![Change::Clear, Change::Put(entry()), Change::Scale(0.5)];
    let reversed: Vec<Change> = all.iter().rev().cloned().collect();
    assert_eq!(changed.call(&mut store, (all,))?.0, reversed);
    let entered =
        instance.get_typed_func::<(Entry<String>, Only), ((Entry<String>, Only),)>("run-entered")?;
    let ((other, only),) = entered.call(&mut store, (entry(), Only::One(1 << 40)))?;
    assert_eq!((other.r#type, other.marks, only), (8, Marks::all(), Only::One(1 << 41)));
    assert_eq!((other.value, other.color), (entry().value, entry().color));
    Ok(())
}

#[test]
fn derived_types_are_what_values_of_any_type_are() -> Outcome {
    let (mut store, instance) = instance()?;
    let func = instance.get_func("run-changed").ok_or("it is exported")?;
    let val = Val::Variant(
        "put".to_owned(),
        Some(Box::new(Val::Record(vec![
            ("type".to_owned(), Val::U8(7)),
            ("the-value".to_owned(), Val::String("a text".to_owned())),
            ("color".to_owned(), Val::Option(Some(Box::new(Val::Enum("dark-green".to_owned()))))),
            ("marks".to_owned(), Val::Flags(vec!["read-all".to_owned()])),
        ]))),
    );
    let mut results = [Val::Bool(false)];
    // The host function takes and gives derived types.
    func.call(&mut store, &[Val::List(vec![val.clone()])], &mut results)?;
    assert_eq!(results, [Val::List(vec![val])]);
    Ok(())
}

#[derive(ComponentType, Lift, Lower)]
struct OtherField {
    r#type: u8,
    value: String,
    color: Option<Color>,
    marks: Marks,
}

#[derive(ComponentType, Lift, Lower)]
#[allow(dead_code, reason = "no value of it is made")]
enum OtherCase {
    Clear,
    Put(Entry<String>),
    Scale(f32),
}

#[test]
fn other_types_are_refused_with_the_place_where_they_differ() -> Outcome {
    let (_, instance) = instance()?;
    let field = instance.get_typed_func::<(OtherField, Only), ((Entry<String>, Only),)>("run-entered").err();
    assert!(field.is_some_and(|error| error.to_string().contains("field `the-value`")));
    let case = instance.get_typed_func::<(Vec<OtherCase>,), (Vec<Change>,)>("run-changed").err();
    assert!(case.is_some_and(|error| error.to_string().contains("case `scale`")));
    Ok(())
}
