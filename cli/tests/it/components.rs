//! Functions of components are called with values as text, and profiled.

use super::{Folder, wprof};

/// Functions that give back what they get, or compute.
const COMPONENT: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3))))
    (func (export "pair") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16))
    (func (export "scalar") (param i32) (result i32) (local.get 0))
    (func $count (export "count") (param i32) (result i32) (local i32)
      (loop $again
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get 1) (local.get 0))))
      (local.get 1))
    (func (export "fail") (drop (call $count (i32.const 10))) unreachable))
  (core instance $m (instantiate $m))
  (type $color' (enum "red" "green")) (export $color "color" (type $color'))
  (type $marks' (flags "a" "b")) (export $marks "marks" (type $marks'))
  (type $point' (record (field "x" s32) (field "y" (option u8)))) (export $point "point" (type $point'))
  (func $text (param "x" string) (result string) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (export "text" (func $text))
  (func (export "list") (param "x" (list (tuple u8 char))) (result (list (tuple u8 char))) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func (export "maybe") (param "x" (option u32)) (result (option u32)) (canon lift (core func $m "pair")
    (memory (core memory $m "memory"))))
  (func (export "color-of") (param "x" $color) (result $color) (canon lift (core func $m "scalar")))
  (func (export "marks-of") (param "x" $marks) (result $marks) (canon lift (core func $m "scalar")))
  (func (export "points") (param "x" (list $point)) (result (list $point)) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func $count (param "n" u32) (result u32) (canon lift (core func $m "count")))
  (func (export "fail") (canon lift (core func $m "fail")))
  (instance $tools (export "count" (func $count)))
  (export "test:tools/math@1.0.0" (instance $tools)))"#;

#[test]
fn values_are_read_and_written_as_text() {
    let folder = Folder::new();
    let component = folder.file("component.wat", COMPONENT);
    let cases = [
        (r#"text("a \"b\" \u{e9}\n")"#, r#""a \"b\" é\n""#),
        ("list([(1, 'x'), (255, '\\''),])", r"[(1, 'x'), (255, '\'')]"),
        ("list([])", "[]"),
        ("maybe(none)", "none"),
        ("maybe(some(7))", "some(7)"),
        ("maybe(8)", "some(8)"),
        ("color-of(green)", "green"),
        ("marks-of({b, a})", "{a, b}"),
        ("points([{y: some(2), x: -1}, {x: 3}])", "[{x: -1, y: some(2)}, {x: 3, y: none}]"),
        ("test:tools/math@1.0.0#count(1000)", "1000"),
        ("count( 5 )", "5"),
    ];
    for (call, result) in cases {
        let printed = wprof(&["run", "-q", "--invoke", call, &component]).succeeded();
        assert_eq!(printed, format!("{result}\n"), "{call}");
    }
    assert_eq!(wprof(&["run", "-q", "--invoke", "count", &component, "6"]).succeeded(), "6\n");
}

#[test]
fn what_does_not_fit_is_explained() {
    let folder = Folder::new();
    let component = folder.file("component.wat", COMPONENT);
    let cases = [
        ("text(1)", "expected `\"` at `1`"),
        ("text()", "argument `x` is missing: the function is func(x: string) -> string"),
        ("text(\"a\", 2)", "too many arguments"),
        ("text(\"a\"", "does not end with `)`"),
        ("color-of(blue)", "expected a value of enum { red, green }, got `blue`"),
        ("list([(256, 'a')])", "expected a number of type u8, got `256`"),
        ("list([(1, 'ab')])", "expected one character"),
        ("points([{y: none}])", "field `x` is missing"),
        ("points([{z: 1}])", "there is no field `z`"),
        ("missing(1)", "no function is exported as `missing`"),
    ];
    for (call, why) in cases {
        let said = wprof(&["run", "-q", "--invoke", call, &component]).failed();
        assert!(said.contains(why), "{call}: {said}");
    }
    let said = wprof(&["run", &component]).failed();
    assert!(
        said.contains("--invoke") && said.contains("test:tools/math@1.0.0#count: func(n: u32) -> u32"),
        "{said}"
    );
    let importing = folder.file(
        "imports.wat",
        r#"(component (core module) (import "f" (func))
        (core module $m (func (export "g"))) (core instance $m (instantiate $m))
        (func (export "g") (canon lift (core func $m "g"))))"#,
    );
    let said = wprof(&["run", "--invoke", "g()", &importing]).failed();
    assert!(said.contains("`f` (func())") && said.contains("component::Linker"), "{said}");
}

#[test]
fn a_component_has_a_profile_of_its_largest_module() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("component.wat", COMPONENT), folder.path("p.wprof"));
    let ran = wprof(&["run", "--exact", "-o", &profile, "--invoke", "count(1000)", &component]);
    assert!(ran.err.contains("count"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "1000\n");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("count"), "{report}");
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("1,000"), "{annotated}");
    let trapped = wprof(&["run", "--exact", "-o", &profile, "--invoke", "fail()", &component]);
    assert_eq!(trapped.code, Some(134), "{}", trapped.err);
    assert!(trapped.err.contains("unreachable"), "{}", trapped.err);
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("count"), "{report}");
}
