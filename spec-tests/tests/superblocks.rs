//! Reoptimized code behaves as an independent interpreter, with any profile.

use wprof_spec_tests::sweep::{SUPERBLOCKS, passed};
use wprof_spec_tests::volume::cases;

#[test]
fn any_profile_leads_to_code_that_does_what_the_module_says() {
    let seeds = cases(320);
    let summary = passed(seeds, SUPERBLOCKS, env!("CARGO_TARGET_TMPDIR"));
    assert!(summary.inlined > seeds, "too few calls are inlined: {summary:?}");
    assert!(summary.superblocks > seeds, "too few superblocks are formed: {summary:?}");
}
