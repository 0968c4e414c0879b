//! Modules with many items, long names, or large memories and tables; and text modules.

use wprof::{ErrorKind, Trap};

use super::{fails, func, no_text, refused, runs, traps};

#[test]
fn many_functions_types_and_exports() {
    with_functions(100_000);
}

#[test]
#[ignore = "takes half a minute"]
fn as_many_functions_as_there_can_be() {
    with_functions(999_999);
}

/// A module with nearly the maximum number of types and exports together.
fn with_functions(n: usize) {
    let exports: String = (0..100_000).map(|i| format!("(export \"f{i}\" (func {i})) ")).collect();
    let types: String =
        (0..100_000).map(|i| format!("(type (func (param {}))) ", "i32 ".repeat(i % 8))).collect();
    let funcs = "(func (param i32 i64) (result i32) local.get 0)".repeat(n);
    runs(&format!("(module {types} {funcs} {exports} (func (export \"run\")))"));
}

#[test]
fn many_imports_of_nothing() {
    let imports = "(import \"\" \"\" (func))".repeat(100_000);
    fails(&format!("(module {imports} (func (export \"run\")))"), ErrorKind::Link, "100000 imports");
}

#[test]
fn many_segments_globals_and_tables() {
    let data = "(data \"x\")".repeat(100_000);
    let elements = "(elem func $run)".repeat(100_000);
    let globals = "(global i32 (i32.const 1))".repeat(100_000);
    let tables = "(table 10 funcref)".repeat(1_000);
    runs(&format!("(module {data} {elements} {globals} {tables} (func $run (export \"run\")))"));
    refused(&format!("(module {data} (data \"y\"))"), "segments count exceeds limit of 100000");
}

#[test]
fn long_names() {
    let name = "n".repeat(100_000);
    runs(&format!("(module ${name} (func ${name} (export \"{name}\")) (func (export \"run\")))"));
    refused(&format!("(module (func (export \"{name}n\")))"), "string size out of bounds");
}

#[test]
fn deep_constant_expressions() {
    let n = 100_000;
    let sum = "i32.const 1 ".repeat(n) + &"i32.add ".repeat(n - 1);
    runs(&format!("(module (global i32 {sum}) (func (export \"run\")))"));
}

#[test]
fn memories_and_tables_above_the_limits() {
    let with = |what: &str| format!("(module {what} (func (export \"run\")))");
    fails(&with("(memory 65536)"), ErrorKind::Limit, "65536 pages");
    fails(&with("(memory i64 0x1000000000000)"), ErrorKind::Limit, "above the limit");
    fails(&with("(table 10000001 funcref)"), ErrorKind::Limit, "10000001 elements");
    fails(&with("(table i64 0xffffffffffffffff funcref)"), ErrorKind::Limit, "above the limit");
    runs(&with("(table 10000000 funcref)"));
    runs(&with(&"(memory 0 65536)".repeat(100)));
    refused(&with("(memory 65537)"), "memory size must be at most");
}

#[test]
fn memory_grows_to_its_limit() {
    let body = "loop i32.const 16 memory.grow i32.const -1 i32.ne br_if 0 end
        memory.size i32.const 4096 i32.ne if unreachable end";
    runs(&format!("(module (memory 0) (func (export \"run\") {body}))"));
}

#[test]
fn a_table_grows_to_its_limit() {
    let body = "loop ref.null func i32.const 50000 table.grow 0 i32.const -1 i32.ne br_if 0 end
        table.size i32.const 10000000 i32.ne if unreachable end";
    runs(&format!("(module (table 0 funcref) (func (export \"run\") {body}))"));
}

#[test]
fn deep_texts() {
    no_text(&"(".repeat(1_000_000), "expected");
    no_text(&format!("(module (func {}", "(block ".repeat(100_000)), "expected");
    runs(&func(&("(block ".repeat(100_000) + &")".repeat(100_000))));
    no_text(&"(;".repeat(1_000_000), "comment");
    no_text("\u{202e}", "");
}

#[test]
fn recursion_in_start() {
    traps("(module (start $run) (func $run (export \"run\") call $run))", Trap::StackOverflow);
}
