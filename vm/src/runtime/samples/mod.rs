//! The sampler: samples of the stacks of threads, triggered by a timer that counts their CPU time.
//!
//! Each thread that enters wasm code of a store with samples has a timer ([`timer`]), whose signal interrupts the
//! thread at any point. The handler ([`handler`]) writes the stack of each store that the thread is in, as
//! addresses ([`record`]) without repetition ([`callers`]), into a ring of that store ([`ring`]). Outside of the
//! handler, addresses are resolved to places in wasm code ([`address_lookup`]), and places are collected in a tree with sums ([`stacks`]): by a thread when a ring
//! fills up ([`drain`]), and when the profile is read.
//!
//! Input: signals. Output: [`TimedStacks`], values.
//!
//! Invariant: the handler only loads, except for the ring, a counter and an event: it takes no lock, allocates
//! nothing, and follows no pointer that does not lie in the stack that it samples. It changes nothing of what it
//! interrupts.
//!
//! Invariant: sampled code still exists when it is looked up: only trampolines are freed before their store, and
//! they are not places.
//!
//! Oracle: programs whose parts take known shares of the time (`vm/tests/profiles/time.rs`).

mod address_lookup;
mod callers;
mod drain;
mod handler;
mod place;
mod record;
mod ring;
mod stacks;
mod timer;

use std::sync::Arc;

pub use place::Place;
pub use ring::Ring;
pub use stacks::{TimedNode, TimedStacks};

use super::instances::abi::VmStoreContext;
use super::instances::store_ptr::StorePtr;

/// Wasm code waits for the runtime to do work of the program.
pub const FOR_PROGRAM: usize = 0;
/// Wasm code waits for the runtime to do work that the program does not know of.
pub const FOR_ENGINE: usize = 1;

/// The program waits for the garbage collector.
pub const FOR_COLLECTOR: usize = 2;

/// Creates the ring of a store whose threads are sampled `rate` times a second; `None` if the system has no timer
/// or signal for it.
fn start(rate: u32) -> Option<Arc<Ring>> {
    handler::signal()?;
    let ring = Arc::new(Ring::new(rate));
    drain::add(&ring);
    Some(ring)
}

/// Ensures that this thread is sampled for a ring.
pub fn ensure(ring: &Ring) {
    timer::ensure(ring.rate(), handler::signal);
}

/// The samples of a store, and what tells them where wasm code waits.
pub struct StoreSamples {
    /// Holds the running host function, and where wasm code waits for a stub.
    context: StorePtr<VmStoreContext>,
    /// The ring that receives the samples of the store's threads, if they are sampled. The context refers to it.
    ring: Option<Arc<Ring>>,
}

impl StoreSamples {
    /// Creates the samples of a new store, whose threads are sampled `rate` times a second.
    pub fn new(rate: Option<u32>, context: StorePtr<VmStoreContext>) -> StoreSamples {
        StoreSamples { context, ring: rate.and_then(start) }
    }

    /// Returns the ring, if the store is sampled.
    pub fn ring(&self) -> Option<&Arc<Ring>> {
        self.ring.as_ref()
    }

    /// Prepares this thread for wasm code, whose entry is already counted as the `depth`th.
    pub fn enter(&mut self, depth: usize) {
        if let Some(ring) = &self.ring {
            timer::ensure(ring.rate(), handler::signal);
            if depth == 1 {
                ring.drain_if_due();
            }
        }
    }

    /// Records the running host function, by its number in the store plus one, when it begins or when control
    /// returns to it. Returns the previous value.
    pub fn note_host(&mut self, host: usize) -> usize {
        // SAFETY: the context lives as long as the store, and is accessed only by raw pointers.
        unsafe { std::mem::replace(&mut (*self.context.as_ptr()).host, host) }
    }

    /// Records that whatever the program waits for is now done by the garbage collector, or what it was before, as returned
    /// when the collector began. Returns the previous value.
    pub fn note_left_for(&mut self, left_for: usize) -> usize {
        // SAFETY: as in `note_host`.
        unsafe { std::mem::replace(&mut (*self.context.as_ptr()).left_for, left_for) }
    }

    /// Records that machine code continues after waiting for a stub.
    pub fn came_back(&mut self) {
        // SAFETY: as in `note_host`.
        unsafe { (*self.context.as_ptr()).left_pc = 0 };
    }

    /// Returns the stacks with their times so far, if the store is sampled.
    pub fn stacks(&self) -> Option<TimedStacks> {
        self.ring.as_ref().map(|ring| ring.stacks())
    }
}
