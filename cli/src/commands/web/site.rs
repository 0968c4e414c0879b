//! A folder served as a site. Files are unchanged, except that pages and workers load wprof's script first. The script
//! sends each module that is compiled to this server, which rewrites it, and later the counters of its instances.
//!
//! No received data is interpreted before it is checked; nothing outside the folder is served.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use wprof::wasi2::http::{Request, Response};
use wprof_instrument::{RawCounters, Source, javascript};
use wprof_report::names;

use super::super::instrument::RewriteArgs;
use super::inbox::{Inbox, received, response, target};
use crate::output;

/// The maximum total size of modules.
const MAX_MODULES: usize = 1 << 30;

/// The path to which instances send counters.
const COUNTERS: &str = "/wprof-counters/";

/// Fields: pages are isolated, so that they may share memory with their workers, and nothing is cached.
const FIELDS: [(&str, &str); 4] = [
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// A folder that is served.
#[derive(Debug)]
pub struct Site {
    root: PathBuf,
    address: SocketAddr,
    rewrite: RewriteArgs,
    /// The interval at which an instance sends counters, in milliseconds.
    every: u32,
    state: Mutex<State>,
}

/// The received modules and counters.
#[derive(Debug)]
struct State {
    counters: Inbox,
    /// The original modules, by hash.
    originals: HashMap<[u8; 32], Vec<u8>>,
    bytes: usize,
    last_news: Instant,
    is_done: bool,
}

/// Counters with the name of each sender, and the modules that were rewritten.
#[derive(Debug)]
pub struct ReceivedCounters {
    pub counters: Vec<(String, RawCounters)>,
    pub modules: Vec<Vec<u8>>,
}

impl Site {
    /// Creates a site at an address; modules are rewritten as `rewrite` says.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist.
    pub fn new(root: &Path, address: SocketAddr, rewrite: RewriteArgs, every: u32) -> Result<Site> {
        let shown = root.display();
        let root = root.canonicalize().with_context(|| format!("cannot read {shown}"))?;
        ensure!(root.is_dir(), "{shown} is not a folder: give the folder of the page");
        let state = State {
            counters: Inbox::default(),
            originals: HashMap::new(),
            bytes: 0,
            last_news: Instant::now(),
            is_done: false,
        };
        Ok(Site { root, address, rewrite, every, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports whether the page has said that it is done, or no request and no new count has come for `quiet`.
    pub fn is_done(&self, quiet: Duration) -> bool {
        let state = self.state();
        state.is_done || !state.counters.is_empty() && state.last_news.elapsed() >= quiet
    }

    /// Takes everything received since the last call.
    pub fn take_all(&self) -> ReceivedCounters {
        let mut state = self.state();
        ReceivedCounters {
            counters: state.counters.take_all(),
            modules: std::mem::take(&mut state.originals).into_values().collect(),
        }
    }

    /// Answers one request.
    pub fn answer(&self, request: Request) -> Response {
        let host = request.authority.as_deref().unwrap_or_default();
        // A foreign page whose host name resolves to this server must not use it.
        if !self.is_ours(host) {
            return reply(403, "text/plain", "this server is for its own machine\n");
        }
        let (path, query) = target(&request);
        if !path.starts_with(COUNTERS) {
            self.state().last_news = Instant::now();
        }
        match (request.method.as_str(), path) {
            ("GET", "/wprof.js") => reply(200, "text/javascript", self.script(host)),
            ("GET", path) => self.file(&unescaped(path), &request),
            ("POST", "/wprof-rewrite") => match self.rewrite(&request.body, query == "single-memory") {
                Ok(new) => reply(200, "application/wasm", new),
                Err(error) => {
                    let said = format!("{error:#}");
                    let shown = names::harmless(&said);
                    output::tell_line(format_args!("wprof: cannot count a module: {shown}"));
                    reply(422, "text/plain", said)
                }
            },
            ("POST", "/wprof-done") => {
                self.state().is_done = true;
                reply(204, "text/plain", "")
            }
            ("POST", path) => received(self.take(&unescaped(path), &request.body), &FIELDS),
            _ => reply(405, "text/plain", ""),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.address.port())).unwrap_or(host);
        name == "localhost"
            || name == self.address.ip().to_string()
            || name == format!("[{}]", self.address.ip())
    }

    /// Returns wprof's script, with this server's address.
    fn script(&self, host: &str) -> String {
        let (every, single) = (self.every, self.rewrite.has_single_memory());
        format!(
            "globalThis.wprof = {{ url: 'http://{host}{COUNTERS}', rewrite: 'http://{host}/wprof-rewrite', \
             script: 'http://{host}/wprof.js', every: {every}, single: {single}, ...globalThis.wprof }};\n{}\n",
            javascript()
        )
    }

    fn file(&self, path: &str, request: &Request) -> Response {
        let Some((path, body)) = self.find(path) else {
            return reply(404, "text/plain", "there is no such file\n");
        };
        // The use of the response in the browser: `document`, `worker`, …
        let wanted_for = request.headers.iter().find(|(name, _)| name == "sec-fetch-dest");
        let kind = kind_of(&path);
        let body = match (kind, wanted_for.map(|(_, value)| value.as_slice())) {
            ("text/html", _) => with_script(&body),
            (_, Some(b"worker" | b"sharedworker")) => {
                let host = request.authority.as_deref().unwrap_or_default();
                [self.script(host).into_bytes(), body].concat()
            }
            _ => body,
        };
        reply(200, kind, body)
    }

    /// Finds and reads a file of the folder.
    fn find(&self, path: &str) -> Option<(PathBuf, Vec<u8>)> {
        let mut file = self.root.join(path.trim_start_matches('/')).canonicalize().ok()?;
        if file.is_dir() {
            file = file.join("index.html").canonicalize().ok()?;
        }
        let is_inside = file.starts_with(&self.root);
        let bytes = is_inside.then(|| fs::read(&file).ok()).flatten()?;
        Some((file, bytes))
    }

    fn rewrite(&self, module: &[u8], single_memory: bool) -> Result<Vec<u8>> {
        let mut options = self.rewrite.options(module);
        options.single_memory |= single_memory;
        let new = wprof_instrument::instrument(module, options)?;
        let hash = Source::new(module)?.hash();
        let mut state = self.state();
        if !state.originals.contains_key(&hash) {
            ensure!(state.bytes + module.len() <= MAX_MODULES, "modules have more than {MAX_MODULES} bytes");
            state.bytes += module.len();
            state.originals.insert(hash, module.to_vec());
        }
        Ok(new)
    }

    fn take(&self, path: &str, body: &[u8]) -> Result<()> {
        let Some(name) = path.strip_prefix(COUNTERS) else { bail!("wprof accepts no data at {path}") };
        let mut state = self.state();
        if state.counters.take(name, body)? {
            state.last_news = Instant::now();
        }
        Ok(())
    }
}

fn reply(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Response {
    response(status, kind, &FIELDS, body)
}

/// Removes the escapes from a path; invalid escapes stay.
fn unescaped(path: &str) -> String {
    let bytes = path.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the media type of a file by its name; unknown files are bytes.
fn kind_of(path: &Path) -> &'static str {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("html" | "htm") => "text/html",
        Some("js" | "mjs" | "cjs") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("txt") => "text/plain",
        _ => "application/octet-stream",
    }
}

/// Inserts wprof's script into a page before everything else: behind the first of the tags that may precede it.
fn with_script(page: &[u8]) -> Vec<u8> {
    let lower = page.to_ascii_lowercase();
    let behind = |tag: &[u8]| {
        let start = lower.windows(tag.len()).position(|window| window == tag)?;
        let length = lower[start..].iter().position(|byte| *byte == b'>')?;
        // `<header>` is not `<head>`.
        let next = lower.get(start + tag.len()).copied().unwrap_or(b'>');
        (next == b'>' || next.is_ascii_whitespace()).then_some(start + length + 1)
    };
    let place = behind(b"<head").or_else(|| behind(b"<html")).or_else(|| behind(b"<!doctype")).unwrap_or(0);
    [&page[..place], b"<script src=\"/wprof.js\"></script>", &page[place..]].concat()
}

#[cfg(test)]
mod tests {
    use super::{unescaped, with_script};

    #[test]
    fn the_script_comes_first() {
        let script = "<script src=\"/wprof.js\"></script>";
        for (before, after) in [
            ("<!DOCTYPE html><html><HEAD lang=en>", "<script>1</script>"),
            ("<html>", "<body><header></header>"),
            ("<!doctype html>", "<p>"),
            ("", "<p>"),
        ] {
            let page = with_script(format!("{before}{after}").as_bytes());
            assert_eq!(String::from_utf8_lossy(&page), format!("{before}{script}{after}"));
        }
    }

    #[test]
    fn escapes_are_removed_and_what_is_none_stays() {
        assert_eq!(unescaped("/a%20b%zz%2"), "/a b%zz%2");
        assert_eq!(unescaped("/%F0%9F%98%80%"), "/\u{1f600}%");
    }
}
