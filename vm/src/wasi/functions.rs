//! The functions of WASI preview 1.
//!
//! Source: `wasi_snapshot_preview1.witx`, lowered to core types: pointers, sizes, descriptors and error numbers are
//! i32; offsets, timestamps and rights are i64.

/// Passes the list to a macro.
macro_rules! preview1 {
    ($callback:ident) => {
        $callback! {
            args_get(argv: i32, argv_buf: i32) -> i32;
            args_sizes_get(count: i32, size: i32) -> i32;
            environ_get(environ: i32, environ_buf: i32) -> i32;
            environ_sizes_get(count: i32, size: i32) -> i32;
            clock_res_get(id: i32, resolution: i32) -> i32;
            clock_time_get(id: i32, precision: i64, time: i32) -> i32;
            fd_advise(fd: i32, offset: i64, len: i64, advice: i32) -> i32;
            fd_allocate(fd: i32, offset: i64, len: i64) -> i32;
            fd_close(fd: i32) -> i32;
            fd_datasync(fd: i32) -> i32;
            fd_fdstat_get(fd: i32, stat: i32) -> i32;
            fd_fdstat_set_flags(fd: i32, flags: i32) -> i32;
            fd_fdstat_set_rights(fd: i32, base: i64, inheriting: i64) -> i32;
            fd_filestat_get(fd: i32, stat: i32) -> i32;
            fd_filestat_set_size(fd: i32, size: i64) -> i32;
            fd_filestat_set_times(fd: i32, accessed: i64, modified: i64, flags: i32) -> i32;
            fd_pread(fd: i32, vectors: i32, count: i32, offset: i64, read: i32) -> i32;
            fd_prestat_get(fd: i32, stat: i32) -> i32;
            fd_prestat_dir_name(fd: i32, path: i32, len: i32) -> i32;
            fd_pwrite(fd: i32, vectors: i32, count: i32, offset: i64, written: i32) -> i32;
            fd_read(fd: i32, vectors: i32, count: i32, read: i32) -> i32;
            fd_readdir(fd: i32, buf: i32, len: i32, cookie: i64, used: i32) -> i32;
            fd_renumber(fd: i32, to: i32) -> i32;
            fd_seek(fd: i32, offset: i64, whence: i32, position: i32) -> i32;
            fd_sync(fd: i32) -> i32;
            fd_tell(fd: i32, position: i32) -> i32;
            fd_write(fd: i32, vectors: i32, count: i32, written: i32) -> i32;
            path_create_directory(fd: i32, path: i32, len: i32) -> i32;
            path_filestat_get(fd: i32, flags: i32, path: i32, len: i32, stat: i32) -> i32;
            path_filestat_set_times(
                fd: i32, flags: i32, path: i32, len: i32, accessed: i64, modified: i64, times: i32
            ) -> i32;
            path_link(
                fd: i32, flags: i32, path: i32, len: i32, new_fd: i32, new_path: i32, new_len: i32
            ) -> i32;
            path_open(
                fd: i32, dirflags: i32, path: i32, len: i32, oflags: i32, base: i64, inheriting: i64, flags: i32,
                opened: i32
            ) -> i32;
            path_readlink(fd: i32, path: i32, len: i32, buf: i32, buf_len: i32, used: i32) -> i32;
            path_remove_directory(fd: i32, path: i32, len: i32) -> i32;
            path_rename(fd: i32, path: i32, len: i32, new_fd: i32, new_path: i32, new_len: i32) -> i32;
            path_symlink(target: i32, target_len: i32, fd: i32, path: i32, len: i32) -> i32;
            path_unlink_file(fd: i32, path: i32, len: i32) -> i32;
            poll_oneoff(subscriptions: i32, events: i32, count: i32, happened: i32) -> i32;
            proc_exit(code: i32) -> ();
            proc_raise(signal: i32) -> i32;
            sched_yield() -> i32;
            random_get(buf: i32, len: i32) -> i32;
            sock_accept(fd: i32, flags: i32, accepted: i32) -> i32;
            sock_recv(fd: i32, vectors: i32, count: i32, flags: i32, received: i32, out_flags: i32) -> i32;
            sock_send(fd: i32, vectors: i32, count: i32, flags: i32, sent: i32) -> i32;
            sock_shutdown(fd: i32, how: i32) -> i32;
        }
    };
}
