//! Calls that wait: on stacks of their own, as futures.
#![allow(unsafe_code, reason = "only what may be sent lies on a stack that waits, which types cannot say")]

use std::pin::Pin;
use std::time::Duration;

use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::fiber::{self, Dropped, Suspender};
use crate::store::StoreInner;
use crate::{Error, ErrorKind, Result};

/// Runs `work`, which may wait in wasm code, on its own stack, as a future.
pub(crate) async fn on_fiber<'a, T: Send + 'static, R: Send + 'a>(
    store: &'a mut StoreInner<T>,
    work: impl FnOnce(&mut StoreInner<T>) -> Result<R> + Send + 'a,
) -> Result<R> {
    // SAFETY: the store's data implements `Send`.
    let call = unsafe { fiber::on_fiber(store, work) };
    call.map_err(|e| Error::system("no memory for a stack", e))?.await
}

/// The wait of host code, with the state that its end needs.
pub(crate) struct Wait {
    suspender: Suspender,
    left: Duration,
    before: u64,
}

impl Wait {
    /// Prepares to wait.
    ///
    /// # Safety
    /// The caller guarantees that until the end of the wait this code runs on the fiber of the surrounding call, if there
    /// is one, and that everything on the stack above the wasm code or the start of the fiber can be sent to another
    /// thread.
    ///
    /// # Errors
    /// Fails if the surrounding call is not awaited; `what` is then named as what would have waited.
    pub(crate) unsafe fn begin(store: &mut StoreOpaque, what: &str) -> Result<Wait> {
        let Some(suspender) = store.control.suspender() else {
            let message = format!("{what} was called in a call that is not async: use call_async");
            return Err(Error::new(ErrorKind::Host, message));
        };
        // The duration of the wait says nothing about the code.
        store.observed.trials.drop_call();
        Ok(Wait { suspender, left: store.observed.leave_thread(), before: suspender.waited() })
    }

    pub(crate) fn until<F: Future + Send + ?Sized>(&self, future: Box<F>) -> Result<F::Output, Dropped> {
        let mut future = Pin::from(future);
        // SAFETY: whoever began the wait guarantees that this code runs on the fiber of the suspender, and that the fiber
        // holds only values that can be sent to another thread; the future can be sent, too.
        unsafe { self.suspender.wait(future.as_mut()) }
    }

    pub(crate) fn end(self, store: &mut StoreOpaque) {
        store.observed.go_on_after(self.left, self.suspender.waited() - self.before);
    }
}
