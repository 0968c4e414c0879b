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
fn the_profile_of_a_component_with_one_module_is_that_of_the_module() {
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
    assert!(ran.err.contains("m::main") && ran.err.contains("libc::realloc"), "{}", ran.err);
    assert_eq!(ran.succeeded(), "hello\n");
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("m::main") && report.contains("libc::realloc"), "{report}");
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
pub const CALLS: &str = r#"(component
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

/// The names of functions of [`CALLS`], whose two modules have the same name, with their calls.
const CALLED: [(&str, u64); 3] =
    [("adapters::adapter test:shop/prices#price", 100), ("m#0::price", 100), ("m#1::total", 1)];

/// Returns the names of a profile's functions and their calls, by name.
fn called(profile: &str) -> Vec<(String, u64)> {
    let report = wprof(&["report", "--json", profile]).succeeded();
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let functions = report["functions"].as_array().expect("a list").iter();
    let called = functions.map(|function| {
        (function["name"].as_str().expect("a name").to_owned(), function["calls"].as_u64().expect("a number"))
    });
    let mut called: Vec<(String, u64)> = called.collect();
    called.sort();
    called
}

/// A profile covers the core modules of both components, and the code of the adapter between them.
#[test]
fn one_profile_has_the_functions_of_all_core_modules() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    for collect in ["edges", "blocks", "paths", "edges,cct", "paths,cct"] {
        let run = ["run", "--collect", collect, "-o", &profile, "--invoke", "total(100)", &component];
        let ran = wprof(&run);
        for (name, _) in CALLED {
            assert!(ran.err.contains(name), "{collect}: {}", ran.err);
        }
        assert_eq!(ran.succeeded(), "15150\n");
        let expected = CALLED.map(|(name, calls)| (name.to_owned(), calls));
        assert_eq!(called(&profile), expected, "{collect}");
    }
    assert!(!std::path::Path::new(&folder.path("p.core0.wprof")).exists());
    // Each function is found by its own name, by that with its module, and by the index that the profile has for it.
    let price = wprof(&["annotate", &profile, "price"]).succeeded();
    assert!(price.contains("100") && price.contains("i32.mul"), "{price}");
    assert_eq!(wprof(&["annotate", &profile, "m#0::price"]).succeeded(), price);
    assert_eq!(wprof(&["annotate", &profile, "0"]).succeeded(), price);
    let total = wprof(&["annotate", &profile, "total"]).succeeded();
    assert!(total.contains("br_if") && total.contains("99.0%"), "{total}");
    let adapter = wprof(&["annotate", &profile, "adapters::adapter test:shop/prices#price"]).succeeded();
    assert!(adapter.contains("100") && adapter.contains("global.set"), "{adapter}");
    for (format, more) in [("folded", ""), ("csv", "m#0::price"), ("speedscope", ""), ("cpuprofile", "")] {
        let exported = wprof(&["export", "--to", format, &profile]).succeeded();
        assert!(exported.contains("m#1::total") && exported.contains(more), "{format}: {exported}");
    }
    let page = folder.path("p.html");
    wprof(&["report", &profile, "--html", &page]).succeeded();
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("m#0::price") && page.contains("m#1::total"));
}

/// A call from one component to another leads from its function to the adapter, and from there to the callee.
#[test]
fn contexts_lead_through_adapters_from_one_component_to_another() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    let run = ["run", "-q", "--collect", "edges,cct", "-o", &profile, "--invoke", "total(100)", &component];
    wprof(&run).succeeded();
    let folded = wprof(&["export", "--to", "folded", "--weight", "calls", &profile]).succeeded();
    let stack = CALLED.map(|(name, _)| name);
    assert!(folded.contains(&format!("{};{};{} 100", stack[2], stack[0], stack[1])), "{folded}");
    let contexts = wprof(&["report", "--cct", &profile]).succeeded();
    let depth = |name: &str| {
        let line = contexts.lines().find(|line| line.contains(name)).expect("a row");
        line.find(name).expect("a name")
    };
    assert!(
        depth("m#1::total") < depth("adapters::") && depth("adapters::") < depth("m#0::price"),
        "{contexts}"
    );
    let callers = wprof(&["report", &profile, "--callers", "price"]);
    assert!(callers.succeeded().contains("adapters::adapter test:shop/prices#price"));
}

#[test]
fn profiles_of_component_runs_add_up_and_compare() {
    let folder = Folder::new();
    let component = folder.file("calls.wat", CALLS);
    let [first, second, sum] = ["a.wprof", "b.wprof", "sum.wprof"].map(|name| folder.path(name));
    for (profile, call) in [(&first, "total(100)"), (&second, "total(50)")] {
        wprof(&["run", "-q", "--exact", "-o", profile, "--invoke", call, &component]).succeeded();
    }
    wprof(&["merge", "-o", &sum, &first, &second]).succeeded();
    let calls: Vec<u64> = called(&sum).into_iter().map(|(_, calls)| calls).collect();
    assert_eq!(calls, [150, 150, 2]);
    let changed = wprof(&["diff", &first, &second]).succeeded();
    assert!(changed.contains("m#0::price") && changed.contains("m#1::total"), "{changed}");
}

#[test]
fn each_core_module_has_its_own_advice() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "total(100000)", &component]).succeeded();
    let run = ["run", "-v", "--eager", "--profile", "off", "--profile-use", &profile];
    let used = wprof(&[&run[..], &["--invoke", "total(1000)", &component]].concat());
    for (name, _) in CALLED {
        assert!(used.err.contains(&format!("{name} reoptimized")), "{}", used.err);
    }
    assert_eq!(used.succeeded(), "1501500\n");
    let decisions = ["--profile", "off", "--profile-use", &profile, "--stage", "decisions"];
    for function in ["m#1::total", "m#0::price"] {
        wprof(&[&["explain", &component, function], &decisions[..]].concat()).succeeded();
    }
    let alien =
        folder.file("alien.wat", CALLS.replace("i32.const 3", "i32.const 4").replace("i32.add", "i32.xor"));
    let refused = wprof(&["run", "-q", "--profile-use", &profile, "--invoke", "total(4)", &alien]).failed();
    assert!(refused.contains("a profile of another module"), "{refused}");
}

/// A component of which one module is another build still has the advice for the other.
#[test]
fn advice_is_left_out_for_modules_that_have_changed() {
    let folder = Folder::new();
    let (component, profile) = (folder.file("twice.wat", TWICE), folder.path("p.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &profile, "--invoke", "a(1000)", &component]).succeeded();
    let used = wprof(&["run", "-q", "--profile-use", &profile, "--invoke", "b(4)", &component]);
    assert_eq!(used.succeeded(), "10\n");
    let changed = folder.file("changed.wat", TWICE.replace("i32.const 3", "i32.const 4"));
    let used = wprof(&["run", "-q", "--profile-use", &profile, "--invoke", "b(4)", &changed]);
    assert_eq!(used.succeeded(), "10\n");
}

#[test]
fn backtraces_say_in_which_core_module_a_frame_is() {
    let folder = Folder::new();
    let trapping = CALLS.replace("(i32.mul (local.get 0) (i32.const 3))", "unreachable");
    let component = folder.file("traps.wat", trapping);
    let trapped = wprof(&["run", "-q", "--invoke", "total(3)", &component]);
    assert_eq!(trapped.code, Some(134), "{}", trapped.err);
    for (name, _) in CALLED {
        assert!(trapped.err.contains(name), "{}", trapped.err);
    }
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
    let total = explain("total", &profile).succeeded();
    assert!(total.starts_with("total: "));
    assert_eq!(explain("m#1::total", &profile).succeeded(), total);
    // As in the profile, indices count through all modules: the first one has one function, the second an import.
    assert_eq!(explain("2", &profile).succeeded(), total);
    assert!(explain("0", &profile).succeeded().starts_with("price: "));
    let used = ["explain", &component, "2", "--profile", "off", "--profile-use", &profile];
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
    assert!(ran.err.contains("m#1: metadata.code.branch_hint: 1 hint in 1 function"), "{}", ran.err);
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
fn a_profile_of_a_component_places_counters_in_each_core_module() {
    let folder = Folder::new();
    let (text, profile) = (folder.file("calls.wat", CALLS), folder.path("p.wprof"));
    let run = |component: &str| {
        let run = ["run", "-q", "--exact", "-o", &profile, "--invoke", "total(100)", component];
        wprof(&run).succeeded()
    };
    run(&text);
    let (component, out) = (folder.path("c.wasm"), folder.path("out.wasm"));
    wprof(&["hints", &text, &profile, "-o", &component]).succeeded();
    run(&component);
    let other = folder.count_profile();
    let instrument = |weights: &str| wprof(&["instrument", &component, "-o", &out, "--weights", weights]);
    assert!(instrument(&other).failed().contains("belongs to another module"));
    instrument(&profile).succeeded();
    assert_eq!(wprof(&["run", "-q", "--invoke", "total(100)", &out]).succeeded(), "15150\n");
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

#[test]
fn core_modules_of_the_same_code_are_told_apart() {
    let folder = Folder::new();
    let profile = folder.path("p.wprof");
    for (names, expected) in
        [(["work", "work"], ["m0::work", "m1::work"]), (["first", "second"], ["m0::first", "m1::second"])]
    {
        let component = folder.file("alike.wat", alike(names));
        for collect in ["edges", "blocks", "paths", "edges,cct"] {
            let run = ["run", "-q", "--collect", collect, "-o", &profile];
            let calls = ["--invoke", "a(100)", "--invoke", "b(1000)", "--invoke", "b(1000)", &component];
            assert_eq!(wprof(&[&run[..], &calls].concat()).succeeded(), "48\n49\n49\n");
            let found = called(&profile);
            let found: Vec<(&str, u64)> = found.iter().map(|(name, calls)| (&**name, *calls)).collect();
            assert_eq!(found, [(expected[0], 1), (expected[1], 2)], "{collect}");
        }
        let used = ["run", "-q", "--profile-use", &profile, "--invoke", "a(7)", &component];
        assert_eq!(wprof(&used).succeeded(), "48\n");
        // Advice for one is advice for the other, and so are hints.
        let hinted = folder.path("hinted.wasm");
        wprof(&["hints", &component, &profile, "-o", &hinted]).succeeded();
        let bytes = std::fs::read(&hinted).expect("written");
        let sections = bytes.windows(25).filter(|part| part == b"metadata.code.branch_hint").count();
        assert_eq!(sections, 2);
    }
}
