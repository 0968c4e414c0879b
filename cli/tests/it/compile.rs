//! Modules compiled ahead run in place of the module, and nothing else does.

use std::fs;

use super::{COUNT, Folder, Ran, command};

/// Runs wprof with caches of its own.
fn wprof(folder: &Folder, args: &[&str]) -> Ran {
    let command = command(args).env("XDG_CACHE_HOME", folder.path("cache")).output();
    command.expect("the program starts").into()
}

#[test]
fn a_compiled_module_runs_in_place_of_the_module() {
    let folder = Folder::new();
    let (module, compiled) = (folder.file("count.wat", COUNT), folder.path("count.cwasm"));
    let profile = folder.count_profile();
    for options in [&[][..], &["--exact"], &["--profile", "off"], &["--profile-use", &profile]] {
        wprof(&folder, &[&["compile"], options, &[&module, "-o", &compiled]].concat()).succeeded();
        let options = options.iter().filter(|option| !option.contains("use") && **option != profile);
        let options: Vec<&str> = options.copied().collect();
        let run = [&["run", "-v", "--no-code-cache"], &options[..], &["--invoke", "count", &compiled, "10"]]
            .concat();
        let ran = wprof(&folder, &run);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "5\n"), "{ran:?}");
    }
}

#[test]
fn compiled_modules_for_something_else_and_of_others_are_not_run() {
    let folder = Folder::new();
    let (module, compiled) = (folder.file("count.wat", COUNT), folder.path("count.cwasm"));
    wprof(&folder, &["compile", &module, "-o", &compiled]).succeeded();
    let run = |options: &[&str]| {
        wprof(&folder, &[&["run", "-q"], options, &["--invoke", "count", &compiled, "10"]].concat())
    };
    let said = run(&["--exact"]).failed();
    assert!(said.contains("other settings"), "{said}");
    let mut bytes = fs::read(&compiled).expect("written");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&compiled, bytes).expect("written");
    let said = run(&[]).failed();
    assert!(said.contains("count.cwasm") && said.contains("not made by this user"), "{said}");
}

/// A component whose function counts to a number, and another core module.
const COMPONENT: &str = r#"(component
  (core module $m
    (func $count (export "count") (param i32) (result i32) (local i32)
      (loop $again
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get 1) (local.get 0))))
      (local.get 1)))
  (core module $other (func (export "other")))
  (core instance $m (instantiate $m))
  (core instance $other (instantiate $other))
  (func (export "count") (param "n" u32) (result u32) (canon lift (core func $m "count")))
  (func (export "other") (canon lift (core func $other "other"))))"#;

#[test]
fn a_compiled_component_runs_in_place_of_the_component() {
    let folder = Folder::new();
    let (component, compiled) = (folder.file("c.wat", COMPONENT), folder.path("c.cwasm"));
    let profile = folder.path("p.wprof");
    wprof(&folder, &["run", "-q", "--exact", "-o", &profile, "--invoke", "count(10)", &component])
        .succeeded();
    for options in [&[][..], &["--exact"], &["--profile", "off"], &["--profile-use", &profile]] {
        wprof(&folder, &[&["compile"], options, &[&component, "-o", &compiled]].concat()).succeeded();
        let options = options.iter().filter(|option| !option.contains("use") && **option != profile);
        let options: Vec<&str> = options.copied().collect();
        let other = folder.path("of-compiled.wprof");
        let invoke = ["--invoke", "count(10)", &compiled];
        let kept = if options.contains(&"off") { vec![] } else { vec!["-o", &other] };
        let run = [&["run", "--no-code-cache"], &options[..], &kept, &invoke].concat();
        let ran = wprof(&folder, &run);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "10\n"), "{ran:?}");
        if options == ["--exact"] {
            let report = |profile: &str| wprof(&folder, &["report", "--json", profile]).succeeded();
            let functions = |profile: &str| {
                let report: serde_json::Value = serde_json::from_str(&report(profile)).expect("JSON");
                report["functions"].clone()
            };
            assert_eq!(functions(&other), functions(&profile));
        }
    }
    let said = wprof(&folder, &["run", "-q", "--exact", "--invoke", "count(10)", &compiled]).failed();
    assert!(said.contains("other settings"), "{said}");
}
