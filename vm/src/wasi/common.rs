//! The usual implementation: the crate `wasi-common`, behind our own trait so that it can be replaced.

use wasi_common::I32Exit;
use wasi_common::snapshots::preview_1::wasi_snapshot_preview1 as abi;
use wiggle::{GuestMemory, run_in_dummy_executor};

use super::Wasi;
use crate::{Error, ErrorKind, Exit, Result};

/// wasi-common's context.
pub(super) struct Common(pub(super) wasi_common::WasiCtx);

macro_rules! implement {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
        impl Wasi for Common {
            $(
                fn $name(&mut self, memory: &mut [u8], $($arg: $ty),*) -> Result<$result> {
                    let mut memory = GuestMemory::Unshared(memory);
                    let call = abi::$name(&mut self.0, &mut memory, $($arg),*);
                    // All of it is synchronous: the future is ready at once.
                    finish(run_in_dummy_executor(call).and_then(|result| result))
                }
            )*
        }
    };
}

preview1!(implement);

/// An `Err` of wasi-common's is the end of the program.
fn finish<R>(result: std::result::Result<R, wiggle::anyhow::Error>) -> Result<R> {
    result.map_err(|e| match e.downcast_ref::<I32Exit>() {
        Some(exit) => Exit(exit.0).into(),
        None => Error::with_source(ErrorKind::Host, e.into()),
    })
}
