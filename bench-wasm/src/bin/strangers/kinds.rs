//! The ways in which a program is run: wprof's with two states of its code cache, and other engines.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use wprof_bench::strangers::Stranger;

/// Options of `wprof run`, and what the code cache contains.
pub struct Kind {
    pub name: &'static str,
    options: &'static [&'static str],
    /// Whether the code cache contains the code of earlier runs.
    pub is_warm: bool,
}

const OFF: &[&str] = &["--profile", "off"];
const SAMPLED: &[&str] = &["--without", "all"];
const UNTIMED: &[&str] = &["--without", "all", "--rate", "off"];

/// The first kind of each cache state is the reference for the others.
pub const KINDS: [Kind; 8] = [
    Kind { name: "plain, cold", options: OFF, is_warm: false },
    Kind { name: "untimed, cold", options: UNTIMED, is_warm: false },
    Kind { name: "sampled, cold", options: SAMPLED, is_warm: false },
    Kind { name: "default, cold", options: &[], is_warm: false },
    Kind { name: "plain, warm", options: OFF, is_warm: true },
    Kind { name: "untimed, warm", options: UNTIMED, is_warm: true },
    Kind { name: "sampled, warm", options: SAMPLED, is_warm: true },
    Kind { name: "default, warm", options: &[], is_warm: true },
];

/// Kinds for each state of the cache.
pub const KINDS_PER_CACHE: usize = KINDS.len() / 2;

/// Returns the kind that is the reference for `kind`.
pub fn plain(kind: usize) -> usize {
    kind - kind % KINDS_PER_CACHE
}

/// The times of a run, in milliseconds.
#[derive(Clone, Copy)]
pub struct Took {
    pub processor: f64,
    pub wall: f64,
}

/// Another engine.
pub enum Peer {
    /// The program `peer` of `bench-wasm/peers`, which runs machine code that it compiled before.
    Wasmtime(PathBuf),
    /// Node.js, with its WASI.
    V8,
}

impl Peer {
    pub fn name(&self) -> &'static str {
        match self {
            Peer::Wasmtime(_) => "Wasmtime",
            Peer::V8 => "V8",
        }
    }

    /// Compiles the program before it is measured, as far as the engine can.
    fn prepare(&self, stranger: &Stranger, scratch: &Path) -> Result<()> {
        match self {
            Peer::Wasmtime(peer) => {
                let (compiled, mut command) = (precompiled(stranger, scratch), Command::new(peer));
                let output = command.arg("compile").arg(&stranger.module).arg(compiled).output()?;
                ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            Peer::V8 => fs::write(scratch.join("wasi.mjs"), NODE)?,
        }
        Ok(())
    }

    fn command(&self, stranger: &Stranger, scratch: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = match self {
            Peer::Wasmtime(peer) => {
                let words = [peer.into(), "run".into(), "--precompiled".into(), "--dir".into(), ".".into()];
                [&words[..], &[precompiled(stranger, scratch).into()]].concat()
            }
            Peer::V8 => {
                let script = scratch.join("wasi.mjs").into();
                vec!["node".into(), "--no-warnings".into(), script, stranger.module.clone().into()]
            }
        };
        words.extend(stranger.args.iter().map(OsString::from));
        words
    }
}

fn precompiled(stranger: &Stranger, scratch: &Path) -> PathBuf {
    scratch.join(format!("{}.precompiled", stranger.name))
}

/// Runs a command in Node.js.
const NODE: &str = r#"
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const [module, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [module, ...args], env: {}, preopens: { '.': '.' } });
const { instance } = await WebAssembly.instantiate(readFileSync(module), wasi.getImportObject());
process.exit(wasi.start(instance));
"#;

/// How programs are run.
pub struct Runner<'a> {
    pub wprof: &'a Path,
    pub scratch: &'a Path,
    /// Whether all threads of a program share one processor.
    pub one_core: bool,
}

impl Runner<'_> {
    fn cache(&self, kind: usize) -> PathBuf {
        self.scratch.join(format!("cache-{kind}"))
    }

    /// Runs a program in wprof.
    pub fn run(&self, stranger: &Stranger, kind: usize) -> Result<Took> {
        let cache = self.cache(kind);
        if !KINDS[kind].is_warm && cache.exists() {
            fs::remove_dir_all(&cache)?;
        }
        fs::create_dir_all(&cache)?;
        let mut words: Vec<OsString> = vec![self.wprof.into(), "run".into(), "-q".into()];
        words.extend(KINDS[kind].options.iter().map(OsString::from));
        words.extend(["--dir".into(), ".".into(), stranger.module.clone().into()]);
        words.extend(stranger.args.iter().map(OsString::from));
        self.timed(&words, stranger, &cache).with_context(|| KINDS[kind].name)
    }

    /// Lets another engine get ready for a program.
    pub fn prepare(&self, stranger: &Stranger, peer: &Peer) -> Result<()> {
        peer.prepare(stranger, self.scratch).with_context(|| peer.name())
    }

    /// Runs a program in another engine.
    pub fn run_peer(&self, stranger: &Stranger, peer: &Peer) -> Result<Took> {
        self.timed(&peer.command(stranger, self.scratch), stranger, self.scratch).with_context(|| peer.name())
    }

    fn timed(&self, words: &[OsString], stranger: &Stranger, cache: &Path) -> Result<Took> {
        let mut command = Command::new("bash");
        command.args(["-c", TIMED, "bash"]);
        if self.one_core {
            command.args(["taskset", "-c", "0"]);
        }
        command.args(words).current_dir(&stranger.folder);
        command.env("XDG_CACHE_HOME", cache).env("LC_ALL", "C").stdin(Stdio::null());
        let began = Instant::now();
        let output = command.output().context("cannot run bash")?;
        let wall = began.elapsed().as_secs_f64() * 1e3;
        let times = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "it ended with {}", output.status);
        let seconds: Vec<f64> = times.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        ensure!(seconds.len() == 2, "bash did not tell the time: {times:?}");
        Ok(Took { processor: 1e3 * seconds.iter().sum::<f64>(), wall })
    }
}

/// A shell measures the processor time of its children in milliseconds.
const TIMED: &str = r#"TIMEFORMAT="%3U %3S"; time "$@" > /dev/null 2> /dev/null"#;
