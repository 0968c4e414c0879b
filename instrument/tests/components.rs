//! Components: their core modules are rewritten in place.

use wasmparser::{Validator, WasmFeatures};
use wprof_instrument::{Collected, Error, OffsetMap, Options, instrument, modules};

const OPTIONS: Options<'_> = Options {
    collected: Collected::Edges,
    weights: None,
    interesting: None,
    exact_traps: false,
    single_memory: false,
    contexts: None,
    events: &[],
    trace_memory: 0,
};

/// Two modules with code, one of them in a nested component, and one without.
const COMPONENT: &str = r#"(component
  (core module $empty (memory (export "memory") 1))
  (core module $adds
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
  (core instance $adding (instantiate $adds))
  (component $inner
    (core module $halves
      (func (export "half") (param i32) (result i32)
        (if (result i32) (local.get 0) (then (i32.shr_u (local.get 0) (i32.const 1))) (else (i32.const 7)))))
    (core instance $halving (instantiate $halves))
    (func (export "half") (param "x" u32) (result u32)
      (canon lift (core func $halving "half"))))
  (instance $nested (instantiate $inner))
  (func (export "add") (param "x" u32) (param "y" u32) (result u32)
    (canon lift (core func $adding "add")))
  (export "half" (func $nested "half")))"#;

#[test]
fn modules_of_components_are_rewritten_where_they_are() {
    let original = wat::parse_str(COMPONENT).expect("text");
    let new = instrument(&original, OPTIONS).expect("rewritten");
    Validator::new_with_features(WasmFeatures::default()).validate_all(&new).expect("valid");
    let (before, after) = (modules(&original).expect("a component"), modules(&new).expect("a component"));
    assert_eq!((before.len(), after.len()), (3, 3));
    assert_eq!(before[0], after[0], "there is nothing to count");
    for (before, after) in before.into_iter().zip(after).skip(1) {
        assert_eq!(after, instrument(before, OPTIONS).expect("a module with code"));
        OffsetMap::new(after).expect("it is instrumented");
    }
    assert!(matches!(instrument(&new, OPTIONS), Err(Error::Instrumented)));
}

#[test]
fn what_cannot_be_rewritten_is_named() {
    let nothing = wat::parse_str("(component (core module (memory 1)))").expect("text");
    assert!(matches!(instrument(&nothing, OPTIONS), Err(Error::NoCode)));
    let taken = r#"(component (core module (func)) (core module (func (export "wprof_flush"))))"#;
    let said = instrument(&wat::parse_str(taken).expect("text"), OPTIONS).expect_err("refused").to_string();
    assert!(said.starts_with("module 1 of the component: the module exports wprof_flush"), "{said}");
    let mut damaged = wat::parse_str(COMPONENT).expect("text");
    damaged.truncate(damaged.len() - 5);
    assert!(matches!(instrument(&damaged, OPTIONS), Err(Error::Invalid(_))));
}
