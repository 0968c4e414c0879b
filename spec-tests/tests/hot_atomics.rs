//! Hot programs with atomic instructions, on memories that are shared and on others, behave as their lowered form in the
//! interpreter, under every optimisation.
//!
//! `WPROF_SEEDS` is the number of programs. The program `differential` does long runs.

use std::collections::BTreeSet;

use wprof_jit::cfg::build;
use wprof_jit::module::parse;
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::generate::{Case, hot_atomics_case, hot_case};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::{Stop, Trap};
use wprof_spec_tests::shrink::checked_edits;
use wprof_spec_tests::sweep::{HOT_ATOMICS, passed};
use wprof_spec_tests::volume::cases;

/// The atomic instructions: 63 accesses, two waits, a notification and a fence.
const ALL: usize = 63 + 4;

#[test]
fn they_do_in_all_ways_what_they_do_in_an_interpreter() {
    let summary = passed(cases(32), HOT_ATOMICS, env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(summary.refused, 0);
    assert!(summary.stopped > 0 && summary.stopped * 2 < summary.calls, "{summary:?}");
    assert!(summary.inlined > 0 && summary.superblocks > 0, "{summary:?}");
}

/// Returns the atomic instructions of a module, with their places.
fn atomics(wasm: &[u8]) -> Vec<(String, usize)> {
    let bodies = wasmparser::Parser::new(0).parse_all(wasm).filter_map(|payload| match payload {
        Ok(wasmparser::Payload::CodeSectionEntry(body)) => Some(body),
        _ => None,
    });
    let all = bodies.flat_map(|body| body.get_operators_reader().expect("valid").into_iter_with_offsets());
    let named = all.map(|op| {
        let (op, at) = op.expect("valid");
        (format!("{op:?}").split([' ', '{']).next().unwrap_or_default().to_owned(), at as usize)
    });
    named.filter(|(name, _)| name.contains("Atomic")).collect()
}

/// Returns the names of the atomic instructions of a program that are executed at least so often.
fn executed(case: &Case, least: u64) -> BTreeSet<String> {
    let ran = ours::run(&Mode::Exact.engine(), &case.wasm, &case.drive).expect("valid");
    let profile = ran.profile().expect("instantiated").expect("profiled");
    let info = parse(case.wasm.clone()).expect("valid");
    let mut hot: Vec<std::ops::Range<usize>> = Vec::new();
    for function in &profile.functions {
        let cfg = build(&info, function.index).expect("valid");
        let counted = cfg.blocks.iter().zip(function.block_counts()).filter(|(_, count)| *count >= least);
        hot.extend(counted.map(|(block, _)| block.start as usize..block.limit as usize));
    }
    let is_hot = |(_, at): &(String, usize)| hot.iter().any(|block| block.contains(at));
    atomics(&case.wasm).into_iter().filter(is_hot).map(|(name, _)| name).collect()
}

#[test]
fn every_atomic_instruction_is_in_hot_code_and_unaligned_ones_trap() {
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    let mut unaligned = 0;
    for case in (0..128).map(hot_atomics_case) {
        names[(case.seed % 2) as usize].extend(executed(&case, 50));
        let outcome = ours::run(&Mode::Off.engine(), &case.wasm, &case.drive).expect("valid").outcome;
        unaligned += outcome
            .calls
            .iter()
            .filter(|call| matches!(call, Err(Stop::Trap(Trap::UnalignedAtomic))))
            .count();
    }
    let [shared, own] = names;
    println!("{} instructions on shared memories, {} on others, {unaligned} traps", shared.len(), own.len());
    assert_eq!(shared.len(), ALL, "{shared:?}");
    // Nobody waits at a memory that is not shared.
    assert_eq!(own.len(), ALL - 2, "{own:?}");
    assert!(unaligned > 0);
}

#[test]
fn programs_have_the_instructions_only_if_they_are_asked_for() {
    assert_eq!(atomics(&hot_case(1).wasm), []);
    assert!(atomics(&hot_atomics_case(1).wasm).len() > 10);
}

#[test]
fn each_edit_of_one_leaves_both_forms_valid() {
    let edits = checked_edits((0..4).map(hot_atomics_case));
    assert!(edits > 30, "{edits} edits");
}
