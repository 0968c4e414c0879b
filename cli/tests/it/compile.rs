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
