//! Requests to terminate: Ctrl-C, the end of the terminal, and what supervisors send.

use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Returns the requests that arrive from now on, which then do not end this process.
///
/// # Errors
/// Returns an error if the system provides no signal handler.
pub fn signals() -> Result<Signals> {
    Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot handle signals")
}

/// Starts a thread that calls `act` with each request, until the handle is closed.
///
/// # Errors
/// Returns an error if the system provides no thread or signal handler.
pub fn on_signal(mut act: impl FnMut(i32) + Send + 'static) -> Result<Handle> {
    let mut signals = signals()?;
    let handle = signals.handle();
    let wait = move || signals.forever().for_each(&mut act);
    thread::Builder::new().name("signals".to_owned()).spawn(wait).context("cannot start a thread")?;
    Ok(handle)
}
