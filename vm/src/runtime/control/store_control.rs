//! What the running code of a store is subject to: who may stop it, and why it ends.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use super::call_hooks::Hooks;
use super::osr_buffer::OsrBuffer;
use crate::runtime::instances::abi::{VmStoreContext, VmValue};
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::exclusive::Exclusive;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::runtime::interruption::thread_wakeup;
use crate::runtime::stacks::fiber::Suspender;
use crate::runtime::stacks::guarded_stack::GuardedStack;
use crate::runtime::values::exceptions::{Exception, ThrownException};
use crate::{Error, Result, Trap};

/// Size of the stack on which the runtime works for machine code: metrics need little, but the end of a trace chunk
/// plans functions.
const OWN_STACK: usize = 1 << 20;

/// The reason for which the host makes machine code trap.
pub enum Pending {
    /// A host function or builtin failed.
    Error(Error),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
}

/// The control over a store's running code.
pub struct StoreControl {
    /// Holds how many frames are left.
    context: StorePtr<VmStoreContext>,
    interrupt: Arc<InterruptPage>,
    /// Kept alive for machine code, which finds it through the context, until the store ends.
    osr_buffer: Option<OsrBuffer>,
    /// The stack, likewise, of runtime code that wasm code calls where its stack may be exhausted.
    own_stack: Option<GuardedStack>,
    /// The reason of the next trap with code `Host`; a stack overflow if there is none.
    pending: Exclusive<Option<Pending>>,
    /// Number of entries into this store's wasm code that have not returned.
    depth: usize,
    /// The embedder's callbacks.
    pub hooks: Hooks,
    /// The suspender of the running code, if that runs on a fiber and everything below it there can be sent to another
    /// thread.
    suspender: Option<Suspender>,
}

impl StoreControl {
    /// Creates the control over a new store, with a stack of its own if machine code needs that.
    ///
    /// # Errors
    /// Fails if the system has no memory for it.
    pub fn new(
        engine: &EngineCore,
        context: StorePtr<VmStoreContext>,
        needs_stack: bool,
    ) -> std::io::Result<StoreControl> {
        let pool = engine.pool();
        let interrupt = InterruptPage::new(pool.map(|pool| pool.interrupt_pages.clone()), engine.signals())?;
        let osr_buffer = pool.and_then(|pool| pool.osr_buffers.take(()));
        Ok(StoreControl {
            context,
            interrupt: Arc::new(interrupt),
            osr_buffer: Some(osr_buffer.map_or_else(OsrBuffer::new, Ok)?),
            own_stack: needs_stack.then(|| GuardedStack::new(OWN_STACK)).transpose()?,
            pending: Exclusive::default(),
            depth: 0,
            hooks: Hooks::default(),
            suspender: None,
        })
    }

    /// Returns the address of the OSR buffer.
    pub fn osr_buffer(&self) -> *mut VmValue {
        self.osr_buffer.as_ref().map_or(std::ptr::null_mut(), OsrBuffer::address)
    }

    /// Returns the end of the store's own stack; 0 if it has none.
    pub fn own_stack(&self) -> usize {
        self.own_stack.as_ref().map_or(0, |stack| stack.top().expose_provenance())
    }

    /// Gives the OSR buffer to the engine's pool, if it has one. No code of the store may run any more.
    pub fn give_back(&mut self, engine: &EngineCore) {
        if let Some((pool, buffer)) = engine.pool().zip(self.osr_buffer.take()) {
            pool.osr_buffers.put((), buffer);
        }
    }

    /// Returns the page by which the store is interrupted.
    #[inline]
    pub fn interrupt(&self) -> &Arc<InterruptPage> {
        &self.interrupt
    }

    /// Sets or clears the instant at which the store's code stops.
    ///
    /// # Errors
    /// Fails if the system has no thread for a timer.
    pub fn set_deadline(&self, at: Option<Instant>) -> Result<()> {
        self.interrupt.set_deadline(at).map_err(|e| Error::system("no thread for a timer", e))
    }
}

/// Entries into wasm code.
impl StoreControl {
    /// Returns the number of entries into wasm code that have not returned.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Reports whether wasm code is running: the code that asks is called by it.
    pub fn is_running(&self) -> bool {
        self.depth > 0
    }

    /// Prepares this thread for being woken, before the host enters wasm code.
    pub fn attach_thread(&self) {
        if self.depth == 0 {
            self.interrupt.set_thread(thread_wakeup::thread_id());
        }
    }

    /// Counts an entry.
    pub fn enter(&mut self) {
        self.depth += 1;
    }

    /// Ends an entry.
    pub fn leave(&mut self) {
        self.depth -= 1;
        if self.depth == 0 {
            self.interrupt.set_thread(0);
        }
    }

    /// Gives back frames that an exception has ended, where the number of frames is limited.
    pub fn give_back_frames(&mut self, count: usize) {
        // SAFETY: the context lives as long as the store; the throwing wasm code waits for this builtin.
        unsafe { (*self.context.as_ptr()).frames_left += count as i64 };
    }

    /// Returns the suspender of the running code.
    pub fn suspender(&self) -> Option<Suspender> {
        self.suspender
    }

    /// Sets the suspender of the code that runs next, and returns the previous one.
    pub fn replace_suspender(&mut self, suspender: Option<Suspender>) -> Option<Suspender> {
        std::mem::replace(&mut self.suspender, suspender)
    }
}

/// The reason for the end of wasm code.
impl StoreControl {
    /// Makes the wasm code that waits end for this reason, when it traps with code `Host`.
    pub fn fail(&mut self, reason: Pending) {
        *self.pending.get_mut() = Some(reason);
    }

    /// Makes the wasm code that waits end with this error: see [`StoreControl::fail`].
    pub fn fail_with(&mut self, error: impl Into<Error>) {
        self.fail(Pending::Error(error.into()));
    }

    /// Takes the reason for the end of wasm code, if there is one.
    pub fn take_pending(&mut self) -> Option<Pending> {
        self.pending.get_mut().take()
    }

    /// Returns the exception that is the reason, if one is.
    pub fn thrown(&mut self) -> Option<Arc<Exception>> {
        let Some(Pending::Error(error)) = self.pending.get_mut() else { return None };
        Some(error.downcast_ref::<ThrownException>()?.0.clone())
    }

    /// Reports whether the reason is that a check has found the budget exhausted.
    pub fn is_out_of_budget(&mut self) -> bool {
        match self.pending.get_mut() {
            Some(Pending::Error(error)) => error.trap() == Some(Trap::OutOfBudget),
            _ => false,
        }
    }
}
