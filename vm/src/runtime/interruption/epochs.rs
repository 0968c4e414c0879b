//! Epochs: deadlines that the embedder counts, by a number that it increments.
//!
//! An engine knows the stores that have such a deadline. When its epoch reaches a store's, that store is asked to stop as
//! at a deadline in time. Invariant: a store that is gone is forgotten at the next increment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::interrupt_page::{InterruptPage, Request};

/// The epoch of an engine, and who waits for which.
#[derive(Debug, Default)]
pub struct Epochs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    now: u64,
    /// By the address of the page.
    waiting: HashMap<usize, (u64, Weak<InterruptPage>)>,
}

impl Epochs {
    /// Begins the next epoch, and asks those to stop that waited for it.
    pub fn increment(&self) {
        let mut state = self.state();
        state.now += 1;
        let now = state.now;
        state.waiting.retain(|_, (at, page)| {
            let Some(page) = page.upgrade() else { return false };
            let is_due = *at <= now;
            if is_due {
                page.request(Request::Deadline);
            }
            !is_due
        });
    }

    /// Makes a store stop when so many epochs more have begun.
    pub fn stop_after(&self, epochs: u64, page: &Arc<InterruptPage>) {
        let mut state = self.state();
        page.forget_deadline();
        let at = state.now.saturating_add(epochs);
        let key = Arc::as_ptr(page).addr();
        if epochs == 0 {
            state.waiting.remove(&key);
            page.request(Request::Deadline);
        } else {
            state.waiting.insert(key, (at, Arc::downgrade(page)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
