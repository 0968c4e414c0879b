//! Answers from other threads: programs wait for them by a descriptor.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::fs::FileType;

use super::poll::Wish;
use crate::wasi::fail::Outcome;
use crate::wasi::host_file::HostFile;

struct Shared<T> {
    /// Whether the answer is available, and the answer, unless it has been taken.
    told: Mutex<(bool, Option<T>)>,
    /// A descriptor that is readable once the answer is available.
    signal: Arc<HostFile>,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, (bool, Option<T>)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future answer. It counts as an open file.
pub struct Answer<T>(Arc<Shared<T>>);

/// The sender of an answer.
pub struct Teller<T>(Arc<Shared<T>>);

impl<T> Clone for Teller<T> {
    fn clone(&self) -> Self {
        Teller(self.0.clone())
    }
}

/// Creates both ends.
///
/// # Errors
/// Fails if the system has no more descriptors.
pub fn answer<T>() -> Outcome<(Answer<T>, Teller<T>)> {
    let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let signal = Arc::new(HostFile::opened(signal, FileType::Unknown));
    let shared = Arc::new(Shared { told: Mutex::new((false, None)), signal });
    Ok((Answer(shared.clone()), Teller(shared)))
}

impl<T> Teller<T> {
    pub fn tell(&self, answer: T) {
        *self.0.lock() = (true, Some(answer));
        // Nothing else writes to it, so there is room.
        let _ = rustix::io::write(&*self.0.signal, &1_u64.to_ne_bytes());
    }
}

impl<T> Answer<T> {
    pub fn wish(&self) -> Wish {
        Wish::File(self.0.signal.clone(), PollFlags::IN)
    }

    /// Reports whether the answer is, or has been, available.
    pub fn is_there(&self) -> bool {
        self.0.lock().0
    }

    /// Takes the answer.
    pub fn take(&self) -> Option<T> {
        self.0.lock().1.take()
    }

    /// Applies `look` to the answer.
    pub fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.lock().1.as_mut().map(look)
    }
}
