//! Interrupting wasm code from outside.

use std::sync::Arc;

use crate::runtime::interruption::interrupt_page::{InterruptPage, Request};

/// A handle that interrupts the wasm code of one store. It can be cloned and sent to other threads.
#[derive(Clone, Debug)]
pub struct InterruptHandle(Arc<InterruptPage>);

impl InterruptHandle {
    pub(crate) fn new(page: Arc<InterruptPage>) -> InterruptHandle {
        InterruptHandle(page)
    }

    /// Makes the store's wasm code trap soon with [`Trap::Interrupt`](crate::Trap::Interrupt): at its next poll
    /// (see [`Config::interruptible`](crate::Config::interruptible)), at the return from a host function, or when
    /// it starts. One request interrupts one call.
    ///
    /// May be called from a signal handler.
    pub fn interrupt(&self) {
        self.0.request(Request::Interrupt);
    }

    /// Makes the system call in which a host function of the store waits at this moment, such as a read from a
    /// terminal, fail with `EINTR`. The host function and the program decide what follows. A host function that
    /// begins to wait a little later is not woken; call again to be sure.
    ///
    /// Installs a handler for SIGURG if there is none.
    pub fn wake(&self) {
        self.0.wake();
    }
}
