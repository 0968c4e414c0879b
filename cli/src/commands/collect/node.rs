//! A command that runs Node: modules are rewritten as Node loads them.
//!
//! Environment variables make Node load wprof's script first, also in workers, and write counters to a folder.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use wprof_instrument::javascript;
use wprof_profiler::Ending;

use super::signals::Watch;
use super::{Counters, from_file};

/// The maximum wait for processes that outlive the command.
const MOMENT: Duration = Duration::from_secs(5);

/// The result of a command.
pub struct Ended {
    /// The exit code, in the convention of shells.
    pub code: u8,
    /// The exit status of the command.
    pub ending: Ending,
    /// The start time, in seconds since 1970.
    pub started: u64,
    /// The duration in nanoseconds.
    pub wall_ns: u64,
    /// The modules that the command loaded.
    pub modules: Vec<PathBuf>,
    /// The counters of those modules.
    pub counters: Counters,
    /// The folder that holds the modules; it exists as long as this value.
    _folder: tempfile::TempDir,
}

/// Runs a command whose modules are rewritten with the arguments `rewrite`.
///
/// # Errors
/// Returns an error if the command cannot be started.
pub fn run(command: &[String], rewrite: &[String]) -> Result<Ended> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let script = folder.path().join("wprof.cjs");
    fs::write(&script, javascript()).with_context(|| format!("cannot write {}", script.display()))?;
    let exe = std::env::current_exe().context("cannot find wprof itself")?;
    let old = std::env::var("NODE_OPTIONS").unwrap_or_default();
    let watch = Watch::install(folder.path())?;
    let (started, clock) = (SystemTime::now(), Instant::now());
    let child = Command::new(&command[0])
        .args(&command[1..])
        .env("NODE_OPTIONS", format!("{old} -r \"{}\"", script.display()))
        .env("WPROF_DIR", folder.path())
        .env("WPROF_EXE", exe)
        .env("WPROF_ARGS", rewrite.join("\n"))
        .spawn()
        .with_context(|| format!("cannot run {}", command[0]))?;
    let status = watch.wait(child).with_context(|| format!("cannot wait for {}", command[0]))?;
    let wall_ns = u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
    wait_for_children(folder.path());
    drop(watch);
    let counters = files(folder.path(), "counters")?.iter().map(|path| named(path)).collect::<Result<_>>()?;
    Ok(Ended {
        code: code(status),
        ending: status.code().map_or(Ending::Interrupted, |code| Ending::Exited { code }),
        started: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        wall_ns,
        modules: files(folder.path(), "wasm")?,
        counters,
        _folder: folder,
    })
}

/// Waits for processes that the command has started and that end after it: they still write what they have counted.
/// The wait for a process that does not end is at most [`MOMENT`].
fn wait_for_children(folder: &Path) {
    let end = Instant::now() + MOMENT;
    while Instant::now() < end && !running(folder).is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the notes of processes that count and have not ended.
pub(super) fn running(folder: &Path) -> Vec<PathBuf> {
    let mut notes = files(folder, "running").unwrap_or_default();
    notes.retain(|note| is_alive(note));
    notes
}

/// Reports whether the process that left a note still runs. One that has ended may stay as a zombie.
fn is_alive(note: &Path) -> bool {
    let process = note.file_stem().unwrap_or_default();
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

fn named(path: &Path) -> Result<(String, wprof_instrument::RawCounters)> {
    let (_, counters) = from_file(path)?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), counters))
}

/// Returns the exit code of a process, or the code that shells give for its signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.map_or(u8::MAX, |code| code as u8)
}

/// Returns the files of a kind in a folder, in order.
fn files(folder: &Path, kind: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map_while(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == kind)).collect();
    found.sort();
    Ok(found)
}
