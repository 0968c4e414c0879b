//! Targets for components: from the parser to the instances of their core modules.

use std::sync::LazyLock;

use arbtest::arbitrary::Unstructured;
use wasmparser::{Validator, WasmFeatures};
use wast::Wat;
use wast::parser::{self, ParseBuffer};
use wprof::component::{Component, Linker};
use wprof::{Config, Engine, ErrorKind, Store, StoreLimits, Strategy};

use crate::components::is_refusal;
use crate::rng::Rng;

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

/// Loads a component that wasm-smith makes of the choices in `bytes`, and instantiates it with functions that trap: it is
/// taken exactly if wasmparser finds it valid, unless the reason is a feature or a limit.
///
/// # Panics
/// Panics if the two disagree.
pub fn generated_component(bytes: &[u8]) {
    let Some(made) = generated(bytes) else { return };
    let features = wprof_jit::module::features() | WasmFeatures::COMPONENT_MODEL;
    let valid = Validator::new_with_features(features).validate_all(&made).map(drop);
    let component = match (Component::new(&ENGINE, &made), valid) {
        (Ok(component), Ok(())) => component,
        (Ok(_), Err(error)) => panic!("it is loaded, and invalid: {error}"),
        (Err(_), Err(_)) => return,
        (Err(error), Ok(())) => {
            let is_limit = error.kind() == ErrorKind::Limit;
            assert!(is_limit || is_refusal(&error.to_string()), "it is valid, and not loaded: {error}");
            return;
        }
    };
    let mut store = Store::new(&ENGINE, ());
    store.set_fuel(FUEL).expect("the engine consumes fuel");
    let mut linker = Linker::new(&ENGINE);
    // Imported core modules, and resources in some places, have no stand-in.
    if linker.define_unknown_imports_as_traps(&component).is_ok() {
        let _ = linker.instantiate(&mut store, &component);
    }
}

/// Returns the component that wasm-smith makes of the choices in `bytes`, if they suffice for one.
fn generated(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut choices = Unstructured::new(bytes);
    let config = wasm_smith::Config { max_components: 3, max_modules: 3, ..wasm_smith::Config::default() };
    Some(wasm_smith::Component::new(config, &mut choices).ok()?.to_bytes())
}

/// Returns choices for components.
pub fn choices() -> Vec<Vec<u8>> {
    (0..16).map(|seed| Rng::new(seed).bytes(4000)).collect()
}

/// Returns the components, and some that wasm-smith makes.
pub fn some_components() -> Vec<Vec<u8>> {
    let encoded = |text: &str| {
        let buffer = ParseBuffer::new(text).expect("a text");
        parser::parse::<Wat>(&buffer).expect("a component").encode().expect("resolved")
    };
    let made = choices().into_iter().take(4).filter_map(|choices| generated(&choices));
    TEXTS.map(encoded).into_iter().chain(made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_inputs_are_instantiated() {
        for bytes in some_components().into_iter().take(TEXTS.len()) {
            let component = Component::new(&ENGINE, bytes).expect("valid");
            let mut store = Store::new(&ENGINE, ());
            store.set_fuel(FUEL).expect("the engine consumes fuel");
            Linker::new(&ENGINE).instantiate(&mut store, &component).expect("it imports nothing");
        }
    }

    /// Otherwise the target would test nothing.
    #[test]
    fn generated_components_have_content_and_are_mostly_loaded() {
        let made: Vec<Vec<u8>> = (0..64).filter_map(|seed| generated(&Rng::new(seed).bytes(4000))).collect();
        let loaded: Vec<Component> =
            made.iter().filter_map(|bytes| Component::new(&ENGINE, bytes).ok()).collect();
        let modules = loaded.iter().filter(|component| !component.modules().is_empty()).count();
        let imports = loaded.iter().filter(|component| component.imports().next().is_some()).count();
        let summary = (made.len(), loaded.len(), modules, imports);
        assert!(summary.1 >= 16 && modules >= 4 && imports >= 2, "{summary:?}");
    }
}
