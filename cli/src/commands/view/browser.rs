//! Opening of a page: by the requested command, by `$BROWSER`, or by the desktop.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::output;

/// A command that has not failed within this time has opened the page, or is the browser itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interval at which the process is checked.
const PAUSE: Duration = Duration::from_millis(10);

/// Opens a page, or says that there is no browser.
///
/// # Errors
/// Returns an error if the requested command fails.
pub fn open(page: &Path, asked: Option<&str>) -> Result<()> {
    if let Some(command) = asked {
        return run(command, page);
    }
    let variable = env::var("BROWSER").unwrap_or_default();
    let commands = variable.split(':').filter(|command| !command.is_empty()).chain(desktop());
    let opened = commands.into_iter().any(|command| run(command, page).is_ok());
    if !opened {
        output::tell_line(format_args!("wprof: found no browser: open the file above in one"));
    }
    Ok(())
}

/// Returns the command that opens files in the desktop's browser, if there is a desktop.
fn desktop() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    has_screen.then_some("xdg-open")
}

/// Runs a command with the page's path in place of `%s`, or as the last argument.
fn run(command: &str, page: &Path) -> Result<()> {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { bail!("the command for the browser is empty: give one") };
    let mut process = Command::new(program);
    let mut has_page = false;
    for word in words {
        has_page |= word == "%s";
        if word == "%s" {
            process.arg(page)
        } else {
            process.arg(word)
        };
    }
    if !has_page {
        process.arg(page);
    }
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match ended(process).with_context(|| format!("cannot start the browser `{command}`"))? {
        Some(status) if !status.success() => bail!("the browser `{command}` failed: {status}"),
        _ => Ok(()),
    }
}

/// Returns the status of the process, if it ended soon.
fn ended(mut process: Command) -> io::Result<Option<ExitStatus>> {
    let mut child = process.spawn()?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}
