//! The page that stops a store: machine code reads it at polls.
//!
//! An interruption sets a flag and makes the page inaccessible, so that the next poll faults; the flag alone is seen
//! at entries into wasm and at returns from the host. Whoever acts on the flag takes it and makes the page readable
//! again. A poll may fault although the flag is taken, if the two happen at once: then there is nothing to do but
//! make the page readable and poll again.
//!
//! Where code has checks instead of polls the timer of the process ([`timer_thread`]) makes them fire, by a signal
//! (`runtime::forced_check`); it also knows the time.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::{forced_check, thread_wakeup, timer_thread};
use crate::Trap;

const SIZE: usize = 4096;

/// Signals for each tick: more than one, as one may come where no check can be made to fire.
const SIGNALS_OF_TICK: u8 = 4;

/// Why a store is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Request {
    /// Somebody asks for it.
    Interrupt = 1,
    /// Its time is up.
    Deadline = 2,
}

impl Request {
    fn of(flag: u8) -> Option<Request> {
        [Request::Interrupt, Request::Deadline].into_iter().find(|request| *request as u8 == flag)
    }
}

impl From<Request> for Trap {
    fn from(request: Request) -> Trap {
        match request {
            Request::Interrupt => Trap::Interrupt,
            Request::Deadline => Trap::Deadline,
        }
    }
}

/// When something is to happen.
#[derive(Debug, Default)]
struct Alarms {
    deadline: Option<Instant>,
    /// The next tick, and how long after it the one after that is.
    tick: Option<(Instant, Duration)>,
    /// How many more signals tell of the last one. It is no use to send them to a thread that waits in the host, and
    /// wakes it; when that goes on in wasm code, it finds the tick.
    signals: u8,
}

impl Alarms {
    /// The next instant at which something is due.
    fn next(&self) -> Option<Instant> {
        [self.deadline, self.tick.map(|(at, _)| at)].into_iter().flatten().min()
    }
}

/// One store's page.
#[derive(Debug)]
pub struct InterruptPage {
    page: NonNull<u8>,
    /// A [`Request`] that nobody has acted on yet, or 0.
    requested: AtomicU8,
    /// Whether the next check is to fire, so that a burst begins.
    ticked: AtomicBool,
    /// The thread that runs the store's wasm code, or host functions for it; 0 if none does.
    thread: AtomicI32,
    alarms: Mutex<Alarms>,
    /// Whether the timer knows of it.
    is_watched: AtomicBool,
    /// Whether the embedder decides at deadlines.
    asks: AtomicBool,
}

// SAFETY: the page is only ever read by machine code; changing its protection is thread-safe.
unsafe impl Send for InterruptPage {}
// SAFETY: as above; the flags are atomic.
unsafe impl Sync for InterruptPage {}

impl InterruptPage {
    /// A readable page.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn new() -> std::io::Result<InterruptPage> {
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let page = unsafe { mmap_anonymous(ptr::null_mut(), SIZE, ProtFlags::READ, MapFlags::PRIVATE)? };
        Ok(InterruptPage {
            page: NonNull::new(page.cast()).expect("the kernel does not map page 0"),
            requested: AtomicU8::new(0),
            ticked: AtomicBool::new(false),
            thread: AtomicI32::new(0),
            alarms: Mutex::default(),
            is_watched: AtomicBool::new(false),
            asks: AtomicBool::new(false),
        })
    }

    /// What polls read.
    pub fn address(&self) -> *const u8 {
        self.page.as_ptr()
    }

    /// Asks the store to stop, unless somebody has already: of a deadline, at which the embedder may let it go on, an
    /// interruption takes the place. Async-signal-safe.
    pub fn request(&self, why: Request) {
        match why {
            Request::Interrupt => self.requested.store(why as u8, Ordering::SeqCst),
            Request::Deadline => {
                let _ = self.requested.compare_exchange(0, why as u8, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
        self.protect(MprotectFlags::empty());
        if self.is_watched.load(Ordering::Relaxed) {
            timer_thread::request();
        }
    }

    /// From now on a request makes the next check of the store's code fire.
    ///
    /// # Errors
    /// If the system has no thread or event for the timer.
    pub fn watch(self: &Arc<Self>) -> std::io::Result<()> {
        forced_check::signal();
        timer_thread::add(self)?;
        self.is_watched.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Asks the store to stop at an instant, or no more.
    ///
    /// # Errors
    /// As [`InterruptPage::watch`].
    pub fn set_deadline(self: &Arc<Self>, at: Option<Instant>) -> std::io::Result<()> {
        at.map_or(Ok(()), |_| self.watch())?;
        // The timer rings under this lock, so that what it asks for from here on is asked for by the new deadline.
        let mut alarms = self.alarms();
        // The last one may have passed since the code ended that it was for.
        let (old, none) = (Request::Deadline as u8, 0);
        if self.requested.compare_exchange(old, none, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.make_readable();
        }
        alarms.deadline = at;
        timer_thread::schedule(self, alarms.next());
        Ok(())
    }

    /// Makes a check of the store's code fire each time that this long has passed, or no more.
    ///
    /// # Errors
    /// As [`InterruptPage::watch`].
    pub fn set_ticks(self: &Arc<Self>, every: Option<Duration>) -> std::io::Result<()> {
        every.map_or(Ok(()), |_| self.watch())?;
        let mut alarms = self.alarms();
        alarms.tick = every.map(|every| (Instant::now() + every, every));
        timer_thread::schedule(self, alarms.next());
        Ok(())
    }

    /// Does what is due now. For the timer.
    pub fn ring(&self, now: Instant) {
        let mut alarms = self.alarms();
        if alarms.deadline.take_if(|at| *at <= now).is_some() {
            self.request(Request::Deadline);
        }
        if let Some((at, every)) = &mut alarms.tick
            && *at <= now
        {
            *at = now + *every;
            self.ticked.store(true, Ordering::SeqCst);
            alarms.signals = SIGNALS_OF_TICK;
        }
        timer_thread::schedule(self, alarms.next());
        let tells_of_tick = self.has_ticked() && alarms.signals > 0;
        alarms.signals = alarms.signals.saturating_sub(1);
        drop(alarms);
        if self.is_requested() || tells_of_tick {
            forced_check::send(self.thread());
        }
        if self.requested.load(Ordering::SeqCst) == Request::Deadline as u8 {
            self.wake();
        }
    }

    /// Whether a check is to fire that has not yet, and another signal may bring that about. Not while nothing of the
    /// store runs: whoever enters it sees what is asked for ([`InterruptPage::set_thread`]).
    pub fn is_awaited(&self) -> bool {
        self.thread() != 0 && (self.is_requested() || self.has_ticked() && self.alarms().signals > 0)
    }

    /// Whether the next check is to fire, so that a burst begins. Async-signal-safe.
    pub fn has_ticked(&self) -> bool {
        self.ticked.load(Ordering::SeqCst)
    }

    /// Makes the system call fail in which a host function of the store waits, if one does right now. See
    /// [`thread_wakeup::install`].
    pub fn wake(&self) {
        thread_wakeup::send(self.thread());
    }

    /// Notes which thread runs the store from now on; 0 for none.
    pub fn set_thread(&self, id: i32) {
        self.thread.store(id, Ordering::SeqCst);
        if id != 0 && self.is_watched.load(Ordering::Relaxed) {
            timer_thread::restart_in_child();
            // Either the timer, which looks at the thread after a request, sees this one, or we see the request.
            if self.requested.load(Ordering::SeqCst) != 0 {
                timer_thread::request();
            }
        }
    }

    /// That thread.
    pub fn thread(&self) -> i32 {
        self.thread.load(Ordering::SeqCst)
    }

    /// Whether somebody asked and nobody has acted on it yet.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) != 0
    }

    /// From now on the embedder decides at deadlines, or no more.
    pub fn set_asks(&self, asks: bool) {
        self.asks.store(asks, Ordering::SeqCst);
    }

    /// Whether a deadline has passed at which the embedder decides. Async-signal-safe.
    pub fn is_to_ask(&self) -> bool {
        self.asks.load(Ordering::SeqCst) && self.requested.load(Ordering::SeqCst) == Request::Deadline as u8
    }

    /// Whether the store is to stop, whatever it is at, and nobody need be asked.
    pub fn stops_at_once(&self) -> bool {
        self.is_requested() && !self.is_to_ask()
    }

    /// Takes the request, if there is one and nobody need be asked.
    pub fn take_at_once(&self) -> Option<Request> {
        if self.stops_at_once() { self.take() } else { None }
    }

    /// Takes the request, if there is one. Async-signal-safe.
    pub fn take(&self) -> Option<Request> {
        if !self.is_requested() {
            return None;
        }
        let requested = Request::of(self.requested.swap(0, Ordering::SeqCst))?;
        self.make_readable();
        Some(requested)
    }

    /// Takes the tick, if there is one. Whether there was.
    pub fn take_tick(&self) -> bool {
        self.ticked.swap(false, Ordering::SeqCst)
    }

    /// Makes polls pass again, unless there is a request. Async-signal-safe.
    pub fn make_readable(&self) {
        self.protect(MprotectFlags::READ);
        if self.requested.load(Ordering::SeqCst) != 0 {
            self.protect(MprotectFlags::empty());
        }
    }

    fn protect(&self, flags: MprotectFlags) {
        // SAFETY: the page is ours, and all that reads it expects to fault.
        let _ = unsafe { mprotect(self.page.as_ptr().cast(), SIZE, flags) };
    }

    fn alarms(&self) -> MutexGuard<'_, Alarms> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InterruptPage {
    fn drop(&mut self) {
        if *self.is_watched.get_mut() {
            timer_thread::remove(self);
        }
        // SAFETY: mapped by `new`; machine code reads it only while the store, which holds this, lives.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), SIZE) };
    }
}
