//! Our engine behaves as an independent interpreter, with and without a profile.
//!
//! `WPROF_SEEDS` is the number of modules. The program `differential` does long runs.

use std::collections::BTreeSet;

use wprof_spec_tests::pairs::pairs_of;
use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::settings::{random_row, rows};
use wprof_spec_tests::sweep::{ATOMICS, DIFFERENTIAL, SAMPLED, WASM3, passed};
use wprof_spec_tests::volume::cases;

#[test]
fn generated_modules_leave_behind_what_they_do_in_an_interpreter() {
    let summary = passed(cases(1000), DIFFERENTIAL, env!("CARGO_TARGET_TMPDIR"));
    assert!(summary.refused * 4 < summary.modules, "too many modules are refused: {summary:?}");
    assert!(summary.overflowed * 50 < summary.modules, "too many modules overflow: {summary:?}");
}

#[test]
fn modules_with_exceptions_and_objects_do_in_all_ways_what_they_do_in_plain_code() {
    let summary = passed(cases(150), WASM3, env!("CARGO_TARGET_TMPDIR"));
    assert!(summary.refused * 4 < summary.modules, "too many modules are refused: {summary:?}");
    assert!(summary.overflowed * 20 < summary.modules, "too many modules overflow: {summary:?}");
    assert!(summary.stopped < summary.calls, "no call returns: {summary:?}");
}

#[test]
fn modules_with_atomics_and_shared_memories_do_in_all_ways_what_they_do_in_plain_code() {
    let summary = passed(cases(100), ATOMICS, env!("CARGO_TARGET_TMPDIR"));
    assert!(summary.refused * 4 < summary.modules, "too many modules are refused: {summary:?}");
    assert!(summary.stopped < summary.calls, "no call returns: {summary:?}");
}

#[test]
fn generated_modules_do_the_same_with_arbitrary_settings() {
    let summary = passed(cases(600), SAMPLED, env!("CARGO_TARGET_TMPDIR"));
    assert!(summary.refused * 4 < summary.modules, "too many modules are refused: {summary:?}");
    assert!(summary.overflowed * 50 < summary.modules, "too many modules overflow: {summary:?}");
    assert!(summary.stopped < summary.calls, "no call returns: {summary:?}");
}

#[test]
fn arbitrary_settings_soon_have_each_two_choices_together() {
    let possible: BTreeSet<_> = rows().rows.iter().flat_map(|row| pairs_of(row)).collect();
    let rows: Vec<_> = (0..1000).map(|seed| random_row(&mut Rng::new(seed))).collect();
    let met: BTreeSet<_> = rows.iter().flat_map(|row| pairs_of(row)).collect();
    let missing = possible.difference(&met).count();
    println!("{missing} of {} pairs are missing", possible.len());
    assert!(missing * 20 < possible.len(), "{missing} of {} pairs are missing", possible.len());
}
