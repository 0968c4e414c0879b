//! What a terminal shows while something takes long.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How long something may take before we say so.
const PATIENCE: Duration = Duration::from_millis(400);

/// Does `work`; if that takes long and standard error is a terminal, a spinner says what is `going_on`.
pub fn during<R>(going_on: &str, work: impl FnOnce() -> R) -> R {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (finished, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || show_if_slow(going_on, &waiting));
        let result = work();
        drop(finished);
        result
    })
}

/// Shows a spinner after a while, until the channel is closed.
fn show_if_slow(going_on: &str, waiting: &mpsc::Receiver<()>) {
    if waiting.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}").expect("a valid template");
    let spinner = ProgressBar::new_spinner().with_style(style).with_message(going_on.to_owned());
    while waiting.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        spinner.tick();
    }
    spinner.finish_and_clear();
}
