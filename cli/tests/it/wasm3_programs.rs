//! Compiled programs that use WebAssembly 3.0 behave as on the machine itself, in all modes: exceptions of C++ and setjmp of
//! C in both encodings, threads of C, objects of Kotlin and MoonBit, and Lua.

use std::path::Path;
use std::process::Stdio;

use super::{Folder, command, function, json, wprof};

/// Options of `wprof run` for each mode.
const MODES: [&[&str]; 6] = [
    &["--profile", "off"],
    &["--exact"],
    &["--exact", "--collect", "paths,cct"],
    &["--burst", "1:100000"],
    &["--burst", "30:20"],
    &["--burst", "500:50"],
];

fn path(file: &str) -> String {
    format!("{}/../bench-wasm/wasm3/programs/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a program in each mode, which must succeed and print this.
fn prints(program: &str, args: &[&str], expected: &str) {
    let program = path(program);
    for mode in MODES {
        let run = [&["run", "-q"], mode, &[&program], args].concat();
        let ran = command(&run).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{program} {mode:?}: {said}");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{program} {mode:?}: {said}");
    }
}

#[test]
fn exceptions_of_cpp() {
    let expected =
        "sum 664000, notes 4000, zeros 2000, large 12000; held 0, at most 7\na number is missing\n";
    prints("errors.wasm", &[], expected);
    prints("errors-3.0.wasm", &[], expected);
}

#[test]
fn both_encodings_catch_alike() {
    let folder = Folder::new();
    let caught = ["errors.wasm", "errors-3.0.wasm"].map(|program| {
        let profile = folder.path("profile.wprof");
        let run = ["run", "-q", "--exact", "-o", &profile, &path(program), "100"];
        assert!(command(&run).stdout(Stdio::null()).status().unwrap().success());
        let calls = |name: &str| function(&json(&profile), name)["calls"].as_u64().unwrap();
        ["__cxa_throw", "__cxa_begin_catch", "__cxa_rethrow", "__cxa_end_catch"].map(calls)
    });
    // Each round five texts of nine have errors, of which two kinds pass through a handler that throws again.
    assert_eq!(caught[0], caught[1]);
    assert_eq!(caught[0][..3], [501, 701, 200]);
}

#[test]
fn setjmp_of_c() {
    let tries: String = (1..5).map(|n| format!("back with 7 after try {n}\n")).collect();
    prints("jumps.wasm", &[], &format!("{tries}-96000 2\n"));
    prints("jumps-3.0.wasm", &[], &format!("{tries}-96000 2\n"));
}

#[test]
fn threads_of_c() {
    let rounds = |tasks: u32| -> String {
        (0..3).map(|round| format!("round {round}: {} tasks\n", (round + 1) * tasks)).collect()
    };
    let last = "1332895 steps, at most 275 of 13255; workers 10\n";
    prints("threads.wasm", &[], &(rounds(100) + last));
    let last = "2864311 steps, at most 307 of 26623; workers 28\n";
    prints("threads.wasm", &["7", "200"], &(rounds(200) + last));
}

/// The lines are those that the same source prints when it is compiled for Java's machine.
#[test]
fn objects_and_exceptions_of_kotlin() {
    let counted = "921 a\n919 b\n908 d\n889 c\n253 aa\nsum 294200, 597 malformed, 84 words\n";
    prints("words.wasm", &[], counted);
}

/// The number is the one that the same source yields when it is compiled to JavaScript.
#[test]
fn objects_and_closures_of_moonbit() {
    let module = path("tree.wasm");
    for mode in MODES {
        let run = [&["run"], mode, &["--invoke", "run", &module, "100000"]].concat();
        assert_eq!(wprof(&run).succeeded(), "834715418\n", "{mode:?}");
    }
}

/// Strings that the host keeps for programs that import `wasm:js-string`: text, constants, and profiles of what used them.
#[test]
fn strings_of_javascript() {
    let program = format!("{}/tests/it/programs/strings.wat", env!("CARGO_MANIFEST_DIR"));
    let words: Vec<String> = (1..=300)
        .map(|n| match (n % 3, n % 5) {
            (0, 0) => "fizzbuzz".to_owned(),
            (0, _) => "fizz".to_owned(),
            (_, 0) => "buzz".to_owned(),
            _ => n.to_string(),
        })
        .collect();
    let (least, greatest) = (words.iter().min().unwrap(), words.iter().max().unwrap());
    let same = words.iter().filter(|word| word.chars().eq(word.chars().rev())).count();
    let expected = format!(
        "{}\nleast {least}, greatest {greatest}\npalindromes {same} \u{f6}\u{20ac}\u{1f600}\n",
        words.join("\n")
    );
    let folder = Folder::new();
    let profile = folder.path("profile.wprof");
    for mode in MODES {
        let output: &[&str] = if mode.contains(&"off") { &[] } else { &["-o", &profile] };
        let ran = command(&[&["run", "-q"], mode, output, &[&program]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{mode:?}: {said}");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{mode:?}");
        if mode[0] != "--exact" {
            continue;
        }
        let found = json(&profile);
        let calls = |name: &str| function(&found, name)["calls"].as_u64().unwrap();
        let numbers =
            words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).count() as u64;
        assert_eq!((calls("word"), calls("reversed")), (300, 300));
        // The count of palindromes is a number, too; and so many lines are printed, and seven pieces after them.
        assert_eq!((calls("decimal"), calls("print")), (numbers + 1, 307));
        let report = wprof(&["report", &profile]).succeeded();
        assert!(report.contains("reversed") && report.contains("encode"), "{report}");
    }
}

/// The source of Lua is not ours, so the program is not committed.
#[test]
fn errors_and_coroutines_of_lua() {
    let lua = "../../downloads/lua.wasm";
    if !Path::new(&path(lua)).exists() {
        super::tell_skipped("bench-wasm/wasm3/programs/build.sh makes lua.wasm");
        return;
    }
    let (folder, lua, script) = (path(""), path(lua), path("errors.lua"));
    let expected = "610\t3\n71571\t42004\n1 2 3 4 5 done\nfalse\thandled: attempt to index a nil value (local 't')\n \
                    3.14|xxx|\"a\\\nb\"\t0\nnil\t[string \"return 1 +\"]:1: unexpected symbol near <eof>\n";
    for mode in MODES {
        let run = [&["run", "-q", "--dir", &folder], mode, &[&lua, &script]].concat();
        let ran = command(&run).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{mode:?} {ran:?}");
        assert!(ran.status.success());
    }
}
