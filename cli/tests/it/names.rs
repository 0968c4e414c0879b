//! What things are called: demangled everywhere, and readable where there are no names.

use super::{COUNT, Folder, program, wprof};

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
    assert!(report.contains("  wasm-function[0]") && report.contains("  count"), "{report}");
    let cct = wprof(&["report", &profile, "--cct"]).succeeded();
    assert!(cct.contains("wasm-function[0]"), "{cct}");
    let annotated = wprof(&["annotate", &profile, "0"]).succeeded();
    assert!(annotated.starts_with("wasm-function[0]\n"), "{annotated}");
    let folded = wprof(&["export", "--to", "folded", "--weight", "calls", &profile]).succeeded();
    assert_eq!(folded, "count 1\ncount;wasm-function[0] 10\n");
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

/// Returns a module without its custom sections, which lie behind its code.
fn stripped(module: &[u8]) -> Vec<u8> {
    let (mut kept, mut at) = (module[..8].to_vec(), 8);
    while at < module.len() {
        let (begin, mut size, mut shift) = (at, 0, 0);
        at += 1;
        loop {
            size |= usize::from(module[at] & 127) << shift;
            shift += 7;
            at += 1;
            if module[at - 1] < 128 {
                break;
            }
        }
        at += size;
        if module[begin] != 0 {
            kept.extend(&module[begin..at]);
        }
    }
    kept
}

#[test]
fn a_profile_of_a_stripped_module_is_read_with_the_whole_one() {
    let folder = Folder::new();
    let whole = program("crash");
    let bare = folder.file("bare.wasm", stripped(&std::fs::read(&whole).unwrap()));
    let profile = |module: &str, name: &str, depth: &str| {
        let profile = folder.path(name);
        wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, module, "ok", depth]).succeeded();
        profile
    };
    let (of_bare, of_whole) = (profile(&bare, "bare.wprof", "20"), profile(&whole, "whole.wprof", "30"));
    let report = wprof(&["report", &of_bare]).succeeded();
    assert!(report.contains("  wasm-function[") && !report.contains("descend_left"), "{report}");
    for args in [
        &["report", &of_bare, "-m", &whole][..],
        &["report", &of_bare, "-m", &whole, "--cct"],
        &["report", &of_bare, "-m", &whole, "--callers", "descend_left"],
        &["annotate", &of_bare, "-m", &whole, "descend_left"],
        &["export", "--to", "folded", &of_bare, "-m", &whole],
        // Of two profiles one has names.
        &["diff", &of_bare, &of_whole],
        &["diff", &of_whole, &of_bare],
    ] {
        let said = wprof(args).succeeded();
        assert!(said.contains("descend_"), "{args:?}: {said}");
        assert!(!said.contains("wasm-function"), "{args:?}: {said}");
    }
    let annotated = wprof(&["annotate", &of_bare, "-m", &whole, "descend_left"]).succeeded();
    assert!(annotated.contains("crash.c:63"), "{annotated}");
    // Counts of both add up, as the module is the same.
    let sum = folder.path("sum.wprof");
    wprof(&["merge", "-o", &sum, &of_bare, &of_whole]).succeeded();
}

#[test]
fn debug_information_full_of_zeros_is_told() {
    let folder = Folder::new();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/ways-zeros.wasm");
    let profile = folder.path("zeros.wprof");
    let ran = wprof(&["run", "--exact", "-o", &profile, "--invoke", "run", module, "10"]);
    let said = [ran.err, wprof(&["report", &profile]).err, wprof(&["annotate", &profile, "run"]).err];
    for said in said {
        assert!(said.contains("no source lines: its debug information has no addresses"), "{said}");
        assert!(said.contains("compile with -c and link apart, or use `clang --no-wasm-opt`"), "{said}");
    }
    let said = wprof(&["export", "--to", "lcov", &profile]).failed();
    assert!(said.contains("--no-wasm-opt"), "{said}");
}

/// What linkers write who demangle: with all that nobody wrote.
const LONG: &str = "void std::__2::vector<std::__2::pair<int, int>, std::__2::allocator<std::__2::pair<int, int> > >::\
                    count[abi:nn190107]<int>(std::__2::basic_string<char, std::__2::char_traits<char>, \
                    std::__2::allocator<char> > const&)";
const SHORT: &str = "std::vector<std::pair<int, int>>::count<int>(std::string const&)";

#[test]
fn names_are_short_and_in_full_where_asked_or_pointed_at() {
    let folder = Folder::new();
    let text = COUNT.replace("$is_odd", &format!("$\"{LONG}\""));
    let (_, profile) = profile(&folder, &text);
    let page = folder.path("p.html");
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&SHORT.replace('<', "\\u003c")) && page.contains(&LONG.replace('<', "\\u003c")));
    let svg = wprof(&["export", "--to", "flamegraph", &profile]).succeeded();
    let escaped = |name: &str| name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert!(svg.contains(&format!("data-name=\"{}\"", escaped(SHORT))), "{svg}");
    assert!(svg.contains(&format!("<title>{}: ", escaped(LONG))), "{svg}");
    for args in
        [&["report", &profile][..], &["report", &profile, "--cct"], &["export", "--to", "folded", &profile]]
    {
        let shown = super::command(args).env("COLUMNS", "160").output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains(SHORT) && !shown.contains("__2"), "{args:?}: {shown}");
        let full =
            super::command(&[args, &["--full-names"]].concat()).env_remove("COLUMNS").output().unwrap();
        let full = String::from_utf8(full.stdout).unwrap();
        assert!(full.contains(LONG), "{args:?}: {full}");
    }
    for asked in [LONG, SHORT] {
        let annotated = wprof(&["annotate", &profile, asked]).succeeded();
        assert!(annotated.starts_with("std::vector<"), "{annotated}");
    }
}

#[test]
fn no_line_is_wider_than_the_screen_or_120_columns() {
    let folder = Folder::new();
    let wide = format!("$\"{}::is_odd(int)\"", "namespace_".repeat(20));
    let (module, profile) = profile(&folder, &COUNT.replace("$is_odd", &wide));
    let [other, trace, whole] = ["other.wprof", "m.wtrace", "m.wpp"].map(|name| folder.path(name));
    let record = ["trace", "record", "-q", "-o", &trace, "--invoke", "count", &module, "300"];
    wprof(&record).succeeded();
    wprof(&["trace", "compress", "-q", &trace, "-o", &whole]).succeeded();
    let run =
        ["run", "--rate", "off", "--collect", "paths,cct", "-o", &other, "--invoke", "count", &module, "1"];
    let commands: [&[&str]; 14] = [
        &run,
        &["report", &profile],
        &["report", &profile, "--cct"],
        &["report", &profile, "--callers", "is_odd"],
        &["annotate", &profile, "is_odd"],
        &["residual", "--tested", &other, "--invoke", "count", &module, "300"],
        &["diff", &profile, &profile],
        &["top", "--follow", &profile],
        &["overlap", &profile, &other],
        &["rank", "--failing", &profile, "--passing", &other],
        &["rank", "--tests", &profile, &other],
        &["trace", "hot", &whole],
        &["trace", "stats", &trace],
        &["explain", &module, "is_odd"],
    ];
    for args in commands {
        for (columns, width) in [(Some("70"), 70), (None, 120)] {
            // What `explain` shows is not laid out, only its names are short.
            let width = if args[0] == "explain" { 120 } else { width };
            let mut command = super::command(args);
            match columns {
                Some(columns) => command.env("COLUMNS", columns),
                None => command.env_remove("COLUMNS"),
            };
            let output = command.output().unwrap();
            // The summary of a run is for people, and beside the program's output.
            let shown = if args[0] == "run" { output.stderr } else { output.stdout };
            let text = String::from_utf8(shown).unwrap();
            let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            assert!(!longest.is_empty() && longest.chars().count() <= width, "{args:?}, {columns:?}: {text}");
        }
    }
    let unknown = wprof(&["annotate", &profile, "nothing"]).failed();
    assert!(unknown.lines().all(|line| line.chars().count() <= 120), "{unknown}");
}
