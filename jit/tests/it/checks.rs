//! What checks do to the machine code around them.

use wprof_jit::cfg::instruction_offsets;
use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::graph::{InlinedCall, Site};
use wprof_jit::plan::{Checks, Collection, FunctionPlan};

use crate::parsed::Parsed;

/// A loop with an access in its middle, behind a condition: what is hoisted is the address of the memory.
const WAT: &str = "(module (memory 1) (func (param $n i32) (param $sum i32) (result i32)
    (loop $again
        (if (i32.and (local.get $n) (i32.const 1))
            (then (local.set $sum (i32.add (local.get $sum) (i32.load (i32.shl (local.get $n) (i32.const 4)))))))
        (local.set $sum (i32.xor (local.get $sum) (i32.load offset=8 (local.get $n))))
        (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))";

/// The disassembly, and how it reads the address of the memory.
fn code(collection: &Collection) -> (String, String) {
    code_of(collection, Tier::Optimized)
}

fn code_of(collection: &Collection, tier: Tier) -> (String, String) {
    let parsed = Parsed::new(WAT);
    let (info, env) = (&parsed.info, parsed.env(0));
    let compiler = Compiler::new(CompilerOptions::default().collecting(collection)).expect("this machine");
    let plan = FunctionPlan::new(info, 0, collection, 0).expect("within limits");
    let graph = compiler.version(&plan, tier);
    let text = compiler.disassemble(&env, &plan.cfg, &graph, tier).expect("within limits");
    (text, format!(" {:#x}(%", parsed.layout.memory(0)))
}

fn checked() -> Collection {
    let checks = Some(Checks { unroll: false, ..Checks::default() });
    Collection { checks, ..Collection::default() }
}

/// How many instructions the code has before its blocks that seldom run, all of which lead to calls of the runtime.
fn hot_instructions(text: &str) -> usize {
    let hot = text.lines().position(|line| line.ends_with(" ret")).expect("it returns");
    text.lines().take(hot).filter(|line| !line.starts_with("label")).count()
}

/// Where it is interrupted meanwhile the pinned register is set, and that must not be undone.
#[test]
#[cfg(target_arch = "x86_64")]
fn baseline_code_counts_checks_in_the_pinned_register_itself() {
    let (text, _) = code_of(&checked(), Tier::Baseline);
    let instructions: Vec<&str> = text.lines().filter_map(|line| line.get(20..)).collect();
    let writes = |line: &&&str| line.ends_with(", %r15");
    let is_check = |pair: &[&str]| pair[0] == "add $-1, %r15" && pair[1].starts_with("jl ");
    let checks = instructions.windows(2).filter(|pair| is_check(pair)).count();
    // Each asks the runtime with the store's context there instead.
    assert_eq!(instructions.iter().filter(writes).count(), 2 * checks, "{text}");
    assert!(checks > 0, "{text}");
}

#[test]
fn what_does_not_change_in_a_loop_is_computed_before_it() {
    let (plain, base) = code(&Collection::default());
    for text in [&plain, &code(&checked()).0] {
        let (before, looped) = text.split_once("label1:").expect("a loop");
        assert!(before.contains(&base) && !looped.contains(&base), "{base} in {text}");
    }
}

#[test]
fn a_check_takes_two_instructions() {
    let plain = hot_instructions(&code(&Collection::default()).0);
    let text = code(&checked()).0;
    // What the register allocator moves for it comes to that.
    let checked = hot_instructions(&text);
    assert!(checked > plain && checked <= plain + 2 + 2, "{plain} instructions, and {checked}: {text}");
}

#[test]
fn checks_count_in_the_pinned_register_itself() {
    let text = code(&checked()).0;
    let hot = text.split(" ret\n").next().expect("it returns");
    assert_eq!(text.matches("add $-1, %r15\n").count(), 1, "{text}");
    assert_eq!(hot.matches("mov %r15").count(), 0, "{text}");
}

#[test]
fn checks_of_inlined_loops_do_so_too() {
    let caller =
        "(func (param i32) (result i32) (i32.add (call 0 (local.get 0) (i32.const 5)) (i32.const 1)))";
    let wat = WAT.strip_suffix(')').expect("a module").to_owned() + caller + ")";
    let (parsed, collection) = (Parsed::new(&wat), checked());
    let (info, env) = (&parsed.info, parsed.env(0));
    let compiler = Compiler::new(CompilerOptions::default().collecting(&collection)).expect("this machine");
    let [callee, caller] = [0, 1].map(|func| FunctionPlan::new(info, func, &collection, 0).expect("small"));
    let offsets = instruction_offsets(info, &caller.cfg).expect("it was validated");
    // local.get, i32.const, call
    let call = InlinedCall { at: offsets[2], guess: None };
    let mut graph = compiler.version(&caller, Tier::Optimized);
    let site = Site { node: 0, call, next: offsets[3], is_caught: false, wrong: 0 };
    graph.inline(&site, &callee.cfg, compiler.version(&callee, Tier::Optimized));
    let text = compiler.disassemble(&env, &caller.cfg, &graph, Tier::Optimized).expect("within limits");
    assert_eq!(text.matches("add $-1, %r15\n").count(), 1, "{text}");
    assert_eq!(text.matches("mov %r15").count(), 0, "{text}");
}

/// Rounds that are known ahead, and too long for the loop to be unrolled.
fn counted() -> String {
    let body = "(i32.store (local.get $i) (i32.load offset=4 (local.get $i)))".repeat(64);
    format!(
        "(module (memory 1) (func) (func (param $n i32) (local $i i32) (loop $again {body}
            (br_if $again (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))"
    )
}

/// The instructions of the smallest loop.
fn smallest_loop(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let from = |(index, line): (usize, &&str)| {
        let label = line.split_whitespace().last().filter(|_| line.contains(" j"))?;
        let target = lines[..index].iter().position(|line| *line == format!("{label}:"))?;
        Some((target, index))
    };
    let loops = lines.iter().enumerate().filter_map(from);
    let (from, to) = loops.min_by_key(|(from, to)| to - from).expect("it has a loop");
    lines[from..=to].to_vec()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn rounds_of_counted_loops_do_not_check() {
    let parsed = Parsed::new(&counted());
    let checks = Some(Checks::default());
    let collection = Collection { checks, ..Collection::default() };
    let code = |passes: &str| {
        let passes = passes.parse().expect("names of passes");
        let options = CompilerOptions { passes, ..CompilerOptions::default() };
        let compiler = Compiler::new(options.collecting(&collection)).expect("this machine");
        let plan = FunctionPlan::new(&parsed.info, 1, &collection, 0).expect("within limits");
        let graph = compiler.version(&plan, Tier::Optimized);
        compiler.disassemble(&parsed.env(0), &plan.cfg, &graph, Tier::Optimized).expect("within limits")
    };
    let (with, without) = (code("all"), code("-strips"));
    assert!(smallest_loop(&without).iter().any(|line| line.contains("%r15")), "{without}");
    assert!(!smallest_loop(&with).iter().any(|line| line.contains("%r15")), "{with}");
    assert!(with.contains("%r15"), "{with}");
}
