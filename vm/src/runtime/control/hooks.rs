//! What the embedder wants to be told or asked while wasm code runs, as functions of the layer above, which knows the type
//! of the store's data.

use std::ptr::NonNull;

use crate::Result;
use crate::runtime::instances::store::{StoreOpaque, StoreWith};
use crate::runtime::interruption::deadline;
use crate::runtime::linear_memory::growth;

/// A passage between the host and wasm code, of which [`Store::call_hook`](crate::Store::call_hook) is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallHook {
    /// The host is about to call wasm code.
    CallingWasm,
    /// Wasm code that the host has called has returned, or trapped.
    ReturningFromWasm,
    /// A host function begins.
    CallingHost,
    /// A host function has returned, with results or an error.
    ReturningFromHost,
}

/// Tells the embedder of a passage, who may end the program by an error.
///
/// Unsafe to call unless the pointer was derived from an exclusive reference to the whole store, its user's data included,
/// and nobody uses the store meanwhile.
pub type OnCall = unsafe fn(NonNull<StoreOpaque>, CallHook) -> Result<()>;

/// The functions of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// At each passage.
    pub on_call: Option<OnCall>,
    /// At a deadline.
    pub on_deadline: Option<deadline::OnDeadline>,
    /// When a memory or table is to grow.
    pub on_growth: Option<growth::OnGrowth>,
}

impl<D> StoreWith<D> {
    /// Tells the embedder of a passage, if it wants to know.
    ///
    /// # Errors
    /// That of the embedder.
    pub fn tell_of(&mut self, passage: CallHook) -> Result<()> {
        match self.opaque.hooks.on_call {
            None => Ok(()),
            // SAFETY: the store is whole and borrowed exclusively.
            Some(tell) => unsafe { tell(NonNull::from(self).cast(), passage) },
        }
    }
}
