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

#[test]
fn a_profile_of_another_module_is_refused() {
    let folder = Folder::new();
    let profile = folder.path("v.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("hello")]).succeeded();
    let ran = wprof(&["run", "--profile", "off", "--profile-use", &profile, &program("vcall"), "2"]);
    assert!(ran.err.contains("another module"), "{}", ran.err);
}
