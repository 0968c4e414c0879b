//! Deadlines at which the embedder decides.
//!
//! Where a store that is to stop would stop, the embedder is asked first if it wants to be. It is never asked by the signal
//! handler: a poll that faults goes on in `entries::resume` ([`resume`](crate::runtime::control::resume)), and what runs in the middle of an
//! operation of the runtime's (bulk operations, the compiler) goes on to its end, to be asked about at the next poll, check
//! or return.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::interrupt::Request;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::store::{Pending, StoreOpaque};
use crate::{Error, Result, Trap};

/// What is to happen at a deadline: see [`Store::deadline_callback`](crate::Store::deadline_callback).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateDeadline {
    /// The program ends with [`Trap::Deadline`].
    Interrupt,
    /// It goes on, and the next deadline is so long from now.
    Continue(Duration),
    /// The same, but others come first: a call that is awaited ([`TypedFunc::call_async`](crate::TypedFunc::call_async)) gives its
    /// thread back to the executor, and the time begins when that polls it again. Any other call goes on at once.
    Yield(Duration),
}

/// Asks the embedder. Unsafe to call unless as [`act`].
pub type OnDeadline = unsafe fn(NonNull<StoreOpaque>) -> Result<UpdateDeadline>;

/// Acts on the request that a store is to stop, if there is one: gives the reason to end, or `None` if the program goes on.
///
/// # Safety
/// The pointer was derived from an exclusive reference to the whole store, its user's data included, and nobody uses the
/// store meanwhile: the wasm code that it is lent to, if any, waits for us, and has left in the proper way.
pub unsafe fn act(store: NonNull<StoreOpaque>) -> Option<Pending> {
    // SAFETY: as required above; the references end with their lines.
    let (request, on_deadline) =
        unsafe { (store.as_ref().interrupt().take()?, store.as_ref().hooks.on_deadline) };
    let stop = |request| Some(Pending::Error(Trap::from(request).into()));
    let Some(ask) = on_deadline.filter(|_| request == Request::Deadline) else { return stop(request) };
    // SAFETY: as required above.
    let decided = match catch_unwind(AssertUnwindSafe(|| unsafe { ask(store) })) {
        Ok(decided) => decided,
        Err(panic) => return Some(Pending::Panic(panic)),
    };
    // SAFETY: as required above.
    let go_on = |more| unsafe { store.as_ref() }.set_deadline(Instant::now().checked_add(more));
    match decided {
        Ok(UpdateDeadline::Continue(more)) => go_on(more).err().map(Pending::Error),
        Ok(UpdateDeadline::Yield(more)) => {
            // SAFETY: as required above. A suspender is there where all that is on the stack may go to another thread.
            let waited = unsafe {
                let left = store.as_ref().leave_thread();
                let waited = store.as_ref().suspender.map_or(Ok(()), |suspender| suspender.yield_now());
                (*store.as_ptr()).go_on_after(left, 0);
                waited
            };
            waited.map_or_else(|_| stop(request), |()| go_on(more).err().map(Pending::Error))
        }
        Ok(UpdateDeadline::Interrupt) => stop(request),
        Err(error) => Some(Pending::Error(error)),
    }
}

/// The same where no wasm code waits.
///
/// # Errors
/// The reason to end.
///
/// # Panics
/// If the embedder does when it is asked.
///
/// # Safety
/// As [`act`].
pub unsafe fn act_before_call(store: NonNull<StoreOpaque>) -> Result<(), Error> {
    // SAFETY: as required above.
    match unsafe { act(store) } {
        None => Ok(()),
        Some(Pending::Error(error)) => Err(error),
        Some(Pending::Panic(panic)) => resume_unwind(panic),
    }
}

/// The same for wasm code that has stopped at a poll or a check, on its own stack, of which enough is left for a host
/// function. Whether it goes on; if not, the reason is left in the store.
///
/// # Safety
/// As [`act`], for the store of this context. `exit_fp` is the address of a frame: the frame pointer of the wasm code, and
/// behind it where that goes on.
pub unsafe fn act_for_wasm(context: *mut VmStoreContext, exit_fp: usize) -> bool {
    // SAFETY: as required above. Who looks at the stack meanwhile finds the frame that waits.
    let stopped = unsafe { leave(context, exit_fp, |store| act(store)) };
    let goes_on = stopped.is_none();
    if let Some(pending) = stopped {
        // SAFETY: the store is lent to the wasm code that waits for us.
        unsafe { *(*(*context).store).pending.get_mut() = Some(pending) };
    }
    goes_on
}

/// Runs host code for wasm code that has not called it in the usual way.
///
/// # Safety
/// The store of the context is lent to wasm code that waits for us; `exit_fp` as in [`act_for_wasm`]. `work` does not panic.
pub unsafe fn leave<R>(
    context: *mut VmStoreContext,
    exit_fp: usize,
    work: impl FnOnce(NonNull<StoreOpaque>) -> R,
) -> R {
    // SAFETY: as required above.
    unsafe {
        let store = NonNull::new_unchecked((*context).store);
        let outer = std::mem::replace(&mut (*context).exit_fp, exit_fp);
        let result = work(store);
        (*context).exit_fp = outer;
        result
    }
}
