//! Proposals can be disabled one by one.

use wprof::*;

use super::Outcome;

type Toggle = fn(&mut Config, bool) -> &mut Config;

const CASES: [(&str, Toggle, &str); 18] = [
    ("wasm_simd", Config::wasm_simd, "(func (result v128) (v128.const i32x4 1 2 3 4))"),
    ("wasm_simd", Config::wasm_simd, "(func (param v128))"),
    (
        "wasm_relaxed_simd",
        Config::wasm_relaxed_simd,
        "(func (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1)))",
    ),
    ("wasm_tail_call", Config::wasm_tail_call, "(func $f (return_call $f))"),
    ("wasm_memory64", Config::wasm_memory64, "(memory i64 1)"),
    ("wasm_multi_memory", Config::wasm_multi_memory, "(memory 1) (memory 1)"),
    (
        "wasm_extended_const",
        Config::wasm_extended_const,
        "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
    ),
    (
        "wasm_bulk_memory",
        Config::wasm_bulk_memory,
        "(memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))",
    ),
    ("wasm_reference_types", Config::wasm_reference_types, "(func (param externref))"),
    ("wasm_reference_types", Config::wasm_reference_types, "(table 1 funcref) (table 1 funcref)"),
    ("wasm_multi_value", Config::wasm_multi_value, "(func (result i32 i32) (i32.const 1) (i32.const 2))"),
    (
        "wasm_sign_extension",
        Config::wasm_sign_extension,
        "(func (param i32) (result i32) (i32.extend8_s (local.get 0)))",
    ),
    (
        "wasm_saturating_float_to_int",
        Config::wasm_saturating_float_to_int,
        "(func (param f32) (result i32) (i32.trunc_sat_f32_s (local.get 0)))",
    ),
    ("wasm_exceptions", Config::wasm_exceptions, "(tag $e) (func (throw $e))"),
    ("wasm_exceptions", Config::wasm_exceptions, "(func try nop catch_all nop end)"),
    ("wasm_threads", Config::wasm_threads, "(memory 1 1 shared)"),
    ("wasm_threads", Config::wasm_threads, "(func (atomic.fence))"),
    ("wasm_mutable_global", Config::wasm_mutable_global, "(global (export \"g\") (mut i32) (i32.const 0))"),
];

#[test]
fn a_module_is_refused_with_the_name_of_what_it_needs() -> Outcome {
    let all = Engine::default();
    for (name, toggle, text) in CASES {
        let text = format!("(module {text})");
        assert!(Module::new(&all, &text).is_ok(), "{text}");
        let mut config = Config::new();
        let engine = Engine::new(toggle(&mut config, false))?;
        let error = Module::new(&engine, &text).expect_err("it is switched off");
        assert_eq!(error.kind(), ErrorKind::Module, "{text}");
        let expected = format!("uses a proposal that is switched off: enable Config::{name} (at offset");
        assert!(error.to_string().contains(&expected), "{text}: {error}");
        assert!(Module::validate(&engine, &wat::parse_str(&text)?).is_err(), "{text}");
        let engine = Engine::new(toggle(&mut config, true))?;
        assert!(Module::new(&engine, &text).is_ok(), "on again: {text}");
    }
    Ok(())
}

#[test]
fn with_everything_off_the_first_version_is_left() -> Outcome {
    let mut config = Config::new();
    CASES.iter().for_each(|(_, toggle, _)| {
        toggle(&mut config, false);
    });
    let engine = Engine::new(&config)?;
    for (name, _, text) in CASES {
        let error = Module::new(&engine, format!("(module {text})")).expect_err("it is switched off");
        // Relaxed SIMD needs vectors first.
        let name = if name == "wasm_relaxed_simd" { "wasm_simd" } else { name };
        assert!(error.to_string().contains(&format!("Config::{name} ")), "{text}: {error}");
    }
    let first = r#"(module (memory 1) (table 1 funcref) (data (i32.const 0) "x") (elem (i32.const 0) $f)
        (func $f (export "run") (param i32) (result i32) (call_indirect (param i32) (result i32)
            (local.get 0) (i32.const 0))))"#;
    assert!(Module::new(&engine, first).is_ok());
    Ok(())
}

#[test]
fn what_is_not_valid_at_all_is_said_as_ever() -> Outcome {
    let engine = Engine::new(Config::new().wasm_simd(false))?;
    let error = Module::new(&engine, "(module (func (result i32) (i64.const 1)))").expect_err("not valid");
    assert!(error.to_string().contains("type mismatch"), "{error}");
    Ok(())
}
