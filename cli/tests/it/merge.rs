//! Merged profiles are sums.

use super::{COUNT, Folder, function, json, wprof};

fn profile(folder: &Folder, n: &str) -> String {
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path(&format!("{n}.wprof")));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "count", &module, n]).succeeded();
    profile
}

#[test]
fn counts_add_up_and_runs_are_listed() {
    let folder = Folder::new();
    let (ten, four, sum) = (profile(&folder, "10"), profile(&folder, "4"), folder.path("sum.wprof"));
    wprof(&["merge", &ten, &four, "-o", &sum]).succeeded();
    let sum = json(&sum);
    assert_eq!(function(&sum, "is_odd")["calls"], 14);
    assert_eq!(function(&sum, "count")["calls"], 2);
    assert_eq!(sum["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn profiles_of_different_modules_are_refused() {
    let folder = Folder::new();
    let ten = profile(&folder, "10");
    let other = folder.file("other.wat", r#"(module (func (export "f")))"#);
    let (alien, sum) = (folder.path("alien.wprof"), folder.path("sum.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &alien, "--invoke", "f", &other]).succeeded();
    let said = wprof(&["merge", &ten, &alien, "-o", &sum]).failed();
    assert!(said.contains("alien.wprof") && said.contains("different modules"), "{said}");
    assert!(!std::path::Path::new(&sum).exists());
}
