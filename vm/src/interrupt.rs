//! Stopping wasm code from outside.

use std::sync::Arc;

use crate::runtime::interruption::interrupt::{InterruptPage, Request};

/// Stops the wasm code of one store. Can be cloned and sent to other threads.
#[derive(Clone, Debug)]
pub struct InterruptHandle(Arc<InterruptPage>);

impl InterruptHandle {
    pub(crate) fn new(page: Arc<InterruptPage>) -> InterruptHandle {
        InterruptHandle(page)
    }

    /// Makes the store's wasm code trap with [`Trap::Interrupt`](crate::Trap::Interrupt), soon: at its next poll
    /// (see [`Config::interruptible`](crate::Config::interruptible)), return from a host function, or start. One
    /// request stops one call.
    ///
    /// May be called from a signal handler.
    pub fn interrupt(&self) {
        self.0.request(Request::Interrupt);
    }

    /// Makes a system call fail with `EINTR` in which a host function of the store waits at this moment, such as a
    /// read from a terminal. It is up to the host function, and to the program, what comes of that. One that begins
    /// to wait a little later is not woken: who must be sure calls again.
    ///
    /// Installs a handler for SIGURG if there is none.
    pub fn wake(&self) {
        self.0.wake();
    }
}
