//! Folders that are served, and pages in Chromium: what they compile is instrumented on the way. Without Chromium
//! (`scripts/setup`) its part is skipped, with a note.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::html::BROWSERS;
use super::interrupt::send;
use super::node::count_wasm;
use super::{Folder, Ran, command, function, json, wprof};

/// Whether Chromium is here; if not, says so.
pub fn has_browser() -> bool {
    let runs = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    let has = BROWSERS.iter().any(runs);
    if !has {
        super::tell_skipped("Chromium is not installed, scripts/setup does that");
    }
    has
}

/// Profiles a page.
pub fn collect_page(page: &str, profile: &str, options: &[&str]) -> Ran {
    wprof(&[&["collect", "-q", "-o", profile, "--timeout", "90"], options, &["--browser", page]].concat())
}

/// A page whose modules come from a file, from bytes in its script, and from two workers, each of which calls
/// `count(10)` once. It says it is done only if all did what they should.
fn page() -> String {
    let bytes = format!("{:?}", count_wasm());
    let counts = format!(
        "const bytes = Uint8Array.from({bytes});
        const count = async () => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.count(10);"
    );
    let worker = format!("{counts} count().then(() => wprof.send()).then(() => postMessage('sent'));");
    format!(
        "<!doctype html><html><head><title>four</title></head><body><script>{counts}
        const answer = (worker) => new Promise((resolve) => {{ worker.onmessage = resolve; }});
        (async () => {{
            if (!crossOriginIsolated) throw 'not isolated';
            const {{ instance }} = await WebAssembly.instantiateStreaming(fetch('count.wasm'));
            instance.exports.count(10);
            if (Object.keys(instance.exports).length !== 1) throw 'more exports';
            await count();
            await answer(new Worker('worker.js'));
            await answer(new Worker(URL.createObjectURL(new Blob([{worker:?}]))));
            await wprof.done();
        }})();</script></body></html>"
    )
}

fn site(folder: &Folder) -> String {
    let bytes = format!("{:?}", count_wasm());
    folder.file("count.wasm", count_wasm());
    folder.file(
        "worker.js",
        format!(
            "const module = new WebAssembly.Module(Uint8Array.from({bytes}));
            new WebAssembly.Instance(module).exports.count(10);
            wprof.send().then(() => postMessage('sent'));"
        ),
    );
    folder.file("page.html", page())
}

/// Reports whether the command line of a process contains a text.
fn is_running(text: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("it lists processes").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(text))
}

#[test]
fn a_page_and_its_workers_are_profiled_in_one_command() {
    if !has_browser() {
        return;
    }
    let folder = Folder::new();
    site(&folder);
    let (name, profile) = (format!("page-{}.html", std::process::id()), folder.path("f.wprof"));
    let page = folder.file(&name, page());
    for (collect, options) in
        [("edges", &["--collect", "edges"][..]), ("paths", &["--collect", "paths", "--exact-traps"])]
    {
        let ran = collect_page(&page, &profile, options);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let profile = json(&profile);
        let count = function(&profile, "count");
        assert_eq!(count["calls"], 4, "{collect}: {ran:?}");
        assert!(count["edges"].as_array().unwrap().iter().any(|edge| edge["count"] == 36), "{count}");
        let begin = Instant::now();
        while is_running(&name) {
            assert!(begin.elapsed() < Duration::from_secs(20), "the browser still runs");
            thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(fs::read(folder.path("f.wasm")).expect("the module lies beside its profile"), count_wasm());
}

#[test]
fn a_page_that_is_not_there_is_an_error() {
    let folder = Folder::new();
    let said = wprof(&["collect", "--browser", &folder.path("no.html")]).failed();
    assert!(said.contains("cannot read"), "{said}");
    let (page, other) = (folder.file("page.html", ""), Folder::new());
    let said = wprof(&["collect", "--root", &other.path(""), "--browser", &page]).failed();
    assert!(said.contains("give a folder that contains it"), "{said}");
}

#[test]
fn a_folder_is_served_with_its_modules_instrumented_on_request() {
    let folder = Folder::new();
    let profile = folder.path("f.wprof");
    let root = folder.path("site");
    fs::create_dir(&root).unwrap();
    for (name, bytes) in [
        ("site/index.html", &b"<html><head></head></html>"[..]),
        ("site/count.wasm", &count_wasm()),
        ("site/a b.js", b"1;"),
        ("secret.txt", b"secret"),
    ] {
        folder.file(name, bytes);
    }
    let mut serving = command(&["serve", "--addr", "127.0.0.1:0", "-o", &profile, &root]);
    let mut child = serving.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    err.read_line(&mut said).unwrap();
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let ask = |head: &str, more: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let host = if more.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
        let fields = format!("{host}{more}Connection: close\r\nContent-Length: {}\r\n", body.len());
        let head = format!("{head} HTTP/1.1\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    };
    let text =
        |head: &str, more: &str, body: &[u8]| String::from_utf8_lossy(&ask(head, more, body)).into_owned();
    // A connection that says nothing is in nobody's way.
    let _idle = TcpStream::connect(&address).expect("it listens");
    let page = text("GET /", "", b"");
    assert!(page.ends_with("<html><head><script src=\"/wprof.js\"></script></head></html>"), "{page}");
    assert!(page.contains("cross-origin-embedder-policy: require-corp"), "{page}");
    assert!(text("GET /count.wasm?v=1", "", b"").contains("content-type: application/wasm"));
    assert!(text("GET /a%20b.js", "", b"").ends_with("\r\n\r\n1;"));
    let worker = text("GET /a%20b.js", "Sec-Fetch-Dest: worker\r\n", b"");
    assert!(worker.contains("wprof-counters") && worker.ends_with("1;"), "{worker}");
    for outside in ["/../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/no.html"] {
        assert!(text(&format!("GET {outside}"), "", b"").starts_with("HTTP/1.1 404"), "{outside}");
    }
    assert!(text("GET /", "Host: evil.example\r\n", b"").starts_with("HTTP/1.1 403"));
    assert!(text("POST /wprof-rewrite", "", b"junk").starts_with("HTTP/1.1 422"));
    assert!(text("POST /wprof-counters/x", "", b"junk").starts_with("HTTP/1.1 400"));
    let answer = ask("POST /wprof-rewrite", "", &count_wasm());
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a body") + 4;
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer[start..].starts_with(b"\0asm"));
    send("-INT", &child);
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert!(rest.contains("cannot count a module") && rest.contains("nothing to profile"), "{rest}");
}
