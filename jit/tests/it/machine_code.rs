//! What hot machine code does without.

use wprof_jit::abi::code_slots;
use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::plan::{Collection, FunctionPlan};

use crate::parsed::Parsed;

/// The instructions of the first function, whose code slots lie at `slots`.
fn instructions(wat: &str, slots: u64) -> Vec<String> {
    let parsed = Parsed::new(wat);
    let (info, env) = (&parsed.info, parsed.env(slots));
    let collection = Collection::default();
    let compiler = Compiler::new(CompilerOptions::default().collecting(&collection)).expect("this machine");
    let plan = FunctionPlan::new(info, 0, &collection, 0).expect("within limits");
    let graph = compiler.version(&plan, Tier::Optimized);
    let text = compiler.disassemble(&env, &plan.cfg, &graph, Tier::Optimized).expect("within limits");
    // Behind the columns of places.
    text.lines().map(|line| line.get(20..).unwrap_or(line).to_string()).collect()
}

/// Those between the first label and the last jump.
fn looped(instructions: &[String]) -> &[String] {
    let is_jump = |line: &String| line.starts_with('j');
    let last = instructions.iter().rposition(is_jump).expect("a loop");
    let label = instructions[last].rsplit(' ').next().expect("a target");
    let first = instructions.iter().position(|line| line.trim_end_matches(':') == label).expect("is there");
    &instructions[first..=last]
}

/// `mov` from one register of 32 bits to another.
fn extensions(instructions: &[String]) -> usize {
    let is_extension = |line: &&String| {
        let operands: Vec<&str> = line.strip_prefix("mov ").unwrap_or_default().split(", ").collect();
        let is_short =
            |operand: &&str| operand.starts_with("%e") || operand.starts_with("%r") && operand.ends_with('d');
        operands.len() == 2 && operands.iter().all(is_short)
    };
    instructions.iter().filter(is_extension).count()
}

#[test]
fn an_index_that_a_loop_counts_is_not_extended_in_each_round() {
    let counted = "(module (memory 1) (func (param $at i32) (param $end i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $at))))
            (br_if $again (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $end))))
        (local.get $sum)))";
    assert_eq!(extensions(looped(&instructions(counted, 0))), 0);
}

#[test]
fn a_loaded_index_is_not_extended_again() {
    // A list, whose next element is compared with zero and followed.
    let followed = "(module (memory 1) (func (param $at i32) (result i32) (local $count i32)
        (loop $again
            (local.set $count (i32.add (local.get $count) (i32.load8_u offset=4 (local.get $at))))
            (br_if $again (local.tee $at (i32.load (local.get $at)))))
        (local.get $count)))";
    assert_eq!(extensions(looped(&instructions(followed, 0))), 0);
}

#[test]
fn what_a_conversion_cuts_off_is_extended() {
    // The lower half of a number of 64 bits: nobody has cleared the other.
    let cut = "(module (memory 1) (func (param i32) (result i32)
        (i32.load (i32.wrap_i64 (i64.load (local.get 0))))))";
    assert_eq!(extensions(&instructions(cut, 0)[3..]), 2, "the parameter and what is loaded");
}

const CALLS: &str = "(module (memory 1)
    (func (param i32) (result i32)
        (i32.store (call $callee (i32.const 1000)) (i32.const 77777))
        (i32.store (call $callee (i32.const 1000)) (i32.const 77777))
        (call $callee (i32.const 1000)))
    (func $callee (param i32) (result i32) (local.get 0)))";

#[test]
fn a_direct_call_is_one_instruction() {
    let slots = 0x1000;
    let calls = |slots: u64| {
        let place = slots + u64::from(code_slots::SIZE) + code_slots::ENTRY as u64;
        let text = instructions(CALLS, slots);
        let direct = format!("callq *{place:#x}").to_lowercase();
        let count = |wanted: &str| text.iter().filter(|line| line.to_lowercase().starts_with(wanted)).count();
        (count(&direct), count("call"))
    };
    assert_eq!(calls(slots), (3, 3));
    // Where an address does not fit into it, it is read first.
    assert_eq!(calls(1 << 40), (0, 3));
}

#[test]
fn constants_are_made_anew_behind_calls() {
    let text = instructions(CALLS, 0x1000);
    let makes = |number: &str| text.iter().filter(|line| line.to_lowercase().contains(number)).count();
    assert_eq!(makes("$0x3e8,"), 3, "{text:?}");
}

#[test]
fn a_mask_that_does_not_change_is_computed_before_the_loop() {
    // As C compilers write unrolled loops: up to an even number.
    let unrolled = "(module (memory 1) (func (param $n i32) (result i32) (local $i i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $i))))
            (br_if $again (i32.ne
                (local.tee $i (i32.add (local.get $i) (i32.const 2)))
                (i32.and (local.get $n) (i32.const -2)))))
        (local.get $sum)))";
    let text = instructions(unrolled, 0);
    let masks = |text: &[String]| text.iter().filter(|line| line.starts_with("and $-2,")).count();
    assert_eq!((masks(&text), masks(looped(&text))), (1, 0), "{text:?}");
    // Not where the number itself is needed in the loop, too: that would take one more register.
    let both = unrolled.replace("(i32.load8_u (local.get $i))", "(i32.load8_u (local.get $n))");
    let text = instructions(
        &both
            .replace("(local.tee $i", "(local.tee $i (i32.xor (local.get $n)")
            .replace("(i32.const 2)))", "(i32.const 2))))"),
        0,
    );
    assert_eq!(masks(looped(&text)), 1, "{text:?}");
}

#[test]
fn what_a_load_has_extended_is_not_extended_once_more() {
    // The loaded value is used in another block, compared, and stored as it was; it is zero-extended, then sign-extended.
    for (load, again) in
        [("load16_u", "movzw"), ("load16_s", "movsw"), ("load8_u", "movzb"), ("load8_s", "movsb")]
    {
        let store = if load.contains("16") { "store16" } else { "store8" };
        let text = instructions(
            &format!(
                "(module (memory 1) (func (param $at i32) (param $limit i32) (result i32) (local $read i32)
                    (local.set $read (i32.{load} (local.get $at)))
                    (i32.{store} offset=100 (local.get $at) (local.get $read))
                    (if (i32.lt_s (local.get $read) (local.get $limit)) (then (return (i32.const 7))))
                    (i32.mul (local.get $read) (local.get $limit))))"
            ),
            0,
        );
        assert_eq!(text.iter().filter(|line| line.starts_with(again)).count(), 1, "{text:?}");
    }
}

#[test]
fn the_result_of_a_loop_keeps_nothing_alive_but_itself() {
    // Only the sum is needed at the end of the loop, not its operands: there is one addition.
    let text = instructions(
        "(module (memory 1) (func (param $n i32) (result i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 31)) (i32.load (local.get $n))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 4)))))
            (local.get $sum)))",
        0,
    );
    let adds = text.iter().filter(|line| line.starts_with("add ") || line.starts_with("lea "));
    let sums: Vec<&String> = adds.filter(|line| !line.contains("$-4") && !line.contains("-4(")).collect();
    assert_eq!(sums.len(), 1, "{text:?}");
}

#[test]
fn products_with_small_constants_and_tests_of_remainders_take_one_instruction_less() {
    let of = |body: &str| instructions(&format!("(module (func (param i32) (result i32) {body}))"), 0);
    let names = |lines: &[String], name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    for (factor, scale) in [(3, 2), (5, 4), (9, 8)] {
        let lines = of(&format!("(i32.mul (local.get 0) (i32.const {factor}))"));
        let is_sum = |line: &&String| line.starts_with("lea (") && line.contains(&format!(",{scale})"));
        assert_eq!((lines.iter().filter(is_sum).count(), names(&lines, "imul")), (1, 0), "{lines:#?}");
    }
    assert_eq!(names(&of("(i32.mul (local.get 0) (i32.const 7))"), "imul"), 1);
    let lines = of("(if (result i32) (i32.rem_u (local.get 0) (i32.const 3))
        (then (i32.const 1)) (else (i32.const 2)))");
    assert_eq!((names(&lines, "imul"), names(&lines, "mul")), (1, 0), "{lines:#?}");
}

#[test]
fn divisions_of_32_bits_by_constants_leave_registers_to_others() {
    // How many products there are in registers of the processor's choice, and in any.
    let products = |ty: &str, division: &str, by: i32| {
        let text = format!(
            "(module (func (param {ty}) (result {ty}) ({ty}.{division} (local.get 0) ({ty}.const {by}))))"
        );
        let lines = instructions(&text, 0);
        ["mul", "imul"].map(|name| lines.iter().filter(|line| line.starts_with(name)).count())
    };
    for by in [10, 18, 5000] {
        assert_eq!(products("i32", "div_u", by), [0, 1], "{by}");
        assert_eq!(products("i32", "div_s", by), [0, 1], "{by}");
        assert_eq!(products("i32", "rem_u", by), [0, 2], "{by}");
    }
    assert_eq!(products("i64", "div_u", 10), [1, 0]);
}

/// How many instructions, whose text begins so, there are in a switch of an index.
fn in_switch(start: &str, targets: &str, index: &str) -> usize {
    let body = format!(
        "(block $a (block $b (block $c (block $d (block $e (block $f
        (br_table {targets} {index})) (return (i32.const 1))) (return (i32.const 2)))
        (return (i32.const 3))) (return (i32.const 4))) (return (i32.const 5))) (i32.const 6)"
    );
    let lines = instructions(&format!("(module (memory 1) (func (param i32) (result i32) {body}))"), 0);
    lines.iter().filter(|line| line.starts_with(start)).count()
}

#[test]
fn a_switch_of_few_cases_needs_no_table() {
    let of = |targets: &str| in_switch("jmp *", targets, "(local.get 0)");
    assert_eq!(of("$a $b $b $b $b $b $b $c $b $b"), 0);
    assert_eq!(of("$a $b $c $d $e"), 0);
    assert_eq!(of("$a $b $c $d $e $f"), 1);
}

#[test]
fn a_switch_by_a_byte_needs_no_test_of_its_index() {
    let of = |index: &str| in_switch("cmovb", "$a $b $c $d $e $f", index);
    assert_eq!(of("(local.get 0)"), 1);
    assert_eq!(of("(i32.load16_u (local.get 0))"), 1);
    assert_eq!(of("(i32.load8_s (local.get 0))"), 1);
    assert_eq!(of("(i32.load8_u (local.get 0))"), 0);
}
