//! Reoptimized code behaves as an independent interpreter, with any profile.

use std::path::Path;

use wprof_spec_tests::sweep::{SUPERBLOCKS, sweep};
use wprof_spec_tests::volume::cases;

#[test]
fn any_profile_leads_to_code_that_does_what_the_module_says() {
    let seeds = cases(320);
    match sweep(0..seeds, SUPERBLOCKS, |_| ()) {
        Ok(summary) => {
            println!("{summary:#?}");
            assert!(summary.inlined > seeds, "too few calls are inlined: {summary:?}");
            assert!(summary.superblocks > seeds, "too few superblocks are formed: {summary:?}");
        }
        Err(failure) => panic!("{}", failure.report(Path::new(env!("CARGO_TARGET_TMPDIR")))),
    }
}
