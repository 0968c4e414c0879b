//! Annotated functions show exact counts in the margin.

use super::{COUNT, Folder, program, wprof};

/// The words of each line.
fn words(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn blocks_and_edges_have_their_counts() {
    let folder = Folder::new();
    let text = wprof(&["annotate", &folder.count_profile(), "count"]).succeeded();
    let lines = words(&text);
    let expected = [
        "101 instructions in 1 call, 77.1% of all; 5 blocks, 3 counters",
        "10 b1 local.get $n",
        "5 └ taken → b2 50.0%",
        "5 └ not taken → b3 50.0%",
        "5 b2 local.get $odd",
        "10 b3 local.get $n",
        "9 └ taken → b1 90.0%",
        "1 └ not taken → b4 10.0%",
        "1 b4 end",
    ];
    let mut rest = lines.iter();
    for line in expected {
        assert!(rest.any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn a_call_that_trapped_is_marked() {
    let folder = Folder::new();
    let module = folder.file("t.wat", r#"(module (func $t (export "t") nop unreachable))"#);
    let profile = folder.path("t.wprof");
    assert_eq!(wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "t", &module]).code, Some(134));
    let text = wprof(&["annotate", &profile, "t"]).succeeded();
    let lines = words(&text);
    let at = lines.iter().position(|line| line == "unreachable").unwrap_or_else(|| panic!("{text}"));
    assert_eq!(lines[at + 1], "1 ✗ call ended here", "{text}");
}

#[test]
fn source_lines_stand_between_the_instructions() {
    let folder = Folder::new();
    let profile = folder.path("crash.wprof");
    wprof(&["run", "-q", "--exact", "-o", &profile, &program("crash"), "ok", "20"]).succeeded();
    let text = wprof(&["annotate", &profile, "descend_left"]).succeeded();
    assert!(text.contains("crash.c:63  return descend_right(act, depth - 1) * 3 + depth;"), "{text}");
}

/// Most of the time goes to one instruction's line; functions that no burst saw have their time alone.
#[test]
fn sampled_time_stands_before_lines_and_instructions() {
    let folder = Folder::new();
    let profile = folder.path("columns.wprof");
    let module = program("planted/columns");
    wprof(&["run", "-q", "--rate", "1000", "--burst", "inf:1", "-o", &profile, &module]).succeeded();
    let report = wprof(&["report", &profile]).succeeded();
    let hottest = report.lines().skip_while(|line| !line.starts_with("Functions by time")).nth(2);
    let name = hottest.and_then(|line| line.split_whitespace().last()).unwrap_or_else(|| panic!("{report}"));
    let text = wprof(&["annotate", &profile, name]).succeeded();
    assert!(text.contains(" of all; ") && text.contains("no burst saw it"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("time ")), "{text}");
    let is_timed = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        matches!(words[..], [number, "ms" | "s" | "µs"] if number.parse::<f64>().is_ok())
    };
    let (lines, instructions): (Vec<&str>, Vec<&str>) =
        text.lines().skip(2).filter(is_timed).partition(|line| line.contains("columns.cpp:"));
    assert!(!instructions.is_empty() && !lines.is_empty(), "{text}");
}

#[test]
fn functions_are_found_by_index_or_part_of_their_name() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let by_name = wprof(&["annotate", &profile, "is_odd"]).succeeded();
    assert_eq!(wprof(&["annotate", &profile, "odd"]).succeeded(), by_name);
    assert_eq!(wprof(&["annotate", &profile, "0"]).succeeded(), by_name);
    let said = wprof(&["annotate", &profile, "o"]).failed();
    assert!(said.contains("     1  count\n       0  is_odd"), "{said}");
    assert!(wprof(&["annotate", &profile, "7"]).failed().contains("no function 7"));
}

#[test]
fn another_module_is_refused() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let other = folder.file("other.wat", COUNT.replace("i32.and", "i32.or"));
    let said = wprof(&["annotate", &profile, "count", "--module", &other]).failed();
    assert!(said.contains("other.wat is not the module that ran"), "{said}");
    let copy = folder.file("copy.wat", COUNT);
    std::fs::remove_file(folder.path("count.wat")).unwrap();
    assert!(wprof(&["annotate", &profile, "count"]).failed().contains("does not exist: say with --module"));
    let said = wprof(&["annotate", &profile, "count", "--module", &folder.path("none")]).failed();
    assert!(said.contains("none does not exist: give the module that ran\n"), "{said}");
    wprof(&["annotate", &profile, "count", "--module", &copy]).succeeded();
}

#[test]
fn a_module_that_was_moved_along_with_its_profile_is_found() {
    let (old, new) = (Folder::new(), Folder::new());
    let profile = old.count_profile();
    let moved = new.path("moved.wprof");
    std::fs::rename(profile, &moved).unwrap();
    std::fs::rename(old.path("count.wat"), new.path("count.wat")).unwrap();
    wprof(&["annotate", &moved, "count"]).succeeded();
}
