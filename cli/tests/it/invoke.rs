//! Exported functions are called with arguments of their types.

use super::{COUNT, Folder, wprof};

const VALUES: &str = r#"(module
  (func (export "i32") (param i32) (result i32) local.get 0)
  (func (export "i64") (param i64) (result i64) local.get 0)
  (func (export "f32") (param f32) (result f32) local.get 0)
  (func (export "f64") (param f64) (result f64) local.get 0)
  (func (export "swap") (param i32 i64) (result i64 i32) local.get 1 local.get 0)
  (func (export "null") (result funcref) ref.null func)
  (func (export "ref") (param externref))
  (func (export "nothing")))"#;

#[test]
fn arguments_and_results_have_their_types() {
    let folder = Folder::new();
    let module = folder.file("values.wat", VALUES);
    let cases = [
        (&["i32", "-1"][..], "-1\n"),
        (&["i32", "0xffffffff"], "-1\n"),
        (&["i64", "-9223372036854775808"], "-9223372036854775808\n"),
        (&["f32", "0.1"], "0.1\n"),
        (&["f64", "-inf"], "-inf\n"),
        (&["swap", "1", "2"], "2\n1\n"),
        (&["null"], "null\n"),
        (&["nothing"], ""),
    ];
    for (call, results) in cases {
        let args = [&["run", "-q", "--invoke", call[0], &module], &call[1..]].concat();
        assert_eq!(wprof(&args).succeeded(), results, "{call:?}");
    }
}

#[test]
fn strings_of_javascript_are_there() {
    const WAT: &str = r#"(module
        (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
        (import "'" "five!" (global $text (ref extern)))
        (func (export "run") (result i32) (call $length (global.get $text))))"#;
    let folder = Folder::new();
    let module = folder.file("strings.wat", WAT);
    assert_eq!(wprof(&["run", "-q", "--invoke", "run", &module]).succeeded(), "5\n");
}

#[test]
fn what_does_not_fit_is_explained() {
    let folder = Folder::new();
    let module = folder.file("values.wat", VALUES);
    let cases = [
        (&["i32", "4294967296"][..], "give an integer of 32 bits"),
        (&["f64", "x"], "argument `x`"),
        (&["swap", "1"], "give 2 arguments, not 1"),
        (&["ref", "1"], "externref"),
        (&["absent"], "swap (i32, i64) -> (i64, i32)"),
    ];
    for (call, part) in cases {
        let args = [&["run", "--invoke", call[0], &module], &call[1..]].concat();
        let said = wprof(&args).failed();
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_text_module_is_as_good_as_a_binary_one() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    assert_eq!(wprof(&["run", "-q", "--invoke", "count", &module, "10"]).succeeded(), "5\n");
}
