//! The embedder's callbacks while wasm code runs, as functions of the layer above, which knows the type of the
//! store's data.

use std::ptr::NonNull;

use crate::Result;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::deadline;
use crate::runtime::linear_memory::growth;

/// A transition between the host and wasm code, which is reported to
/// [`Store::call_hook`](crate::Store::call_hook).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

/// Reports a transition to the embedder, who may end the program by an error.
///
/// Unsafe to call unless the pointer was derived from an exclusive reference to the whole store, including its
/// user's data, and nobody uses the store meanwhile.
pub type OnCall = unsafe fn(NonNull<StoreOpaque>, CallHook) -> Result<()>;

/// The callbacks of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// Called at each transition.
    pub on_call: Option<OnCall>,
    /// Called at a deadline.
    pub on_deadline: Option<deadline::OnDeadline>,
    /// Called before a memory or table grows.
    pub on_growth: Option<growth::OnGrowth>,
}

/// Reports a transition to the embedder, if it has a hook.
///
/// # Errors
/// Returns the error of the embedder.
///
/// # Safety
/// The caller guarantees that the pointer was derived from an exclusive reference to the whole store, including its
/// user's data, and that nobody uses the store meanwhile.
#[inline]
pub unsafe fn tell(store: NonNull<StoreOpaque>, passage: CallHook) -> Result<()> {
    // SAFETY: the caller guarantees it.
    unsafe { (*store.as_ptr()).control.hooks.on_call.map_or(Ok(()), |tell| tell(store, passage)) }
}
