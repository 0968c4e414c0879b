//! Hot programs with objects, exceptions and typed references behave as their lowered form in the interpreter, under
//! every optimisation, and with a collection at every allocation.
//!
//! `WPROF_SEEDS` is the number of programs. The program `differential` does long runs.

use wprof_jit::cfg::{End, build};
use wprof_jit::module::parse;
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::generate::managed_case;
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::Stop;
use wprof_spec_tests::shrink::checked_edits;
use wprof_spec_tests::sweep::{HOT_OBJECTS, passed};
use wprof_spec_tests::volume::cases;

#[test]
fn they_do_in_all_ways_what_they_do_in_an_interpreter() {
    let summary = passed(cases(32), HOT_OBJECTS, env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(summary.refused, 0);
    assert!(summary.stopped > 0 && summary.stopped * 2 < summary.calls, "{summary:?}");
    assert!(summary.inlined > 0 && summary.superblocks > 0, "{summary:?}");
}

/// The events that programs have shown.
#[derive(Debug, Default)]
struct Seen {
    throws: u64,
    caught_from_callees: u64,
    casts: u64,
    null_tests: u64,
    calls_by_reference: u64,
    uncaught: u64,
}

impl Seen {
    fn add(&mut self, seed: u64) {
        let case = managed_case(seed);
        let ran = ours::run(&Mode::Exact.engine(), &case.wasm, &case.drive).expect("valid");
        let uncaught = ran.outcome.calls.iter().filter(|call| matches!(call, Err(Stop::Uncaught)));
        self.uncaught += uncaught.count() as u64;
        let profile = ran.profile().expect("instantiated").expect("profiled");
        let info = parse(case.wasm.clone()).expect("valid");
        for function in &profile.functions {
            let cfg = build(&info, function.index).expect("valid");
            let mut edges = function.counted_edges();
            for (block, count) in cfg.blocks.iter().zip(function.block_counts()) {
                let own: Vec<u64> = edges.by_ref().take(block.edges.len()).map(|(_, count)| count).collect();
                match block.how {
                    End::Throw(..) => self.throws += count,
                    End::Call(_) => self.caught_from_callees += own[1..].iter().sum::<u64>(),
                    End::CastBranch => self.casts += count,
                    End::NullBranch => self.null_tests += count,
                    _ => {}
                }
            }
        }
        let is_by_reference =
            |op: &&wasmparser::Operator<'_>| matches!(op, wasmparser::Operator::CallRef { .. });
        self.calls_by_reference += operators(&case.wasm).iter().filter(is_by_reference).count() as u64;
    }
}

fn operators(wasm: &[u8]) -> Vec<wasmparser::Operator<'_>> {
    let bodies = wasmparser::Parser::new(0).parse_all(wasm).filter_map(|payload| match payload {
        Ok(wasmparser::Payload::CodeSectionEntry(body)) => Some(body),
        _ => None,
    });
    bodies.flat_map(|body| body.get_operators_reader().expect("valid")).map(|op| op.expect("valid")).collect()
}

#[test]
fn all_that_is_new_in_them_happens_often() {
    let mut seen = Seen::default();
    (0..16).for_each(|seed| seen.add(seed));
    println!("{seen:#?}");
    assert!(seen.throws > 300 && seen.caught_from_callees > 100 && seen.uncaught > 0, "{seen:?}");
    assert!(seen.casts > 1000 && seen.null_tests > 1000 && seen.calls_by_reference > 5, "{seen:?}");
}

#[test]
fn each_edit_of_one_leaves_both_forms_valid() {
    let edits = checked_edits((0..6).map(managed_case));
    assert!(edits > 50, "{edits} edits");
}
