//! Functions of components are called with values as text, and profiled.

use super::{COUNT, Folder, wprof};

/// Functions that give back what they get, or compute.
const COMPONENT: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3))))
    (func (export "pair") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16))
    (func (export "scalar") (param i32) (result i32) (local.get 0))
    (func (export "float") (param f64) (result f64) (local.get 0))
    (func $count (export "count") (param i32) (result i32) (local i32)
      (loop $again
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get 1) (local.get 0))))
      (local.get 1))
    (func (export "fail") (drop (call $count (i32.const 10))) unreachable))
  (core instance $m (instantiate $m))
  (type $color' (enum "red" "green")) (export $color "color" (type $color'))
  (type $marks' (flags "a" "b")) (export $marks "marks" (type $marks'))
  (type $point' (record (field "x" s32) (field "y" (option u8)))) (export $point "point" (type $point'))
  (func $text (param "x" string) (result string) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (export "text" (func $text))
  (func (export "list") (param "x" (list (tuple u8 char))) (result (list (tuple u8 char))) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func (export "maybe") (param "x" (option u32)) (result (option u32)) (canon lift (core func $m "pair")
    (memory (core memory $m "memory"))))
  (func (export "outcome") (param "x" (result u32 (error u32))) (result (result u32 (error u32)))
    (canon lift (core func $m "pair") (memory (core memory $m "memory"))))
  (func (export "float") (param "x" float64) (result float64) (canon lift (core func $m "float")))
  (func (export "color-of") (param "x" $color) (result $color) (canon lift (core func $m "scalar")))
  (func (export "marks-of") (param "x" $marks) (result $marks) (canon lift (core func $m "scalar")))
  (func (export "points") (param "x" (list $point)) (result (list $point)) (canon lift (core func $m "pair")
    (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func $count (param "n" u32) (result u32) (canon lift (core func $m "count")))
  (func (export "fail") (canon lift (core func $m "fail")))
  (instance $tools (export "count" (func $count)))
  (export "test:tools/math@1.0.0" (instance $tools)))"#;

#[test]
fn values_are_read_and_written_as_text() {
    let folder = Folder::new();
    let component = folder.file("component.wat", COMPONENT);
    let cases = [
        (r#"text("a \"b\" \u{e9}\n")"#, r#""a \"b\" é\n""#),
        ("list([(1, 'x'), (255, '\\''),])", r"[(1, 'x'), (255, '\'')]"),
        ("list([])", "[]"),
        ("maybe(none)", "none"),
        ("maybe(some(7))", "some(7)"),
        ("maybe(8)", "some(8)"),
        ("outcome(8)", "ok(8)"),
        ("outcome(ok(8))", "ok(8)"),
        ("outcome(err(3))", "err(3)"),
        ("text(\"\"\"\n  a \\\"b\\\"\n\n    c\n  \"\"\")", r#""a \"b\"\n\n  c""#),
        ("maybe( // what follows is a number\n8)", "some(8)"),
        ("float(1e300)", "1e300"),
        ("float(-1e-7)", "-1e-7"),
        ("float(0.1)", "0.1"),
        ("float(-inf)", "-inf"),
        ("color-of(green)", "green"),
        ("marks-of({b, a})", "{a, b}"),
        ("points([{y: some(2), x: -1}, {x: 3}])", "[{x: -1, y: some(2)}, {x: 3, y: none}]"),
        ("test:tools/math@1.0.0#count(1000)", "1000"),
        ("count( 5 )", "5"),
    ];
    for (call, result) in cases {
        let printed = wprof(&["run", "-q", "--invoke", call, &component]).succeeded();
        assert_eq!(printed, format!("{result}\n"), "{call}");
    }
    assert_eq!(wprof(&["run", "-q", "--invoke", "count", &component, "6"]).succeeded(), "6\n");
}

#[test]
fn what_does_not_fit_is_explained() {
    let folder = Folder::new();
    let component = folder.file("component.wat", COMPONENT);
    let cases = [
        ("text(1)", "expected `\"` at `1`"),
        ("text()", "argument `x` is missing: the function is func(x: string) -> string"),
        ("text(\"a\", 2)", "too many arguments"),
        ("text(\"a\"", "does not end with `)`"),
        ("color-of(blue)", "expected a value of enum { red, green }, got `blue`"),
        ("list([(256, 'a')])", "expected a number of type u8, got `256`"),
        ("list([(1, 'ab')])", "expected one character"),
        ("points([{y: none}])", "field `x` is missing"),
        ("points([{z: 1}])", "there is no field `z`"),
        ("missing(1)", "no function is exported as `missing`"),
    ];
    for (call, why) in cases {
        let said = wprof(&["run", "-q", "--invoke", call, &component]).failed();
        assert!(said.contains(why), "{call}: {said}");
    }
    let said =
        wprof(&["run", "-q", "--invoke", &format!("list({}", "[".repeat(100_000)), &component]).failed();
    assert!(said.contains("does not end with `)`") && said.len() < 300, "{}", said.len());
    let said = wprof(&["run", &component]).failed();
    assert!(
        said.contains("--invoke") && said.contains("test:tools/math@1.0.0#count: func(n: u32) -> u32"),
        "{said}"
    );
    let importing = folder.file(
        "imports.wat",
        r#"(component (core module) (import "f" (func))
        (core module $m (func (export "g"))) (core instance $m (instantiate $m))
        (func (export "g") (canon lift (core func $m "g"))))"#,
    );
    let said = wprof(&["run", "--invoke", "g()", &importing]).failed();
    assert!(said.contains("`f` (func())") && said.contains("component::Linker"), "{said}");
}

#[test]
fn a_component_has_a_profile_of_its_largest_module() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("component.wat", COMPONENT), folder.path("p.wprof"));
    let ran = wprof(&["run", "--exact", "-o", &profile, "--invoke", "count(1000)", &component]);
    assert!(ran.err.contains("count"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "1000\n");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("count"), "{report}");
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("1,000"), "{annotated}");
    let trapped = wprof(&["run", "--exact", "-o", &profile, "--invoke", "fail()", &component]);
    assert_eq!(trapped.code, Some(134), "{}", trapped.err);
    assert!(trapped.err.contains("unreachable"), "{}", trapped.err);
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("count"), "{report}");
}

/// A command of WASI 0.2 that writes `hello` if it has no arguments beside its name, and fails otherwise.
const COMMAND: &str = r#"(component
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
  (alias export $error "error" (type $error-type))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $out (sub resource)))
    (alias outer 1 $error-type (type $e'))
    (export "error" (type $e (eq $e')))
    (type $se (variant (case "last-operation-failed" (own $e)) (case "closed")))
    (export "stream-error" (type $stream-error (eq $se)))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $stream-error)))))))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $output (type $out')) (export "output-stream" (type $out (eq $out')))
    (export "get-stdout" (func (result (own $out))))))
  (import "wasi:cli/environment@0.2.0" (instance $environment
    (export "get-arguments" (func (result (list string))))))
  (core module $libc
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3)))))
  (core instance $libc (instantiate $libc))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory (core memory $libc "memory"))))
  (core func $stdout (canon lower (func $stdout "get-stdout")))
  (core func $arguments (canon lower (func $environment "get-arguments")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core module $m
    (import "libc" "memory" (memory 1))
    (import "w" "write" (func $write (param i32 i32 i32 i32)))
    (import "w" "stdout" (func $stdout (result i32)))
    (import "w" "arguments" (func $arguments (param i32)))
    (data (i32.const 64) "hello\0a")
    (func $main (export "run") (result i32)
      (call $arguments (i32.const 0))
      (if (i32.ne (i32.load (i32.const 4)) (i32.const 1)) (then (return (i32.const 1))))
      (call $write (call $stdout) (i32.const 64) (i32.const 6) (i32.const 32))
      (i32.const 0)))
  (core instance $m (instantiate $m (with "libc" (instance $libc)) (with "w" (instance
    (export "write" (func $write)) (export "stdout" (func $stdout)) (export "arguments" (func $arguments))))))
  (func $run (result (result)) (canon lift (core func $m "run")))
  (instance $run (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $run)))"#;

#[test]
fn commands_of_wasi_0_2_run_like_programs() {
    let folder = Folder::new();
    let (command, profile) = (folder.file("command.wat", COMMAND), folder.path("p.wprof"));
    let ran = wprof(&["run", "--exact", "-o", &profile, &command]);
    assert!(ran.err.contains("main"), "{}", ran.err);
    assert!(ran.err.contains("core module 0") && ran.err.contains("p.core0.wprof"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "hello\n");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("main"), "{report}");
    let other = wprof(&["report", &folder.path("p.core0.wprof")]).succeeded();
    assert!(other.contains("function"), "{other}");
    assert_eq!(wprof(&["run", "-q", &command, "argument"]).code, Some(1));
    assert_eq!(wprof(&["run", "-q", "--profile", "off", &command]).succeeded(), "hello\n");
}

#[test]
fn calls_of_the_host_are_called_as_in_their_interface() {
    let folder = Folder::new();
    let (command, profile) = (folder.file("command.wat", COMMAND), folder.path("p.wprof"));
    wprof(&["run", "-q", "--collect", "cct", "-o", &profile, &command]).succeeded();
    let report = wprof(&["report", "--cct", "--by", "calls", &profile]).succeeded();
    assert!(report.contains("wasi:cli/stdout@0.2.0::get-stdout"), "{report}");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let folder = Folder::new();
    let proxy = folder.file(
        "proxy.wat",
        r#"(component (import "wasi:keyvalue/store@0.2.0" (instance (export "handle" (func))))
        (core module $m (func (export "run") (result i32) (i32.const 0))) (core instance $m (instantiate $m))
        (func $run (result (result)) (canon lift (core func $m "run")))
        (instance $run (export "run" (func $run)))
        (export "wasi:cli/run@0.2.0" (instance $run)))"#,
    );
    let said = wprof(&["run", &proxy]).failed();
    assert!(said.contains("wasi:keyvalue/store@0.2.0#handle"), "{said}");
    assert!(said.contains("component::Linker") && said.contains("wasi:cli"), "{said}");
    for stubs in ["--stub-imports", "--stub-imports=zero"] {
        wprof(&["run", "-q", stubs, &proxy]).succeeded();
    }
}

/// Two instances of one module, and another module.
const TWICE: &str = r#"(component
    (core module $m
        (func $work (export "work") (param i32) (result i32) (local $sum i32)
            (loop $next
                (local.set $sum (i32.add (local.get $sum) (local.get 0)))
                (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
            (local.get $sum)))
    (core module $other (func (export "other") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3))))
    (core instance $a (instantiate $m))
    (core instance $b (instantiate $m))
    (core instance $c (instantiate $other))
    (func (export "a") (param "n" s32) (result s32) (canon lift (core func $a "work")))
    (func (export "b") (param "n" s32) (result s32) (canon lift (core func $b "work")))
    (func (export "c") (param "n" s32) (result s32) (canon lift (core func $c "other"))))"#;

#[test]
fn all_instances_of_a_core_module_are_in_its_profile() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("twice.wat", TWICE), folder.path("p.wprof"));
    let mut totals = Vec::new();
    for call in ["a(1000)", "b(1000)"] {
        let run = ["run", "-q", "--exact", "-o", &profile, "--invoke", call, &component];
        assert_eq!(wprof(&run).succeeded(), "500500\n");
        let report: serde_json::Value =
            serde_json::from_str(&wprof(&["report", "--json", &profile]).succeeded()).expect("JSON");
        totals.push(report["functions"][0]["ops"].clone());
    }
    assert!(totals[0].as_u64().is_some_and(|total| total > 5000), "{totals:?}");
    assert_eq!(totals[0], totals[1]);
}

/// Two components, one of which calls the other.
const CALLS: &str = r#"(component
  (component $Shop
    (core module $m (func (export "price") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3))))
    (core instance $m (instantiate $m))
    (func $price (param "item" u32) (result u32) (canon lift (core func $m "price")))
    (instance $i (export "price" (func $price)))
    (export "test:shop/prices" (instance $i)))
  (component $Till
    (import "test:shop/prices" (instance $shop (export "price" (func (param "item" u32) (result u32)))))
    (core func $price (canon lower (func $shop "price")))
    (core module $m
      (import "shop" "price" (func $price (param i32) (result i32)))
      (func (export "total") (param i32) (result i32) (local $sum i32)
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (call $price (local.get 0))))
          (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get $sum)))
    (core instance $m (instantiate $m (with "shop" (instance (export "price" (func $price))))))
    (func (export "total") (param "items" u32) (result u32) (canon lift (core func $m "total"))))
  (instance $shop (instantiate $Shop))
  (instance $till (instantiate $Till (with "test:shop/prices" (instance $shop "test:shop/prices"))))
  (export "total" (func $till "total")))"#;

/// Calls between components are code of adapters, which has its own profile, and its place in contexts.
#[test]
fn adapters_are_told_apart() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    let run =
        ["run", "--exact", "--collect", "edges,cct", "-o", &profile, "--invoke", "total(100)", &component];
    let ran = wprof(&run);
    assert!(ran.err.contains("core module 2 (adapters) ran 1 function: see p.core2.wprof"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "15150\n");
    let contexts = wprof(&["report", "--cct", &profile]).succeeded();
    assert!(contexts.contains("adapter test:shop/prices#price"), "{contexts}");
    let of_adapters = folder.path("p.core2.wprof");
    let report = wprof(&["report", &of_adapters]).succeeded();
    assert!(report.contains("adapter test:shop/prices#price"), "{report}");
    let annotated = wprof(&["annotate", &of_adapters, "adapter test:shop/prices#price"]).succeeded();
    assert!(annotated.contains("100") && annotated.contains("global.set"), "{annotated}");
}

#[test]
fn advice_is_for_one_module_of_a_component() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("twice.wat", TWICE), folder.path("p.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "a(1000)", &component]).succeeded();
    let used = wprof(&["run", "-q", "--profile-use", &profile, "--invoke", "b(4)", &component]);
    assert_eq!(used.succeeded(), "10\n");
    let alien = folder.file(
        "alien.wat",
        TWICE
            .replace("i32.const 3", "i32.const 4")
            .replace("$sum", "$n")
            .replace("i32.const 1)", "i32.const 2)"),
    );
    let refused = wprof(&["run", "-q", "--profile-use", &profile, "--invoke", "b(4)", &alien]).failed();
    assert!(refused.contains("a profile of another module"), "{refused}");
}

#[test]
fn a_function_is_explained_in_its_core_module() {
    let folder = Folder::new();
    let component = folder.file("calls.wat", CALLS);
    let explained = |args: &[&str]| wprof(&[&["explain", &component], args].concat());
    let ran = explained(&["total", "--stage", "cfg"]);
    assert!(ran.err.contains("this is core module 1"), "{}", ran.err);
    let total = ran.succeeded();
    assert_eq!(explained(&["total", "--stage", "cfg", "--core-module", "1"]).succeeded(), total);
    assert_ne!(explained(&["price", "--stage", "cfg", "--core-module", "0"]).succeeded(), total);
    let adapter = explained(&["adapter test:shop/prices#price", "--stage", "asm"]);
    assert!(adapter.err.contains("this is core module 2 (adapters)"), "{}", adapter.err);
    adapter.succeeded();
    let said = explained(&["0", "--core-module", "7"]).failed();
    assert!(said.contains("no core module 7") && said.contains("core module 2 (adapters)"), "{said}");
    let said = explained(&["pric"]).failed();
    assert!(said.contains("several core modules") && said.contains("--core-module"), "{said}");
    let module = folder.file("count.wat", COUNT);
    let said = wprof(&["explain", &module, "count", "--core-module", "0"]).failed();
    assert!(said.contains("leave out --core-module"), "{said}");
}

#[test]
fn a_profile_says_which_core_module_is_explained() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "total(100)", &component]).succeeded();
    let explain = |function: &str, profile: &str| {
        wprof(&["explain", &component, function, "--weights", profile, "--stage", "plan"])
    };
    // Function 1 of the module that calls, whose import is function 0.
    assert!(explain("1", &profile).succeeded().starts_with("total: "));
    assert!(explain("0", &folder.path("p.core0.wprof")).succeeded().starts_with("price: "));
    let used = ["explain", &component, "1", "--profile", "off", "--profile-use", &profile];
    wprof(&[&used[..], &["--stage", "decisions"]].concat()).succeeded();
}

#[test]
fn a_component_with_hints_does_the_same() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    let run = |component: &str, profile: &str| {
        wprof(&["run", "-q", "--exact", "-o", profile, "--invoke", "total(100)", component]).succeeded()
    };
    let printed = run(&component, &profile);
    let hinted = folder.path("hinted.wasm");
    let ran = wprof(&["hints", &component, &profile, "-o", &hinted]);
    assert!(ran.err.contains("metadata.code.branch_hint: 1 hint in 1 function"), "{}", ran.err);
    ran.succeeded();
    let other = folder.path("other.wprof");
    assert_eq!(run(&hinted, &other), printed);
    let checked = wprof(&["hints", "--check", &hinted, &other]);
    assert!(checked.err.contains("99.0% of 100 executions went as hinted"), "{}", checked.err);
    // What ran was the hinted component.
    assert!(
        wprof(&["hints", &component, &other, "-o", &hinted]).failed().contains("not the module that ran")
    );
    let split = ["hints", &component, &profile, "--split", &folder.path("f.split")];
    assert!(wprof(&split).failed().contains("wasm-split takes no components"));
}

#[test]
fn a_trace_is_of_a_component_with_one_core_instance() {
    let folder = Folder::new();
    let (component, trace) = (folder.file("component.wat", COMPONENT), folder.path("t.wtrace"));
    let record = ["trace", "record", "-q", "-o", &trace, "--invoke", "count(3)"];
    assert_eq!(wprof(&[&record[..], &[&component]].concat()).succeeded(), "3\n");
    let replayed = wprof(&["trace", "replay", &trace]).succeeded();
    assert!(replayed.starts_with("enter count\n"), "{replayed}");
    assert_eq!(replayed.lines().filter(|line| line.trim().starts_with("block ")).count(), 5, "{replayed}");
    let twice = folder.file("twice.wat", TWICE);
    let said = wprof(&["trace", "record", "--invoke", "a(3)", &twice]).failed();
    assert!(said.contains("3 instances of core modules") && said.contains("--collect paths,cct"), "{said}");
}

#[test]
fn names_in_any_order_are_read() {
    let folder = Folder::new();
    // The names of functions 2, 0 and 1.
    let text = r#"(module (func (export "run") (call 1)) (func (call 2)) (func unreachable)
        (@custom "name" "\01\14\03\02\04deep\00\03top\01\06middle"))"#;
    let module = folder.file("names.wat", text);
    let trapped = wprof(&["run", "-q", "--invoke", "run", &module]);
    for name in ["deep", "middle", "top"] {
        assert!(trapped.err.contains(name), "{}", trapped.err);
    }
}

/// Two modules of the same code that differ in their data, whose functions have the names given.
fn alike(names: [&str; 2]) -> String {
    let module = |number: usize| {
        format!(
            r#"(core module $m{number} (memory 1) (data (i32.const 0) "{number}")
            (func ${} (export "work") (param i32) (result i32)
              (loop $next
                (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
              (i32.load8_u (i32.const 0))))"#,
            names[number]
        )
    };
    format!(
        r#"(component {} {}
        (core instance $a (instantiate $m0))
        (core instance $b (instantiate $m1))
        (func (export "a") (param "n" s32) (result s32) (canon lift (core func $a "work")))
        (func (export "b") (param "n" s32) (result s32) (canon lift (core func $b "work"))))"#,
        module(0),
        module(1)
    )
}

/// Returns the counts of the only function of a profile: calls and instructions.
fn only_function(profile: &str) -> (u64, u64) {
    let report = wprof(&["report", "--json", profile]).succeeded();
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let [function] = &report["functions"].as_array().expect("a list")[..] else { panic!("{report}") };
    (function["calls"].as_u64().expect("a number"), function["ops"].as_u64().expect("a number"))
}

#[test]
fn core_modules_of_the_same_code_have_one_profile() {
    let folder = Folder::new();
    let component = folder.file("alike.wat", alike(["work", "work"]));
    let profile = folder.path("p.wprof");
    for collect in ["edges", "blocks", "paths", "edges,cct"] {
        let run = |calls: &[&str]| {
            let run = ["run", "--collect", collect, "-o", &profile];
            let calls: Vec<&str> = calls.iter().flat_map(|call| ["--invoke", call]).collect();
            let ran = wprof(&[&run[..], &calls, &[&component]].concat());
            assert!(ran.err.contains("core modules 0 and 1 have the same code"), "{}", ran.err);
            ran.succeeded();
            only_function(&profile)
        };
        let (first, second, both) = (run(&["a(100)"]), run(&["b(1000)"]), run(&["a(100)", "b(1000)"]));
        assert_eq!((first.0, second.0, both), (1, 1, (2, first.1 + second.1)), "{collect}");
        assert!(second.1 > 9 * first.1, "{second:?} {first:?}");
        assert!(!std::path::Path::new(&folder.path("p.core1.wprof")).exists());
    }
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "b(1000)", &component]).succeeded();
    let used = ["run", "-q", "--profile-use", &profile, "--invoke", "a(7)", &component];
    assert_eq!(wprof(&used).succeeded(), "48\n");
    // Both get the hints, whichever it was that ran.
    let hinted = folder.path("hinted.wasm");
    wprof(&["hints", &component, &profile, "-o", &hinted]).succeeded();
    let bytes = std::fs::read(&hinted).expect("written");
    let sections = bytes.windows(25).filter(|part| part == b"metadata.code.branch_hint").count();
    assert_eq!(sections, 2);
}

#[test]
fn core_modules_of_the_same_code_with_other_names_are_told_apart() {
    let folder = Folder::new();
    let component = folder.file("names.wat", alike(["first", "second"]));
    let (profile, other) = (folder.path("p.wprof"), folder.path("p.core1.wprof"));
    let run = ["run", "--exact", "-o", &profile, "--invoke", "a(100)", "--invoke", "b(1000)", &component];
    let ran = wprof(&run);
    assert!(ran.err.contains("core module 1 (m1) ran 1 function: see p.core1.wprof"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "48\n49\n");
    let ((calls, few), (other_calls, many)) = (only_function(&profile), only_function(&other));
    assert!((calls, other_calls) == (1, 1) && many > 9 * few, "{few} {many}");
    for (profile, own, alien) in [(&profile, "first", "second"), (&other, "second", "first")] {
        let report = wprof(&["report", profile]).succeeded();
        assert!(report.contains(own) && !report.contains(alien), "{report}");
        wprof(&["annotate", profile, own]).succeeded();
        let explained = wprof(&["explain", &component, own, "--weights", profile, "--stage", "plan"]);
        assert!(explained.succeeded().starts_with(&format!("{own}: ")));
    }
}
