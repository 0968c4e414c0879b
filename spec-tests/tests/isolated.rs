//! A case that crashes its process is found, named and reduced.

use std::path::Path;

use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::generate::hot::reduce::{Grain, edited};
use wprof_spec_tests::generate::hot_case;
use wprof_spec_tests::isolate::Isolated;
use wprof_spec_tests::sweep::ABORTING;

/// Returns the length of a program without any code.
fn without_code(seed: u64) -> usize {
    let mut tree = *hot_case(seed).tree.expect("it has a tree");
    while let Some(smaller) = edited(&tree, Grain::Coarse, 0) {
        tree = smaller;
    }
    tree.encode().len()
}

#[test]
fn a_crash_is_a_finding_and_becomes_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Isolated {
        program: Path::new(env!("CARGO_BIN_EXE_differential")).into(),
        name: "aborting".into(),
        check: ABORTING,
        jobs: 2,
        folder: folder.path().into(),
    };
    let done = run.run(0..6, None, |_| ()).expect("children start");
    assert_eq!(done.cases, 6, "the run goes on behind a crash");
    assert!(!done.findings.is_empty() && done.findings.len() < 6, "{:?}", done.findings);
    for finding in &done.findings {
        assert!(finding.message.contains("signal: 6"), "{finding:?}");
        let wasm = std::fs::read(&finding.file).expect("written");
        let whole = std::fs::read(finding.file.with_extension("whole.wasm")).expect("written");
        let fixed = without_code(finding.seed);
        let (left, before) = (wasm.len() - fixed, whole.len() - fixed);
        assert!(left * 4 < before, "{left} of {before} bytes of code are left");
        let calls = std::fs::read_to_string(finding.file.with_extension("calls")).expect("written");
        let drive = Drive::from_text(&calls).expect("calls");
        assert!(drive.calls.is_empty() && drive.fits(&wasm), "this check calls nothing: {drive:?}");
    }
}
