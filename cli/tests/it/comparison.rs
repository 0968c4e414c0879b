//! What changed between two profiles, and how much did not.

use serde_json::{Value, json};

use super::{COUNT, Folder, wprof};

/// The profile of a module with `n`.
fn profile(folder: &Folder, name: &str, module: &str, n: &str) -> String {
    let (module, profile) =
        (folder.file(&format!("{name}.wat"), module), folder.path(&format!("{name}.wprof")));
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, "--invoke", "count", &module, n])
        .succeeded();
    profile
}

/// Another build of `COUNT`: a function in front, and a branch more in `is_odd`.
fn rebuilt() -> String {
    let changed = COUNT.replace("(module", "(module (func $new)");
    changed.replace("local.get 0  i32.const 1  i32.and", "call $new (if (result i32) (i32.and (local.get 0) (i32.const 1)) (then (i32.const 1)) (else (i32.const 0)))")
}

fn diff(before: &str, after: &str) -> Value {
    serde_json::from_str(&wprof(&["diff", "--json", before, after]).succeeded()).expect("JSON")
}

fn change(found: &Value, name: &str) -> Value {
    let functions = found["functions"].as_array().unwrap();
    functions.iter().find(|function| function["name"] == name).unwrap().clone()
}

#[test]
fn more_rounds_are_more_instructions() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let found = diff(&four, &ten);
    assert_eq!(found["same_module"], true);
    assert_eq!(change(&found, "is_odd")["calls"], json!({"before": 4, "after": 10}));
    assert_eq!(found["totals"][0]["total"]["after"], 131);
    assert_eq!(
        found["contexts"][0],
        json!({"stack": ["count", "is_odd"], "calls": {"before": 4, "after": 10}})
    );
    let paths = found["paths"].as_array().unwrap();
    let ops = |side: &str| paths.iter().map(|path| path["ops"][side].as_u64().unwrap()).sum::<u64>();
    assert_eq!(ops("after"), 131);
    let text = wprof(&["diff", &four, &ten]).succeeded();
    assert!(text.contains("+18") && text.contains("+150.00%") && text.contains("count > is_odd"), "{text}");
}

#[test]
fn another_build_is_matched_by_name() {
    let folder = Folder::new();
    let (before, after) = (profile(&folder, "a", COUNT, "10"), profile(&folder, "b", &rebuilt(), "10"));
    let found = diff(&before, &after);
    assert_eq!(found["same_module"], false);
    let is_odd = change(&found, "is_odd");
    assert_eq!((&is_odd["index_before"], &is_odd["index_after"]), (&json!(0), &json!(1)));
    assert_eq!(is_odd["was_reshaped"], true);
    assert_eq!(change(&found, "count")["was_reshaped"], false);
    assert_eq!(change(&found, "count")["ops"], json!({"before": 101, "after": 101}));
    assert_eq!(change(&found, "new")["calls"], json!({"before": 0, "after": 10}));
    let text = wprof(&["diff", &before, &after]).succeeded();
    assert!(text.contains("is_odd, changed") && text.contains("new"), "{text}");
}

#[test]
fn growth_beyond_a_threshold_fails() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let check =
        |threshold: &str, before: &str, after: &str| wprof(&["diff", "--fail-on", threshold, before, after]);
    assert_eq!(check("instructions>+1%", &ten, &ten).code, Some(0));
    assert_eq!(check("instructions>+1%", &ten, &four).code, Some(0));
    let grew = check("instructions>+1%", &four, &ten);
    assert_eq!(grew.code, Some(3));
    assert!(grew.err.contains("instructions went from 53 to 131"), "{grew:?}");
    let said = check("cycles>+1%", &four, &ten).failed();
    assert!(said.contains("do not both have `cycles`") && said.contains("instructions, calls"), "{said}");
    assert_eq!(check("instructions", &four, &ten).code, Some(2));
}

#[test]
fn the_same_rounds_overlap() {
    let folder = Folder::new();
    let (ten, four) = (profile(&folder, "ten", COUNT, "10"), profile(&folder, "four", COUNT, "4"));
    let text = wprof(&["overlap", &ten, &ten]).succeeded();
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("100%")).count(), 6, "{text}");
    let text = wprof(&["overlap", &ten, &four]).succeeded();
    // 10/11 and 4/5 of the calls are of is_odd.
    let calls = text.lines().find(|line| line.contains("functions, by calls")).unwrap();
    assert!(calls.contains("89.1%"), "{text}");
}

#[test]
fn profiles_without_a_common_figure_do_not_overlap() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let events = folder.path("events.wprof");
    let collect = ["--collect", "events=loads", "--invoke", "count"];
    wprof(&[&["run", "-q", "-o", &events][..], &collect, &[&module, "10"]].concat()).succeeded();
    let said = wprof(&["overlap", &folder.count_profile(), &events]).failed();
    assert!(said.contains("no figures of one kind"), "{said}");
}
