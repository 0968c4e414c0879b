//! The process that runs a program and writes its profile meanwhile.
//!
//! Ctrl-C reaches the process directly, because it is in the same process group; a signal sent to one process alone
//! reaches only this process. So this process passes signals on, and the other one takes two in quick succession for
//! one. It then stops the program, and this process waits for that.

use std::fs::File;
use std::io::{self, IsTerminal, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use crate::termination;

/// A `wprof run --live` process.
pub struct Process {
    child: Child,
    status: Option<ExitStatus>,
    profile: PathBuf,
    /// The captured output, if it would disturb this process's.
    kept_output: Option<File>,
    kept_messages: Option<File>,
    /// The signals sent to this process.
    signals: Signals,
    /// The folder of the profile, if the user named no file.
    _folder: TempDir,
}

impl Process {
    /// Starts `wprof run` with these arguments; the profile goes to `output`, or to a temporary file.
    ///
    /// # Errors
    /// Returns an error if the system provides no process or temporary file, or the arguments ask for another profile.
    pub fn start(args: &[String], every: Duration, output: Option<&Path>) -> Result<Self> {
        if let Some(option) = other_profile(args) {
            bail!(
                "`wprof top` shows samples: leave out {option}, or count with `wprof run` and read its report"
            );
        }
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let profile = output.map_or_else(|| folder.path().join("top.wprof"), Path::to_owned);
        let signals = termination::signals()?;
        let mut command = Command::new(std::env::current_exe().context("cannot find wprof itself")?);
        command.args(["run", "--quiet", "--profile", "adaptive", "--live"]);
        command.arg(format!("{}us", every.as_micros())).arg("--output").arg(&profile).args(args);
        let kept_output = keep(io::stdout().is_terminal(), |file| command.stdout(file))?;
        let kept_messages = keep(io::stderr().is_terminal(), |file| command.stderr(file))?;
        let child = command.spawn().context("cannot start the program")?;
        let (status, _folder) = (None, folder);
        Ok(Self { child, status, profile, kept_output, kept_messages, signals, _folder })
    }

    /// Returns the path of the profile, which appears after a while.
    pub fn profile(&self) -> &Path {
        &self.profile
    }

    /// Reports whether the process has ended.
    ///
    /// # Errors
    /// Returns an error if the system cannot tell.
    pub fn has_ended(&mut self) -> Result<bool> {
        if self.status.is_none() {
            self.status = self.child.try_wait().context("cannot wait for the program")?;
        }
        Ok(self.status.is_some())
    }

    /// Passes on the signals that have arrived, unless the process has ended.
    ///
    /// # Errors
    /// Returns an error if the system refuses to send them.
    pub fn pass_on_signals(&mut self) -> Result<()> {
        for signal in self.signals.pending().filter_map(Signal::from_named_raw) {
            if self.status.is_none() {
                kill_process(Pid::from_child(&self.child), signal).context("cannot stop the program")?;
            }
        }
        Ok(())
    }

    /// Kills the process.
    ///
    /// # Errors
    /// Returns an error if the system refuses to.
    pub fn stop(&mut self) -> Result<()> {
        self.child.kill().context("cannot stop the program")
    }

    /// Shows the captured output; returns the exit code, or the code that shells show for the signal that ended the
    /// process.
    ///
    /// # Errors
    /// Returns an error if the output cannot be shown.
    pub fn finish(&mut self) -> Result<ExitCode> {
        show(self.kept_messages.take(), io::stderr())?;
        show(self.kept_output.take(), io::stdout())?;
        let status = self.status.unwrap_or_default();
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
    }
}

/// Redirects a stream to a temporary file, if `is_wanted`.
fn keep<'a>(is_wanted: bool, redirect: impl FnOnce(Stdio) -> &'a mut Command) -> Result<Option<File>> {
    if !is_wanted {
        return Ok(None);
    }
    let file = tempfile::tempfile().context("cannot make a temporary file")?;
    redirect(file.try_clone().context("cannot make a temporary file")?.into());
    Ok(Some(file))
}

fn show(kept: Option<File>, mut out: impl io::Write) -> Result<()> {
    let Some(mut file) = kept else { return Ok(()) };
    file.rewind()
        .and_then(|()| io::copy(&mut file, &mut out))
        .context("cannot show what the program wrote")?;
    Ok(())
}

/// Returns the first option of `wprof run`, before all other arguments, that asks for another profile than samples.
fn other_profile(args: &[String]) -> Option<&String> {
    let is_other = |option: &&String| {
        matches!(option.as_str(), "--exact" | "--profile") || option.starts_with("--profile=")
    };
    args.iter().take_while(|arg| arg.starts_with('-')).find(is_other)
}
