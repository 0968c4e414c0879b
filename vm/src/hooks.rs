//! Callbacks by which the embedder observes and controls running wasm code.
#![allow(unsafe_code, reason = "the runtime knows stores without their type only")]

use std::ptr::NonNull;

use crate::runtime::control::call_hooks::CallHook;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::deadline::UpdateDeadline;
use crate::runtime::stacks::frames;
use crate::store::{
    CallHookHandler, DeadlineContext, Embedded, OnCall, OnDeadline, StoreContextMut, StoreInner,
};
use crate::waiting::Wait;
use crate::{AsContextMut, Engine, InterruptHandle, Result, Store, WasmBacktrace};

impl<T: 'static> DeadlineContext<'_, T> {
    /// Returns the embedder's data.
    pub fn data(&self) -> &T {
        self.data
    }

    /// Returns the embedder's data, mutably.
    pub fn data_mut(&mut self) -> &mut T {
        self.data
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    /// Returns the wasm frames that wait for the decision; none if the host is about to call.
    pub fn backtrace(&self) -> WasmBacktrace {
        WasmBacktrace::new(frames::live())
    }

    /// Returns a handle by which others can stop wasm code of this store.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(self.store.watched_interrupt().clone())
    }
}

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
        self.set_call_hook(OnCall::Prompt(Box::new(hook)));
    }

    /// Makes the store call a hook as [`Store::call_hook`] does, in place of any before, which may wait before it
    /// answers.
    ///
    /// It waits in awaited calls and instantiations only ([`TypedFunc::call_async`](crate::TypedFunc::call_async)); others
    /// fail where the hook would be called. If the future of the call is dropped meanwhile, the hook's is, and the
    /// program ends.
    pub fn call_hook_async(&mut self, hook: impl CallHookHandler<T> + 'static) {
        self.set_call_hook(OnCall::Awaited(Box::new(hook)));
    }

    fn set_call_hook(&mut self, hook: OnCall<T>) {
        let inner = self.inner_mut();
        inner.above.hooks.on_call = Some(hook);
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
        mut decide: impl FnMut(&mut T) -> Result<UpdateDeadline> + Send + Sync + 'static,
    ) {
        self.epoch_deadline_callback(move |mut context| decide(context.data_mut()));
    }

    /// Makes the store call `decide` as [`Store::deadline_callback`] does, whichever kind of deadline has passed, with
    /// what it may see of the store: the data, and where the program waits.
    pub fn epoch_deadline_callback(
        &mut self,
        decide: impl FnMut(DeadlineContext<'_, T>) -> Result<UpdateDeadline> + Send + Sync + 'static,
    ) {
        self.as_context_mut().set_deadline_callback(Some(Box::new(decide)));
    }

    /// Removes the callback of deadlines, so that each ends the program with [`Trap::Deadline`](crate::Trap::Deadline), as
    /// it does in a new store.
    pub fn epoch_deadline_trap(&mut self) {
        self.as_context_mut().epoch_deadline_trap();
    }

    /// Makes awaited calls ([`TypedFunc::call_async`](crate::TypedFunc::call_async)) yield their thread to the executor at
    /// each deadline, and go on until the engine's epoch has been incremented `delta` times more. Other calls continue at
    /// once. It replaces a callback.
    pub fn epoch_deadline_async_yield_and_update(&mut self, delta: u64) {
        self.as_context_mut().epoch_deadline_async_yield_and_update(delta);
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// Removes the callback of deadlines: see [`Store::epoch_deadline_trap`].
    pub fn epoch_deadline_trap(&mut self) {
        self.set_deadline_callback(None);
    }

    /// Makes awaited calls yield at deadlines: see [`Store::epoch_deadline_async_yield_and_update`].
    pub fn epoch_deadline_async_yield_and_update(&mut self, delta: u64) {
        self.set_deadline_callback(Some(Box::new(move |_| Ok(UpdateDeadline::YieldEpochs(delta)))));
    }

    fn set_deadline_callback(&mut self, decide: Option<Box<OnDeadline<T>>>) {
        let inner = &mut *self.0;
        let asks = decide.is_some();
        inner.above.hooks.on_deadline = decide;
        inner.opaque.control.hooks.on_deadline = asks.then_some(decide_deadline::<T>);
        inner.opaque.control.interrupt().set_asks(asks);
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
    let told = match &mut hook {
        OnCall::Prompt(hook) => hook(StoreContextMut(store), passage),
        OnCall::Awaited(hook) => tell_awaited(store, &**hook, passage),
    };
    store.above.hooks.on_call.get_or_insert(hook);
    told
}

/// Calls a hook, and waits for its answer.
///
/// # Errors
/// Fails if the call is not awaited, if its future is dropped meanwhile, or if the hook fails.
fn tell_awaited<T: 'static>(
    store: &mut StoreInner<T>,
    hook: &dyn CallHookHandler<T>,
    passage: CallHook,
) -> Result<()> {
    // SAFETY: a call that may wait runs on its fiber from before the passage into wasm until after the last one out of it;
    // the host has only values of wasm and results, which can be sent, on it here.
    let wait = unsafe { Wait::begin(&mut store.opaque, "an async call hook")? };
    let told = wait.until(hook.handle_call_event(StoreContextMut(store), passage));
    wait.end(&mut store.opaque);
    told?
}

/// Calls the deadline callback of a store that has one.
///
/// # Safety
/// The caller guarantees the same as for [`tell`].
unsafe fn decide_deadline<T: 'static>(store: NonNull<StoreOpaque>) -> Result<UpdateDeadline> {
    // SAFETY: as in `tell`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    let Embedded { engine, data, hooks, .. } = &mut store.above;
    match &mut hooks.on_deadline {
        Some(decide) => decide(DeadlineContext { data, engine, store: &store.opaque }),
        None => Ok(UpdateDeadline::Interrupt),
    }
}
