//! Bad files are errors that say what is wrong, never panics.

use super::{COUNT, Folder, program, wprof};

#[test]
fn bad_modules_are_refused_with_the_offset() {
    let folder = Folder::new();
    let whole = std::fs::read(program("json")).unwrap();
    let noise: Vec<u8> = (0..1000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let noise_module = [&b"\0asm\x01\0\0\0"[..], &noise].concat();
    let cases = [
        ("truncated.wasm", &whole[..whole.len() / 2]),
        ("header.wasm", &whole[..6]),
        ("noise.wasm", &noise_module),
    ];
    for (name, bytes) in cases {
        let said = wprof(&["run", &folder.file(name, bytes)]).failed();
        assert!(said.contains(name) && said.contains("offset 0x"), "{said}");
    }
    for (name, bytes) in [("noise", &noise[..]), ("empty.wat", b""), ("half.wat", b"(module (func")] {
        let said = wprof(&["run", &folder.file(name, bytes)]).failed();
        assert!(said.contains(name), "{said}");
    }
}

/// Scripts and other texts, whose first line may be very long, and empty files are not shown as if they were text of modules.
#[test]
fn text_that_is_of_no_module_is_not_shown() {
    let folder = Folder::new();
    for (name, text) in [("app.js", "var a=1;".repeat(10_000)), ("empty.wasm", String::new())] {
        let said = wprof(&["run", &folder.file(name, text.as_bytes())]).failed();
        assert!(said.contains(name) && said.contains("neither a binary module"), "{said}");
        assert!(said.len() < 300, "{said}");
    }
    let text = format!(" ;; text\n{COUNT}");
    assert_eq!(
        wprof(&["run", "-q", "--invoke", "count", &folder.file("c.wat", text), "10"]).succeeded(),
        "5\n"
    );
}

#[test]
fn an_invalid_function_is_refused_before_anything_runs() {
    let folder = Folder::new();
    let bad = r#"(module (func (export "_start")) (func (result i32)))"#;
    let ran = wprof(&["run", &folder.file("bad.wat", bad)]);
    assert_eq!(ran.out, "");
    assert!(ran.failed().contains("offset 0x"));
}

#[test]
fn files_that_are_not_there_or_no_files_are_named() {
    let folder = Folder::new();
    let dir = folder.path(".");
    for command in [&["run"][..], &["report"], &["explain", "-", "f"]] {
        for path in ["/does/not/exist", &dir] {
            let args: Vec<&str> = command.iter().map(|&arg| if arg == "-" { path } else { arg }).collect();
            let args = if command.contains(&"-") { args } else { [&args[..], &[path]].concat() };
            let said = wprof(&args).failed();
            assert!(said.contains(path), "{said}");
        }
    }
}

#[test]
fn missing_imports_are_all_listed() {
    let folder = Folder::new();
    let needy = r#"(module
        (import "env" "first" (func (param i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
        (import "other" "second" (global i64))
        (func (export "_start")))"#;
    let said = wprof(&["run", &folder.file("needy.wat", needy)]).failed();
    let all = "needs imports that wprof does not provide: \
        env.first (function (i32) -> ()), other.second (global i64)\n";
    assert!(said.contains(all) && said.contains("run it with --stub-imports, or instrument it"), "{said}");
    assert!(!said.contains("proc_exit"), "{said}");
}

#[test]
fn proposals_that_are_not_run_yet_are_named_with_the_offset() {
    let folder = Folder::new();
    for (proposal, body) in [
        ("custom page sizes", "(memory 1 (pagesize 1))"),
        (
            "wide arithmetic",
            "(func (param i64) (result i64 i64) (i64.mul_wide_u (local.get 0) (local.get 0)))",
        ),
    ] {
        let said = wprof(&["run", &folder.file("m.wat", format!("(module {body})"))]).failed();
        let expected = format!("uses the {proposal} proposal, which wprof does not run yet (at offset 0x");
        assert!(said.contains(&expected) && !said.contains("enable"), "{said}");
    }
    let said = wprof(&["run", &folder.file("c.wat", "(component)")]).failed();
    assert!(said.contains("has no core module"), "{said}");
}

#[test]
fn a_module_without_start_says_what_can_be_called() {
    let folder = Folder::new();
    let module = folder.file("count.wat", super::COUNT);
    let said = wprof(&["run", &module]).failed();
    assert!(said.contains("--invoke") && said.contains("count (i32) -> (i32)"), "{said}");
}

#[test]
fn limits_are_options() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let cases = [
        ("--max-module-size", "50", "max_module_size"),
        ("--max-functions", "1", "has 2 functions, 1 are allowed"),
        ("--max-function-size", "20", "bytes, 20 are allowed"),
        ("--max-locals", "1", "function 1 has 2 locals, 1 are allowed"),
    ];
    for (option, limit, message) in cases {
        let said = wprof(&["run", option, limit, "--invoke", "count", &module, "3"]).failed();
        assert!(said.contains(message), "{said}");
    }
}
