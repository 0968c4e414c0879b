//! WASI preview 1 for Wasmtime 48 over `wasi-common` 36, which has no linker for this version of Wasmtime.
//!
//! Both engines so call the very same host functions.

use wasi_common::WasiCtx;
use wasi_common::snapshots::preview_1::wasi_snapshot_preview1 as preview1;
use wasmtime::{Caller, Error, Extern, Linker, Result};
use wiggle::{GuestMemory, anyhow, run_in_dummy_executor};

/// Gives a macro, with something of its own, each function of preview 1 but `proc_exit`.
macro_rules! for_each_function {
    ($define:ident, $linker:expr) => {
        $define! { $linker;
            args_get(argv: i32, text: i32);
            args_sizes_get(count: i32, size: i32);
            environ_get(environ: i32, text: i32);
            environ_sizes_get(count: i32, size: i32);
            clock_res_get(clock: i32, resolution: i32);
            clock_time_get(clock: i32, precision: i64, time: i32);
            fd_advise(fd: i32, offset: i64, len: i64, advice: i32);
            fd_allocate(fd: i32, offset: i64, len: i64);
            fd_close(fd: i32);
            fd_datasync(fd: i32);
            fd_fdstat_get(fd: i32, stat: i32);
            fd_fdstat_set_flags(fd: i32, flags: i32);
            fd_fdstat_set_rights(fd: i32, base: i64, inheriting: i64);
            fd_filestat_get(fd: i32, stat: i32);
            fd_filestat_set_size(fd: i32, size: i64);
            fd_filestat_set_times(fd: i32, atim: i64, mtim: i64, flags: i32);
            fd_pread(fd: i32, iovs: i32, count: i32, offset: i64, read: i32);
            fd_prestat_get(fd: i32, stat: i32);
            fd_prestat_dir_name(fd: i32, path: i32, len: i32);
            fd_pwrite(fd: i32, iovs: i32, count: i32, offset: i64, written: i32);
            fd_read(fd: i32, iovs: i32, count: i32, read: i32);
            fd_readdir(fd: i32, buffer: i32, len: i32, cookie: i64, used: i32);
            fd_renumber(fd: i32, to: i32);
            fd_seek(fd: i32, offset: i64, whence: i32, position: i32);
            fd_sync(fd: i32);
            fd_tell(fd: i32, position: i32);
            fd_write(fd: i32, iovs: i32, count: i32, written: i32);
            path_create_directory(fd: i32, path: i32, len: i32);
            path_filestat_get(fd: i32, flags: i32, path: i32, len: i32, stat: i32);
            path_filestat_set_times(fd: i32, flags: i32, path: i32, len: i32, atim: i64, mtim: i64, which: i32);
            path_link(fd: i32, flags: i32, path: i32, len: i32, to_fd: i32, to_path: i32, to_len: i32);
            path_open(fd: i32, look: i32, path: i32, len: i32, how: i32, base: i64, inheriting: i64, flags: i32, opened: i32);
            path_readlink(fd: i32, path: i32, len: i32, buffer: i32, size: i32, used: i32);
            path_remove_directory(fd: i32, path: i32, len: i32);
            path_rename(fd: i32, path: i32, len: i32, to_fd: i32, to_path: i32, to_len: i32);
            path_symlink(target: i32, target_len: i32, fd: i32, path: i32, len: i32);
            path_unlink_file(fd: i32, path: i32, len: i32);
            poll_oneoff(subscriptions: i32, events: i32, count: i32, happened: i32);
            proc_raise(signal: i32);
            sched_yield();
            random_get(buffer: i32, len: i32);
            sock_accept(fd: i32, flags: i32, accepted: i32);
            sock_recv(fd: i32, iovs: i32, count: i32, flags: i32, size: i32, out_flags: i32);
            sock_send(fd: i32, iovs: i32, count: i32, flags: i32, size: i32);
            sock_shutdown(fd: i32, how: i32);
        }
    };
}
pub(crate) use for_each_function;

/// Defines each function `name(parameter: type, …) -> result` in a linker under its own name.
macro_rules! define {
    ($linker:expr; $($name:ident($($parameter:ident: $type:ty),*);)*) => {
        $($linker.func_wrap(
            "wasi_snapshot_preview1",
            stringify!($name),
            |mut caller: Caller<'_, WasiCtx>, $($parameter: $type),*| -> Result<i32> {
                let (bytes, wasi) = guest_memory(&mut caller)?;
                let mut memory = GuestMemory::Unshared(bytes);
                finish(run_in_dummy_executor(preview1::$name(wasi, &mut memory, $($parameter),*)))
            },
        )?;)*
    };
}

/// Adds every function of preview 1.
pub fn add_to_linker(linker: &mut Linker<WasiCtx>) -> Result<()> {
    for_each_function!(define, linker);
    linker.func_wrap("wasi_snapshot_preview1", "proc_exit", |code: i32| -> Result<()> {
        Err(Exit(code).into())
    })?;
    Ok(())
}

/// The guest called `proc_exit`.
#[derive(Debug)]
pub struct Exit(pub i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program called exit({})", self.0)
    }
}

impl std::error::Error for Exit {}

fn guest_memory<'a>(caller: &'a mut Caller<'_, WasiCtx>) -> Result<(&'a mut [u8], &'a mut WasiCtx)> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::msg("the program exports no memory"));
    };
    Ok(memory.data_and_store_mut(caller))
}

/// Flattens the executor's and the call's results into an error number or a trap.
fn finish(result: anyhow::Result<anyhow::Result<i32>>) -> Result<i32> {
    result.and_then(|errno| errno).map_err(|error| Error::msg(format!("{error:#}")))
}
