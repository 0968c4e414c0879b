//! Exports hold what the profile holds.

use super::{Folder, function, json, wprof};

#[test]
fn json_has_exact_counts() {
    let folder = Folder::new();
    let profile = json(&folder.count_profile());
    assert_eq!((&profile["ops"], &profile["calls"]), (&131.into(), &11.into()));
    let count = function(&profile, "count");
    assert_eq!(count["loops"][0]["iterations"], 10);
    assert_eq!(count["loops"][0]["entries"], 1);
    assert_eq!(profile["runs"][0]["args"], serde_json::json!(["count.wat", "10"]));
    assert_eq!(profile["runs"][0]["ending"], serde_json::json!({"how": "exited", "code": 0}));
}

#[test]
fn reports_files_and_standard_output_agree() {
    let folder = Folder::new();
    let (profile, file) = (folder.count_profile(), folder.path("f.json"));
    let out = wprof(&["export", "--to", "json", &profile, "-o", "-"]).succeeded();
    wprof(&["export", "--to", "json", "-o", &file, &profile]).succeeded();
    assert_eq!(std::fs::read_to_string(file).unwrap(), out);
    assert_eq!(wprof(&["report", "--json", &profile]).succeeded(), out);
}
