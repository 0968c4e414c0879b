//! Traps end the program with 134, a backtrace, and a complete profile.

use super::{Folder, function, json, program, wprof};

#[test]
fn a_trap_shows_where_it_was_and_keeps_the_profile() {
    let folder = Folder::new();
    let profile = folder.path("crash.wprof");
    let ran = wprof(&["run", "--exact", "-o", &profile, &program("crash"), "unreachable", "20"]);
    assert_eq!(ran.code, Some(134));
    assert_eq!(ran.out, "crash unreachable at depth 20\n");
    assert!(ran.err.starts_with("error: wasm trap: "), "{}", ran.err);
    let frames = [
        "     1  descend_left  ./crash.c:62  (0x",
        "     2  descend_right  ./crash.c:68  (0x",
        "__main_void",
    ];
    for part in frames {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(ran.err.contains("wprof: crash.wasm trapped after "), "{}", ran.err);
    let profile = json(&profile);
    assert_eq!(profile["runs"][0]["ending"]["how"], "trapped");
    // Depth 20 down to 0 by turns, and no call returned.
    let left = function(&profile, "descend_left");
    assert_eq!((&left["calls"], &function(&profile, "descend_right")["calls"]), (&11.into(), &10.into()));
    let unfinished: u64 =
        left["unfinished"].as_array().unwrap().iter().map(|exit| exit["count"].as_u64().unwrap()).sum();
    assert_eq!(unfinished, 11);
}

#[test]
fn all_kinds_of_traps_exit_with_134() {
    let kinds = ["oob", "oob-store", "divide", "overflow", "null", "table", "signature", "convert", "abort"];
    for kind in kinds {
        for mode in ["exact", "off"] {
            let ran = wprof(&["run", "-q", "--profile", mode, &program("crash"), kind, "3"]);
            assert_eq!(ran.code, Some(134), "{kind} {mode}: {}", ran.err);
            assert!(ran.err.starts_with("error: "), "{}", ran.err);
        }
    }
}

#[test]
fn deep_recursion_has_room_and_endless_recursion_traps() {
    let folder = Folder::new();
    let down = r#"(module (func $down (export "down") (param i32)
        (if (local.get 0) (then (call $down (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let module = folder.file("down.wat", down);
    wprof(&["run", "-q", "--invoke", "down", &module, "500000"]).succeeded();
    let ran = wprof(&["run", "-q", "--max-stack", "2M", "--invoke", "down", &module, "500000"]);
    assert_eq!(ran.code, Some(134));
    assert!(ran.err.starts_with("error: wasm trap: call stack exhausted\n     0  down"), "{}", ran.err);
    assert!(ran.err.lines().count() < 30, "a backtrace is not endless: {}", ran.err);
}

#[test]
fn a_trap_while_the_module_is_instantiated_is_a_trap() {
    let folder = Folder::new();
    for bad in ["(func $s unreachable) (start $s)", "(memory 1) (data (i32.const 65536) \"x\")"] {
        let module = folder.file("bad.wat", format!("(module {bad} (func (export \"_start\")))"));
        let ran = wprof(&["run", &module]);
        assert_eq!(ran.code, Some(134), "{}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.err.contains("bad.wat trapped after "), "{}", ran.err);
    }
}

#[test]
fn a_start_function_that_traps_keeps_its_profile() {
    let folder = Folder::new();
    let profile = folder.path("f.wprof");
    let module = folder.file(
        "start.wat",
        "(module (func $helper (nop)) (func $begin (call $helper) (unreachable)) (start $begin) (func (export \"_start\")))",
    );
    let ran = wprof(&["run", "--exact", "-o", &profile, &module]);
    assert_eq!(ran.code, Some(134), "{ran:?}");
    let profile = json(&profile);
    let calls = |name: &str| function(&profile, name)["calls"].clone();
    assert_eq!((calls("begin"), calls("helper")), (1.into(), 1.into()));
}

#[test]
fn a_core_dump_is_written_if_the_program_traps() {
    let folder = Folder::new();
    let dump = folder.path("crash.core");
    let ran = wprof(&["run", "-q", "--coredump", &dump, &program("crash"), "unreachable", "3"]);
    assert_eq!(ran.code, Some(134));
    let bytes = std::fs::read(&dump).unwrap();
    assert!(bytes.starts_with(b"\0asm\x01\0\0\0"));
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    // The last two are a memory's: what the program has printed.
    for name in ["coremodules", "coreinstances", "corestack", "crash.wasm", "unreachable at depth"] {
        assert!(has(name.as_bytes()), "{name}");
    }
    std::fs::remove_file(&dump).unwrap();
    let returns = folder.file("returns.wat", r#"(module (func (export "_start")))"#);
    wprof(&["run", "-q", "--coredump", &dump, &returns]).succeeded();
    assert!(!std::fs::exists(&dump).unwrap(), "there is nothing to dump");
}
