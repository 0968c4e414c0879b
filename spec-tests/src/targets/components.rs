//! Target for components: from the parser to the instances of their core modules.

use std::sync::LazyLock;

use wast::Wat;
use wast::parser::{self, ParseBuffer};
use wprof::component::{Component, Linker};
use wprof::{Config, Engine, Store, StoreLimits, Strategy};

/// Fuel for what runs when a component is instantiated.
const FUEL: u64 = 10_000;

/// An engine in which nothing runs for long or takes much memory.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    let limits = StoreLimits {
        memory_size: 1 << 24,
        memory64_size: 1 << 24,
        instances: 100,
        ..StoreLimits::default()
    };
    config.strategy(Strategy::Baseline).consume_fuel(true).limits(limits);
    Engine::new(&config).expect("an engine for this machine")
});

/// Components with functions, strings, resources and components in them.
const TEXTS: [&str; 3] = [
    r#"(component
      (core module $m
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
        (func (export "length") (param i32 i32) (result i32) (local.get 1)))
      (core instance $i (instantiate $m))
      (type $f (func (param "text" string) (result u32)))
      (func (export "length") (type $f)
        (canon lift (core func $i "length") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#,
    r#"(component
      (component $inner
        (type $r (resource (rep i32)))
        (core func $new (canon resource.new $r))
        (core func $drop (canon resource.drop $r))
        (core module $m
          (import "" "new" (func $new (param i32) (result i32)))
          (import "" "drop" (func $drop (param i32)))
          (func $start (call $drop (call $new (i32.const 7))))
          (start $start))
        (core instance (instantiate $m
          (with "" (instance (export "new" (func $new)) (export "drop" (func $drop))))))
        (export "r" (type $r)))
      (instance (export "inner") (instantiate $inner)))"#,
    r#"(component
      (type $shape (variant (case "point") (case "circle" f64) (case "named" (tuple string (list u8)))))
      (type $flags (flags "a" "b" "c"))
      (type $record (record (field "x" (option u64)) (field "y" (result (list char) (error s8)))))
      (export $s "shape" (type $shape))
      (export "flags" (type $flags))
      (export "record" (type $record)))"#,
];

/// Instantiates a possible component that imports nothing.
pub fn component(bytes: &[u8]) {
    let engine = &*ENGINE;
    let Ok(component) = Component::new(engine, bytes) else { return };
    let mut store = Store::new(engine, ());
    store.set_fuel(FUEL).expect("the engine consumes fuel");
    // What it lacks is an error, as is what its code does wrong.
    let _ = Linker::new(engine).instantiate(&mut store, &component);
}

/// Returns the components.
pub fn some_components() -> Vec<Vec<u8>> {
    let encoded = |text: &str| {
        let buffer = ParseBuffer::new(text).expect("a text");
        parser::parse::<Wat>(&buffer).expect("a component").encode().expect("resolved")
    };
    TEXTS.map(encoded).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_inputs_are_instantiated() {
        for bytes in some_components() {
            let component = Component::new(&ENGINE, bytes).expect("valid");
            let mut store = Store::new(&ENGINE, ());
            store.set_fuel(FUEL).expect("the engine consumes fuel");
            Linker::new(&ENGINE).instantiate(&mut store, &component).expect("it imports nothing");
        }
    }
}
