//! `wprof trace`: record, replay, stats, cat; traps, limits, damage, Ctrl-C.

use std::process::Stdio;

use super::interrupt::{FOREVER, send, start};
use super::{COUNT, Folder, program, wprof};

/// The trace of `COUNT`, the module beside it.
fn recorded(folder: &Folder, n: &str, more: &[&str]) -> String {
    let (module, trace) = (folder.file("count.wat", COUNT), folder.path("count.wtrace"));
    let args = ["trace", "record", "-q", "-o", &trace, "--invoke", "count"];
    let args: Vec<&str> = args.iter().chain(more).copied().chain([module.as_str(), n]).collect();
    assert_eq!(wprof(&args).succeeded().lines().count(), 1);
    trace
}

/// Kinds of events, without names and places.
fn kinds(replay: &str) -> Vec<&str> {
    replay.lines().filter_map(|line| line.trim_start().split(' ').next()).collect()
}

#[test]
fn a_run_is_replayed_in_order() {
    let folder = Folder::new();
    for method in ["best", "witness", "bits", "branches"] {
        let trace = recorded(&folder, "2", &["--method", method]);
        let replay = wprof(&["trace", "replay", &trace]).succeeded();
        let call = ["enter", "block", "leave"];
        let mut expected = vec!["enter", "block", "block"];
        // 2 is even, 1 is odd.
        expected.extend(call);
        expected.extend(["block", "block", "block"]);
        expected.extend(call);
        expected.extend(["block", "block", "block", "block", "leave"]);
        assert_eq!(kinds(&replay), expected, "{replay}");
        assert!(replay.starts_with("enter count\n  block 0x"), "{replay}");
        assert!(replay.contains("\n  enter is_odd\n    block 0x"), "{replay}");
        let first = wprof(&["trace", "replay", "--limit", "4", &trace]).succeeded();
        assert_eq!(first.lines().collect::<Vec<_>>(), replay.lines().take(4).collect::<Vec<_>>());
    }
}

#[test]
fn a_trace_can_be_read_without_its_module() {
    let folder = Folder::new();
    let trace = recorded(&folder, "1", &[]);
    let here = wprof(&["trace", "replay", &trace]).succeeded();
    let moved = folder.path("moved.wat");
    std::fs::rename(folder.path("count.wat"), &moved).unwrap();
    let ran = wprof(&["trace", "replay", &trace]);
    assert!(ran.err.contains("--module"), "{ran:?}");
    let numbers = ran.succeeded();
    assert!(
        numbers.starts_with("enter wasm-function[1]\n  block b0\n") || numbers.contains("  block "),
        "{numbers}"
    );
    assert_eq!(kinds(&numbers), kinds(&here));
    assert_eq!(wprof(&["trace", "replay", "--module", &moved, &trace]).succeeded(), here);
    let other = folder.file("other.wat", "(module)");
    let error = wprof(&["trace", "replay", "--module", &other, &trace]).failed();
    assert!(error.contains("not the module that ran"), "{error}");
}

#[test]
fn stats_are_those_of_the_methods() {
    let folder = Folder::new();
    let trace = recorded(&folder, "1000", &["--method", "bits"]);
    let stats = wprof(&["trace", "stats", &trace]).succeeded();
    // `count` has two branches a round, and `is_odd` none; all write one bit each time.
    let row = stats.lines().find(|line| line.trim_start().starts_with("bits ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1], "2", "{stats}");
    assert_eq!(cells[3..6], ["2,000", "2,000", "1.000"], "{stats}");
    assert!(stats.contains(" in 1 chunk"), "{stats}");
    let all = wprof(&["trace", "stats", &recorded(&folder, "1000", &["--method", "branches"])]).succeeded();
    assert!(!all.contains(" 1.000"), "{all}");
}

#[test]
fn cat_shows_functions_and_chunks() {
    let folder = Folder::new();
    let trace = recorded(&folder, "3", &["--method", "bits"]);
    let text = wprof(&["trace", "cat", "--bits", &trace]).succeeded();
    assert!(text.contains("function 1 count: ") && text.contains(" blocks, bits\n"), "{text}");
    // The entry: a one and 32 bits; two bits for each of three rounds.
    assert!(text.contains("chunk 0: 39 bits from bit 0\n           0  11000000"), "{text}");
}

#[test]
fn addresses_stand_behind_their_blocks() {
    let folder = Folder::new();
    let text = r#"(module (memory 1) (func (export "f") (param i32) (result i32)
        (i32.store8 offset=3 (local.get 0) (i32.const 7))
        (if (result i32) (local.get 0) (then (i32.load (local.get 0))) (else (i32.const 1)))))"#;
    let (module, trace) = (folder.file("touch.wat", text), folder.path("touch.wtrace"));
    let record = |more: &[&'static str]| {
        let args = ["trace", "record", "-q", "-o", &trace, "--invoke", "f"];
        let args: Vec<&str> = args.iter().chain(more).copied().chain([module.as_str(), "16"]).collect();
        wprof(&args).succeeded();
    };
    record(&["--addresses"]);
    let replay = wprof(&["trace", "replay", "--addresses", &trace]).succeeded();
    assert_eq!(kinds(&replay), ["enter", "block", "store", "block", "load", "block", "leave"], "{replay}");
    assert!(replay.contains(" memory 0 0x13 1\n") && replay.contains(" memory 0 0x10 4\n"), "{replay}");
    let events = wprof(&["trace", "replay", &trace]).succeeded();
    assert_eq!(kinds(&events), ["enter", "block", "block", "block", "leave"], "{events}");
    let cat = wprof(&["trace", "cat", "--addresses", &trace]).succeeded();
    assert!(cat.contains("  2 data references\n") && cat.contains(" 0x10\n"), "{cat}");
    record(&[]);
    let error = wprof(&["trace", "replay", "--addresses", &trace]).failed();
    assert!(error.contains("record them with `wprof trace record --addresses`"), "{error}");
}

/// A switch whose default is taken nearly always: its word is the shortest if the weights say so.
#[test]
fn weights_make_words_short() {
    let folder = Folder::new();
    let text = r#"(module (func (export "f") (param i32) (local $n i32)
        (local.set $n (i32.const 1000))
        (loop $again
            (block $a (block $b (block $c (block $d (block $e
                (br_table $a $b $c $d $e (select (i32.const 0) (local.get 0) (i32.eqz (local.get $n)))))
                (return)) (return)) (return)) (nop))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let module = folder.file("switch.wat", text);
    let (profile, trace) = (folder.path("switch.wprof"), folder.path("switch.wtrace"));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "f", &module, "3"]).succeeded();
    let bits = |more: &[&str]| {
        let args = ["trace", "record", "-q", "--method", "bits", "-o", &trace, "--invoke", "f"];
        wprof(&args.iter().chain(more).copied().chain([module.as_str(), "3"]).collect::<Vec<_>>())
            .succeeded();
        let stats = wprof(&["trace", "stats", &trace]).succeeded();
        let row = stats.lines().find(|line| line.trim_start().starts_with("bits ")).expect("a row");
        row.split_whitespace().nth(5).expect("a cell").parse::<f64>().expect("a number")
    };
    assert_eq!((bits(&[]) > 1.4, bits(&["--weights", &profile])), (true, 1.0));
}

#[test]
fn a_trap_and_an_exit_end_the_trace_and_not_before() {
    let folder = Folder::new();
    let trace = folder.path("t.wtrace");
    let cases = [("crash", "divide", Some(134)), ("crash", "stack", Some(134)), ("exit", "42", Some(42))];
    for (name, arg, code) in cases {
        let depth = if name == "exit" { "100" } else { "20" };
        let ran = wprof(&["trace", "record", "-q", "-o", &trace, &program(name), arg, depth]);
        assert_eq!(ran.code, code, "{ran:?}");
        let replay = wprof(&["trace", "replay", &trace]).succeeded();
        let unwound = kinds(&replay).iter().rev().take_while(|&&kind| kind == "unwound").count();
        assert!(unwound > 20, "{name} {arg}: {unwound}");
        let count = |kind| kinds(&replay).iter().filter(|&&k| k == kind).count();
        assert_eq!(count("enter"), count("leave") + count("unwound"));
    }
}

#[test]
fn a_limit_keeps_the_beginning_and_says_so() {
    let folder = Folder::new();
    let ran = |size: &str| {
        let (module, trace) = (folder.file("count.wat", COUNT), folder.path("count.wtrace"));
        wprof(&[
            "trace",
            "record",
            "--max-size",
            size,
            "-o",
            &trace,
            "--invoke",
            "count",
            &module,
            "20000000",
        ])
    };
    let ran = ran("900");
    assert!(ran.err.contains("--max-size"), "{ran:?}");
    assert_eq!(ran.succeeded(), "10000000\n");
    let trace = folder.path("count.wtrace");
    assert!(std::fs::metadata(&trace).unwrap().len() <= 900);
    let replay = wprof(&["trace", "stats", &trace]);
    assert!(replay.err.contains("only the beginning of the run"), "{replay:?}");
}

#[test]
fn chunks_can_be_entered() {
    let folder = Folder::new();
    let trace = recorded(&folder, "9000000", &[]);
    let last = wprof(&["trace", "replay", "--from-chunk", "1", "--limit", "50", &trace]).succeeded();
    assert!(last.starts_with("inside count 0x"), "{last}");
    assert_eq!(
        last.lines().filter(|line| !line.starts_with("inside") && !line.contains("  inside")).count(),
        50
    );
    let error = wprof(&["trace", "replay", "--from-chunk", "99", &trace]).failed();
    assert!(error.contains("chunk 99"), "{error}");
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = Folder::new();
    let trace = recorded(&folder, "50", &[]);
    let whole = std::fs::read(&trace).unwrap();
    let error = wprof(&["trace", "replay", &folder.file("foreign", "no trace")]).failed();
    assert!(error.contains("not a wprof trace"), "{error}");
    let cut = folder.file("cut.wtrace", &whole[..whole.len() - 3]);
    let ran = wprof(&["trace", "replay", &cut]);
    assert!(ran.err.contains("breaks off at byte"), "{ran:?}");
    assert!(ran.succeeded().ends_with("leave count\n"));
    let mut bytes = whole.clone();
    bytes[40] ^= 1;
    for command in ["replay", "stats", "cat"] {
        let ran = wprof(&["trace", command, &folder.file("damaged.wtrace", &bytes)]);
        assert!(ran.err.contains("damaged") || ran.err.contains("breaks off"), "{ran:?}");
    }
    assert!(wprof(&["trace", "stats", &folder.path("none")]).failed().contains("cannot read"));
}

#[test]
fn an_interrupt_ends_the_trace_in_good_order() {
    let folder = Folder::new();
    let (module, trace) = (folder.file("forever.wat", FOREVER), folder.path("f.wtrace"));
    let child = start(&["trace", "record", "-o", &trace, &module]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let stats = super::command(&["trace", "stats", &trace]).stderr(Stdio::piped()).output().unwrap();
    assert!(stats.status.success() && stats.stderr.is_empty(), "{stats:?}");
}
