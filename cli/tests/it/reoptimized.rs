//! `wprof run --profile-use` and `--without`, and what `-v` and `explain` say of decisions.

use super::{Folder, program, wprof};

#[test]
fn an_earlier_profile_inlines_calls_and_says_so() {
    let (folder, vcall) = (Folder::new(), program("vcall"));
    let profile = folder.path("v.wprof");
    let exact = wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, &vcall, "3"]).succeeded();
    let used = ["run", "-v", "--no-code-cache", "--profile", "off", "--profile-use", &profile];
    let ran = wprof(&[&used[..], &[vcall.as_str(), "300"]].concat());
    assert!(ran.err.contains("square_area inlined, 100.0% of "), "{}", ran.err);
    let without = wprof(&[&used[..], &["--without", "inlining", &vcall, "300"]].concat());
    assert!(!without.err.contains(" inlined, "), "{}", without.err);
    assert_eq!(ran.out, without.out);
    let again = wprof(&[&used[..], &[vcall.as_str(), "3"]].concat()).succeeded();
    assert_eq!(again, exact);
    let graph = ["explain", &vcall, "walk_uniform", "--stage", "graph", "--profile", "off"];
    let graph = wprof(&[&graph[..], &["--profile-use", &profile]].concat()).succeeded();
    assert!(graph.contains(" inlined at 0x"), "{graph}");
}

/// The part of the work that is predicted to be saved, in percent.
fn predicted(text: &str) -> f64 {
    let (_, number) =
        text.split_once("predicted: ").unwrap_or_else(|| panic!("nothing is predicted: {text}"));
    let (number, _) = number.split_once("% less work").unwrap_or_else(|| panic!("no less work: {text}"));
    number.parse().expect("a number")
}

#[test]
fn what_a_profile_leads_to_is_explained_with_what_it_is_to_save() {
    let (folder, vcall) = (Folder::new(), program("vcall"));
    let profile = folder.path("v.wprof");
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, &vcall, "3"]).succeeded();
    let explain = ["explain", &vcall, "walk_uniform", "--stage", "decisions", "--profile-use", &profile];
    let decisions = |more: &[&str]| wprof(&[&explain[..], &["--profile", "off"], more].concat());
    let all = decisions(&[]).succeeded();
    assert!(all.lines().any(|line| line.contains("square_area inlined, 100.0% of ")), "{all}");
    let none = decisions(&["--without", "inlining,superblocks"]).succeeded();
    assert!(predicted(&all) > 10.0 && predicted(&none) == 0.0, "{all}{none}");
    for refused in [wprof(&explain), decisions(&["--without", "all"])] {
        assert!(refused.err.contains("give --profile-use, and --profile off"), "{}", refused.err);
    }
    let other = ["explain", &program("sort"), "strlen", "--profile-use", &profile];
    assert!(wprof(&other).err.contains("the earlier profile belongs to another module"));
}

#[test]
fn each_superblock_tells_what_it_is_to_save() {
    let folder = Folder::new();
    // What the lines about superblocks predict together, and that about the version.
    let told = |name: &str, args: &[&str], function: &str| {
        let (profile, program) = (folder.path(name), program(name));
        let run = ["run", "-q", "--collect", "paths", "-o", &profile, &program];
        wprof(&[&run[..], args].concat()).succeeded();
        let explain = ["explain", &program, function, "--stage", "decisions", "--profile-use", &profile];
        let told =
            wprof(&[&explain[..], &["--profile", "off", "--without", "inlining"]].concat()).succeeded();
        let (superblocks, version): (Vec<&str>, Vec<&str>) =
            told.lines().partition(|line| line.contains("superblock"));
        assert!(!superblocks.is_empty(), "{told}");
        let refused = superblocks.iter().filter(|line| line.contains(": no superblock")).count();
        let sum: f64 = superblocks.iter().map(|line| predicted(line)).sum();
        (refused == superblocks.len(), sum, predicted(&version.concat()))
    };
    // Each is rounded to a tenth.
    let (are_refused, sum, version) = told("branchy", &["2"], "classify");
    assert!(!are_refused && version > 3.0 && (sum - version).abs() < 0.5, "{sum} {version}");
    let (are_refused, sum, version) = told("json", &["20", "2"], "parse_value");
    assert!(are_refused && 0.0 < sum && sum < 3.0 && version == 0.0, "{sum} {version}");
}

#[test]
fn a_profile_of_another_module_is_refused() {
    let folder = Folder::new();
    let profile = folder.path("v.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("hello")]).succeeded();
    let ran = wprof(&["run", "--profile", "off", "--profile-use", &profile, &program("vcall"), "2"]);
    assert!(ran.err.contains("another module"), "{}", ran.err);
}
