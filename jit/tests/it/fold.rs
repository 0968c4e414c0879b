//! What code without an optimiser does not compute.

use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::plan::{Collection, FunctionPlan};

use crate::parsed::Parsed;

/// The CLIF of the baseline version of the first function.
fn clif(wat: &str) -> String {
    let parsed = Parsed::new(wat);
    let (info, env) = (&parsed.info, parsed.env(0));
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let plan = FunctionPlan::new(info, 0, &Collection::default(), 0).expect("within limits");
    let graph = compiler.version(&plan, Tier::Baseline);
    compiler.clif(&env, &plan.cfg, &graph, Tier::Baseline).expect("within limits")
}

/// How many instructions have this name.
fn count(text: &str, name: &str) -> usize {
    let names = |line: &str| line.split_whitespace().any(|word| word.split('.').next() == Some(name));
    text.lines().filter(|line| names(line)).count()
}

/// How many instructions read or write the frame.
fn accesses_of_frame(text: &str) -> usize {
    let places =
        text.lines().filter_map(|line| line.trim().split_once(" = stack_addr").map(|(place, _)| place));
    let places: Vec<&str> = places.collect();
    let is_access = |line: &&str| line.contains(" load.") || line.contains(" store ");
    let address = |line: &str| line.rsplit(' ').next().is_some_and(|last| places.contains(&last));
    text.lines().filter(is_access).filter(|line| address(line)).count()
}

#[test]
fn a_constant_index_is_part_of_the_offset() {
    let text = clif("(module (memory 1) (func (result i32) (i32.load offset=8 (i32.const 16))))");
    assert!(text.contains("+24"), "{text}");
    // One counts heat.
    assert_eq!(count(&text, "iadd"), 1, "{text}");
    let text = clif("(module (memory 1) (func (param i32) (result i32) (i32.load offset=8 (local.get 0))))");
    assert_eq!(count(&text, "iadd"), 2, "{text}");
}

#[test]
fn a_constant_index_with_its_highest_bit_set_is_no_negative_one() {
    let text = clif("(module (memory 1) (func (result i32) (i32.load (i32.const -16))))");
    assert!(text.contains("iconst.i64 0xffff_fff0") && count(&text, "iadd") == 2, "{text}");
}

#[test]
fn the_address_of_a_memory_is_read_once_in_a_block() {
    let body = "(i32.store (i32.load (local.get 0)) (i32.load offset=4 (local.get 0)))";
    let text = clif(&format!("(module (memory 1) (func (param i32) {body}))"));
    let reads = text.lines().filter(|line| line.contains("load.i64") && line.contains("can_move v0"));
    // The other loads belong to the request for a better version.
    let of_memory = reads.filter(|line| !line.ends_with("v0+16"));
    assert_eq!(of_memory.count(), 1, "{text}");
}

#[test]
fn branches_test_comparisons_and_their_opposites() {
    let branch = |condition: &str| {
        clif(&format!("(module (func (param i32 i32) (block (br_if 0 {condition}) (unreachable))))"))
    };
    let compare = "(i32.lt_s (local.get 0) (local.get 1))";
    for (condition, name) in [(compare.to_owned(), "slt"), (format!("(i32.eqz {compare})"), "sge")] {
        let text = branch(&condition);
        let compared = text.lines().rfind(|line| line.contains(&format!(" {name} "))).expect("a comparison");
        let value = compared.split_whitespace().find(|word| word.starts_with('v')).expect("a value");
        assert!(text.contains(&format!("brif {value}, ")), "{text}");
    }
}

#[test]
fn the_address_for_an_index_is_computed_once_between_calls() {
    let two = "(i32.store (local.get 0) (i32.load offset=4 (local.get 0)))";
    let text = clif(&format!("(module (memory 1) (func (param i32) {two}))"));
    // One counts heat.
    assert_eq!(count(&text, "iadd"), 2, "{text}");
    let text = clif(&format!("(module (memory 1) (func (param i32) {two} (call 0 (i32.const 0)) {two}))"));
    assert_eq!(count(&text, "iadd"), 3, "{text}");
}

#[test]
fn what_is_behind_a_call_reads_locals_from_the_frame() {
    let text = clif(
        "(module (func (param i32) (result i32)
            (local.set 0 (i32.mul (local.get 0) (local.get 0)))
            (drop (call 0 (local.get 0)))
            (block (br_if 0 (local.get 0)))
            (local.get 0)))",
    );
    // The frame is accessed five times: its first value and the product are stored there, the first block reads it once, and so does
    // each of the two blocks behind the call.
    assert_eq!(accesses_of_frame(&text), 5, "{text}");
    // Only the first block computes the address of the slot.
    assert_eq!(count(&text, "stack_addr"), 1, "{text}");
}

#[test]
fn a_local_that_no_other_block_reads_does_not_go_to_the_frame() {
    let text = clif(
        "(module (func (param i32) (result i32) (local i32)
            (local.set 1 (i32.mul (local.get 0) (local.get 0)))
            (i32.add (call 0 (i32.const 1)) (local.get 1))))",
    );
    // The parameter is stored at the entry and loaded where it is used.
    assert_eq!(accesses_of_frame(&text), 2, "{text}");
}
