//! `wprof trace compress`, `hot`, `pack`, `unpack` and `streams`: what is made of traces.

use super::{COUNT, Folder, program, wprof};

/// The trace of `COUNT`, or of a module's export `f`.
fn recorded(folder: &Folder, text: &str, invoke: &str, (options, given): (&[&str], &[&str])) -> String {
    let (module, trace) = (folder.file("ran.wat", text), folder.path("ran.wtrace"));
    let args = ["trace", "record", "-q", "-o", &trace, "--invoke", invoke];
    wprof(&[&args[..], options, &[module.as_str()], given].concat()).succeeded();
    trace
}

#[test]
fn hot_subpaths_go_through_loops_and_calls() {
    let folder = Folder::new();
    let (trace, whole) = (recorded(&folder, COUNT, "count", (&[], &["1000"])), folder.path("ran.wpp"));
    let told = wprof(&["trace", "compress", &trace, "-o", &whole]).err;
    // Three paths, a call and a return in each round; the call of `count` and its return.
    assert!(told.starts_with("wprof: 5,002 items as "), "{told}");
    let hot = wprof(&["trace", "hot", &whole]).succeeded();
    // Half of the rounds take 11 instructions of their own and 3 in the callee, and the others 9 and 3.
    assert!(hot.contains("; the run has 13,001 instructions\n"), "{hot}");
    assert!(hot.contains("count  ") && hot.contains("is_odd  "), "{hot}");
    assert!(
        hot.contains(" → call\n") && hot.contains(" → next iteration\n") && hot.contains(" → return\n"),
        "{hot}"
    );
    let segments = wprof(&["trace", "hot", &whole, "--depth", "1", "-n", "1"]).succeeded();
    assert!(segments.contains("segments of depth 1; "), "{segments}");
    let lines: Vec<_> = segments.lines().filter_map(|line| line.rsplit(" → ").next()).collect();
    assert_eq!(lines[3..6], ["call", "return", "next iteration"], "{segments}");
    let html = wprof(&["trace", "hot", &whole, "--html", "-"]).succeeded();
    assert!(html.contains("<title>Hot paths of ") && html.contains("\">is_odd</span>  "), "{html}");
    let none = wprof(&["trace", "hot", &whole, "--length", "2", "--least", "100%"]).succeeded();
    assert!(none.starts_with("0 minimal hot subpaths of 2 to 2 paths"), "{none}");
}

/// The program divides, then multiplies, and divides again.
#[test]
fn phases_come_back() {
    const TURNS: &str = r#"(module
        (func $divide (param $n i32) (local $x i32)
            (loop $again
                (local.set $x (i32.div_u (i32.const 1000) (local.get $n)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func $multiply (param $n i32) (local $x i32)
            (loop $again
                (local.set $x (i32.mul (local.get $x) (local.get $n)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "turns") (param $n i32)
            (call $divide (local.get $n))
            (call $multiply (i32.mul (local.get $n) (i32.const 2)))
            (call $divide (local.get $n))))"#;
    let folder = Folder::new();
    let (trace, whole) = (recorded(&folder, TURNS, "turns", (&[], &["1000"])), folder.path("ran.wpp"));
    wprof(&["trace", "compress", "-q", &trace, "-o", &whole]).succeeded();
    let told = wprof(&["trace", "phases", &whole, "--windows", "8", "-n", "1"]).succeeded();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("2 phases in 8 windows; the run has "), "{told}");
    assert_eq!(lines[1], "  AABBBBAA", "{told}");
    assert!(lines[3].starts_with("A  49.9%") && lines[3].ends_with("  4 windows"), "{told}");
    assert!(lines[4].contains("divide  ") && lines[4].ends_with(" → next iteration"), "{told}");
    assert!(lines[6].starts_with("B  ") && lines[7].contains("multiply  "), "{told}");
    let all = wprof(&["trace", "phases", &whole, "--difference", "100%"]).succeeded();
    assert!(all.starts_with("1 phase in "), "{all}");
    let wrong = wprof(&["trace", "phases", &trace]).failed();
    assert!(wrong.contains("ran.wtrace"), "{wrong}");
}

/// The costs of subpaths of one path are those of an exact profile.
#[test]
fn a_whole_path_has_as_many_instructions_as_a_profile() {
    let folder = Folder::new();
    let (trace, whole) = (folder.path("j.wtrace"), folder.path("j.wpp"));
    wprof(&["trace", "record", "-q", "-o", &trace, &program("json"), "1", "1"]).succeeded();
    wprof(&["trace", "compress", "-q", "--window", "5000", &trace, "-o", &whole]).succeeded();
    let profile = folder.path("j.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("json"), "1", "1"]).succeeded();
    let ops = super::json(&profile)["ops"].as_u64().expect("a number").to_string();
    let hot = wprof(&["trace", "hot", &whole]).succeeded().replace(',', "");
    assert!(hot.contains(&format!("; the run has {ops} instructions\n")), "{ops}: {hot}");
}

#[test]
fn a_packed_trace_comes_back_byte_for_byte_and_is_smaller() {
    let folder = Folder::new();
    let [trace, packed, again] = ["j.wtrace", "j.wtpk", "again.wtrace"].map(|name| folder.path(name));
    wprof(&["trace", "record", "-q", "-o", &trace, &program("json"), "1", "1"]).succeeded();
    let told = wprof(&["trace", "pack", &trace, "-o", &packed]).err;
    assert!(told.contains(" bits a branch, "), "{told}");
    wprof(&["trace", "unpack", "-q", &packed, "-o", &again]).succeeded();
    let bytes = |path: &str| std::fs::read(path).expect("just written");
    assert_eq!(bytes(&again), bytes(&trace));
    assert!(bytes(&packed).len() < bytes(&trace).len());
    let refused = wprof(&["trace", "unpack", &packed, "--max-size", "1K", "-o", &folder.path("x")]).failed();
    assert!(refused.contains("`wprof trace unpack --max-size`"), "{refused}");
    let wrong = wprof(&["trace", "unpack", &trace, "-o", &folder.path("x")]).failed();
    assert!(wrong.contains("is no packed trace"), "{wrong}");
    let wrong = wprof(&["trace", "hot", &trace]).failed();
    assert!(wrong.contains("is no whole program path"), "{wrong}");
}

/// Fifty walks through sixteen numbers.
const WALKS: &str = r#"(module (memory 1) (func (export "f") (result i32) (local $n i32) (local $at i32) (local $sum i32)
    (local.set $n (i32.const 50))
    (loop $again
        (local.set $at (i32.const 64))
        (loop $walk
            (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $at))))
            (br_if $walk (local.tee $at (i32.sub (local.get $at) (i32.const 4)))))
        (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    local.get $sum))"#;

#[test]
fn a_walk_that_comes_again_is_a_data_stream() {
    let folder = Folder::new();
    let trace = recorded(&folder, WALKS, "f", (&[], &[]));
    let missing = wprof(&["trace", "streams", &trace]).failed();
    assert!(missing.contains("record it with `wprof trace record --addresses`"), "{missing}");
    let trace = recorded(&folder, WALKS, "f", (&["--addresses"], &[]));
    let found = wprof(&["trace", "streams", "--length", "10..16", &trace]).succeeded();
    assert!(found.contains(" of 800 data references\n"), "{found}");
    assert!(found.contains(", about 16 references each, round a loop of\n"), "{found}");
    let html = wprof(&["trace", "streams", "--length", "10..16", "--html", "-", &trace]).succeeded();
    assert!(html.starts_with("<!doctype html>\n") && html.contains("</span>  1 stream, "), "{html}");
    let short = wprof(&["trace", "streams", "--length", "33..40", &trace]).succeeded();
    assert!(short.contains("\nthat is less than 90"), "{short}");
    let (bursts, module) = (folder.path("f.wbursts"), folder.path("ran.wat"));
    let run = ["run", "-q", "--deterministic", "--burst", "1:inf", "--bursts", &bursts, "--addresses"];
    wprof(&[&run[..], &["--invoke", "f", &module]].concat()).succeeded();
    let args = ["trace", "streams", "--length", "10..16", "--overlap", &trace, &bursts];
    let compared = wprof(&args).succeeded();
    let overlap = compared.lines().last().expect("lines");
    assert!(overlap.starts_with("overlap 9") || overlap.starts_with("overlap 100%"), "{compared}");
}

/// The caller's and the callee's ways are tested, but not one after the other.
#[test]
fn a_new_combination_of_paths_across_a_call_is_untested() {
    const WAYS: &str = r#"(module
        (func $callee (param i32) (result i32)
            (if (result i32) (local.get 0) (then (i32.const 1)) (else (i32.const 2))))
        (func (export "f") (param $way i32) (param $pass i32) (result i32)
            (if (local.get $way) (then (local.set $way (i32.const 5))))
            (i32.add (local.get $way) (call $callee (local.get $pass)))))"#;
    let folder = Folder::new();
    let whole = |name: &str, given: &[&str]| {
        let (trace, whole) = (recorded(&folder, WAYS, "f", (&[], given)), folder.path(name));
        wprof(&["trace", "compress", "-q", &trace, "-o", &whole]).succeeded();
        whole
    };
    let (none, both, new) = (whole("00", &["0", "0"]), whole("11", &["1", "1"]), whole("10", &["1", "0"]));
    let residual = |options: &[&str]| wprof(&[&["trace", "residual"][..], options].concat());
    let found = residual(&["--tested", &none, "--tested", &both, &new]);
    assert_eq!(found.code, Some(3), "{}", found.err);
    assert!(
        found.out.starts_with("untested: 1 of 1 segment of depth 1; 100% of executions\n"),
        "{}",
        found.out
    );
    assert!(found.out.contains("\n1 time: only the combination is new\n"), "{}", found.out);
    let with_new_path = residual(&["--tested", &none, &new]);
    assert!(with_new_path.out.contains("\n1 time: 1 path in no test\n"), "{}", with_new_path.out);
    let tested = residual(&["--tested", &new, "--tested", &both, &new]);
    assert_eq!(tested.code, Some(0), "{}", tested.err);
    assert!(
        tested.out.starts_with("untested: 0 of 1 segment of depth 1; 0% of executions\n"),
        "{}",
        tested.out
    );
    let other = recorded(&folder, COUNT, "count", (&[], &["10"]));
    let count = folder.path("count.wpp");
    wprof(&["trace", "compress", "-q", &other, "-o", &count]).succeeded();
    let refused = residual(&["--tested", &count, &new]).failed();
    assert!(refused.contains("the tests ran another module"), "{refused}");
}
