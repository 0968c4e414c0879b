//! Progress display on a terminal while an operation takes long.

mod reading;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

pub use reading::{Position, Reading};

/// The time after which progress is shown.
const PATIENCE: Duration = Duration::from_millis(400);

/// Calls `work`; if it takes long and standard error is a terminal, a spinner shows `going_on`.
pub fn during<R>(going_on: &str, work: impl FnOnce() -> R) -> R {
    while_showing(work, || spinner(going_on), ProgressBar::tick)
}

/// Calls `work`, which reads a file; if it takes long and standard error is a terminal, a bar shows how much has been
/// read.
pub fn during_reading<R>(going_on: &str, position: &Position, work: impl FnOnce() -> R) -> R {
    during_counting(going_on, position.length(), || position.bytes(), work)
}

/// Calls `work`, which consists of `all` parts; if it takes long and standard error is a terminal, a bar shows how
/// many are `done`.
pub fn during_counting<R>(
    going_on: &str,
    all: u64,
    done: impl Fn() -> u64 + Send,
    work: impl FnOnce() -> R,
) -> R {
    while_showing(work, || bar(going_on, all), move |bar| bar.set_position(done()))
}

/// Calls `work`, and draws meanwhile if it takes long and standard error is a terminal. Other output to the same
/// terminal would mix with the drawings.
fn while_showing<R>(
    work: impl FnOnce() -> R,
    show: impl FnOnce() -> ProgressBar + Send,
    update: impl Fn(&ProgressBar) + Send,
) -> R {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (finished, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // If the system provides no thread, no progress is shown.
        let _ = thread::Builder::new().spawn_scoped(scope, move || show_if_slow(show, update, &waiting));
        let result = work();
        drop(finished);
        result
    })
}

/// Draws after a delay, until the channel is closed.
fn show_if_slow(
    show: impl FnOnce() -> ProgressBar,
    update: impl Fn(&ProgressBar),
    waiting: &mpsc::Receiver<()>,
) {
    if waiting.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let shown = show();
    while waiting.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        update(&shown);
    }
    shown.finish_and_clear();
}

fn spinner(going_on: &str) -> ProgressBar {
    styled(ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}", going_on)
}

fn bar(going_on: &str, all: u64) -> ProgressBar {
    styled(ProgressBar::new(all), "{msg} {wide_bar} {percent:>3}%, {eta} left", going_on)
}

fn styled(bar: ProgressBar, template: &str, going_on: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    bar.with_style(style).with_message(going_on.to_owned())
}
