//! The watcher of a store: a thread that does what the thread that runs wasm code cannot do for itself.
//!
//! It waits for requests to stop, and for instants: the store's deadline, and the ticks at which bursts begin. What
//! is due it brings about by a signal to the store's thread; and again until that has seen it, as one may be in vain.
//! It has a weak reference to the page, so that it ends with the store.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::interrupt::InterruptPage;

/// How long after a vain attempt the next one is made.
const AGAIN: Duration = Duration::from_micros(200);

/// The same while no code of the store runs. Whoever enters it sees requests, but for one that comes just then.
const AGAIN_IDLE: Duration = Duration::from_millis(5);

/// How a watcher is told that there is something new. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<OwnedFd>);

impl Watcher {
    /// Starts a watcher.
    ///
    /// # Errors
    /// If the system has no thread or event for it.
    pub fn start(page: Weak<InterruptPage>) -> std::io::Result<Watcher> {
        // SAFETY: makes a new descriptor, which nobody else has.
        let event = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC) {
                -1 => return Err(std::io::Error::last_os_error()),
                event => OwnedFd::from_raw_fd(event),
            }
        };
        let watcher = Watcher(Arc::new(event));
        let seen = watcher.clone();
        thread::Builder::new().name("wprof-watcher".into()).spawn(move || seen.watch(&page))?;
        Ok(watcher)
    }

    /// Makes it look. Async-signal-safe.
    pub fn notify(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the buffer has the eight bytes that an event takes.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn watch(&self, page: &Weak<InterruptPage>) {
        let mut pause = None;
        while self.wait(pause) {
            let Some(page) = page.upgrade() else { return };
            let next = page.ring(Instant::now());
            let again = match (page.is_awaited(), page.thread()) {
                (false, _) => None,
                (true, 0) => Some(AGAIN_IDLE),
                (true, _) => Some(AGAIN),
            };
            let next = next.map(|at| at.saturating_duration_since(Instant::now()));
            pause = [next, again].into_iter().flatten().min();
        }
    }

    /// Waits until it is notified or, if there is one, for a pause. Whether the system lets it.
    fn wait(&self, pause: Option<Duration>) -> bool {
        let time = pause.map(|pause| libc::timespec {
            tv_sec: pause.as_secs().min(1 << 30) as i64,
            tv_nsec: pause.subsec_nanos().into(),
        });
        let mut events = [libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: there is one descriptor, and the time, if there is one, lives until the call returns.
        let ready = unsafe { libc::ppoll(events.as_mut_ptr(), 1, time, std::ptr::null()) };
        if ready > 0 {
            let mut count = [0_u8; 8];
            // SAFETY: the buffer has the eight bytes that an event gives.
            unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        }
        ready >= 0 || std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    }
}
