//! Callbacks by which the embedder observes and controls running wasm code.
#![allow(unsafe_code, reason = "the runtime knows stores without their type only")]

use std::ptr::NonNull;

use crate::runtime::control::call_hooks::CallHook;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::deadline::UpdateDeadline;
use crate::store::{StoreContextMut, StoreInner};
use crate::{Result, Store};

impl<T: 'static> Store<T> {
    /// Makes the store call `hook` each time control passes between the host and wasm code of this store. An
    /// error of the hook ends the program, unless the program has already ended by another error; after a host
    /// function it replaces the results. The hook is not called for calls that it makes itself.
    ///
    /// The thread that runs the wasm code calls it. A panic continues from the call of the program. If a host
    /// function panics, the hook is not called for its return.
    pub fn call_hook(
        &mut self,
        hook: impl FnMut(StoreContextMut<'_, T>, CallHook) -> Result<()> + Send + Sync + 'static,
    ) {
        let inner = self.inner_mut();
        inner.above.hooks.on_call = Some(Box::new(hook));
        inner.opaque.control.hooks.on_call = Some(tell::<T>);
    }

    /// Makes the store call `decide` when the time set by [`Store::set_deadline`] is up. It decides whether the
    /// program ends, with [`Trap::Deadline`](crate::Trap::Deadline) or an error, or continues for a given time.
    /// Requests of an [`InterruptHandle`](crate::InterruptHandle) end the program in any case.
    ///
    /// The thread that runs the wasm code calls it, on an ordinary stack: it may do what host functions may,
    /// including calls of wasm code of other stores. A panic continues from the call of the program. It is called
    /// where code polls (see [`Config::interruptible`](crate::Config::interruptible)) or checks, before a host's
    /// call into wasm, and after a host function. Operations on large memory ranges and the compiler are not
    /// interrupted for it, as they are without a callback. A host function that waits in a system call is woken
    /// first. Where less stack is left than host functions are guaranteed, the program ends without calling it.
    pub fn deadline_callback(
        &mut self,
        decide: impl FnMut(&mut T) -> Result<UpdateDeadline> + Send + Sync + 'static,
    ) {
        let inner = self.inner_mut();
        inner.above.hooks.on_deadline = Some(Box::new(decide));
        inner.opaque.control.hooks.on_deadline = Some(decide_deadline::<T>);
        inner.opaque.control.interrupt().set_asks(true);
    }
}

/// Calls the call hook of a store that has one.
///
/// # Safety
/// The caller guarantees that `store` was derived from an exclusive reference to a whole `StoreInner<T>`, which
/// nothing else uses meanwhile.
unsafe fn tell<T: 'static>(store: NonNull<StoreOpaque>, passage: CallHook) -> Result<()> {
    // SAFETY: the caller guarantees it; a `StoreInner` begins with its `StoreOpaque`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    // The hook is not called for its own calls.
    let Some(mut hook) = store.above.hooks.on_call.take() else { return Ok(()) };
    let told = hook(StoreContextMut(store), passage);
    store.above.hooks.on_call.get_or_insert(hook);
    told
}

/// Calls the deadline callback of a store that has one.
///
/// # Safety
/// The caller guarantees the same as for [`tell`].
unsafe fn decide_deadline<T: 'static>(store: NonNull<StoreOpaque>) -> Result<UpdateDeadline> {
    // SAFETY: as in `tell`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    match &mut store.above.hooks.on_deadline {
        Some(decide) => decide(&mut store.above.data),
        None => Ok(UpdateDeadline::Interrupt),
    }
}
