//! One program's system interface for several threads, which take turns.
//!
//! A call has the interface to itself. A call that would wait gives up instead, so that the others get their
//! turn, and starts again a little later; a call that waits has had no effect before. Only a write that waits in
//! the system keeps the others waiting.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::fail::{Answer, number};
use super::guest::Guest;
use super::{Wasi, WasiCtx};
use crate::Result;

/// How long a thread leaves the interface to others before it tries again.
const PAUSE: Duration = Duration::from_millis(2);

/// A [`WasiCtx`] that several stores share, each on a thread of its own.
#[derive(Clone, Debug)]
pub struct SharedWasi(Arc<Mutex<WasiCtx>>);

impl SharedWasi {
    /// Shares a context.
    pub fn new(context: WasiCtx) -> SharedWasi {
        SharedWasi(Arc::new(Mutex::new(context)))
    }

    /// Returns a context for one more store.
    pub fn context(&self) -> WasiCtx {
        WasiCtx::new(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, WasiCtx> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

macro_rules! take_turns {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
        impl Wasi for SharedWasi {
            $(
                fn $name(&mut self, guest: &mut Guest<'_>, $($arg: $ty),*) -> Result<$result> {
                    guest.take_turns();
                    loop {
                        let answer: Result<$result> = self.lock().functions().$name(guest, $($arg),*);
                        let has_given_up = guest.has_given_up();
                        match answer {
                            // Other calls return this number, too, but without having given up.
                            Ok(answer) if has_given_up && answer.is(number(Errno::AGAIN)) => {
                                std::thread::sleep(PAUSE);
                            }
                            answer => return answer,
                        }
                    }
                }
            )*
        }
    };
}

crate::wasi_preview1!(take_turns);
