//! The timer of the process: a thread that acts on behalf of threads that run wasm code.
//!
//! It waits for requests to stop, and for instants: deadlines of stores, and the ticks at which bursts begin. It
//! signals the store's thread when an event is due, and repeats the signal until the thread has seen it, because
//! a signal may have no effect. It is started when a store first needs it, and serves all stores: a store costs
//! an entry in two maps.
//!
//! Invariant: the timer has weak references to pages, so that pages are freed with their stores; a page that is
//! dropped removes its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::generation::Generation;
use super::interrupt_page::InterruptPage;

/// The interval between attempts.
const AGAIN: Duration = Duration::from_micros(200);

/// A page, identified by its address.
type Key = usize;

/// The watched pages, and the instants at which they are due.
#[derive(Default)]
struct Timers {
    pages: BTreeMap<Key, Watched>,
    due: BTreeSet<(Instant, Key)>,
}

struct Watched {
    page: Weak<InterruptPage>,
    /// The instant of its entry in `due`.
    next: Option<Instant>,
}

static TIMERS: Mutex<Option<Timers>> = Mutex::new(None);

/// The event that wakes the thread; -1 before it is started.
static EVENT: AtomicI32 = AtomicI32::new(-1);

/// The generation of the process in which the thread was started.
static STARTED: AtomicU32 = AtomicU32::new(u32::MAX);

/// Whether a page was asked to stop since the thread last looked at all pages.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Keeps the timers unchanged: see [`hold`].
pub struct Held {
    _timers: MutexGuard<'static, Option<Timers>>,
}

/// Waits until no thread changes timers, and keeps all threads from doing so until the result is dropped.
pub fn hold() -> Held {
    Held { _timers: lock() }
}

fn lock() -> MutexGuard<'static, Option<Timers>> {
    TIMERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a page from now on.
///
/// # Errors
/// Returns an error if the system cannot start a timer thread or create an event.
pub fn add(page: &Arc<InterruptPage>) -> io::Result<()> {
    let mut timers = lock();
    let timers = timers.get_or_insert_default();
    timers.start()?;
    let watched = || Watched { page: Arc::downgrade(page), next: None };
    timers.pages.entry(key(page)).or_insert_with(watched);
    Ok(())
}

/// Starts the thread if `fork` has left it behind. Without it, deadlines of the parent's stores pass unnoticed in
/// this process until a page is added.
pub fn restart_in_child() {
    if STARTED.load(Ordering::Relaxed) != Generation::current().number() {
        let _ = lock().get_or_insert_default().start();
    }
}

/// Schedules a page, replacing its previous instant.
pub fn schedule(page: &InterruptPage, next: Option<Instant>) {
    let mut timers = lock();
    let Some(timers) = timers.as_mut() else { return };
    let first = timers.first();
    timers.schedule(key(page), next);
    let is_sooner = next.is_some_and(|next| first.is_none_or(|first| next < first));
    if is_sooner {
        notify();
    }
}

/// Removes a page that is dropped.
pub fn remove(page: &InterruptPage) {
    if let Some(timers) = lock().as_mut() {
        timers.schedule(key(page), None);
        timers.pages.remove(&key(page));
    }
}

/// Notifies the thread that a page was asked to stop. Async-signal-safe.
pub fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
    notify();
}

/// Wakes the thread. Async-signal-safe.
fn notify() {
    let one = 1_u64.to_ne_bytes();
    let event = EVENT.load(Ordering::SeqCst);
    if event >= 0 {
        // SAFETY: the buffer has the eight bytes that an event takes; the descriptor is never closed.
        unsafe { libc::write(event, one.as_ptr().cast(), one.len()) };
    }
}

fn key(page: &InterruptPage) -> Key {
    std::ptr::from_ref(page).addr()
}

impl Timers {
    fn start(&self) -> io::Result<()> {
        let process = Generation::current().number();
        if STARTED.load(Ordering::Relaxed) == process {
            return Ok(());
        }
        // SAFETY: the call creates a new descriptor.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = thread::Builder::new().name("wprof-timer".into()).spawn(move || run(event));
        if let Err(error) = timer {
            // SAFETY: nobody else has the descriptor.
            unsafe { libc::close(event) };
            return Err(error);
        }
        // The parent's event stays open, because the parent's thread waits for it.
        EVENT.store(event, Ordering::SeqCst);
        STARTED.store(process, Ordering::Relaxed);
        REQUESTED.store(true, Ordering::SeqCst);
        notify();
        Ok(())
    }

    fn first(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    fn schedule(&mut self, key: Key, next: Option<Instant>) {
        let Some(watched) = self.pages.get_mut(&key) else { return };
        if let Some(old) = std::mem::replace(&mut watched.next, next) {
            self.due.remove(&(old, key));
        }
        if let Some(at) = next {
            self.due.insert((at, key));
        }
    }

    /// Takes the pages for which an event is due.
    fn take_due(&mut self, now: Instant) -> Vec<Arc<InterruptPage>> {
        let later = self.due.split_off(&(now, Key::MAX));
        let due = std::mem::replace(&mut self.due, later);
        let take = |(_, key): (Instant, Key)| {
            let watched = self.pages.get_mut(&key)?;
            watched.next = None;
            watched.page.upgrade()
        };
        due.into_iter().filter_map(take).collect()
    }
}

/// The main loop of the thread, which runs as long as the process.
fn run(event: RawFd) {
    let mut awaited: Vec<Arc<InterruptPage>> = Vec::new();
    loop {
        let now = Instant::now();
        awaited.extend(pages_to_look_at(now));
        awaited.iter().for_each(|page| page.ring(now));
        awaited.retain(|page| page.is_awaited());
        awaited.sort_unstable_by_key(|page| key(page));
        awaited.dedup_by_key(|page| key(page));
        let again = (!awaited.is_empty()).then_some(AGAIN);
        let first = lock().as_ref().and_then(Timers::first);
        let next = first.map(|at| at.saturating_duration_since(Instant::now()));
        // A long wait must not keep a store alive whose owner has dropped it.
        let held: Vec<Weak<InterruptPage>> = awaited.drain(..).map(|page| Arc::downgrade(&page)).collect();
        wait(event, [next, again].into_iter().flatten().min());
        awaited.extend(held.iter().filter_map(Weak::upgrade));
    }
}

/// Returns the pages for which an event is due, and those that were asked to stop.
fn pages_to_look_at(now: Instant) -> Vec<Arc<InterruptPage>> {
    let mut timers = lock();
    let Some(of) = timers.as_mut() else { return Vec::new() };
    let mut pages = of.take_due(now);
    let due = pages.len();
    if REQUESTED.swap(false, Ordering::SeqCst) {
        pages.extend(of.pages.values().filter_map(|watched| watched.page.upgrade()));
    }
    // The lock must be released first, because a page that is dropped takes it.
    drop(timers);
    let mut index = 0;
    pages.retain(|page| {
        index += 1;
        index <= due || page.is_requested()
    });
    pages
}

/// Waits until the thread is notified or, if there is a pause, until it has elapsed.
fn wait(event: RawFd, pause: Option<Duration>) {
    let time = pause.map(|pause| libc::timespec {
        tv_sec: pause.as_secs().min(1 << 30) as i64,
        tv_nsec: pause.subsec_nanos().into(),
    });
    let mut events = [libc::pollfd { fd: event, events: libc::POLLIN, revents: 0 }];
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mut count = [0_u8; 8];
    // SAFETY: there is one descriptor, and the time, if any, lives until the call returns. The buffer has the
    // eight bytes that an event provides; reading does not wait.
    unsafe {
        if libc::ppoll(events.as_mut_ptr(), 1, time, std::ptr::null()) > 0 {
            libc::read(event, count.as_mut_ptr().cast(), count.len());
        }
    }
}
