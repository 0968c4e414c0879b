//! What things are called: demangled everywhere, and readable where there are no names.

use super::{COUNT, Folder, wprof};

/// `COUNT`, its functions named as compilers do: by C++, and by Rust in its old way and its new one.
fn mangled() -> String {
    let is_odd = "$_ZN6number6is_odd17h0123456789abcdefE";
    let text = COUNT.replace("$is_odd", is_odd).replace("$count", "$_ZN7counter5countEi");
    text.replace("(module", "(module (func $_RNvC6_123foo3bar) (start $_RNvC6_123foo3bar)")
}

fn profile(folder: &Folder, text: &str) -> (String, String) {
    let (module, profile) = (folder.file("m.wat", text), folder.path("m.wprof"));
    let run = ["run", "--collect", "paths,cct", "-o", &profile, "--invoke", "count", &module, "10"];
    let ran = wprof(&run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.err.contains("_Z") && !ran.err.contains("_R"), "{}", ran.err);
    (module, profile)
}

#[test]
fn names_are_demangled_everywhere() {
    let folder = Folder::new();
    let (module, profile) = profile(&folder, &mangled());
    let trace = folder.path("m.wtrace");
    wprof(&["trace", "record", "-q", "-o", &trace, "--invoke", "count", &module, "3"]).succeeded();
    let empty = folder.path("empty.wprof");
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &empty, "--invoke", "count", &module, "1"])
        .succeeded();
    for args in [
        &["report", &profile][..],
        &["report", &profile, "--cct"],
        &["report", &profile, "--callers", "is_odd"],
        &["report", &profile, "--interesting", &profile],
        &["annotate", &profile, "number::is_odd"],
        &["diff", &empty, &profile],
        &["explain", &module, "counter::count(int)", "--stage", "plan"],
        &["trace", "replay", &trace],
        &["export", "--to", "folded", &profile],
        &["export", "--to", "flamegraph", &profile],
        &["export", "--to", "speedscope", &profile],
        &["export", "--to", "firefox", &profile],
        &["export", "--to", "chrome", &profile],
        &["export", "--to", "callgrind", &profile],
        &["export", "--to", "csv", &profile],
    ] {
        let said = wprof(args).succeeded();
        // The disassembly is the module's own text.
        let is_code = |line: &&str| line.contains("call $") || line.contains("(func $");
        let shown: Vec<&str> = said.lines().filter(|line| !is_code(line)).collect();
        assert!(
            shown.iter().any(|line| line.contains("is_odd") || line.contains("count")),
            "{args:?}: {said}"
        );
        assert!(!shown.iter().any(|line| line.contains("_ZN") || line.contains("_RNv")), "{args:?}: {said}");
    }
    assert!(wprof(&["report", &profile]).succeeded().contains("foo::bar"));
}

#[test]
fn a_module_without_names_reads_well() {
    let folder = Folder::new();
    let text = COUNT.replace(" $is_odd", " 0").replace("(func 0", "(func").replace("(func $count", "(func");
    let (_, profile) = profile(&folder, &text);
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("  <function 0>") && report.contains("  count"), "{report}");
    let cct = wprof(&["report", &profile, "--cct"]).succeeded();
    assert!(cct.contains("<function 0>"), "{cct}");
    let annotated = wprof(&["annotate", &profile, "0"]).succeeded();
    assert!(annotated.starts_with("<function 0>\n"), "{annotated}");
    let folded = wprof(&["export", "--to", "folded", &profile]).succeeded();
    assert_eq!(folded, "count 1\ncount;<function 0> 10\n");
}

#[test]
fn host_functions_are_named_with_their_time() {
    let folder = Folder::new();
    let profile = folder.path("h.wprof");
    let ran = wprof(&["run", "--exact", "-o", &profile, &super::program("hello")]);
    let host = ran.err.lines().find(|line| line.contains(" to the host")).expect("it writes");
    assert!(host.contains("s in ") && host.contains("s of it in fd_"), "{host}");
    let report = wprof(&["report", &profile]).succeeded();
    let row = report.lines().find(|line| line.ends_with("::fd_write")).unwrap();
    assert!(row.contains("s  ") && row.trim_start().starts_with(|c: char| c.is_ascii_digit()), "{row}");
    let found = super::json(&profile);
    let calls = found["host_calls"].as_array().unwrap();
    assert!(!calls.is_empty() && calls.iter().all(|calls| calls["time_ns"].as_u64() > Some(0)), "{calls:?}");
    let total: u64 = calls.iter().map(|calls| calls["time_ns"].as_u64().unwrap()).sum();
    assert!(total < found["runs"][0]["wall_ns"].as_u64().unwrap());
    // One input gives one profile: no times.
    wprof(&[
        "run",
        "-q",
        "--profile",
        "adaptive",
        "--deterministic",
        "-o",
        &profile,
        &super::program("hello"),
    ])
    .succeeded();
    let calls = super::json(&profile)["host_calls"].clone();
    assert!(calls.as_array().unwrap().iter().all(|calls| calls["time_ns"].is_null()), "{calls}");
}
