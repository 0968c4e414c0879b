//! Deadlines at which the embedder decides.
//!
//! Where a store would stop at a deadline, the embedder is asked first if it has a callback. The signal handler
//! never asks: a poll that faults continues in `entries::resume` ([`resume`](crate::runtime::control::resume)),
//! and an operation of the runtime (bulk operations, the compiler) runs to its end; the embedder is then asked at
//! the next poll, check or return.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::interrupt_page::Request;
use crate::runtime::control::store_control::Pending;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Error, Result, Trap};

/// The decision at a deadline: see [`Store::deadline_callback`](crate::Store::deadline_callback).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateDeadline {
    /// The program ends with [`Trap::Deadline`].
    Interrupt,
    /// The program continues, and the next deadline is the given time from now.
    Continue(Duration),
    /// The program continues with a new deadline, but others come first: a call that is awaited
    /// ([`TypedFunc::call_async`](crate::TypedFunc::call_async)) yields its thread to the executor, and the time
    /// begins when that polls it again. Any other call continues at once.
    Yield(Duration),
    /// The program continues until the engine's epoch has been incremented so many times more: see
    /// [`Store::set_epoch_deadline`](crate::Store::set_epoch_deadline).
    ContinueEpochs(u64),
    /// The same after others have come first, as with [`UpdateDeadline::Yield`]: epochs that begin meanwhile do not count.
    YieldEpochs(u64),
}

/// When the embedder is asked again.
enum Next {
    After(Duration),
    Epochs(u64),
}

impl UpdateDeadline {
    /// Returns when the embedder is asked again, and whether others come first; `None` if the program ends.
    fn next(self) -> Option<(Next, bool)> {
        match self {
            UpdateDeadline::Interrupt => None,
            UpdateDeadline::Continue(more) => Some((Next::After(more), false)),
            UpdateDeadline::Yield(more) => Some((Next::After(more), true)),
            UpdateDeadline::ContinueEpochs(more) => Some((Next::Epochs(more), false)),
            UpdateDeadline::YieldEpochs(more) => Some((Next::Epochs(more), true)),
        }
    }
}

/// Asks the embedder. Unsafe to call unless as [`act`].
pub type OnDeadline = unsafe fn(NonNull<StoreOpaque>) -> Result<UpdateDeadline>;

/// Acts on the request that a store is to stop, if there is one: returns the reason to end, or `None` if the
/// program continues.
///
/// # Safety
/// The caller guarantees that the pointer was derived from an exclusive reference to the whole store, including
/// its user's data, and that nobody uses the store meanwhile: the wasm code that it is lent to, if any, waits for
/// this call, and has left in the proper way.
pub unsafe fn act(store: NonNull<StoreOpaque>) -> Option<Pending> {
    // SAFETY: the caller guarantees it; the references end with these lines.
    let (request, on_deadline) =
        unsafe { (store.as_ref().control.interrupt().take()?, store.as_ref().control.hooks.on_deadline) };
    let stop = |request| Some(Pending::Error(Trap::from(request).into()));
    let Some(ask) = on_deadline.filter(|_| request == Request::Deadline) else { return stop(request) };
    // SAFETY: the caller guarantees it.
    let decided = match catch_unwind(AssertUnwindSafe(|| unsafe { ask(store) })) {
        Ok(decided) => decided,
        Err(panic) => return Some(Pending::Panic(panic)),
    };
    let (next, yields) = match decided.map(UpdateDeadline::next) {
        Ok(Some(next)) => next,
        Ok(None) => return stop(request),
        Err(error) => return Some(Pending::Error(error)),
    };
    if yields {
        // SAFETY: the caller guarantees it. A suspender exists only where everything on the stack may move to another
        // thread.
        let waited = unsafe {
            let left = store.as_ref().observed.leave_thread();
            let waited = store.as_ref().control.suspender().map_or(Ok(()), |suspender| suspender.yield_now());
            (*store.as_ptr()).observed.go_on_after(left, 0);
            waited
        };
        if waited.is_err() {
            return stop(request);
        }
    }
    // SAFETY: the caller guarantees it.
    let store = unsafe { store.as_ref() };
    let set = match next {
        Next::After(more) => store.control.set_deadline(Instant::now().checked_add(more)),
        Next::Epochs(more) => {
            store.set_epoch_deadline(more);
            Ok(())
        }
    };
    set.err().map(Pending::Error)
}

/// Acts on a request as [`act`] does, where no wasm code waits.
///
/// # Errors
/// Returns the reason to end as the error.
///
/// # Panics
/// Panics if the embedder's callback panics.
///
/// # Safety
/// The caller guarantees the same as for [`act`].
#[inline]
pub unsafe fn act_before_call(store: NonNull<StoreOpaque>) -> Result<(), Error> {
    // SAFETY: the caller guarantees it.
    if !unsafe { store.as_ref() }.control.interrupt().is_requested() {
        return Ok(());
    }
    // SAFETY: the caller guarantees it.
    match unsafe { act(store) } {
        None => Ok(()),
        Some(Pending::Error(error)) => Err(error),
        Some(Pending::Panic(panic)) => resume_unwind(panic),
    }
}

/// Acts on a request as [`act`] does, for wasm code that has stopped at a poll or a check, on its own stack, of
/// which enough is left for a host function. Returns whether the wasm code continues; if not, the reason is left
/// in the store.
///
/// # Safety
/// As [`act`], for the store of this context. The caller guarantees that `exit_fp` is the address of a frame: the
/// frame pointer of the wasm code, followed by the address at which it continues.
pub unsafe fn act_for_wasm(context: *mut VmStoreContext, exit_fp: usize) -> bool {
    // SAFETY: the caller guarantees it. A stack walk meanwhile finds the frame that waits.
    let stopped = unsafe { leave(context, exit_fp, |store| act(store)) };
    let goes_on = stopped.is_none();
    if let Some(pending) = stopped {
        // SAFETY: the store is lent to the wasm code that waits.
        unsafe { (*(*context).store).control.fail(pending) };
    }
    goes_on
}

/// Runs host code for wasm code that has not called it in the usual way.
///
/// # Safety
/// The caller guarantees that the store of the context is lent to wasm code that waits, that `exit_fp` is as in
/// [`act_for_wasm`], and that `work` does not panic.
pub unsafe fn leave<R>(
    context: *mut VmStoreContext,
    exit_fp: usize,
    work: impl FnOnce(NonNull<StoreOpaque>) -> R,
) -> R {
    // SAFETY: the caller guarantees it.
    unsafe {
        let store = NonNull::new_unchecked((*context).store);
        let outer = std::mem::replace(&mut (*context).exit_fp, exit_fp);
        let result = work(store);
        (*context).exit_fp = outer;
        result
    }
}
