//! Waiting for the compiler no longer than the program may run.
//!
//! A function of megabytes takes seconds to compile, and the code generator cannot be interrupted. So a called
//! function that is large is compiled by a thread of its own, while the program's thread checks whether it is to
//! stop. If it is, the compiler thread continues to the end, and its code is there for the next call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use super::ModuleInner;
use crate::Result;
use crate::runtime::interruption::fork;

/// Bytes of bytecode from which a function is large: starting a thread takes a small part of its compilation
/// time.
const LARGE: usize = 1 << 15;

/// How often the program's thread checks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Stack size of the compiler thread, the same as that of the background thread.
const STACK: usize = 8 << 20;

/// The message of a compiler thread: the address, an error, or the panic of the code generator.
type Outcome = std::thread::Result<Result<usize>>;

impl ModuleInner {
    /// Returns the address as [`ModuleInner::code_of`] does; `None` if `is_over` returns true before there is
    /// code.
    ///
    /// # Errors
    /// Returns an error as [`ModuleInner::code_of`] does.
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

    /// As [`ModuleInner::code_of`]. The compiling thread holds off `fork`, not the thread that waits for it: a
    /// `fork` that waited for the latter would keep the former from starting.
    fn code_now(self: &Arc<Self>, row: u32) -> Result<usize> {
        let _quiet = fork::quiet();
        self.code_of(row)
    }

    /// Returns whether the code behind a row is a large function without code. Parts of functions are small.
    pub(super) fn takes_long(&self, row: u32) -> bool {
        !self.is_part(row) && self.info.body(row).len() >= LARGE && self.code.address(row).is_none()
    }

    /// Starts a thread that compiles the code behind a row; `None` if no thread can be started.
    fn start(self: &Arc<Self>, row: u32) -> Option<Receiver<Outcome>> {
        let (module, (sender, receiver)) = (self.clone(), mpsc::channel());
        let thread = std::thread::Builder::new().name("wprof-compile".into()).stack_size(STACK);
        let compile = move || {
            // The waiting thread may be gone.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| module.code_now(row))));
        };
        thread.spawn(compile).ok().map(|_| receiver)
    }
}
