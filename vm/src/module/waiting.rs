//! Waiting for the compiler no longer than the program may run.
//!
//! A function of megabytes takes seconds to compile, and the code generator cannot be interrupted. So large ones are
//! compiled by a thread of their own when they are called, while the program's thread looks whether it is to stop. If it
//! is, the other goes on to the end: its code is there for the next call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use super::ModuleInner;
use crate::Result;
use crate::runtime::interruption::fork;

/// Bytes of bytecode from which on a function is large: starting a thread takes little of the time to compile it.
const LARGE: usize = 1 << 15;

/// How long the program's thread waits before it looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Of the compiler thread, as large as that of the background.
const STACK: usize = 8 << 20;

/// What a compiler thread sends: the address, an error, or the panic of the code generator.
type Outcome = std::thread::Result<Result<usize>>;

impl ModuleInner {
    /// As [`ModuleInner::code_of`]; `None` if `is_over` says so before there is code.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn code_unless(
        self: &Arc<Self>,
        row: u32,
        is_over: impl Fn() -> bool,
    ) -> Result<Option<usize>> {
        let started = if self.takes_long(row) { self.start(row) } else { None };
        let Some(outcome) = started else { return self.code_now(row).map(Some) };
        loop {
            match outcome.recv_timeout(LOOK_EVERY) {
                Ok(Ok(result)) => return result.map(Some),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) if is_over() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.code_now(row).map(Some),
            }
        }
    }

    /// As [`ModuleInner::code_of`]. Whoever compiles keeps `fork` waiting, not who waits for it: a `fork` that waits for
    /// the one would keep the other from beginning.
    fn code_now(self: &Arc<Self>, row: u32) -> Result<usize> {
        let _quiet = fork::quiet();
        self.code_of(row)
    }

    /// Whether what is behind a row is a large function without code. Parts of one are small.
    pub(super) fn takes_long(&self, row: u32) -> bool {
        !self.is_part(row) && self.info.body(row).len() >= LARGE && self.code.address(row).is_none()
    }

    /// Has another thread compile what is behind a row; `None` if there can be no thread.
    fn start(self: &Arc<Self>, row: u32) -> Option<Receiver<Outcome>> {
        let (module, (sender, receiver)) = (self.clone(), mpsc::channel());
        let thread = std::thread::Builder::new().name("wprof-compile".into()).stack_size(STACK);
        let compile = move || {
            // Whoever waited may be gone.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| module.code_now(row))));
        };
        thread.spawn(compile).ok().map(|_| receiver)
    }
}
