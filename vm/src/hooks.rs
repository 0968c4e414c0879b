//! What the embedder is told of, and decides, while wasm code runs.
#![allow(unsafe_code, reason = "the runtime knows stores without their type only")]

use std::ptr::NonNull;

use crate::runtime::control::hooks::CallHook;
use crate::runtime::instances::store::StoreOpaque;
use crate::runtime::interruption::deadline::UpdateDeadline;
use crate::store::{StoreContextMut, StoreInner};
use crate::{Result, Store};

impl<T: 'static> Store<T> {
    /// Has `hook` called each time that control passes between the host and wasm code of this store. An error of it ends
    /// the program, unless that has ended by another; of a host function it takes the place of the results. It is not
    /// told of what it calls itself.
    ///
    /// It is called by the thread that runs the wasm code. A panic goes on from the call of the program. If a host function
    /// panics, its return is not told of.
    pub fn call_hook(
        &mut self,
        hook: impl FnMut(StoreContextMut<'_, T>, CallHook) -> Result<()> + Send + Sync + 'static,
    ) {
        let inner = self.inner_mut();
        inner.above.hooks.on_call = Some(Box::new(hook));
        inner.opaque.hooks.on_call = Some(tell::<T>);
    }

    /// Has `decide` called when the time is up that [`Store::set_deadline`] gives: it says whether the program ends, with
    /// [`Trap::Deadline`](crate::Trap::Deadline) or an error, or goes on for so long. Requests of an
    /// [`InterruptHandle`](crate::InterruptHandle) end it all the same.
    ///
    /// It is called by the thread that runs the wasm code, on an ordinary stack: it may do what host functions may, wasm
    /// code of other stores included. A panic goes on from the call of the program. It is called where code polls (see
    /// [`Config::interruptible`](crate::Config::interruptible)) or checks, before a call of the host's and after a host
    /// function; operations on much memory, and the compiler, are not interrupted for it as they are without it. A host
    /// function that waits in the system is woken before. Where less stack is left than host functions are given, the
    /// program ends without a question.
    pub fn deadline_callback(
        &mut self,
        decide: impl FnMut(&mut T) -> Result<UpdateDeadline> + Send + Sync + 'static,
    ) {
        let inner = self.inner_mut();
        inner.above.hooks.on_deadline = Some(Box::new(decide));
        inner.opaque.hooks.on_deadline = Some(decide_deadline::<T>);
        inner.opaque.interrupt().set_asks(true);
    }
}

/// Tells the closure of a store that has one.
///
/// # Safety
/// `store` was derived from an exclusive reference to a whole `StoreInner<T>`, which nothing else uses meanwhile.
unsafe fn tell<T: 'static>(store: NonNull<StoreOpaque>, passage: CallHook) -> Result<()> {
    // SAFETY: as required above; a store begins with its `StoreOpaque`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    // It is not told of what it does itself.
    let Some(mut hook) = store.above.hooks.on_call.take() else { return Ok(()) };
    let told = hook(StoreContextMut(store), passage);
    store.above.hooks.on_call.get_or_insert(hook);
    told
}

/// Asks the closure of a store that has one.
///
/// # Safety
/// As [`tell`].
unsafe fn decide_deadline<T: 'static>(store: NonNull<StoreOpaque>) -> Result<UpdateDeadline> {
    // SAFETY: as in `tell`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    match &mut store.above.hooks.on_deadline {
        Some(decide) => decide(&mut store.above.data),
        None => Ok(UpdateDeadline::Interrupt),
    }
}
