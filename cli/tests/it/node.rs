//! Programs in Node that `wprof collect` runs: workers and children, odd modules, and signals.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use super::interrupt::send;
use super::{Folder, command, function, json, wprof};

/// Whether Node is here; if not, says so.
pub fn has_node() -> bool {
    let has = Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has {
        super::tell_skipped("there is no node");
    }
    has
}

/// Whether this version of Node knows several memories in a module; if not, says so.
pub fn has_many_memories() -> bool {
    let many =
        "process.exit(WebAssembly.validate(new Uint8Array([0,97,115,109,1,0,0,0,5,5,2,0,0,0,0])) ? 0 : 1)";
    let has = Command::new("node").args(["-e", many]).status().is_ok_and(|status| status.success());
    if !has {
        super::tell_skipped("this version of Node has one memory in a module");
    }
    has
}

/// `count(n)` goes round n times.
pub fn count_wasm() -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    module.extend(b"\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x07\x09\x01\x05count\x00\x00");
    module.extend(
        b"\x0a\x15\x01\x13\x00\x03\x40\x20\x00\x41\x01\x6b\x22\x00\x04\x40\x0c\x01\x0b\x0b\x20\x00\x0b",
    );
    module
}

/// The arguments with which `wprof` has `app` run in Node, with `count.wasm` as its argument.
fn collect(folder: &Folder, app: &str) -> [String; 8] {
    // The text becomes a binary by being instrumented; what is instrumented here is that without its descriptions.
    let (app, wasm) = (folder.file("app.cjs", app), folder.file("count.wasm", count_wasm()));
    ["collect", "-q", "-o", &folder.path("f.wprof"), "--", "node", &app, &wasm].map(str::to_owned)
}

#[test]
fn workers_are_profiled_too() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let app = "
const { Worker, isMainThread } = require('worker_threads');
const bytes = require('fs').readFileSync(process.argv[2]);
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
instance.exports.count(10);
if (isMainThread) new Worker(__filename, { argv: process.argv.slice(2) });
";
    let ran = wprof(&collect(&folder, app));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(function(&json(&folder.path("f.wprof")), "count")["calls"], 2);
}

/// One worker is ended while it waits for messages, another by the end of the process.
#[test]
fn workers_that_are_ended_are_profiled_too() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let app = "
const { Worker, isMainThread, parentPort } = require('worker_threads');
const bytes = require('fs').readFileSync(process.argv[2]);
if (isMainThread) {
  const start = () => new Worker(__filename, { argv: process.argv.slice(2) });
  const first = start();
  first.once('message', async (message) => {
    if (message !== 'counted') throw message;
    await first.terminate();
    start().once('message', () => process.exit(7));
  });
} else {
  new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.count(10);
  parentPort.on('message', () => {});
  parentPort.postMessage('counted');
}
";
    let ran = wprof(&collect(&folder, app));
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(function(&json(&folder.path("f.wprof")), "count")["calls"], 2);
}

/// The program ends first, and its child takes a moment to end, as services of build tools do.
#[test]
fn processes_that_end_after_the_program_are_profiled_too() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let app = "
const bytes = require('fs').readFileSync(process.argv[2]);
if (process.argv[3]) {
  new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.count(10);
  process.once('disconnect', () => setTimeout(() => process.exit(), 300));
  process.send('counted');
} else {
  require('child_process').fork(__filename, [process.argv[2], 'child']).once('message', () => process.exit(7));
}
";
    let ran = wprof(&collect(&folder, app));
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(function(&json(&folder.path("f.wprof")), "count")["calls"], 1);
}

/// Glue makes modules without code to give functions of JavaScript a type, and tries what an engine knows with wrong ones.
#[test]
fn modules_without_code_and_wrong_ones_are_left_to_the_engine() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let app = "
const head = [0, 97, 115, 109, 1, 0, 0, 0];
const typed = new Uint8Array([...head, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 101, 1, 102, 0, 0, 7, 5, 1, 1, 102, 0, 0]);
let called = 0;
const typing = new WebAssembly.Instance(new WebAssembly.Module(typed), { e: { f: () => called++ } });
typing.exports.f();
const wrong = (bytes) => {
  try { new WebAssembly.Module(bytes); } catch (error) { return error.constructor.name; }
};
// Cut, without a body, with a code section that is none; and what is no buffer.
const all = [[...head, 1], [...head, 3, 2, 1, 0], [...head, 10, 1, 5], [1, 2, 3]].map((it) => wrong(new Uint8Array(it)));
all.push(wrong(undefined), wrong(head), wrong('text'), called);
const foreign = require('vm').runInNewContext('(bytes) => Uint8Array.from(bytes).buffer')(require('fs').readFileSync(process.argv[2]));
new WebAssembly.Instance(new WebAssembly.Module(foreign)).exports.count(10);
console.log(JSON.stringify(all));
";
    let ran = wprof(&collect(&folder, app));
    let wrong = r#"["CompileError","CompileError","CompileError","CompileError","TypeError","TypeError","TypeError",1]"#;
    assert_eq!((ran.err.as_str(), ran.out.trim()), ("", wrong));
    assert_eq!(function(&json(&folder.path("f.wprof")), "count")["calls"], 1);
}

#[test]
fn what_node_runs_without_counting_is_told() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let once = folder.path("once.wasm");
    let app = "
const bytes = require('fs').readFileSync(process.argv[2].replace('count', 'once'));
console.log(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.count(10));
";
    let args = collect(&folder, app);
    wprof(&["instrument", "--single-memory", &folder.path("count.wasm"), "-o", &once]).succeeded();
    let ran = wprof(&args);
    let said = "wprof: cannot count a module: the module is already instrumented: give the original module\n";
    assert_eq!((ran.out.as_str(), ran.err.lines().next()), ("0\n", Some(said.trim_end())));
}

/// Starts a program and waits until it has said something.
fn start(args: &[String; 8]) -> Child {
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut said).expect("the program says it is ready");
    assert_eq!(said, *b"!");
    child
}

/// What a program does before it waits: it counts.
const COUNTS: &str = "
const counting = new WebAssembly.Instance(new WebAssembly.Module(require('fs').readFileSync(process.argv[2])));
counting.exports.count(10);
require('fs').writeSync(1, '!');
";

/// Nobody but `wprof` gets the signal, as from a supervisor.
#[test]
fn a_signal_to_terminate_is_passed_on_and_counts_are_kept() {
    if !has_node() {
        return;
    }
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let folder = Folder::new();
        let child = start(&collect(&folder, &format!("{COUNTS} setInterval(() => {{}}, 1000);")));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(function(&json(&folder.path("f.wprof")), "count")["calls"], 1);
    }
}

/// The program has its standard output open, so that this test waits for it too.
#[test]
fn a_program_that_hears_no_signal_is_killed() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let child = start(&collect(&folder, &format!("{COUNTS} for (;;);")));
    send("-TERM", &child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(137), "{said}");
    assert!(said.contains("it is killed, and what it has counted is lost"), "{said}");
}

#[test]
fn a_crash_of_node_is_explained() {
    if !has_node() {
        return;
    }
    let folder = Folder::new();
    let ran = wprof(&collect(&folder, "process.abort();"));
    assert_eq!(ran.code, Some(134), "{}", ran.err);
    assert!(ran.err.contains("Node has crashed") && ran.err.contains("`node --liftoff-only`"), "{}", ran.err);
}

/// Its memory is shared, so that others could read its counters if it waited in wasm; but it waits for messages.
#[test]
fn a_worker_that_shares_memory_and_waits_for_messages_is_profiled_too() {
    if !has_node() || !has_many_memories() {
        return;
    }
    let folder = Folder::new();
    let app = "
const { Worker, isMainThread, workerData: memory, parentPort } = require('worker_threads');
if (isMainThread) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const worker = new Worker(__filename, { workerData: memory, argv: process.argv.slice(2) });
  worker.once('message', () => process.exit(7));
} else {
  const bytes = require('fs').readFileSync(process.argv[2].replace('count.wasm', 'shared.wasm'));
  const { exports: made } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
  made.run();
  setInterval(() => {}, 1000);
  parentPort.postMessage('has run');
}
";
    // (module (import "env" "memory" (memory 1 1 shared)) (func (export "run")))
    let mut shared = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0".to_vec();
    shared.extend(b"\x02\x10\x01\x03env\x06memory\x02\x03\x01\x01");
    shared.extend(b"\x03\x02\x01\0\x07\x07\x01\x03run\0\0\x0a\x04\x01\x02\0\x0b");
    let args = collect(&folder, app);
    fs::write(folder.path("shared.wasm"), shared).unwrap();
    let ran = wprof(&args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(7), ""));
    assert_eq!(json(&folder.path("f.wprof"))["calls"], 1);
}
