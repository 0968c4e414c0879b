//! The timer of a thread: it sends a signal each time the thread has used a certain amount of CPU time.
//!
//! A thread gets a timer when it first enters wasm code of a store with samples, and keeps it, because starting
//! one takes a system call, and entries may be frequent. When the thread has been elsewhere for long, the handler
//! stops the timer, and the next entry starts it. The kernel checks such timers at its ticks, which may be less
//! frequent than requested: a sample then stands for all the time that has passed, which the signal tells.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{itimerspec, siginfo_t, timer_t, timespec};

use super::{drain, handler};
use crate::runtime::interruption::fork::Generation;
use crate::runtime::interruption::thread_wakeup;
use crate::runtime::stacks::alt_stack;

/// Number of consecutive signals outside of wasm code after which the timer is stopped.
const MOST_IDLE: u32 = 50;

thread_local! {
    /// How often the timer fires per second, or 0. It has no destructor, like all data here that the handler
    /// reads.
    static RATE: Cell<u32> = const { Cell::new(0) };
    static IDLE: Cell<u32> = const { Cell::new(0) };
    /// The timer.
    static ID: Cell<Option<timer_t>> = const { Cell::new(None) };
    /// Deletes the timer with the thread.
    static OWNED: Cell<Option<Owned>> = const { Cell::new(None) };
}

/// A timer of this thread, in the process that created it: child processes do not inherit timers.
struct Owned(timer_t, Generation);

impl Drop for Owned {
    fn drop(&mut self) {
        ID.set(None);
        RATE.set(0);
        if self.1.is_current() {
            // SAFETY: `create` made it in this process, and nobody has it any more.
            unsafe { libc::timer_delete(self.0) };
        }
    }
}

/// Ensures that this thread is sampled `rate` times a second. Without a timer from the system it is not sampled.
pub fn ensure(rate: u32) {
    if RATE.get() != rate || is_of_parent() {
        start(rate);
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
fn start(rate: u32) {
    if is_of_parent() || ID.get().is_none() {
        let Some(id) = create() else { return };
        // An existing timer belongs to a parent process.
        let _ = OWNED.try_with(|owned| owned.set(Some(Owned(id, Generation::current()))));
        ID.set(Some(id));
        GENERATION.set(Generation::current().number());
        drain::restart_in_child();
    }
    alt_stack::ensure();
    IDLE.set(0);
    RATE.set(rate);
    set(period_ns(rate));
}

fn period_ns(rate: u32) -> u64 {
    1_000_000_000 / u64::from(rate.max(1))
}

fn create() -> Option<timer_t> {
    let signal = handler::signal()?;
    let mut id = MaybeUninit::uninit();
    // SAFETY: all zeros is a valid value; the timer id is valid if the call succeeds.
    unsafe {
        let mut event = MaybeUninit::<libc::sigevent>::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread_wakeup::thread_id();
        let made = libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, id.as_mut_ptr());
        (made == 0).then(|| id.assume_init())
    }
}

/// Sets the period of the timer, or stops it if the period is 0. Async-signal-safe.
fn set(period_ns: u64) {
    let Some(id) = ID.get() else { return };
    let time =
        timespec { tv_sec: (period_ns / 1_000_000_000) as i64, tv_nsec: (period_ns % 1_000_000_000) as i64 };
    let setting = itimerspec { it_interval: time, it_value: time };
    // SAFETY: the timer belongs to this thread, and exists.
    unsafe { libc::timer_settime(id, 0, &setting, ptr::null_mut()) };
}

/// The kernel's information on a timer's signal.
#[repr(C)]
struct TimerInfo {
    head: [i32; 4],
    timer: i32,
    /// How many more times it should have fired.
    overrun: i32,
}

/// Returns the time that a signal stands for. Async-signal-safe.
pub fn time_of(info: &siginfo_t) -> u64 {
    let missed = match info.si_code {
        // SAFETY: with this code the kernel has filled in these fields, for which the structure has room.
        libc::SI_TIMER => unsafe { (*ptr::from_ref(info).cast::<TimerInfo>()).overrun.max(0) },
        _ => 0,
    };
    period_ns(RATE.get()).saturating_mul(1 + missed.cast_unsigned() as u64)
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
    use super::*;

    #[test]
    fn a_timer_that_finds_nothing_stops_and_starts_again() {
        ensure(1000);
        assert_eq!(RATE.get(), 1000);
        let spin = |until: &dyn Fn() -> bool| {
            let began = std::time::Instant::now();
            while !until() && began.elapsed().as_secs() < 60 {
                std::hint::black_box(began.elapsed());
            }
        };
        spin(&|| RATE.get() == 0);
        assert_eq!(RATE.get(), 0, "it finds no wasm code here");
        ensure(1000);
        assert_eq!((RATE.get(), IDLE.get() < MOST_IDLE), (1000, true));
    }
}
