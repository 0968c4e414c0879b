//! Modules whose memory JavaScript makes, and whose counters are behind it, in Node where that is there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wprof_instrument::{Collected, Error, Options, RawCounters, instrument, javascript, read};
use wprof_profiler::Profile;

/// `more` needs so many pages in all, asks the host for them, and uses the last byte.
const PROGRAM: &str = r#"(module
  (import "e" "m" (memory 1 MAXIMUM))
  (import "e" "resize" (func $resize (param i32)))
  (func (export "read") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "pages") (result i32) (memory.size))
  (func (export "more") (param $pages i32) (result i32)
    (call $resize (local.get $pages))
    (i32.store8 (i32.sub (i32.shl (local.get $pages) (i32.const 16)) (i32.const 1)) (i32.const 9))
    (i32.ge_u (memory.size) (local.get $pages))))"#;

/// Has views of the memory before the module, and grows it as Emscripten's glue does: by a fifth at least.
const GLUE: &str = "
const memory = new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM });
const view = new Uint8Array(memory.buffer);
view[5] = 7;
const resize = (pages) => {
  const old = memory.buffer.byteLength;
  memory.grow((Math.max(pages * 65536, old * 1.2) - old + 65535) >>> 16);
};
const bytes = require('fs').readFileSync(process.argv[2]);
WebAssembly.instantiate(bytes, { e: { m: memory, resize } }).then(({ instance: { exports } }) => {
  const seen = [exports.read(5), new Uint8Array(memory.buffer).subarray(5, 6)[0], view.length > 0, exports.pages()];
  if (MAXIMUM > 1000) seen.push(exports.more(600), exports.read(600 * 65536 - 1), exports.read(5));
  console.log(...seen, memory instanceof WebAssembly.Memory);
});
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wprof-glue-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        std::fs::write(self.0.join(name), content).expect("the folder can be written");
        self.0.join(name)
    }

    fn counters(&self) -> Vec<RawCounters> {
        let files =
            std::fs::read_dir(&self.0).expect("the folder").map(|entry| entry.expect("a file").path());
        let files = files.filter(|path| path.extension().is_some_and(|kind| kind == "counters"));
        files
            .map(|path| RawCounters::from_bytes(&std::fs::read(path).expect("a file")).expect("counters"))
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What Node prints and says; `None` without Node. A module is rewritten as it is loaded by the program `exe`.
fn run(folder: &Folder, module: &Path, maximum: u32, exe: Option<&Path>) -> Option<(String, String)> {
    let glue = folder.file("app.cjs", GLUE.replace("MAXIMUM", &maximum.to_string()).as_bytes());
    let script = folder.file("w.cjs", javascript().as_bytes());
    let mut node = Command::new("node");
    node.arg("--require").args([&script, &glue, module]).env("WPROF_DIR", &folder.0).stderr(Stdio::piped());
    if let Some(exe) = exe {
        node.env("WPROF_EXE", exe).env("WPROF_ARGS", "--single-memory");
    }
    let ran = node.output().ok()?;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Some((text(ran.stdout), text(ran.stderr)))
}

fn single(collected: Collected, contexts: Option<u32>) -> Options<'static> {
    Options { collected, contexts, single_memory: true, ..Options::default() }
}

fn program(maximum: u32) -> Vec<u8> {
    wat::parse_str(PROGRAM.replace("MAXIMUM", &maximum.to_string())).expect("text")
}

#[test]
fn views_of_a_memory_that_javascript_makes_stay() {
    let wasm = program(32768);
    for (name, options) in [
        ("edges", single(Collected::Edges, None)),
        ("paths", single(Collected::Paths, None)),
        ("cct", single(Collected::Nothing, Some(1 << 20))),
    ] {
        let folder = Folder::new(name);
        let new = folder.file("n.wasm", &instrument(&wasm, options).expect("rewritten"));
        let Some((said, errors)) = run(&folder, &new, 32768, None) else { return };
        assert_eq!(said, "7 7 true 1 1 9 7 true\n", "{errors}");
        let counters = folder.counters();
        assert_eq!(counters.len(), 1);
        let profile: Profile = read(&wasm, &counters[0]).expect("counts that add up").profile;
        if name != "cct" {
            let calls = |index| profile.function(index).map(|function| function.calls());
            assert_eq!([calls(1), calls(2), calls(3)], [Some(3), Some(1), Some(1)]);
        }
    }
}

#[test]
fn a_module_runs_as_it_is_if_there_is_no_room_behind_its_memory() {
    let folder = Folder::new("no-room");
    // The memory that the glue makes can grow less than the module allows.
    let wasm = program(32768);
    let original = folder.file("o.wasm", &wasm);
    let new = folder.file("n.wasm", &instrument(&wasm, single(Collected::Edges, None)).expect("rewritten"));
    let exe = folder.file("exe", format!("#!/bin/sh\ncp {} \"$4\"\n", new.display()).as_bytes());
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let Some((said, errors)) = run(&folder, &original, 3, Some(&exe)) else { return };
    assert!(said.starts_with("7 7 true "), "{said}{errors}");
    assert!(errors.contains("cannot count a module: there is no room"), "{errors}");
    assert!(folder.counters().is_empty());
}

#[test]
fn the_region_of_a_small_module_is_small() {
    let rewritten = |maximum: u32| {
        let text = format!(
            r#"(module (import "e" "m" (memory 1 {maximum})) (func (export "f") (result i32) (i32.const 1)))"#
        );
        instrument(&wat::parse_str(text).expect("text"), single(Collected::Edges, None))
    };
    rewritten(6).expect("5 pages for counters");
    let error = rewritten(5).expect_err("no room");
    assert!(matches!(error, Error::NoRoom(_)), "{error}");
    let said = error.to_string();
    assert!(said.contains("can grow by 4 pages of 64 KiB, and counters need 5"), "{said}");
}
