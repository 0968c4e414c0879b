//! Rust types for records, variants, enums and flags, in host functions and in typed functions.

use wprof::component::{Component, Instance, Linker, Resource, ResourceAny, ResourceType, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

component_types! {
    #[derive(Clone, Debug, PartialEq)]
    struct LineItem {
        item_name: String,
        r#type: u16,
        price: Option<f64>,
    }

    #[derive(Clone, Debug, PartialEq)]
    enum Shape {
        Dot,
        LineTo((i8, i8)),
        Named(String),
        Of(LineItem),
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Color {
        DarkRed,
        Green,
    }

    flags Marks {
        BOLD,
        STRIKE_THROUGH,
        SMALL,
    }

    #[derive(Clone, Debug, PartialEq)]
    enum Single {
        Only(u64),
    }
}

/// A component that passes its arguments to an import of the same type, in records, lists and alone.
const TEXT: &str = r#"(component
  (type $item' (record (field "item-name" string) (field "type" u16) (field "price" (option f64))))
  (import "line-item" (type $item (eq $item')))
  (type $shape' (variant (case "dot") (case "line-to" (tuple s8 s8)) (case "named" string) (case "of" $item)))
  (import "shape" (type $shape (eq $shape')))
  (type $color' (enum "dark-red" "green")) (import "color" (type $color (eq $color')))
  (type $marks' (flags "bold" "strike-through" "small")) (import "marks" (type $marks (eq $marks')))
  (type $single' (variant (case "only" u64))) (import "single" (type $single (eq $single')))
  (import "shapes" (func $shapes (param "x" (list $shape)) (result (list $shape))))
  (import "colors" (func $colors (param "x" $color) (param "y" $marks) (result $marks)))
  (import "items" (func $items (param "x" $item) (param "y" $shape) (result (tuple $item $shape))))
  (import "single-of" (func $single-of (param "x" $single) (result $single)))
  (core module $libc
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3)))))
  (core instance $libc (instantiate $libc))
  (core func $shapes' (canon lower (func $shapes) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $colors' (canon lower (func $colors)))
  (core func $items' (canon lower (func $items) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $single' (canon lower (func $single-of) (memory (core memory $libc "memory"))))
  (core module $m
    (import "" "shapes" (func $shapes (param i32 i32 i32)))
    (import "" "colors" (func $colors (param i32 i32) (result i32)))
    (import "" "items" (func $items (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 f64 i32)))
    (import "" "single" (func $single (param i32 i64 i32)))
    (func (export "shapes") (param i32 i32) (result i32)
      (call $shapes (local.get 0) (local.get 1) (i32.const 16)) (i32.const 16))
    (func (export "colors") (param i32 i32) (result i32) (call $colors (local.get 0) (local.get 1)))
    (func (export "items") (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 f64) (result i32)
      (call $items (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6)
        (local.get 7) (local.get 8) (local.get 9) (local.get 10) (i32.const 64))
      (i32.const 64))
    (func (export "single") (param i32 i64) (result i32)
      (call $single (local.get 0) (local.get 1) (i32.const 256)) (i32.const 256)))
  (core instance $m (instantiate $m (with "" (instance (export "shapes" (func $shapes')) (export "colors" (func $colors'))
    (export "items" (func $items')) (export "single" (func $single'))))))
  (func (export "run-shapes") (param "x" (list $shape)) (result (list $shape)) (canon lift (core func $m "shapes")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (func (export "run-colors") (param "x" $color) (param "y" $marks) (result $marks) (canon lift (core func $m "colors")))
  (func (export "run-items") (param "x" $item) (param "y" $shape) (result (tuple $item $shape))
    (canon lift (core func $m "items") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (func (export "run-single") (param "x" $single) (result $single) (canon lift (core func $m "single")
    (memory (core memory $libc "memory")))))"#;

fn instance() -> Result<(Store<()>, Instance)> {
    let engine = Engine::default();
    let component = Component::new(&engine, TEXT)?;
    let mut linker = Linker::new(&engine);
    let mut root = linker.root();
    root.func_wrap("shapes", |_, (mut shapes,): (Vec<Shape>,)| {
        shapes.reverse();
        Ok((shapes,))
    })?;
    root.func_wrap("colors", |_, (color, marks): (Color, Marks)| {
        Ok((if color == Color::Green { marks | Marks::SMALL } else { Marks::empty() },))
    })?;
    root.func_wrap("items", |_, (item, shape): (LineItem, Shape)| {
        let other = LineItem { r#type: item.r#type + 1, ..item.clone() };
        Ok(((other, if shape == Shape::Dot { Shape::Of(item) } else { shape }),))
    })?;
    root.func_wrap("single-of", |_, (Single::Only(value),): (Single,)| Ok((Single::Only(value + 1),)))?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component)?;
    Ok((store, instance))
}

fn item() -> LineItem {
    LineItem { item_name: "caf\u{e9}".to_owned(), r#type: 65_000, price: Some(-0.5) }
}

#[test]
fn values_of_ones_own_types_come_through_calls_and_host_functions() -> Outcome {
    let (mut store, instance) = instance()?;
    let all = vec![
        Shape::Dot,
        Shape::LineTo((-1, 127)),
        Shape::Named(String::new()),
        Shape::Of(item()),
        Shape::Named("x".to_owned()),
    ];
    let shapes = instance.get_typed_func::<(Vec<Shape>,), (Vec<Shape>,)>("run-shapes")?;
    let (result,) = shapes.call(&mut store, (all.clone(),))?;
    assert_eq!(result, all.iter().rev().cloned().collect::<Vec<_>>());

    let items = instance.get_typed_func::<(LineItem, Shape), ((LineItem, Shape),)>("run-items")?;
    for shape in all {
        let ((other, shape_then),) = items.call(&mut store, (item(), shape.clone()))?;
        assert_eq!(other, LineItem { r#type: 65_001, ..item() });
        assert_eq!(shape_then, if shape == Shape::Dot { Shape::Of(item()) } else { shape });
    }
    let single = instance.get_typed_func::<(Single,), (Single,)>("run-single")?;
    assert_eq!(single.call(&mut store, (Single::Only(u64::MAX - 1),))?, (Single::Only(u64::MAX),));
    Ok(())
}

/// The oracle: dynamically typed values, which take another path through the code.
#[test]
fn they_are_what_values_of_any_type_are() -> Outcome {
    let (mut store, instance) = instance()?;
    let mut call = |name: &str, params: &[Val]| -> Result<Val> {
        let mut results = [Val::Bool(false)];
        instance.get_func(name).expect(name).call(&mut store, params, &mut results)?;
        let [result] = results;
        Ok(result)
    };
    let names = |names: &[&str]| Val::Flags(names.iter().map(|name| (*name).to_owned()).collect());
    for (color, marks, expected) in [
        ("green", &["strike-through"][..], &["strike-through", "small"][..]),
        ("green", &[], &["small"]),
        ("dark-red", &["bold"], &[]),
    ] {
        let result = call("run-colors", &[Val::Enum(color.to_owned()), names(marks)])?;
        assert_eq!(result, names(expected), "{color}");
    }
    let shape = |case: &str, held: Option<Val>| Val::Variant(case.to_owned(), held.map(Box::new));
    let line = shape("line-to", Some(Val::Tuple(vec![Val::S8(-128), Val::S8(3)])));
    let list = Val::List(vec![shape("dot", None), line.clone()]);
    assert_eq!(call("run-shapes", &[list])?, Val::List(vec![line, shape("dot", None)]));
    Ok(())
}

component_types! {
    #[derive(Debug)]
    struct OtherOrder { r#type: u16, item_name: String, price: Option<f64> }
    #[derive(Debug)]
    struct OtherField { item_name: String, r#type: u32, price: Option<f64> }
    #[derive(Debug)]
    enum Fewer { DarkRed }
    #[derive(Debug)]
    enum Holds { DarkRed, Green(u8) }
    flags OtherMarks { BOLD, SMALL, STRIKE_THROUGH }
}

#[test]
fn other_types_are_refused_when_the_function_is_looked_up() -> Outcome {
    let (_, instance) = instance()?;
    let colors = instance.get_func("run-colors").expect("it is exported");
    let items = instance.get_func("run-items").expect("it is exported");
    let errors = [
        (colors.typed::<(Fewer, Marks), (Marks,)>().unwrap_err(), "enum { dark-red, green }"),
        (colors.typed::<(Holds, Marks), (Marks,)>().unwrap_err(), "case `green`"),
        (colors.typed::<(Color, OtherMarks), (Marks,)>().unwrap_err(), "flags"),
        (colors.typed::<(Color, Marks), ()>().unwrap_err(), "result"),
        (colors.typed::<(Color,), (Marks,)>().unwrap_err(), "parameters"),
        (items.typed::<(OtherOrder, Shape), ((LineItem, Shape),)>().unwrap_err(), "field `item-name`"),
        (items.typed::<(OtherField, Shape), ((LineItem, Shape),)>().unwrap_err(), "field `type`"),
        (instance.get_typed_func::<(), ()>("missing").unwrap_err(), "no function is exported as `missing`"),
    ];
    for (error, why) in errors {
        assert!(error.to_string().contains(why), "{why}: {error}");
    }
    Ok(())
}

/// A component's own resource, and a host resource that is lent to a call.
#[test]
fn resources_are_passed_to_typed_functions() -> Outcome {
    const USES: &str = r#"(component
      (import "counter" (type $c (sub resource)))
      (import "next" (func $next (param "c" (borrow $c)) (result u32)))
      (type $own' (resource (rep i32))) (export $own "own" (type $own'))
      (core func $new (canon resource.new $own))
      (core func $rep (canon resource.rep $own))
      (core func $next (canon lower (func $next)))
      (core func $drop (canon resource.drop $c))
      (core module $m
        (import "" "next" (func $next (param i32) (result i32)))
        (import "" "drop" (func $drop (param i32)))
        (func (export "run") (param i32) (result i32)
          (call $next (local.get 0)) (call $drop (local.get 0)))
        (func (export "value") (param i32) (result i32) (local.get 0)))
      (core instance $m (instantiate $m (with "" (instance
        (export "next" (func $next)) (export "drop" (func $drop))))))
      (func (export "run") (param "c" (borrow $c)) (result u32) (canon lift (core func $m "run")))
      (func (export "make") (param "rep" u32) (result (own $own)) (canon lift (core func $new)))
      (func (export "value") (param "r" (borrow $own)) (result u32) (canon lift (core func $m "value"))))"#;
    struct Counter;
    let engine = Engine::default();
    let component = Component::new(&engine, USES)?;
    let mut linker: Linker<u32> = Linker::new(&engine);
    linker.root().resource("counter", ResourceType::host::<Counter>(), |_, _| Ok(()))?;
    linker.root().func_wrap("next", |mut store, (counter,): (Resource<Counter>,)| {
        *store.data_mut() += 1;
        Ok((counter.rep() + *store.data(),))
    })?;
    let mut store = Store::new(&engine, 0);
    let instance = linker.instantiate(&mut store, &component)?;
    let run = instance.get_typed_func::<(Resource<Counter>,), (u32,)>("run")?;
    assert_eq!(run.call(&mut store, (Resource::new_borrow(40),))?, (41,));
    assert_eq!(run.call(&mut store, (Resource::new_borrow(40),))?, (42,));
    let make = instance.get_typed_func::<(u32,), (ResourceAny,)>("make")?;
    let value = instance.get_typed_func::<(ResourceAny,), (u32,)>("value")?;
    let (one,) = make.call(&mut store, (7,))?;
    assert_eq!(value.call(&mut store, (one.clone(),))?, (7,));
    one.resource_drop(&mut store)?;
    assert!(value.call(&mut store, (one,)).is_err(), "it was dropped");
    Ok(())
}
