//! Modules from files, binary or text.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use wprof::{Engine, Module};
use wprof_profiler::Profile;

/// How long loading may take before we say so.
const PATIENCE: Duration = Duration::from_millis(400);

/// Loads and validates a module; on a terminal a spinner shows if that takes long.
///
/// # Errors
/// If it cannot be read or is invalid.
pub fn load(engine: &Engine, path: &Path) -> Result<Module> {
    if !io::stderr().is_terminal() {
        return Module::from_file(engine, path).map_err(failure);
    }
    let (loaded, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || show_if_slow(path, &waiting));
        let module = Module::from_file(engine, path);
        drop(loaded);
        module.map_err(failure)
    })
}

/// Shows a spinner after a while, until the channel is closed.
fn show_if_slow(path: &Path, waiting: &mpsc::Receiver<()>) {
    if waiting.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let style = ProgressStyle::with_template("{spinner} loading {msg}, {elapsed}").expect("a valid template");
    let spinner = ProgressBar::new_spinner().with_style(style).with_message(path.display().to_string());
    while waiting.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        spinner.tick();
    }
    spinner.finish_and_clear();
}

/// Where the module of a profile is: where it was when it ran, or else beside the profile.
pub fn locate(profile: &Profile, profile_path: &Path) -> PathBuf {
    let ran = PathBuf::from(&profile.program);
    let beside = ran.file_name().map(|name| profile_path.with_file_name(name));
    beside.filter(|beside| !ran.exists() && beside.exists()).unwrap_or(ran)
}

/// The module that a profile is of, which is at `path`.
///
/// # Errors
/// If it is not there, invalid, or another module.
pub fn of_profile(profile: &Profile, path: &Path) -> Result<Module> {
    if !path.exists() {
        bail!("the module {} is not there: say where it is with --module", path.display());
    }
    let module = load(&plain_engine()?, path)?;
    if module.hash() != profile.module_hash {
        bail!(
            "{} is not the module that ran, or has changed since: give the one that ran with --module",
            path.display()
        );
    }
    Ok(module)
}

/// An engine for modules that are not run.
///
/// # Errors
/// If this machine is not supported.
pub fn plain_engine() -> Result<Engine> {
    Engine::new(&wprof::Config::new()).map_err(failure)
}

/// The engine's error as ours.
pub fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow!("{error}")
}
