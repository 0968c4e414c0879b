//! Signals while a command runs: they are the command's, and what its processes have counted is kept.
//!
//! Ctrl-C goes to all processes of a terminal; other signals reach `wprof` alone, so they are passed on. A process of Node
//! in a long call of WebAssembly or JavaScript runs no handler: one that has counted leaves a note when it hears a signal,
//! and those that do not hear it in time are killed, or at the next Ctrl-C.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Handle;

use super::node::running;
use crate::{output, termination};

/// The time after which a message says what else to do about a process that has not reacted to Ctrl-C. Until then
/// another signal is a repetition of the first.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time after which a process that has not reacted to another signal is killed.
const GRACE: Duration = Duration::from_secs(4);

/// A thread that waits for signals, until it is dropped.
pub struct Watch {
    state: Arc<State>,
    handle: Handle,
}

struct State {
    /// The folder in which processes leave notes.
    folder: PathBuf,
    /// The command's process, as long as it has not been waited for.
    child: Mutex<Option<Pid>>,
    /// Whether there is nothing left to end.
    ended: AtomicBool,
    /// The first signal; 0 if none has arrived.
    signal: AtomicI32,
}

impl Watch {
    /// Starts to watch for signals.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread or signal handler.
    pub fn install(folder: &Path) -> Result<Watch> {
        let state = Arc::new(State {
            folder: folder.to_owned(),
            child: Mutex::default(),
            ended: AtomicBool::new(false),
            signal: AtomicI32::new(0),
        });
        let seen = state.clone();
        let mut first = None;
        let handle = termination::on_signal(move |signal| act(signal, &seen, &mut first))?;
        Ok(Watch { state, handle })
    }

    /// Waits until the command has ended.
    ///
    /// # Errors
    /// Returns an error if the system cannot tell.
    pub fn wait(&self, mut child: Child) -> std::io::Result<ExitStatus> {
        *self.state.child() = Some(Pid::from_child(&child));
        // A signal that came before had nobody to go to.
        if let Some(signal) = Signal::from_named_raw(self.state.signal.load(Ordering::SeqCst)) {
            self.state.tell(signal);
        }
        let status = child.wait();
        *self.state.child() = None;
        status
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        self.handle.close();
    }
}

impl State {
    fn child(&self) -> MutexGuard<'_, Option<Pid>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a signal to the command's process.
    fn tell(&self, signal: Signal) {
        if let Some(pid) = *self.child() {
            // One that has just ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Returns the processes that count and have not heard the signal.
    fn deaf(&self) -> Vec<Pid> {
        let deaf = running(&self.folder).into_iter().filter(|note| !note.with_extension("heard").exists());
        deaf.filter_map(|note| Pid::from_raw(note.file_stem()?.to_str()?.parse().ok()?)).collect()
    }

    /// Kills processes that have not heard the signal; reports whether there were any.
    fn kill_deaf(&self) -> bool {
        let deaf = self.deaf();
        for &pid in &deaf {
            // One that has just ended is as good as killed.
            let _ = kill_process(pid, Signal::KILL);
        }
        !deaf.is_empty()
    }
}

fn act(signal: i32, state: &Arc<State>, first: &mut Option<Instant>) {
    let is_repeated = state.signal.swap(signal, Ordering::SeqCst) != 0;
    if let Some(named) = Signal::from_named_raw(signal).filter(|_| signal != SIGINT) {
        state.tell(named);
    }
    let since = first.get_or_insert_with(Instant::now).elapsed();
    if !is_repeated {
        let state = state.clone();
        // Without this thread, a busy process is only killed at the next signal.
        let _ = thread::Builder::new().spawn(move || insist(&state, signal));
    } else if since >= PATIENCE && state.kill_deaf() {
        output::tell_line(format_args!("wprof: the program is killed: what it has counted is lost"));
    }
}

/// Looks after a while whether all have heard the signal.
fn insist(state: &State, signal: i32) {
    let wait = if signal == SIGINT { PATIENCE } else { GRACE };
    let begin = Instant::now();
    while begin.elapsed() < wait {
        thread::sleep(Duration::from_millis(20));
        if state.ended.load(Ordering::SeqCst) {
            return;
        }
    }
    if signal != SIGINT && state.kill_deaf() {
        output::tell_line(format_args!(
            "wprof: the program was in a long call and did not end: it is killed, and what it has counted is lost"
        ));
    } else if signal == SIGINT && !state.deaf().is_empty() {
        output::tell_line(format_args!(
            "wprof: the program is in a long call and has not heard the signal: interrupt again to kill it; what it has \
             counted is lost then"
        ));
    }
}
