//! Functions that are deep, long, or carry many values.

use wprof::{ErrorKind, Trap};

use super::{fails, func, refused, runs, traps};

#[test]
fn nested_blocks() {
    runs(&func(&("block ".repeat(100_000) + &"end ".repeat(100_000))));
}

#[test]
fn nested_loops() {
    runs(&func(&("loop ".repeat(20_000) + &"end ".repeat(20_000))));
}

#[test]
fn nested_ifs() {
    runs(&func(&("i32.const 1 if ".repeat(20_000) + &"else end ".repeat(20_000))));
}

#[test]
fn branches_out_of_every_nested_block() {
    runs(&func(&("block ".repeat(20_000) + &"i32.const 0 br_if 0 end ".repeat(20_000))));
}

#[test]
fn loops_that_could_go_on_forever() {
    runs(&func(&("loop ".repeat(1_000) + &"i32.const 0 br_if 0 end ".repeat(1_000))));
}

#[test]
fn many_small_loops_one_after_another() {
    runs(&func(&"loop i32.const 0 br_if 0 end ".repeat(4_000)));
}

/// All locals are alive in all loops: optimising 36 KB of such code took 11 s and 0.4 GB.
#[test]
fn nested_loops_with_many_locals() {
    let count = 1_000;
    let locals = format!("(local {}) i32.const 1 if return end ", "i32 ".repeat(count));
    let step = |local| format!("local.get {local} i32.const 1 i32.add local.tee {local} br_if 0 ");
    let steps = |end: &str| (0..count).map(|local| step(local) + end).collect::<String>();
    let reads: String = (0..count).map(|local| format!("local.get {local} drop ")).collect();
    runs(&func(&format!("{locals} {} {} {reads}", "loop ".repeat(count), steps("end "))));
    let in_a_row = (0..count).map(|local| format!("loop {} end ", step(local))).collect::<String>();
    runs(&func(&format!("{locals} {in_a_row} {reads}")));
}

#[test]
fn many_loops_around_switches() {
    let switch = "loop block block block block i32.const 3 br_table 0 1 2 3 4 end end end end end ";
    runs(&func(&switch.repeat(2_000)));
}

#[test]
fn nested_blocks_with_a_thousand_results_each() {
    let types = "i32 ".repeat(1000);
    let blocks = format!("block (result {types})").repeat(2_000);
    runs(&func(&format!(
        "{blocks} {} {} {}",
        "i32.const 1 ".repeat(1000),
        "end ".repeat(2_000),
        "drop ".repeat(1000)
    )));
}

/// Each type index of two bytes stands for a type with a thousand values, many times over.
#[test]
fn blocks_of_a_large_type() {
    let types = "i32 ".repeat(1000);
    let (begin, end) = ("block (type $t) ".repeat(50_000), "end ".repeat(50_000));
    let body = format!("{begin} {} {end} {}", "i32.const 1 ".repeat(1000), "drop ".repeat(1000));
    let text = format!("(module (type $t (func (result {types}))) (func (export \"run\") {body}))");
    fails(&text, ErrorKind::Compile, "more than 16000000 types");
}

#[test]
fn many_branches_with_many_values() {
    let types = "i32 ".repeat(1000);
    let blocks = "block (type $t) i32.const 0 br_if 0 end ".repeat(5_000);
    let body = format!("{} {blocks} {}", "i32.const 1 ".repeat(1000), "drop ".repeat(1000));
    let ty = format!("(type $t (func (param {types}) (result {types})))");
    let text = format!("(module {ty} (func (export \"run\") {body}))");
    fails(&text, ErrorKind::Compile, "more than 4000000 edges");
}

#[test]
fn calls_that_pile_up_results() {
    let ty = format!("(type $t (func (result {})))", "i32 ".repeat(1000));
    let text =
        format!("(module {ty} (import \"\" \"\" (func $f (type $t))) (func {}))", "call $f ".repeat(1001));
    refused(&text, "more than 1000000 values on the operand stack");
}

#[test]
fn branches_with_a_thousand_values() {
    let types = "i32 ".repeat(1000);
    let block = format!("block (param {types}) (result {types}) i32.const 0 br_if 0 end ");
    let values = "i32.const 1 ".repeat(1000);
    runs(&func(&format!("{values} {} {}", block.repeat(500), "drop ".repeat(1000))));
}

#[test]
fn fifty_thousand_locals() {
    let sets: String = (0..50_000).map(|i| format!("i64.const {i} local.set {i} ")).collect();
    runs(&func(&format!("(local {}) {sets}", "i64 ".repeat(50_000))));
    refused(&func(&format!("(local {})", "i64 ".repeat(50_001))), "too many locals");
}

#[test]
fn fifty_thousand_locals_that_change_in_a_loop() {
    let adds: String =
        (0..5_000).map(|i| format!("local.get {i} i32.const {i} i32.add local.set {i} ")).collect();
    runs(&func(&format!(
        "(local {}) loop {adds} local.get 0 i32.const 0 i32.lt_s br_if 0 end",
        "i32 ".repeat(50_000)
    )));
}

/// The frame is larger than the guard page below the stack.
#[test]
fn recursion_with_huge_frames() {
    let n = 10_000;
    let gets: String = (0..n).map(|i| format!("local.get {i} ")).collect();
    let sets: String = (0..n).map(|i| format!("global.get $g local.set {i} ")).collect();
    let adds = "v128.xor ".repeat(n - 1);
    let body = format!("(local {}) {sets} call $run {gets} {adds} global.set $g", "v128 ".repeat(n));
    let text =
        format!("(module (global $g (mut v128) (v128.const i64x2 1 2)) (func $run (export \"run\") {body}))");
    traps(&text, Trap::StackOverflow);
}

#[test]
fn a_thousand_params_and_results() {
    let types = "i64 ".repeat(1000);
    let values = "i64.const 1 ".repeat(1000);
    let gets: String = (0..1000).map(|i| format!("local.get {i} ")).collect();
    runs(&format!(
        "(module (type $t (func (param {types}) (result {types}))) (table funcref (elem $f))
            (func $f (type $t) {gets})
            (func (export \"run\") {values} call $f i32.const 0 call_indirect (type $t) {}))",
        "drop ".repeat(1000)
    ));
    refused(&format!("(module (type (func (param {types} i32))))"), "function params size is out of bounds");
}

#[test]
fn a_branch_table_of_many_targets() {
    runs(&func(&format!("block i32.const 199999 br_table {} 0 end", "0 ".repeat(200_000))));
}

#[test]
fn a_branch_table_to_many_blocks() {
    let n = 10_000;
    let targets: String = (0..n).map(|i| format!("{i} ")).collect();
    runs(&func(&format!("{} i32.const 77 br_table {targets} {}", "block ".repeat(n), "nop end ".repeat(n))));
}

#[test]
fn many_branch_tables_to_many_blocks() {
    let n = 300;
    let targets: String = (0..n).map(|i| format!("{i} ")).collect();
    let table = format!("block i32.const 0 br_table {targets} end ");
    runs(&func(&format!("{} {} {}", "block ".repeat(n), table.repeat(n), "end ".repeat(n))));
}

#[test]
fn a_deep_operand_stack() {
    let n = 100_000;
    runs(&func(&("i32.const 1 ".repeat(n) + &"drop ".repeat(n))));
}

#[test]
fn many_values_alive_at_once() {
    let n = 20_000;
    let text = format!(
        "(module (global $g (mut i32) (i32.const 1)) (func (export \"run\") {} {} global.set $g))",
        "global.get $g global.get $g global.set $g ".repeat(n),
        "i32.add ".repeat(n - 1),
    );
    runs(&text);
}

#[test]
fn a_long_function() {
    runs(&func(&("i32.const 1 drop ".repeat(200_000))));
}

#[test]
fn many_blocks_one_after_another() {
    runs(&func(&"block i32.const 0 br_if 0 end ".repeat(10_000)));
}

#[test]
fn many_calls_one_after_another() {
    runs(&format!("(module (func $f) (func (export \"run\") {}))", "call $f ".repeat(10_000)));
}

/// A first call compiles the function, also close to the end of the stack.
#[test]
fn functions_are_compiled_at_any_depth() {
    let leaves: String =
        (0..40).map(|i| format!("(func $leaf{i} {})", "block i32.const 0 br_if 0 end ".repeat(50))).collect();
    let cases: String = (0..40)
        .map(|i| format!("local.get 0 i32.const {} i32.eq if call $leaf{i} end ", 5_000 * i + 1_000))
        .collect();
    let text = format!(
        "(module {leaves} (func $f (param i32) {cases} local.get 0 i32.const 1 i32.add call $f)
            (func (export \"run\") i32.const 0 call $f))"
    );
    traps(&text, Trap::StackOverflow);
}
