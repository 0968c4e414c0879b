//! The usual implementation: the crate `wasi-common`, behind our own trait so that it can be replaced.

use wasi_common::I32Exit;
use wasi_common::snapshots::preview_1::wasi_snapshot_preview1 as abi;
use wiggle::{GuestMemory, run_in_dummy_executor};

use super::Wasi;
use crate::{Caller, Error, ErrorKind, Exit, Memory, Result};

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

/// Has those bytes of a memory read that a function hands to the system as they are, which fails where pages are not
/// there. All others it reads or writes itself.
///
/// # Errors
/// If they cannot be read.
pub(super) fn fill_handed_on<T: 'static>(
    memory: &Memory,
    caller: &Caller<'_, T>,
    name: &str,
    args: &[u64],
) -> Result<()> {
    let (at, count) = match (name, args) {
        (
            "fd_read" | "fd_pread" | "fd_write" | "fd_pwrite" | "sock_recv" | "sock_send",
            &[_, at, count, ..],
        ) => (at, count),
        _ => return Ok(()),
    };
    let mut vector = [0; VECTOR];
    for i in 0..count {
        // The function itself says what is wrong with the rest.
        let at = (at + VECTOR as u64 * i) as usize;
        if memory.is_there(caller) || memory.read(caller, at, &mut vector).is_err() {
            break;
        }
        let [start, len] = [0, 4].map(|i| u32::from_le_bytes([0, 1, 2, 3].map(|j| vector[i + j])));
        memory.fill(caller, start.into(), len.into())?;
    }
    Ok(())
}

/// Bytes of an `iovec`: the address of a buffer and its length, both of 32 bits.
const VECTOR: usize = 8;

/// An `Err` of wasi-common's is the end of the program.
fn finish<R>(result: std::result::Result<R, wiggle::anyhow::Error>) -> Result<R> {
    result.map_err(|e| match e.downcast_ref::<I32Exit>() {
        Some(exit) => Exit(exit.0).into(),
        None => Error::with_source(ErrorKind::Host, e.into()),
    })
}
