//! How code grows with the function: at most with its length, whatever is combined in it.

use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::graph::BlockGraph;
use wprof_jit::options::{PartSizes, PassSet};
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};

use crate::parsed::Parsed;

/// The locals `0..count`, each of which is read behind all that comes before.
fn reads(count: usize) -> String {
    (0..count).map(|local| format!("(global.set $g (local.get {local}))")).collect()
}

fn module(locals: usize, body: &str) -> String {
    let types = "i32 ".repeat(locals);
    format!(
        "(module (global $g (mut i32) (i32.const 0)) (func (param i32) (local {types}) {body} {}))",
        reads(locals)
    )
}

/// Loops one after the other; all locals are alive in all of them.
fn loops(count: usize) -> String {
    let of = |local: usize| {
        format!(
            "(loop (local.set {local} (i32.add (local.get {local}) (i32.const 1))) (br_if 0 (local.get {local})))"
        )
    };
    module(count, &(0..count).map(of).collect::<String>())
}

/// The same, one in the other.
fn nested_loops(count: usize) -> String {
    let end = |local: usize| format!("(br_if 0 (local.get {local})) end ");
    module(count, &("loop ".repeat(count) + &(0..count).map(end).collect::<String>()))
}

/// Many ways into many parts, all locals alive in all of them.
fn cases(count: usize) -> String {
    let case = |local: usize| {
        let adds = format!("(local.set {local} (i32.add (local.get {local}) (i32.const 1)))").repeat(12);
        format!("(if (local.get {local}) (then {adds}) (else {adds}))")
    };
    module(count, &(0..count).map(case).collect::<String>())
}

/// Joins one after the other, at each of which one of the locals has either value.
fn joins(count: usize) -> String {
    let join = |local: usize| format!("(if (local.get {local}) (then (local.set {local} (i32.const 7))))");
    module(count, &(0..count).map(join).collect::<String>())
}

/// Bytes of code of the first function, all parts together, and bytes of its bytecode.
fn sizes(wat: &str, tier: Tier, parts: Option<usize>) -> (usize, usize) {
    let parsed = Parsed::new(wat);
    let (info, env) = (&parsed.info, parsed.env(0x1_0000_0000));
    let part_sizes = PartSizes::above(parts.unwrap_or(usize::MAX));
    let options = CompilerOptions { part_sizes, ..CompilerOptions::default() };
    let compiler = Compiler::new(options).expect("this machine");
    let plan = FunctionPlan::new(info, 0, &Collection::default(), 0).expect("within limits");
    let bytes =
        |graph: BlockGraph| compiler.graph(&env, &plan.cfg, &graph, tier).expect("within limits").bytes.len();
    let code = match parts.and_then(|_| compiler.parts(&plan, 1)) {
        Some(parts) => (0..parts.count()).map(|part| bytes(parts.graph(part))).sum(),
        None => bytes(compiler.version(&plan, tier)),
    };
    (code, plan.cfg.bytes())
}

/// Of functions twice as long the code may be three times as long, and no more than so many bytes for each of bytecode.
fn check(function: impl Fn(usize) -> String, tier: Tier, parts: Option<usize>, most: usize) {
    let [(small, _), (large, bytes)] = [800, 1600].map(|count| sizes(&function(count), tier, parts));
    assert!(large < 3 * small, "{small} bytes of code, then {large}");
    assert!(large < most * bytes, "{large} bytes of code for {bytes}");
}

/// Calls one after the other, between which values are alive.
fn calls(count: usize) -> String {
    let call = |at: usize| {
        let (to, from) = (at % 4, (at + 1) % 4);
        format!("(local.set {to} (call $f (local.get {from}) (i64.const {at})))")
    };
    let all: String = (0..count).map(call).collect();
    format!(
        "(module (func (param i32) (local i32 i32 i32) {all}) (func $f (param i32 i64) (result i32) (local.get 0)))"
    )
}

/// A call takes as little code in a function of 100,000 calls as in one of 20,000: no register is allocated anew around
/// each call.
#[test]
fn calls_in_a_row_take_as_much_code_however_many_they_are() {
    for tier in [Tier::Baseline, Tier::Optimized] {
        let [(small, _), (large, bytes)] = [20_000, 100_000].map(|count| sizes(&calls(count), tier, None));
        assert!(large < 6 * small, "{tier:?}: {small} bytes of code, then {large}");
        assert!(large < 12 * bytes, "{tier:?}: {large} bytes of code for {bytes}");
    }
}

#[test]
fn frames_leave_baseline_code_at_as_many_loops_as_its_length_allows() {
    check(loops, Tier::Baseline, None, 80);
    check(nested_loops, Tier::Baseline, None, 80);
}

#[test]
fn parts_are_no_more_than_osr_allows() {
    check(cases, Tier::Baseline, Some(500), 60);
}

#[test]
fn a_function_of_more_blocks_than_the_limit_is_refused() {
    let parsed = Parsed::new(&format!("(module (func {}))", "(block (br_if 0 (i32.const 0)))".repeat(50)));
    let plan = FunctionPlan::new(&parsed.info, 0, &Collection::default(), 0).expect("within limits");
    let blocks = plan.cfg.blocks.len();
    for (max_blocks, expected) in [(blocks, None), (blocks - 1, Some("Config::max_blocks"))] {
        let options = CompilerOptions { max_blocks, ..CompilerOptions::default() };
        let compiler = Compiler::new(options).expect("this machine");
        let error = compiler.function(&parsed.env(0x1_0000_0000), &plan, Tier::Baseline).err();
        let error = error.map(|error| error.to_string());
        assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
        assert!(error.is_none_or(|error| error.contains(expected.expect("there is an error"))));
    }
}

#[test]
fn small_functions_have_all_their_parts_and_osr() {
    let parsed = Parsed::new(&loops(40));
    let plan = FunctionPlan::new(&parsed.info, 0, &Collection::default(), 0).expect("within limits");
    let headers =
        (0..plan.cfg.blocks.len() as u32).filter(|&block| plan.cfg.blocks[block as usize].is_loop_header);
    assert!(headers.clone().count() == 40 && headers.clone().all(|header| plan.cfg.can_resume(header)));
}

#[test]
fn of_too_many_loops_the_outer_ones_can_be_left() {
    let parsed = Parsed::new(&nested_loops(1600));
    let plan = FunctionPlan::new(&parsed.info, 0, &Collection::default(), 0).expect("within limits");
    let cfg = &plan.cfg;
    let headers = (0..cfg.blocks.len() as u32).filter(|&block| cfg.blocks[block as usize].is_loop_header);
    let can_be_left: Vec<bool> = headers.map(|header| cfg.can_resume(header)).collect();
    let first = can_be_left.iter().position(|can| !can).expect("not all");
    assert!(first > 10 && can_be_left[first..].iter().all(|can| !can), "{first} of {}", can_be_left.len());
}

/// The parameters of all blocks but the first, whose number bounds the work of the optimiser and the register allocator;
/// and whether the function is entangled.
fn passed_on(wat: &str) -> (usize, bool) {
    let parsed = Parsed::new(wat);
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let plan = FunctionPlan::new(&parsed.info, 0, &Collection::default(), 0).expect("within limits");
    let graph = compiler.version(&plan, Tier::Optimized);
    let env = parsed.env(0x1_0000_0000);
    let clif = compiler.clif(&env, &plan.cfg, &graph, Tier::Optimized).expect("within limits");
    let lines = clif.lines().map(str::trim_start);
    let heads = lines.filter(|line| line.starts_with("block") && line.contains('('));
    (heads.skip(1).map(|head| head.split(", ").count()).sum(), plan.cfg.is_entangled())
}

/// SSA construction and register allocation would take time with the product of loops, locals and nesting.
#[test]
fn values_of_entangled_functions_are_in_the_frame() {
    for entangled in [loops, nested_loops, joins] {
        let [(small, before), (large, after)] = [20, 1000].map(|count| passed_on(&entangled(count)));
        assert!(small > 10 && !before, "{small}");
        assert!(large == 0 && after, "{large}");
    }
}

#[test]
fn optimised_code_of_entangled_functions_grows_with_their_length() {
    check(loops, Tier::Optimized, None, 80);
    check(nested_loops, Tier::Optimized, None, 80);
    check(joins, Tier::Optimized, None, 80);
}

/// Nested blocks, from each of which a branch leads to the end of another: most of 100 locals arrive there with several
/// values.
fn nested_blocks(count: usize) -> String {
    let step = |at: usize| {
        let (local, to) = (at % 100, (at * 37) % (count - at));
        format!(
            "(local.set {local} (i32.add (local.get {local}) (i32.const 1))) (br_if {to} (local.get 0)) end "
        )
    };
    module(100, &("block ".repeat(count) + &(0..count).map(step).collect::<String>()))
}

/// With 300 locals and 50 KB it took 23 s and 1.9 GB, most of it to merge what the register allocator has for each value.
#[test]
fn values_of_functions_that_merge_too_many_are_in_the_frame() {
    let (few, is_entangled) = passed_on(&nested_blocks(30));
    assert!(few > 100 && !is_entangled, "{few}");
    assert_eq!(passed_on(&nested_blocks(3000)), (0, true));
}

/// Of functions of the same kind, those that would take more memory than a compilation may take in all.
#[test]
fn values_of_very_large_functions_are_in_the_frame() {
    let (few, is_entangled) = passed_on(&calls(1000));
    assert!(few == 0 && !is_entangled, "{few}");
    assert!(passed_on(&calls(60_000)).1);
}

/// The nodes of a graph whose loops are unrolled, the wires between them, and the blocks and bytes of the function. There
/// are 80 locals, all of them alive everywhere.
fn unrolled(loops: usize) -> [usize; 4] {
    let of = |at: usize| {
        let local = 1 + at % 79;
        format!(
            "(loop (local.set {local} (i32.add (local.get {local}) (i32.const 7)))
               (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))"
        )
    };
    let parsed = Parsed::new(&module(79, &(0..loops).map(of).collect::<String>()));
    let compiler = Compiler::new(CompilerOptions::default()).expect("this machine");
    let collection = Collection { counters: Instrumentation::Chords, ..Collection::default() };
    let plan = FunctionPlan::new(&parsed.info, 0, &collection, 0).expect("within limits");
    assert!(!plan.cfg.is_entangled());
    let graph = compiler.version(&plan, Tier::Optimized);
    let wires = graph.nodes.iter().map(|node| node.wires.len()).sum();
    [graph.nodes.len(), wires, plan.cfg.blocks.len(), plan.cfg.bytes()]
}

/// Each value that a wire passes on is work: with copies of 10,000 loops optimising took 46 s and 2.1 GB.
#[test]
fn loops_are_only_unrolled_as_far_as_their_function_stays_disentangled() {
    let [nodes, _, blocks, _] = unrolled(10);
    assert!(nodes > 4 * blocks, "{nodes} nodes of {blocks} blocks");
    let [nodes, wires, blocks, bytes] = unrolled(2000);
    assert!(wires * 80 < 24 * bytes, "{wires} wires for {bytes} bytes");
    assert!(nodes > blocks + 100, "{nodes} nodes of {blocks} blocks");
}

/// The addresses of places in the frame are not kept from block to block where Cranelift allocates registers.
#[test]
fn entangled_functions_take_as_little_code_without_passes() {
    let code = |passes: PassSet| {
        let parsed = Parsed::new(&nested_loops(500));
        let options = CompilerOptions { passes, ..CompilerOptions::default() };
        let compiler = Compiler::new(options).expect("this machine");
        let plan = FunctionPlan::new(&parsed.info, 0, &Collection::default(), 0).expect("within limits");
        let code = compiler.function(&parsed.env(0x1_0000_0000), &plan, Tier::Optimized);
        (code.expect("within limits").bytes.len(), plan.cfg.bytes())
    };
    for passes in [PassSet::all(), PassSet::none()] {
        let (code, bytes) = code(passes);
        assert!(code < 40 * bytes, "{code} bytes of code for {bytes}");
    }
}

#[test]
fn functions_of_real_programs_are_not_entangled() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/programs");
    let mut functions = 0;
    for entry in std::fs::read_dir(folder).expect("programs") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("a module");
        let info = wprof_jit::module::parse(bytes).expect("valid");
        for func in info.imported_funcs..info.funcs.len() as u32 {
            let cfg = wprof_jit::cfg::build(&info, func).expect("within limits");
            assert!(!cfg.is_entangled(), "function {func} of {}", path.display());
            functions += 1;
        }
    }
    assert!(functions > 500, "{functions}");
}
