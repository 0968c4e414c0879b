//! The functions of WASI preview 1.
//!
//! Source: `wasi_snapshot_preview1.witx`, lowered to core types: pointers, sizes, descriptors and error numbers are
//! i32, all of them unsigned; offsets, timestamps and rights are i64.

/// Passes the list of functions to a macro, each as `name(parameter: type, …) -> result;`. It serves whoever
/// defines the functions for another engine: see [`Guest::new`](crate::wasi::Guest::new).
#[macro_export]
macro_rules! wasi_preview1 {
    ($callback:ident) => {
        $callback! {
            args_get(argv: u32, argv_buf: u32) -> u32;
            args_sizes_get(count: u32, size: u32) -> u32;
            environ_get(environ: u32, environ_buf: u32) -> u32;
            environ_sizes_get(count: u32, size: u32) -> u32;
            clock_res_get(id: u32, resolution: u32) -> u32;
            clock_time_get(id: u32, precision: u64, time: u32) -> u32;
            fd_advise(fd: u32, offset: u64, len: u64, advice: u32) -> u32;
            fd_allocate(fd: u32, offset: u64, len: u64) -> u32;
            fd_close(fd: u32) -> u32;
            fd_datasync(fd: u32) -> u32;
            fd_fdstat_get(fd: u32, stat: u32) -> u32;
            fd_fdstat_set_flags(fd: u32, flags: u32) -> u32;
            fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64) -> u32;
            fd_filestat_get(fd: u32, stat: u32) -> u32;
            fd_filestat_set_size(fd: u32, size: u64) -> u32;
            fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32) -> u32;
            fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, read: u32) -> u32;
            fd_prestat_get(fd: u32, stat: u32) -> u32;
            fd_prestat_dir_name(fd: u32, path: u32, len: u32) -> u32;
            fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, written: u32) -> u32;
            fd_read(fd: u32, vectors: u32, count: u32, read: u32) -> u32;
            fd_readdir(fd: u32, buf: u32, len: u32, cookie: u64, used: u32) -> u32;
            fd_renumber(fd: u32, to: u32) -> u32;
            fd_seek(fd: u32, offset: u64, whence: u32, position: u32) -> u32;
            fd_sync(fd: u32) -> u32;
            fd_tell(fd: u32, position: u32) -> u32;
            fd_write(fd: u32, vectors: u32, count: u32, written: u32) -> u32;
            path_create_directory(fd: u32, path: u32, len: u32) -> u32;
            path_filestat_get(fd: u32, flags: u32, path: u32, len: u32, stat: u32) -> u32;
            path_filestat_set_times(
                fd: u32, flags: u32, path: u32, len: u32, accessed: u64, modified: u64, times: u32
            ) -> u32;
            path_link(
                fd: u32, flags: u32, path: u32, len: u32, new_fd: u32, new_path: u32, new_len: u32
            ) -> u32;
            path_open(
                fd: u32, dirflags: u32, path: u32, len: u32, oflags: u32, base: u64, inheriting: u64, flags: u32,
                opened: u32
            ) -> u32;
            path_readlink(fd: u32, path: u32, len: u32, buf: u32, buf_len: u32, used: u32) -> u32;
            path_remove_directory(fd: u32, path: u32, len: u32) -> u32;
            path_rename(fd: u32, path: u32, len: u32, new_fd: u32, new_path: u32, new_len: u32) -> u32;
            path_symlink(target: u32, target_len: u32, fd: u32, path: u32, len: u32) -> u32;
            path_unlink_file(fd: u32, path: u32, len: u32) -> u32;
            poll_oneoff(subscriptions: u32, events: u32, count: u32, happened: u32) -> u32;
            proc_exit(code: u32) -> ();
            proc_raise(signal: u32) -> u32;
            sched_yield() -> u32;
            random_get(buf: u32, len: u32) -> u32;
            sock_accept(fd: u32, flags: u32, accepted: u32) -> u32;
            sock_recv(fd: u32, vectors: u32, count: u32, flags: u32, received: u32, out_flags: u32) -> u32;
            sock_send(fd: u32, vectors: u32, count: u32, flags: u32, sent: u32) -> u32;
            sock_shutdown(fd: u32, how: u32) -> u32;
        }
    };
}
