//! The timers of a thread: they send a signal each time the thread has used a certain amount of CPU time.
//!
//! A thread gets timers when it first enters wasm code of a store with samples, and keeps them, because creating
//! them takes system calls, and entries may be frequent. When the thread has been elsewhere for long, the handler
//! stops them, and the next entry starts them.
//!
//! The kernel checks timers of CPU time at its ticks only, often every 4 ms, so a short run would have no sample. A
//! thread's first samples therefore come from a timer of the clock on the wall, which is exact, but also fires
//! while the thread waits. Such signals are no samples, since the place where a thread waits has not used the time;
//! their time goes to the next sample. After a fixed number of signals, or after a few that found the thread
//! waiting, the timer of CPU time takes over: it never wakes a thread that waits. Whichever fires, a sample stands for
//! the CPU time since the signal before.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, clockid_t, itimerspec, timer_t, timespec};

use super::drain;
use crate::runtime::interruption::generation::Generation;
use crate::runtime::interruption::thread_wakeup;
use crate::runtime::stacks::alt_stack;

/// Number of consecutive signals outside of wasm code after which the timer is stopped.
const MOST_IDLE: u32 = 50;

/// Number of a thread's signals that may come from the clock on the wall, and of those that may find that it waited.
const MOST_EARLY: u32 = 50;
const MOST_WAITS: u32 = 20;

thread_local! {
    /// How often the timer fires per second, or 0. It has no destructor, like all data here that the handler
    /// reads.
    static RATE: Cell<u32> = const { Cell::new(0) };
    static IDLE: Cell<u32> = const { Cell::new(0) };
    /// The timers.
    static IDS: Cell<Option<Timers>> = const { Cell::new(None) };
    /// Numbers of signals of the clock on the wall, and of those that found that the thread waited.
    static EARLY: Cell<u32> = const { Cell::new(0) };
    static WAITS: Cell<u32> = const { Cell::new(0) };
    /// The thread's CPU time in nanoseconds up to which samples stand for it.
    static SAMPLED: Cell<u64> = const { Cell::new(0) };
    /// Deletes the timers with the thread.
    static OWNED: Cell<Option<Owned>> = const { Cell::new(None) };
}

/// The timers of a thread: that of its CPU time, and that of the clock on the wall, if there is one.
#[derive(Clone, Copy)]
struct Timers {
    of_cpu: timer_t,
    early: Option<timer_t>,
}

/// The timers of this thread, in the process that created them: child processes do not inherit timers.
struct Owned(Timers, Generation);

impl Drop for Owned {
    fn drop(&mut self) {
        IDS.set(None);
        RATE.set(0);
        if self.1.is_current() {
            for id in [Some(self.0.of_cpu), self.0.early].into_iter().flatten() {
                // SAFETY: `create` made it in this process, and nobody has it any more.
                unsafe { libc::timer_delete(id) };
            }
        }
    }
}

/// Returns the signal that timers send, once its handler is installed; `None` if there is none.
pub type Signal = fn() -> Option<c_int>;

/// Ensures that this thread is sampled `rate` times a second. Without a timer from the system it is not sampled.
pub fn ensure(rate: u32, signal: Signal) {
    if RATE.get() != rate || is_of_parent() {
        start(rate, signal);
    }
}

/// Returns whether the process was forked since; that is rare, and the check costs one load.
fn is_of_parent() -> bool {
    GENERATION.get() != Generation::current().number()
}

thread_local! {
    static GENERATION: Cell<u32> = const { Cell::new(0) };
}

#[cold]
fn start(rate: u32, signal: Signal) {
    if is_of_parent() || IDS.get().is_none() {
        let Some(of_cpu) = create(libc::CLOCK_THREAD_CPUTIME_ID, signal) else { return };
        let ids = Timers { of_cpu, early: create(libc::CLOCK_MONOTONIC, signal) };
        // Existing timers belong to a parent process.
        let _ = OWNED.try_with(|owned| owned.set(Some(Owned(ids, Generation::current()))));
        IDS.set(Some(ids));
        GENERATION.set(Generation::current().number());
        drain::restart_in_child();
    }
    alt_stack::ensure();
    IDLE.set(0);
    SAMPLED.set(cpu_time());
    RATE.set(rate);
    set(period_ns(rate));
}

fn period_ns(rate: u32) -> u64 {
    1_000_000_000 / u64::from(rate.max(1))
}

fn create(clock: clockid_t, signal: Signal) -> Option<timer_t> {
    let signal = signal()?;
    let mut id = MaybeUninit::uninit();
    // SAFETY: all zeros is a valid value; the timer id is valid if the call succeeds.
    unsafe {
        let mut event = MaybeUninit::<libc::sigevent>::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread_wakeup::thread_id();
        let made = libc::timer_create(clock, &mut event, id.as_mut_ptr());
        (made == 0).then(|| id.assume_init())
    }
}

/// Reports whether the clock on the wall still tells when to sample.
fn is_early() -> bool {
    EARLY.get() < MOST_EARLY && WAITS.get() < MOST_WAITS && IDS.get().is_some_and(|ids| ids.early.is_some())
}

/// Sets the period of the timer whose turn it is, or stops it if the period is 0; stops the other one. Async-signal-safe.
fn set(period_ns: u64) {
    let Some(Timers { of_cpu, early }) = IDS.get() else { return };
    let (of_early, of_cpu_time) = if is_early() { (period_ns, 0) } else { (0, period_ns) };
    if let Some(early) = early {
        set_timer(early, of_early);
    }
    set_timer(of_cpu, of_cpu_time);
}

fn set_timer(id: timer_t, period_ns: u64) {
    let time =
        timespec { tv_sec: (period_ns / 1_000_000_000) as i64, tv_nsec: (period_ns % 1_000_000_000) as i64 };
    let setting = itimerspec { it_interval: time, it_value: time };
    // SAFETY: the timer belongs to this thread, and exists.
    unsafe { libc::timer_settime(id, 0, &setting, ptr::null_mut()) };
}

/// Returns the CPU time of this thread in nanoseconds. Async-signal-safe.
fn cpu_time() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to a structure of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (time.tv_sec.cast_unsigned()).saturating_mul(1_000_000_000) + time.tv_nsec.cast_unsigned()
}

/// Returns the time that a signal's sample stands for; `None` if it is no sample. Async-signal-safe.
pub fn time_of_signal() -> Option<u64> {
    let now = cpu_time();
    let time = now.saturating_sub(SAMPLED.get());
    if is_early() {
        EARLY.set(EARLY.get() + 1);
        // A thread that ran has used about a period.
        let has_waited = time < period_ns(RATE.get()) / 2;
        WAITS.set(WAITS.get() + u32::from(has_waited));
        if !is_early() {
            set(period_ns(RATE.get()));
        }
        if has_waited {
            return None;
        }
    }
    SAMPLED.set(now);
    Some(time)
}

/// Records that a signal found nothing to sample. Async-signal-safe.
pub fn note_idle() {
    let idle = IDLE.get() + 1;
    IDLE.set(idle);
    if idle >= MOST_IDLE && RATE.get() != 0 {
        RATE.set(0);
        set(0);
    }
}

/// Records that a signal found something to sample. Async-signal-safe.
pub fn note_busy() {
    IDLE.set(0);
}

#[cfg(test)]
mod tests {
    use super::super::handler;
    use super::*;

    #[test]
    fn a_timer_that_finds_nothing_stops_and_starts_again() {
        ensure(1000, handler::signal);
        assert_eq!(RATE.get(), 1000);
        let spin = |until: &dyn Fn() -> bool| {
            let began = std::time::Instant::now();
            while !until() && began.elapsed().as_secs() < 60 {
                std::hint::black_box(began.elapsed());
            }
        };
        spin(&|| RATE.get() == 0);
        assert_eq!(RATE.get(), 0, "it finds no wasm code here");
        ensure(1000, handler::signal);
        assert_eq!((RATE.get(), IDLE.get() < MOST_IDLE), (1000, true));
    }
}
