//! The package for Python passes its own tests with the library, and its wheel works where nothing else of it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the repository").to_owned()
}

/// The library, which lies beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.with_file_name("libwprof_capi.so")
}

fn python() -> Command {
    let mut python = Command::new("python3");
    python.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH").env_remove("WPROF_LIBRARY");
    python
}

/// Whether there is a Python that the package supports; says so if not.
fn is_there() -> bool {
    let asked = python().args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status();
    let is_there = asked.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: there is no python3 of version 3.9 or later");
    }
    is_there
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned() + &said
}

/// The blocks of Python in a text.
fn blocks(text: &str) -> Vec<String> {
    let parts = text.split("```python\n").skip(1);
    parts.map(|part| part.split("```").next().expect("there is a first one").to_owned()).collect()
}

#[test]
fn the_package_passes_its_tests() {
    if !is_there() {
        return;
    }
    let said = run(python()
        .args(["-X", "faulthandler", "-W", "error", "-m", "unittest", "discover", "-s"])
        .arg(root().join("python/tests"))
        .env("PYTHONPATH", root().join("python"))
        .env("WPROF_LIBRARY", library()));
    let ran = said.split("Ran ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    assert!(ran.is_some_and(|ran| ran >= 40), "{said}");
}

#[test]
fn the_wheel_has_all_that_the_examples_need() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    run(Command::new(root().join("scripts/python-wheel")).arg(folder.path()).arg(library()));
    let files = fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("readable").path());
    let wheels: Vec<_> = files.collect();
    let [wheel] = &wheels[..] else { panic!("{wheels:?}") };
    let name = wheel.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.starts_with(&format!("wprof-{}-py3-none-", env!("CARGO_PKG_VERSION"))), "{name}");
    let site = folder.path().join("site");
    match python().args(["-m", "pip", "--version"]).output().is_ok_and(|output| output.status.success()) {
        true => run(python()
            .args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--target"])
            .arg(&site)
            .arg(wheel)),
        // Unpacks the wheel, as an installer would.
        false => run(python().args(["-m", "zipfile", "-e"]).arg(wheel).arg(&site)),
    };
    let text = fs::read_to_string(root().join("python/README.md")).expect("it is there");
    let say = |block: &String| {
        run(python().arg("-c").arg(block).env("PYTHONPATH", &site).current_dir(folder.path()))
    };
    let said: Vec<_> = blocks(&text).iter().map(say).collect();
    assert_eq!(said, ["Hello from Python!\n", "digit 4 12\nsum 1 41\n"]);
    assert!(folder.path().join("sum.svg").exists() && folder.path().join("sum.wprof").exists());
}
