//! Instrumented modules, and what they have counted: in files, from Node, over the network.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::interrupt::send;
use super::node::{count_wasm, has_many_memories, has_node};
use super::{COUNT, Folder, command, function, json, program, wprof};

/// Runs a program of the first argument under Node's WASI, with the arguments that follow.
const WASI_HOST: &str = "
const { WASI } = require('wasi');
const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [file, ...args], returnOnExit: true });
WebAssembly.instantiate(require('fs').readFileSync(file), wasi.getImportObject())
  .then(({ instance }) => { process.exitCode = wasi.start(instance); });
";

/// What `wprof run --exact` counts, for comparison: events, contexts, and all of a profile's functions but what counting
/// cost.
fn counts(profile: &str) -> Value {
    let mut all = json(profile);
    let mut functions = all["functions"].take();
    for function in functions.as_array_mut().expect("functions") {
        let function = function.as_object_mut().expect("a function");
        function.remove("cost");
        function.remove("counters");
    }
    serde_json::json!({ "functions": functions, "contexts": all["contexts"], "events": all["events"] })
}

/// The exact profile of a program by `wprof run`.
fn exact(folder: &Folder, collect: &str, program: &[&str]) -> String {
    let profile = folder.path("exact.wprof");
    let args = [&["run", "-q", "--collect", collect, "-o", &profile][..], program].concat();
    command(&args).output().expect("the program starts");
    profile
}

fn node(folder: &Folder, args: &[&str]) -> std::process::Output {
    let mut node = Command::new("node");
    node.args(args).current_dir(folder.path("")).env("WPROF_DIR", folder.path(""));
    node.env("NODE_NO_WARNINGS", "1").output().expect("node starts")
}

/// Files of counters in a folder.
fn counters(folder: &Folder) -> Vec<String> {
    let names =
        folder.names().into_iter().filter(|name| name.extension().is_some_and(|kind| kind == "counters"));
    names.map(|name| folder.path(name.to_str().unwrap())).collect()
}

#[test]
fn what_node_runs_is_rewritten_run_and_profiled_in_one_command() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let (host, profile) = (folder.file("host.cjs", WASI_HOST), folder.path("f.wprof"));
    let (json_wasm, exit) = (program("json"), program("exit"));
    for (collect, run) in [
        ("edges", vec![json_wasm.as_str(), "20", "2"]),
        ("paths", vec![json_wasm.as_str(), "20", "2"]),
        ("blocks", vec![exit.as_str(), "42", "100"]),
        ("paths", vec![exit.as_str(), "42", "100"]),
        ("cct", vec![exit.as_str(), "42", "100"]),
        ("flow", vec![exit.as_str(), "42", "100"]),
        ("events=instructions,back_edges_and_calls", vec![exit.as_str(), "42", "100"]),
        ("edges,cct,events=loads", vec![json_wasm.as_str(), "20", "2"]),
        ("paths,events=loads,calls", vec![json_wasm.as_str(), "20", "2"]),
        ("flow,events=stores", vec![exit.as_str(), "42", "100"]),
        ("edges,events=fuel", vec![json_wasm.as_str(), "20", "2"]),
    ] {
        let expected = exact(&folder, collect, &run);
        let code = command(&[&["run", "-q", "--profile", "off"][..], &run].concat()).output().unwrap().status;
        let args =
            [&["collect", "--collect", collect, "-o", &profile, "--", "node", &host][..], &run].concat();
        let ran = command(&args).env("NODE_NO_WARNINGS", "1").output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), code.code(), "{said}");
        let has_code = !collect.starts_with("cct") && !collect.starts_with("events");
        assert_eq!(said.contains(" instructions in "), has_code, "{said}");
        assert_eq!(counts(&profile), counts(&expected), "{collect} {run:?}");
        assert!(folder.names().contains(&"f.wasm".into()), "the module lies beside its profile");
        assert_eq!(
            wprof(&["report", &profile]).succeeded().contains("instructions"),
            has_code || collect.contains("instructions")
        );
    }
}

#[test]
fn the_trace_of_a_program_in_node_is_that_of_wprof() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let host = folder.file("host.cjs", WASI_HOST);
    let (found, expected) = (folder.path("f.wtrace"), folder.path("e.wtrace"));
    let replay = |trace: &str| wprof(&["trace", "replay", trace]).succeeded();
    let (json_wasm, exit) = (program("json"), program("exit"));
    for run in [vec![json_wasm.as_str(), "1", "1"], vec![exit.as_str(), "42", "20"]] {
        command(&[&["trace", "record", "-q", "-o", &expected][..], &run].concat()).output().unwrap();
        let args = [&["collect", "--trace", "-o", &found, "--", "node", &host][..], &run].concat();
        let ran = command(&args).env("NODE_NO_WARNINGS", "1").output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains(" bytes in ") && !said.contains("only the beginning"), "{said}");
        let (found, expected) = (replay(&found), replay(&expected));
        assert!(found == expected && found.lines().count() > 100, "{run:?}: {said}");
        assert!(folder.names().contains(&"f.wasm".into()), "the module lies beside its trace");
    }
    let said = wprof(&["collect", "--trace", "--", "node", &host, &json_wasm]).failed();
    assert!(said.contains("give -o FILE.wtrace"), "{said}");
    let args =
        ["collect", "--trace", "--max-trace", "1K", "-o", &found, "--", "node", &host, &json_wasm, "30", "2"];
    let ran = command(&args).env("NODE_NO_WARNINGS", "1").output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("holds only the beginning of the run: raise --max-trace"), "{said}");
    let said = wprof(&["trace", "stats", &found]);
    assert!(said.err.contains("only the beginning of the run"), "{said:?}");
}

#[test]
fn what_a_rewritten_module_cannot_count_is_said_before_it_is_written() {
    let folder = Folder::new();
    let (module, out) = (folder.file("count.wat", COUNT), folder.path("out.wasm"));
    for (collect, why) in [
        ("edges,paths", "cannot be counted together"),
        ("cycles", "counts edges, paths, blocks, cct, flow and events"),
        ("callees", "counts edges, paths, blocks, cct, flow and events"),
        ("nothing", "counts edges, paths, blocks, cct, flow and events"),
    ] {
        let ran = wprof(&["instrument", "--collect", collect, &module, "-o", &out]);
        assert!(ran.code != Some(0) && ran.err.contains(why), "{collect}: {ran:?}");
        assert!(!Path::new(&out).exists(), "{collect}");
    }
}

#[test]
fn an_instrumented_module_leaves_counters_in_node() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let (wasm, script) = (folder.path("json.wasm"), folder.path("wprof.js"));
    let original = program("json");
    let host = folder.file("host.cjs", WASI_HOST);
    wprof(&["instrument", "--single-memory", &original, "-o", &wasm, "--js", &script]).succeeded();
    let ran = node(&folder, &["--require", &script, &host, &wasm, "20", "2"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let files = counters(&folder);
    assert_eq!(files.len(), 1, "{files:?}");
    let (profile, twice) = (folder.path("f.wprof"), folder.path("twice.wprof"));
    wprof(&["collect", "-q", "-m", &original, "-o", &profile, &files[0]]).succeeded();
    assert_eq!(counts(&profile), counts(&exact(&folder, "edges", &[&original, "20", "2"])));
    wprof(&["collect", "-q", "-m", &original, "-o", &twice, &files[0], &files[0]]).succeeded();
    let calls = |profile: &str| function(&json(profile), "main")["calls"].as_u64();
    assert_eq!(calls(&twice), calls(&profile).map(|calls| 2 * calls), "instances are added up");
    let other = folder.file("count.wat", COUNT);
    let said = wprof(&["collect", "-m", &other, &files[0]]).failed();
    assert!(said.contains("counters of another module"), "{said}");
    let torn = folder.file("torn.counters", &fs::read(&files[0]).unwrap()[..100]);
    let said = wprof(&["collect", "-m", &original, &torn]).failed();
    assert!(said.contains("torn.counters: these are not the counters of an instrumented module"), "{said}");
}

/// Each thread works, and then waits for ever.
const THREADS: &str = r#"(module (import "env" "memory" (memory 1 1 shared))
  (func $work (param $n i32) (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $wait (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))))
  (func (export "run") (param i32) (call $work (local.get 0)) (call $wait)))"#;

#[test]
fn threads_that_wait_when_the_program_ends_are_profiled_too() {
    if !has_node() || !has_many_memories() {
        return;
    }
    let folder = Folder::new();
    let app = "
const { Worker, isMainThread, workerData: memory, parentPort } = require('worker_threads');
const bytes = require('fs').readFileSync(process.argv[2]);
if (isMainThread) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  let started = 0;
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename, { workerData: memory, argv: process.argv.slice(2) });
    worker.once('message', () => ++started === 3 && setTimeout(() => process.exit(0), 1000));
  }
} else {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
  parentPort.postMessage('starts');
  exports.run(10);
}
";
    let app = folder.file("app.cjs", app);
    let (module, wasm, script) =
        (folder.file("threads.wat", THREADS), folder.path("t.wasm"), folder.path("w.js"));
    let profile = folder.path("f.wprof");
    wprof(&["instrument", "--collect", "paths,cct", &module, "-o", &wasm, "--js", &script]).succeeded();
    let ran = node(&folder, &["--require", &script, &app, &wasm]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let files = counters(&folder);
    assert_eq!(files.len(), 3, "{files:?}");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    wprof(&[&["collect", "-q", "-m", &module, "-o", &profile][..], &files].concat()).succeeded();
    let profile = json(&profile);
    for function in profile["functions"].as_array().expect("functions") {
        assert_eq!(function["calls"], 3, "{function}");
    }
    assert_eq!(profile["functions"].as_array().map(Vec::len), Some(3));
}

#[test]
fn counters_come_over_the_network() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let (wasm, script) = (folder.path("new.wasm"), folder.path("wprof.js"));
    let (original, profile) = (folder.file("count.wat", COUNT), folder.path("f.wprof"));
    wprof(&["instrument", &original, "-o", &wasm, "--js", &script]).succeeded();
    let app = "
const bytes = require('fs').readFileSync(process.argv[2]);
WebAssembly.instantiate(bytes).then(({ instance }) => instance.exports.count(10));
";
    let app = folder.file("app.cjs", app);
    let ran = node(&folder, &["--require", &script, &app, &wasm]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let body = fs::read(&counters(&folder)[0]).unwrap();

    let mut listening = command(&["collect", "-m", &original, "-o", &profile, "--listen", "127.0.0.1:0"]);
    let mut child = listening.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    err.read_line(&mut said).unwrap();
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let ask = |head: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let fields = format!("Host: {address}\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let head = format!("{head} HTTP/1.1\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let script = ask("GET /wprof.js", b"");
    assert!(script.contains(&format!("url: 'http://{address}/'")) && script.contains("wprofraw"), "{script}");
    assert!(ask("POST /junk", b"junk").starts_with("HTTP/1.1 400"));
    assert!(ask("GET /", b"").starts_with("HTTP/1.1 404"));
    // The same instance twice: the last counts.
    assert!(ask("POST /one", &body).starts_with("HTTP/1.1 204"));
    assert!(ask("POST /one", &body).starts_with("HTTP/1.1 204"));
    assert!(ask("POST /two", &body).starts_with("HTTP/1.1 204"));
    send("-INT", &child);
    assert!(child.wait().unwrap().success());
    assert_eq!(function(&json(&profile), "is_odd")["calls"], 20);
}

#[test]
fn a_rewritten_module_does_the_same() {
    let folder = Folder::new();
    let original = folder.file("count.wat", COUNT);
    for more in [&[][..], &["--single-memory"], &["--collect", "paths"], &["--exact-traps"]] {
        let wasm = folder.path("new.wasm");
        wprof(&[&["instrument", &original, "-o", &wasm][..], more].concat()).succeeded();
        let ran = wprof(&["run", "-q", "--profile", "off", "--invoke", "count", &wasm, "10"]);
        assert_eq!(ran.succeeded(), "5\n");
    }
}

#[test]
fn what_cannot_be_instrumented_is_told_and_nothing_is_written() {
    let folder = Folder::new();
    let (once, out) = (folder.path("once.wasm"), folder.path("out.wasm"));
    wprof(&["instrument", &folder.file("count.wat", COUNT), "-o", &once]).succeeded();
    let refused = |what: &str, file: &str, more: &[&str]| {
        let said = wprof(&[&["instrument", file, "-o", &out][..], more].concat()).failed();
        assert!(said.contains(what) && said.contains(file), "{said}");
        assert!(!Path::new(&out).exists());
    };
    refused("already instrumented", &once, &[]);
    refused("not a WebAssembly module", &folder.file("text.wasm", "hello"), &[]);
    refused("has no code", &folder.file("empty.wasm", b"\0asm\x01\0\0\0"), &[]);
    refused("has no code", &folder.file("c.wasm", b"\0asm\x0d\0\x01\0"), &[]);
    let taken = r#"(module (func (export "wprof_flush")))"#;
    refused("exports wprof_flush, a name that wprof needs", &folder.file("taken.wat", taken), &[]);
    let single = &["--single-memory"];
    let full = "(module (memory 65536) (func))";
    refused("as large as it can be", &folder.file("full.wat", full), single);
    let fixed = r#"(module (import "env" "memory" (memory 1 1)) (func))"#;
    refused("has its maximum from the beginning", &folder.file("fixed.wat", fixed), single);
    refused("unexpected end-of-file", &folder.file("cut.wasm", b"\0asm\x01\0\0"), &[]);
}

#[test]
fn samples_of_v8_become_time() {
    let folder = Folder::new();
    // `count` at byte 35 of the module calls JavaScript, which calls `count`; two samples are in it, one is in JavaScript.
    let samples = r#"{"nodes": [
        {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "columnNumber": -1}, "children": [2]},
        {"id": 2, "callFrame": {"functionName": "count", "url": "wasm://wasm/1", "columnNumber": 36}, "children": [3]},
        {"id": 3, "callFrame": {"functionName": "js", "url": "file:///app.js", "columnNumber": 36}, "children": [4]},
        {"id": 4, "callFrame": {"functionName": "count", "url": "wasm://wasm/1", "columnNumber": 36}},
        {"id": 5, "callFrame": {"functionName": "other", "url": "wasm://wasm/2", "columnNumber": 36}}],
        "samples": [2, 3, 4, 5], "timeDeltas": [1000, 2000, 4000, 8000]}"#;
    let (samples, module) = (folder.file("x.cpuprofile", samples), folder.file("count.wasm", count_wasm()));
    let (counts, both) = (folder.path("counts.wprof"), folder.path("both.wprof"));
    wprof(&["run", "-q", "--exact", "-o", &counts, "--invoke", "count", &module, "10"]).succeeded();
    let import = ["import", "--cpuprofile", &samples, "-m", &module, "-o", &both];
    wprof(&[&import[..], &["--into", &counts]].concat()).succeeded();
    let both = json(&both);
    let nodes = both["time"]["stacks"].as_array().unwrap_or_else(|| panic!("{both}"));
    let times: Vec<u64> = nodes.iter().map(|node| node["own"]["time_ns"].as_u64().unwrap()).collect();
    assert_eq!(times, [1_000_000, 4_000_000], "{nodes:?}");
    assert_eq!(function(&both, "count")["calls"], 1);
    let said = wprof(&["import", "--cpuprofile", &samples, "-m", &program("json"), "-o", &folder.path("no")])
        .failed();
    assert!(said.contains("no sample is in a function of"), "{said}");
    let said = wprof(&["import", "--cpuprofile", &module, "-m", &module, "-o", &folder.path("no")]).failed();
    assert!(said.contains("not a file of V8's profiler"), "{said}");
}

#[test]
fn traces_of_chromium_become_time_too() {
    let folder = Folder::new();
    // Two threads have a node 2 each, whose callers are in other pieces; a third event is not of the profiler.
    let chunk = |pid: u32, data: &str| {
        format!(
            r#"{{"name": "ProfileChunk", "id": "0x1", "pid": {pid}, "tid": 7, "args": {{"data": {data}}}}}"#
        )
    };
    let node = |id: u32, parent: &str, name: &str, url: &str| {
        format!(
            r#"{{"id": {id}{parent}, "callFrame": {{"functionName": "{name}", "url": "{url}", "columnNumber": 36}}}}"#
        )
    };
    let root = node(1, "", "(root)", "");
    let count = node(2, r#", "parent": 1"#, "count", "wasm://wasm/1");
    let events = [
        r#"{"name": "Profile", "id": "0x1", "pid": 1, "args": {"data": {"startTime": 5}}}"#.to_owned(),
        r#"{"name": "thread_name", "pid": 1, "args": {"name": "main"}}"#.to_owned(),
        chunk(1, &format!(r#"{{"cpuProfile": {{"nodes": [{root}], "samples": [1]}}, "timeDeltas": [500]}}"#)),
        chunk(
            1,
            &format!(
                r#"{{"cpuProfile": {{"nodes": [{count}], "samples": [2, 2]}}, "timeDeltas": [1000, 2000]}}"#
            ),
        ),
        chunk(
            2,
            &format!(
                r#"{{"cpuProfile": {{"nodes": [{root}, {count}], "samples": [2]}}, "timeDeltas": [4000]}}"#
            ),
        ),
        chunk(2, r#"{"endTime": 9}"#),
    ];
    let events = format!("[{}]", events.join(","));
    let module = folder.file("count.wasm", count_wasm());
    let out = folder.path("time.wprof");
    for (name, text) in [
        ("list.json", events.clone()),
        ("trace.json", format!(r#"{{"metadata": {{}}, "traceEvents": {events}}}"#)),
    ] {
        wprof(&["import", "--cpuprofile", &folder.file(name, text), "-m", &module, "-o", &out]).succeeded();
        let profile = json(&out);
        let nodes = profile["time"]["stacks"].as_array().unwrap_or_else(|| panic!("{profile}"));
        let times: u64 = nodes.iter().map(|node| node["own"]["time_ns"].as_u64().unwrap()).sum();
        assert_eq!(times, 7_000_000, "{nodes:?}");
        assert_eq!(profile["time"]["samples"].as_u64().unwrap_or(3), 3, "{profile}");
    }
    // A profile of time alone has no instructions to speak of.
    let said = wprof(&["report", &out]).succeeded();
    assert!(said.contains("1 function, hash") && !said.contains("instructions"), "{said}");
    let empty = folder.file("empty.json", r#"{"traceEvents": [{"name": "x", "args": {}}]}"#);
    let said = wprof(&["import", "--cpuprofile", &empty, "-m", &module, "-o", &out]).failed();
    assert!(said.contains("the trace has no samples of V8"), "{said}");
}

#[test]
fn imported_time_has_no_lines() {
    let folder = Folder::new();
    let module = program("json");
    let profile = folder.path("exact.wprof");
    wprof(&["run", "-q", "--exact", "--rate", "off", "-o", &profile, &module, "20", "2"]).succeeded();
    let main = function(&json(&profile), "main")["blocks"][0]["start"].as_u64().expect("an offset");
    let samples = format!(
        r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "main", "url": "wasm://wasm/1", "columnNumber": {main}}}}}],
        "samples": [1], "timeDeltas": [1000]}}"#
    );
    let (samples, both) = (folder.file("x.cpuprofile", samples), folder.path("both.wprof"));
    wprof(&["import", "--cpuprofile", &samples, "-m", &module, "--into", &profile, "-o", &both]).succeeded();
    let said = wprof(&["report", &both]).succeeded();
    assert!(said.contains("Functions by time") && !said.contains("Lines by time"), "{said}");
}

#[test]
fn weights_place_counters_and_those_of_another_module_are_refused() {
    let folder = Folder::new();
    let (module, other) = (program("json"), folder.file("count.wat", COUNT));
    let weights = folder.path("weights.wprof");
    fs::rename(exact(&folder, "edges", &[&module, "20", "2"]), &weights).expect("it moves");
    let out = folder.path("out.wasm");
    let said = wprof(&["instrument", &other, "-o", &out, "--weights", &weights]).failed();
    assert!(said.contains("belongs to another module") && !Path::new(&out).exists(), "{said}");
    for collect in ["edges", "events=loads"] {
        let [with, without] = [&["--weights", &weights][..], &[]].map(|more| {
            wprof(&[&["instrument", &module, "-o", &out, "--collect", collect], more].concat()).succeeded();
            fs::read(&out).expect("it was written")
        });
        assert_ne!(with, without, "{collect}");
    }
    if !has_node() {
        return;
    }
    let (host, profile) = (folder.file("host.cjs", WASI_HOST), folder.path("f.wprof"));
    let events = ["--collect", "edges,events=loads,fuel"];
    for more in [&[][..], &["--single-memory"], &["--collect", "paths"], &events] {
        let options = ["collect", "-q", "--weights", &weights, "-o", &profile];
        wprof(&[&options[..], more, &["--", "node", &host, &module, "20", "2"]].concat()).succeeded();
        let collect = more.get(1).copied().unwrap_or("edges");
        assert_eq!(counts(&profile), counts(&exact(&folder, collect, &[&module, "20", "2"])), "{more:?}");
    }
}

#[test]
fn lines_that_ran_in_node_are_those_that_ran_in_wprof() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let (host, module, profile) =
        (folder.file("host.cjs", WASI_HOST), program("json"), folder.path("f.wprof"));
    let lcov = |profile: &str| {
        let out = folder.path("lcov.info");
        wprof(&["export", profile, "--to", "lcov", "-o", &out]).succeeded();
        fs::read_to_string(out).expect("a file")
    };
    let expected = lcov(&exact(&folder, "edges", &[&module, "20", "2"]));
    assert!(expected.contains("json.c") && expected.contains("\nDA:"), "{expected}");
    for more in [&[][..], &["--single-memory"]] {
        let command = ["--", "node", &host, &module, "20", "2"];
        wprof(&[&["collect", "-q", "-o", &profile][..], more, &command].concat()).succeeded();
        assert_eq!(lcov(&profile), expected, "{more:?}");
    }
}

#[test]
fn missing_imports_have_stand_ins() {
    let folder = Folder::new();
    let needy = r#"(module
        (import "env" "seven" (func $seven (param i32) (result i32)))
        (import "env" "memory" (memory 1))
        (import "env" "base" (global $base i32))
        (func (export "plus") (param i32) (result i32)
            (i32.add (local.get 0) (i32.add (call $seven (i32.const 1)) (global.get $base)))))"#;
    let needy = folder.file("needy.wat", needy);
    let zero = wprof(&["run", "-q", "--stub-imports=zero", "--invoke", "plus", &needy, "35"]);
    assert_eq!(zero.succeeded(), "35\n");
    let trap = wprof(&["run", "-q", "--stub-imports", "--invoke", "plus", &needy, "35"]);
    assert_eq!(trap.code, Some(134), "{trap:?}");
    assert!(trap.err.contains("the program called env.seven, which wprof does not provide"), "{trap:?}");
    let said = wprof(&["run", "--invoke", "plus", &needy, "35"]).failed();
    assert!(said.contains("--stub-imports") && said.contains("wprof instrument"), "{said}");
}

#[test]
fn abort_of_assemblyscript_says_why_and_where() {
    let folder = Folder::new();
    let aborts = r#"(module
        (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 4) "\06\00\00\00n\00o\00!\00")
        (data (i32.const 20) "\08\00\00\00a\00.\00t\00s\00")
        (func (export "run") (call $abort (i32.const 8) (i32.const 24) (i32.const 3) (i32.const 5))))"#;
    let ran = wprof(&["run", "-q", "--invoke", "run", &folder.file("aborts.wat", aborts)]);
    assert_eq!(ran.code, Some(134), "{ran:?}");
    assert!(ran.err.contains("abort: no! at a.ts:3:5"), "{ran:?}");
}

#[test]
fn interesting_paths_are_counted_as_without() {
    let folder = Folder::new();
    let (module, out, earlier) = (program("json"), folder.path("out.wasm"), folder.path("earlier.wprof"));
    fs::rename(exact(&folder, "paths", &[&module, "5", "1"]), &earlier).expect("it moves");
    let interesting = ["--interesting", &earlier, "-o", &out];
    let said = wprof(&[&["instrument", &module][..], &interesting].concat()).failed();
    assert!(said.contains("add --collect paths") && !Path::new(&out).exists(), "{said}");
    let other = folder.file("count.wat", COUNT);
    let paths = ["instrument", "--collect", "paths"];
    let said = wprof(&[&paths[..], &[&other], &interesting].concat()).failed();
    assert!(said.contains("--interesting belongs to another module") && !Path::new(&out).exists(), "{said}");
    if !has_node() {
        return;
    }
    let (host, profile) = (folder.file("host.cjs", WASI_HOST), folder.path("f.wprof"));
    let command = ["--", "node", &host, &module, "20", "2"];
    let options = ["collect", "-q", "--collect", "paths", "--interesting", &earlier, "-o", &profile];
    wprof(&[&options[..], &command].concat()).succeeded();
    assert_eq!(counts(&profile), counts(&exact(&folder, "paths", &[&module, "20", "2"])));
}
