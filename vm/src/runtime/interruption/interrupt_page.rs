//! The interrupt page of a store: machine code reads it at safepoint polls.
//!
//! An interruption sets a flag and makes the page inaccessible, so that the next poll faults; at entries into
//! wasm and returns from the host only the flag is checked. Whoever acts on the flag takes it and makes the page
//! readable again. A poll may fault although the flag has been taken, if the two happen at the same time: then
//! the handler makes the page readable and repeats the poll.
//!
//! In a process that wants no signals ([`Signals::Unused`]) machine code reads a byte that an interruption sets.
//!
//! Where code has checks instead of polls the timer of the process ([`timer_thread`]) makes them fire, by a
//! signal (`runtime::forced_check`); it also keeps the deadlines.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::{forced_check, thread_wakeup, timer_thread};
use crate::Trap;
use crate::runtime::instances::kept::Kept;

const SIZE: usize = 4096;

/// Number of signals per tick: more than one, because a signal may arrive where it cannot make a check fire.
const SIGNALS_OF_TICK: u8 = 4;

/// Whether stores use signals: faults of polls, and signals that make checks fire or wake who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// They do.
    Used,
    /// Polls compare what they read.
    Unused,
}

/// The reason why a store is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Request {
    /// Someone requested it.
    Interrupt = 1,
    /// The deadline has passed.
    Deadline = 2,
}

impl Request {
    fn from_flag(flag: u8) -> Option<Request> {
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

/// The scheduled events of a store.
#[derive(Debug, Default)]
struct Alarms {
    deadline: Option<Instant>,
    /// The next tick, and the interval between ticks.
    tick: Option<(Instant, Duration)>,
    /// Number of signals still to send for the last tick. A signal to a thread that waits in the host is useless, and
    /// wakes it; when the thread continues in wasm code, it sees the tick.
    signals: u8,
}

impl Alarms {
    /// Returns the next instant at which an event is due.
    fn next(&self) -> Option<Instant> {
        [self.deadline, self.tick.map(|(at, _)| at)].into_iter().flatten().min()
    }
}

/// A page that polls read.
#[derive(Debug)]
pub struct Page(NonNull<u8>);

// SAFETY: the page is owned, and only machine code reads it.
unsafe impl Send for Page {}
// SAFETY: changing its protection is thread-safe.
unsafe impl Sync for Page {}

impl Page {
    fn new() -> std::io::Result<Page> {
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let page = unsafe {
            mmap_anonymous(ptr::null_mut(), SIZE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        Ok(Page(NonNull::new(page.cast()).expect("the kernel does not map page 0")))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it; machine code reads it only while the store that has it lives.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), SIZE) };
    }
}

/// The interrupt page of a store.
#[derive(Debug)]
pub struct InterruptPage {
    /// The page, until it is given back.
    page: Option<Page>,
    /// Where pages of past stores are kept, if they are, for the next ones.
    kept: Option<Arc<Kept<(), Page>>>,
    signals: Signals,
    /// Whether the page was made inaccessible at any time.
    was_protected: AtomicBool,
    /// The pending [`Request`], or 0.
    requested: AtomicU8,
    /// Whether the next check is to fire, so that a burst begins.
    ticked: AtomicBool,
    /// The thread that runs the store's wasm code, or host functions for it; 0 if none does.
    thread: AtomicI32,
    alarms: Mutex<Alarms>,
    /// Whether the timer watches it.
    is_watched: AtomicBool,
    /// Whether the embedder decides at deadlines.
    asks: AtomicBool,
}

impl InterruptPage {
    /// Creates a readable page, or takes one that is kept.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for it.
    pub fn new(kept: Option<Arc<Kept<(), Page>>>, signals: Signals) -> std::io::Result<InterruptPage> {
        let page = kept.as_ref().and_then(|kept| kept.take(())).map_or_else(Page::new, Ok)?;
        Ok(InterruptPage {
            page: Some(page),
            kept,
            signals,
            was_protected: AtomicBool::new(false),
            requested: AtomicU8::new(0),
            ticked: AtomicBool::new(false),
            thread: AtomicI32::new(0),
            alarms: Mutex::default(),
            is_watched: AtomicBool::new(false),
            asks: AtomicBool::new(false),
        })
    }

    /// Returns whether the store's code may fault.
    pub fn uses_signals(&self) -> bool {
        self.signals == Signals::Used
    }

    /// Returns the address that polls read.
    pub fn address(&self) -> *const u8 {
        self.page.as_ref().map_or(ptr::null(), |page| page.0.as_ptr())
    }

    /// Requests that the store stop. An interruption replaces a pending deadline request, because the embedder
    /// may let the store continue at a deadline; a deadline replaces nothing. Async-signal-safe.
    pub fn request(&self, why: Request) {
        match why {
            Request::Interrupt => self.requested.store(why as u8, Ordering::SeqCst),
            Request::Deadline => {
                let _ = self.requested.compare_exchange(0, why as u8, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
        self.was_protected.store(true, Ordering::Relaxed);
        self.close();
        if self.is_watched.load(Ordering::Relaxed) {
            timer_thread::request();
        }
    }

    /// Makes requests force the next check of the store's code to fire from now on.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a timer thread or create an event.
    pub fn watch(self: &Arc<Self>) -> std::io::Result<()> {
        if self.signals == Signals::Used {
            forced_check::signal();
        }
        timer_thread::add(self)?;
        self.is_watched.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Sets the instant at which the store is asked to stop; `None` removes it.
    ///
    /// # Errors
    /// Returns an error as [`InterruptPage::watch`] does.
    pub fn set_deadline(self: &Arc<Self>, at: Option<Instant>) -> std::io::Result<()> {
        at.map_or(Ok(()), |_| self.watch())?;
        // The timer rings under this lock, so any request that it makes from here on is for the new deadline.
        let mut alarms = self.alarms();
        self.forget_deadline();
        alarms.deadline = at;
        timer_thread::schedule(self, alarms.next());
        Ok(())
    }

    /// Forgets that a deadline has passed: it may have done so after the code it was for had ended.
    pub fn forget_deadline(&self) {
        let (old, none) = (Request::Deadline as u8, 0);
        if self.requested.compare_exchange(old, none, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.make_readable();
        }
    }

    /// Makes a check of the store's code fire once per `every`; `None` stops that.
    ///
    /// # Errors
    /// Returns an error as [`InterruptPage::watch`] does.
    pub fn set_ticks(self: &Arc<Self>, every: Option<Duration>) -> std::io::Result<()> {
        every.map_or(Ok(()), |_| self.watch())?;
        let mut alarms = self.alarms();
        alarms.tick = every.map(|every| (Instant::now() + every, every));
        timer_thread::schedule(self, alarms.next());
        Ok(())
    }

    /// Handles the events that are due now. Called by the timer.
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
        if self.signals == Signals::Used && (self.is_requested() || tells_of_tick) {
            forced_check::send(self.thread());
        }
        if self.requested.load(Ordering::SeqCst) == Request::Deadline as u8 {
            self.wake();
        }
    }

    /// Returns whether a requested check has not fired yet and another signal may make it fire. That is not so
    /// while no code of the store runs: a thread that enters the store sees the request
    /// ([`InterruptPage::set_thread`]).
    pub fn is_awaited(&self) -> bool {
        self.signals == Signals::Used
            && self.thread() != 0
            && (self.is_requested() || self.has_ticked() && self.alarms().signals > 0)
    }

    /// Returns whether the next check is to fire, so that a burst begins. Async-signal-safe.
    #[inline]
    pub fn has_ticked(&self) -> bool {
        self.ticked.load(Ordering::SeqCst)
    }

    /// Makes the system call fail in which a host function of the store currently waits, if any. See
    /// [`thread_wakeup::install`].
    pub fn wake(&self) {
        if self.signals == Signals::Used {
            thread_wakeup::send(self.thread());
        }
    }

    /// Sets the thread that runs the store from now on; 0 for none. Only the thread that has the store does this, or
    /// makes the timer watch it.
    #[inline]
    pub fn set_thread(&self, id: i32) {
        if self.is_watched.load(Ordering::Relaxed) {
            self.set_watched_thread(id);
        } else {
            // Nobody but the embedder's threads reads it, to wake who waits; and a wait has an end even if the signal
            // came too soon.
            self.thread.store(id, Ordering::Release);
        }
    }

    fn set_watched_thread(&self, id: i32) {
        self.thread.store(id, Ordering::SeqCst);
        if id != 0 {
            timer_thread::restart_in_child();
            // The timer checks the thread after a request: either it sees this thread, or this thread sees the
            // request.
            if self.requested.load(Ordering::SeqCst) != 0 {
                timer_thread::request();
            }
        }
    }

    /// Returns the thread that runs the store.
    pub fn thread(&self) -> i32 {
        self.thread.load(Ordering::SeqCst)
    }

    /// Returns whether a request is pending.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) != 0
    }

    /// Sets whether the embedder decides at deadlines.
    pub fn set_asks(&self, asks: bool) {
        self.asks.store(asks, Ordering::SeqCst);
    }

    /// Returns whether a deadline has passed at which the embedder decides. Async-signal-safe.
    pub fn is_to_ask(&self) -> bool {
        self.asks.load(Ordering::SeqCst) && self.requested.load(Ordering::SeqCst) == Request::Deadline as u8
    }

    /// Returns whether the store is to stop in any case, without asking the embedder.
    pub fn stops_at_once(&self) -> bool {
        self.is_requested() && !self.is_to_ask()
    }

    /// Takes the request, if there is one and the embedder need not be asked.
    pub fn take_at_once(&self) -> Option<Request> {
        if self.stops_at_once() { self.take() } else { None }
    }

    /// Fails if the store is to stop in any case: what works for it in the host asks this now and then.
    ///
    /// # Errors
    /// Returns the reason as the error, and takes the request.
    #[inline]
    pub fn check(&self) -> Result<(), Trap> {
        if self.is_requested() {
            self.take_at_once().map_or(Ok(()), |request| Err(request.into()))
        } else {
            Ok(())
        }
    }

    /// Takes the request, if there is one. Async-signal-safe.
    pub fn take(&self) -> Option<Request> {
        if !self.is_requested() {
            return None;
        }
        let requested = Request::from_flag(self.requested.swap(0, Ordering::SeqCst))?;
        self.make_readable();
        Some(requested)
    }

    /// Takes the tick; returns whether there was one.
    pub fn take_tick(&self) -> bool {
        self.ticked.swap(false, Ordering::SeqCst)
    }

    /// Lets polls pass again, unless there is a request. Async-signal-safe.
    pub fn make_readable(&self) {
        self.open();
        if self.requested.load(Ordering::SeqCst) != 0 {
            self.close();
        }
    }

    /// Makes polls notice.
    fn close(&self) {
        match self.signals {
            Signals::Used => self.protect(MprotectFlags::empty()),
            Signals::Unused => self.word().store(1, Ordering::SeqCst),
        }
    }

    /// Lets polls pass.
    fn open(&self) {
        match self.signals {
            Signals::Used => self.protect(MprotectFlags::READ),
            Signals::Unused => self.word().store(0, Ordering::SeqCst),
        }
    }

    /// Returns what polls read.
    fn word(&self) -> &AtomicI32 {
        // SAFETY: the page belongs to `self` and is aligned; whoever else has it accesses this word atomically, too.
        unsafe { AtomicI32::from_ptr(self.address().cast_mut().cast()) }
    }

    fn protect(&self, flags: MprotectFlags) {
        // SAFETY: the page belongs to `self`, and all code that reads it expects a fault.
        let _ = unsafe { mprotect(self.address().cast_mut().cast(), SIZE, flags) };
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
        if self.signals == Signals::Unused {
            self.word().store(0, Ordering::SeqCst);
        }
        if let Some((kept, page)) = self.kept.take().zip(self.page.take()) {
            // Nobody can ask this store to stop any more.
            let is_readable = self.signals == Signals::Unused
                || !*self.was_protected.get_mut()
                // SAFETY: the page belongs to `self`.
                || unsafe { mprotect(page.0.as_ptr().cast(), SIZE, MprotectFlags::READ) }.is_ok();
            if is_readable {
                kept.put((), page);
            }
        }
    }
}
