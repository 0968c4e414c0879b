//! Ctrl-C and other requests to terminate: the first one stops the program and keeps its profile.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::low_level::emulate_default_handler;
use wprof::InterruptHandle;

use crate::{output, termination};

/// The time after which a message says what else to do about a program that has not stopped. Signals until then count as
/// repetitions of the first: a signal to a process often goes to its group too, as with `timeout`, and `wprof top`
/// passes on signals that this process may have received already.
const PATIENCE: Duration = Duration::from_secs(1);

/// The interval at which the program is woken, in case it waits in the system.
const WAKE_INTERVAL: Duration = Duration::from_millis(20);

/// A thread that waits for signals.
pub struct Interruption {
    state: Arc<State>,
}

struct State {
    /// Interrupt the stores in which the program runs.
    handles: Mutex<Vec<Option<InterruptHandle>>>,
    /// The first signal; 0 if none has arrived.
    signal: AtomicI32,
    /// Whether the program has ended.
    ended: AtomicBool,
}

impl Interruption {
    /// Starts to watch: the first signal interrupts the store of `handle`, the next one ends the process.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread or signal handler.
    pub fn install(handle: InterruptHandle) -> Result<Self> {
        let (handles, signal, ended) =
            (Mutex::new(vec![Some(handle)]), AtomicI32::new(0), AtomicBool::new(false));
        let state = Arc::new(State { handles, signal, ended });
        let seen = state.clone();
        let mut first = None;
        termination::on_signal(move |signal| act(signal, &seen, &mut first))?;
        Ok(Self { state })
    }

    /// Continues with another store in place of the one with this number, or one more: the program runs in it from now
    /// on. The first store has number 0.
    pub fn follow(&self, number: usize, handle: InterruptHandle) {
        let mut handles = self.state.handles();
        if handles.len() <= number {
            handles.resize_with(number + 1, || None);
        }
        handles[number] = Some(handle);
    }

    /// Reports whether a signal has arrived.
    pub fn has_come(&self) -> bool {
        self.state.signal.load(Ordering::SeqCst) != 0
    }

    /// Stops watching; returns the signal that arrived while the program ran.
    pub fn end(self) -> Option<i32> {
        self.state.ended.store(true, Ordering::SeqCst);
        Some(self.state.signal.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

impl State {
    fn handles(&self) -> MutexGuard<'_, Vec<Option<InterruptHandle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn act(signal: i32, state: &Arc<State>, first: &mut Option<Instant>) {
    if first.get_or_insert_with(Instant::now).elapsed() < PATIENCE && state.signal.load(Ordering::SeqCst) != 0
    {
        return;
    }
    if state.ended.load(Ordering::SeqCst) || state.signal.swap(signal, Ordering::SeqCst) != 0 {
        // For these signals the function does not return.
        let _ = emulate_default_handler(signal);
        return;
    }
    state.handles().iter().flatten().for_each(InterruptHandle::interrupt);
    let state = state.clone();
    // Without this thread, the program is interrupted when it no longer waits.
    let _ = thread::Builder::new().spawn(move || insist(&state));
}

/// Wakes the program repeatedly until it has ended, because it may be about to wait for input.
fn insist(state: &State) {
    let begin = Instant::now();
    let mut is_told = false;
    while !state.ended.load(Ordering::SeqCst) {
        state.handles().iter().flatten().for_each(InterruptHandle::wake);
        thread::sleep(WAKE_INTERVAL);
        if !is_told && begin.elapsed() >= PATIENCE && !state.ended.load(Ordering::SeqCst) {
            output::tell_line(format_args!(
                "wprof: the program is blocked in a host call: interrupt again to kill it"
            ));
            is_told = true;
        }
    }
}
