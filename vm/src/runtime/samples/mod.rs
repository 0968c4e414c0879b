//! Samples of where threads are, taken by a timer that counts their processor time.
//!
//! Each thread that enters wasm code of a store with samples has a timer ([`timer`]), whose signal comes in the middle of
//! whatever the thread does. The handler ([`handler`]) writes down the stack of each store that the thread is in, as
//! addresses, into a ring of that store ([`ring`]). Outside of the handler addresses become places in wasm code
//! ([`resolve`]), and places a tree with sums ([`stacks`]): by a thread when a ring fills ([`drain`]), and by whoever wants
//! to know.
//!
//! Input: signals. Output: [`TimedStacks`], values.
//! Invariant: the handler only loads, but for the ring, a counter and an event: it takes no lock, allocates nothing, and
//! follows no pointer that does not lie in the stack that it is in. It changes nothing of what it interrupts.
//! Invariant: code that was sampled is there when it is looked up: only trampolines are freed before their store, and
//! these are no places.
//! Oracle: programs whose parts take known shares of the time (`vm/tests/time.rs`).

mod drain;
mod handler;
mod resolve;
mod ring;
mod stacks;
mod timer;

use std::sync::Arc;

pub use resolve::Place;
pub use ring::Ring;
pub use stacks::{TimedNode, TimedStacks};

use super::instances::store::StoreOpaque;

/// Why wasm code waits that has called the runtime.
pub const FOR_PROGRAM: usize = 0;
/// The same, for something that the program knows nothing of.
pub const FOR_ENGINE: usize = 1;

/// The ring of a store whose threads are sampled so often a second; `None` if the system has no timer or signal for it.
pub fn start(rate: u32) -> Option<Arc<Ring>> {
    handler::signal()?;
    let ring = Arc::new(Ring::new(rate));
    drain::add(&ring);
    Some(ring)
}

/// Sees to it that this thread is sampled for a ring.
pub fn ensure(ring: &Ring) {
    timer::ensure(ring.rate());
}

impl StoreOpaque {
    /// This thread is going to enter wasm code.
    pub fn enter_sampled(&mut self) {
        if let Some(ring) = &self.samples {
            timer::ensure(ring.rate());
            if self.depth == 0 {
                ring.drain_if_due();
            }
        }
    }

    /// A function of the host begins, by one more than its number in the store, or the one around it goes on. Gives what it
    /// was before.
    pub fn note_host(&mut self, host: usize) -> usize {
        // SAFETY: the context lives as long as the store, and is only reached by raw pointers.
        unsafe { std::mem::replace(&mut (*self.context().as_ptr()).host, host) }
    }

    /// Machine code goes on that has waited for a stub.
    pub fn came_back(&mut self) {
        // SAFETY: as above.
        unsafe { (*self.context().as_ptr()).left_pc = 0 };
    }

    /// Where its time went so far, if it is sampled.
    pub fn timed_stacks(&self) -> Option<TimedStacks> {
        self.samples.as_ref().map(|ring| ring.stacks())
    }
}
