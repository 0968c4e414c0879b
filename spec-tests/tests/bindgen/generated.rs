//! A component that is called, and calls, through what `bindgen!` generates from a world with all kinds of types.

use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;
use wprof::component::{Component, Linker, Resource};
use wprof::{Engine, Error, Result, Store};

use bindings::test::demo::host::{Host, HostThing, Pair, Thing};
use bindings::test::demo::types::{Color, Marks, Point, Shape};
use bindings::{Demo, DemoImports};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

mod bindings {
    wprof::component::bindgen!({
        world: "demo",
        path: "tests/bindgen/wit/demo.wit",
        imports: { default: trappable },
        with: { "test:demo/host.other": super::Other },
    });
}

/// The type of a resource of the host, by the option `with`.
#[derive(Debug)]
pub struct Other(u32);

#[derive(Default)]
struct State {
    things: Vec<u32>,
    log: Vec<String>,
}

impl State {
    fn thing(&self, thing: &Resource<Thing>) -> u32 {
        self.things[thing.rep() as usize]
    }
}

impl HostThing for State {
    fn new(&mut self, n: u32) -> Result<Resource<Thing>> {
        self.things.push(n);
        Ok(Resource::new_own(self.things.len() as u32 - 1))
    }

    fn add(&mut self, thing: Resource<Thing>, more: u32) -> Result<u32> {
        Ok(self.thing(&thing) + more)
    }

    fn join(
        &mut self,
        a: Resource<Thing>,
        b: Resource<Thing>,
    ) -> Result<std::result::Result<Resource<Thing>, String>> {
        let sum = self.thing(&a) + self.thing(&b);
        self.new(sum).map(Ok)
    }

    fn drop(&mut self, thing: Resource<Thing>) -> Result<()> {
        self.log.push(format!("dropped {}", self.thing(&thing)));
        Ok(())
    }
}

impl bindings::test::demo::host::HostOther for State {
    fn number(&mut self, other: Resource<Other>) -> Result<u32> {
        let known = [Other(7)];
        Ok(known[other.rep() as usize].0)
    }

    fn drop(&mut self, _: Resource<Other>) -> Result<()> {
        Ok(())
    }
}

impl Host for State {
    fn move_to(&mut self, from: Point, by: i32) -> Result<Point> {
        Ok(Point { x: from.x + by, ..from })
    }

    fn describe(&mut self, shape: Shape, color: Option<Color>) -> Result<String> {
        Ok(format!("{shape:?} {color:?}"))
    }

    fn split(&mut self, pair: Pair) -> Result<(Resource<Thing>, u8)> {
        Ok((pair.first, pair.second))
    }

    fn tick(&mut self) -> Result<()> {
        Err(Error::msg("no more ticks"))
    }
}

impl DemoImports for State {
    fn log(&mut self, text: String) -> Result<()> {
        self.log.push(text);
        Ok(())
    }
}

impl bindings::limits::Host for State {
    fn largest(&mut self) -> Result<u64> {
        Ok(u64::MAX)
    }
}

/// The core of a component of the world: `walk` passes on what the host's `move-to` gives, `next` what its things
/// give.
const CORE: &str = r#"(module
    (import "test:demo/host@1.0.0" "move-to" (func $move (param i32 i32 i32 i32 i32 i32 i32)))
    (import "test:demo/host@1.0.0" "[constructor]thing" (func $new (param i32) (result i32)))
    (import "test:demo/host@1.0.0" "[method]thing.add" (func $add (param i32 i32) (result i32)))
    (import "test:demo/host@1.0.0" "[resource-drop]thing" (func $drop (param i32)))
    (import "test:demo/host@1.0.0" "tick" (func $tick))
    (import "$root" "log" (func $log (param i32 i32)))
    (import "limits" "largest" (func $largest (result i64)))
    (import "[export]test:demo/run@1.0.0" "[resource-new]counter" (func $counter (param i32) (result i32)))
    (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 1024))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local i32)
      (local.set 4 (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
      (global.set $top (i32.add (local.get 4) (local.get 3)))
      (local.get 4))
    ;; The result: case 0, and the point from 4 on.
    (func (export "test:demo/run@1.0.0#walk") (param i32 i32 i32 i32 i32) (result i32)
      (call $move (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (i32.const 5) (i32.const 20))
      (call $log (local.get 3) (local.get 4))
      (i32.store8 (i32.const 16) (i64.ne (call $largest) (i64.const -1)))
      (i32.const 16))
    (func (export "test:demo/run@1.0.0#count") (param i32 i32) (result i32) (local.get 1))
    (func (export "test:demo/run@1.0.0#done") (call $tick))
    (func (export "test:demo/run@1.0.0#[constructor]counter") (param i32) (result i32) (call $counter (local.get 0)))
    (func (export "test:demo/run@1.0.0#[method]counter.next") (param i32) (result i32)
      (local.set 0 (call $new (local.get 0)))
      (call $add (local.get 0) (i32.const 1))
      (call $drop (local.get 0)))
    (func (export "twice") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2))))"#;

/// Returns a component of the world `demo`, with another name for a field of its point.
fn component(field: &str) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
    let wit = include_str!("wit/demo.wit").replace("remote-y", field);
    let mut resolve = Resolve::default();
    let package = resolve.push_source("demo.wit", &wit)?;
    let world = resolve.select_world(&[package], Some("demo"))?;
    let mut module = wat::parse_str(CORE)?;
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    Ok(ComponentEncoder::default().module(&module)?.encode()?)
}

#[test]
fn components_are_called_and_call_through_it() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    bindings::add_to_linker(&mut linker, |state: &mut State| state)?;
    let component = Component::new(&engine, component("remote-y")?)?;
    let mut store = Store::new(&engine, State::default());
    let demo = Demo::instantiate(&mut store, &component, &linker)?;
    assert_eq!(demo.call_twice(&mut store, 21)?, 42);
    let run = demo.test_demo_run();
    let point = Point { x: -1, remote_y: Some(7), r#type: "place".to_owned() };
    assert_eq!(run.call_walk(&mut store, point.clone())?, Ok(Point { x: 4, ..point.clone() }));
    let marks = Marks::BOLD | Marks::UNDER_LINED;
    let shapes = vec![Shape::Dot, Shape::LineTo(point), Shape::Colored((Color::LightGreen, marks))];
    assert_eq!(run.call_count(&mut store, shapes)?, 3);
    let counter = run.counter().call_constructor(&mut store, 40)?;
    assert_eq!(run.counter().call_next(&mut store, counter.clone())?, 41);
    counter.resource_drop(&mut store)?;
    assert_eq!(store.data().log, ["place", "dropped 40"]);
    assert!(run.call_done(&mut store).unwrap_err().to_string().contains("no more ticks"));
    Ok(())
}

#[test]
fn what_does_not_fit_is_told_when_it_is_instantiated() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    bindings::add_to_linker(&mut linker, |state: &mut State| state)?;
    let mut store = Store::new(&engine, State::default());
    let other = Component::new(&engine, component("remote-z")?)?;
    let error = Demo::instantiate(&mut store, &other, &linker).unwrap_err().to_string();
    assert!(error.contains("remote-z"), "{error}");
    let error = Demo::instantiate(&mut store, &Component::new(&engine, "(component)")?, &linker).unwrap_err();
    assert!(error.to_string().contains("no function is exported as"), "{error}");
    Ok(())
}

/// Without `trappable`, functions of the host return plain values; the interface has a version that is compatible with
/// the component's.
mod plain {
    wprof::component::bindgen!({ inline: "
        package test:plain@1.2.0;
        interface numbers { flags bits { one, two } store: func(store: u32, get: bits) -> tuple<bits, u32>; nothing: func(); }
        world small { import numbers; export numbers; }", additional_derives: [Eq] });
}

struct Numbers(u32);

impl plain::test::plain::numbers::Host for Numbers {
    fn store(
        &mut self,
        store_: u32,
        get_: plain::test::plain::numbers::Bits,
    ) -> (plain::test::plain::numbers::Bits, u32) {
        self.0 += store_;
        (get_, self.0)
    }

    fn nothing(&mut self) {}
}

#[test]
fn imports_that_are_exported_again_are_called_with_plain_values() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    plain::add_to_linker(&mut linker, |numbers: &mut Numbers| numbers)?;
    let component = Component::new(
        &engine,
        r#"(component
            (import "test:plain/numbers@1.2.3" (instance $numbers
                (type $bits' (flags "one" "two")) (export "bits" (type $bits (eq $bits')))
                (export "store" (func (param "store" u32) (param "get" $bits) (result (tuple $bits u32))))
                (export "nothing" (func))))
            (export "test:plain/numbers@1.2.3" (instance $numbers)))"#,
    )?;
    let mut store = Store::new(&engine, Numbers(40));
    let small = plain::Small::instantiate(&mut store, &component, &linker)?;
    let bits = plain::exports::test::plain::numbers::Bits::TWO;
    assert_eq!(small.test_plain_numbers().call_store(&mut store, 2, bits)?, (bits, 42));
    small.test_plain_numbers().call_nothing(&mut store)?;
    Ok(())
}
