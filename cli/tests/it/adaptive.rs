//! `wprof run --profile adaptive`: samples, and what is said of them.

use super::{Folder, Ran, json, program, wprof};

/// A sample of a program, with this length of bursts.
fn sampled(folder: &Folder, name: &str, burst: &str, args: &[&str]) -> Ran {
    let profile = folder.path("a.wprof");
    let options = ["run", "--profile", "adaptive", "--deterministic", "--burst", burst, "-o", &profile];
    wprof(&[&options, &[program(name).as_str()][..], args].concat())
}

#[test]
fn the_same_run_gives_the_same_sample_and_says_how_large_it_is() {
    let folder = Folder::new();
    let profiles = [(); 2].map(|()| {
        let ran = sampled(&folder, "sort", "100:10", &["300", "2"]);
        assert!(ran.err.contains(" seen in bursts: a sample of "), "{}", ran.err);
        json(&folder.path("a.wprof"))
    });
    assert!(profiles[0]["ops"].as_u64() > Some(1000));
    assert_eq!(profiles[0]["functions"], profiles[1]["functions"]);
    let report = wprof(&["report", &folder.path("a.wprof")]).succeeded();
    assert!(report.contains("a sample of ") && !report.contains("placed"), "{report}");
}

#[test]
fn a_program_that_ends_before_a_burst_has_nothing_to_show_and_says_so() {
    let folder = Folder::new();
    let ran = sampled(&folder, "hello", "inf:1", &[]);
    assert!(ran.err.contains("ended before there was code for bursts"), "{}", ran.err);
}
