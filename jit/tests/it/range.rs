//! Which sums and shifts become part of an address.

use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::plan::{Collection, FunctionPlan};

use crate::parsed::Parsed;

/// The CLIF of a load at offset 8, by a tier.
fn load(index: &str, tier: Tier) -> String {
    let wat = format!(
        "(module (memory 1) (func (param $x i32) (param $y i32) (result i32) (i32.load offset=8 {index})))"
    );
    let parsed = Parsed::new(&wat);
    let (info, env) = (&parsed.info, parsed.env(0));
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let plan = FunctionPlan::new(info, 0, &Collection::default(), 0).expect("within limits");
    let graph = compiler.version(&plan, tier);
    compiler.clif(&env, &plan.cfg, &graph, tier).expect("within limits")
}

/// Whether the constant 4096 becomes part of the offset, and a shift part of the address.
fn parts(index: &str) -> (bool, bool) {
    let text = load(index, Tier::Optimized);
    let is_in_offset = text.contains("+4104");
    assert!(is_in_offset || text.contains("+8"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let last = |name: &str| lines.iter().rposition(|line| line.contains(name));
    // In 32 bits it is shifted before it is extended.
    (is_in_offset, last("ishl") > last("uextend.i64"))
}

fn sum(of: &str) -> String {
    format!("(i32.add {of} (i32.const 4096))")
}

#[test]
fn what_cannot_wrap_is_part_of_the_address() {
    let byte = "(i32.load8_u (local.get $y))";
    assert_eq!(parts(&sum(byte)), (true, false));
    let shifted = format!("(i32.shl {byte} (i32.const 2))");
    assert_eq!(parts(&sum(&shifted)), (true, true));
    assert_eq!(parts(&shifted), (false, true));
    assert_eq!(parts(&sum("(i32.and (local.get $x) (i32.const 0x7ffc))")), (true, false));
    assert_eq!(parts("(i32.add (i32.const 4096) (i32.shr_u (local.get $x) (i32.const 1)))"), (true, false));
}

#[test]
fn what_may_wrap_is_computed_in_32_bits() {
    assert_eq!(parts(&sum("(local.get $x)")), (false, false));
    assert_eq!(parts(&sum("(i32.load8_s (local.get $y))")), (false, false));
    assert_eq!(parts("(i32.shl (local.get $x) (i32.const 2))"), (false, false));
    assert_eq!(parts("(i32.shl (i32.load8_u (local.get $y)) (i32.const 25))"), (false, false));
    let all = "(i32.or (local.get $x) (i32.const 1))";
    assert_eq!(parts(&sum(&format!("(i32.shr_u {all} (i32.const 0))"))), (false, false));
}
