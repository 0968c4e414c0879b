//! Constants of WASI preview 1. Source: `wasi_snapshot_preview1.witx`.

use rustix::io::Errno;

/// Rights: the functions that make sense for a descriptor.
pub mod rights {
    pub const FD_DATASYNC: u64 = 1;
    pub const FD_READ: u64 = 1 << 1;
    pub const FD_SEEK: u64 = 1 << 2;
    pub const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub const FD_SYNC: u64 = 1 << 4;
    pub const FD_TELL: u64 = 1 << 5;
    pub const FD_WRITE: u64 = 1 << 6;
    pub const FD_ADVISE: u64 = 1 << 7;
    pub const FD_ALLOCATE: u64 = 1 << 8;
    pub const PATH_CREATE_DIRECTORY: u64 = 1 << 9;
    pub const PATH_CREATE_FILE: u64 = 1 << 10;
    pub const PATH_LINK_SOURCE: u64 = 1 << 11;
    pub const PATH_LINK_TARGET: u64 = 1 << 12;
    pub const PATH_OPEN: u64 = 1 << 13;
    pub const FD_READDIR: u64 = 1 << 14;
    pub const PATH_READLINK: u64 = 1 << 15;
    pub const PATH_RENAME_SOURCE: u64 = 1 << 16;
    pub const PATH_RENAME_TARGET: u64 = 1 << 17;
    pub const PATH_FILESTAT_GET: u64 = 1 << 18;
    pub const PATH_FILESTAT_SET_TIMES: u64 = 1 << 20;
    pub const FD_FILESTAT_GET: u64 = 1 << 21;
    pub const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub const PATH_SYMLINK: u64 = 1 << 24;
    pub const PATH_REMOVE_DIRECTORY: u64 = 1 << 25;
    pub const PATH_UNLINK_FILE: u64 = 1 << 26;
    pub const POLL_FD_READWRITE: u64 = 1 << 27;
    pub const SOCK_SHUTDOWN: u64 = 1 << 28;
    pub const SOCK_ACCEPT: u64 = 1 << 29;

    /// The rights for folders that only read.
    pub const OF_READ_ONLY_FOLDERS: u64 =
        PATH_OPEN | FD_READDIR | PATH_READLINK | PATH_FILESTAT_GET | FD_FILESTAT_GET;

    /// The rights for folders.
    pub const OF_FOLDERS: u64 = OF_READ_ONLY_FOLDERS
        | PATH_CREATE_DIRECTORY
        | PATH_CREATE_FILE
        | PATH_LINK_SOURCE
        | PATH_LINK_TARGET
        | PATH_RENAME_SOURCE
        | PATH_RENAME_TARGET
        | PATH_SYMLINK
        | PATH_REMOVE_DIRECTORY
        | PATH_UNLINK_FILE
        | PATH_FILESTAT_SET_TIMES
        | FD_FILESTAT_SET_TIMES;

    /// The rights for a file that is open for reading.
    pub const OF_READING: u64 =
        FD_READ | FD_DATASYNC | FD_SYNC | FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE;

    /// The rights for a file that is open for writing.
    pub const OF_WRITING: u64 =
        FD_WRITE | FD_DATASYNC | FD_SYNC | FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE;

    /// The additional rights for a file that has positions.
    pub const OF_POSITIONS: u64 = FD_SEEK | FD_TELL | FD_ADVISE;

    /// The additional rights for a file that has positions and may be changed.
    pub const OF_CHANGES: u64 = FD_ALLOCATE | FD_FILESTAT_SET_SIZE | FD_FILESTAT_SET_TIMES;

    /// The rights for files in a folder.
    pub const OF_FILES: u64 = OF_READING | OF_WRITING | OF_POSITIONS | OF_CHANGES;
}

/// Types of files.
pub mod filetype {
    pub const UNKNOWN: u8 = 0;
    pub const BLOCK_DEVICE: u8 = 1;
    pub const CHARACTER_DEVICE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const REGULAR_FILE: u8 = 4;
    pub const SOCKET_STREAM: u8 = 6;
    pub const SYMBOLIC_LINK: u8 = 7;
}

/// Flags of a descriptor.
pub mod fdflags {
    pub const APPEND: u16 = 1;
    pub const DSYNC: u16 = 2;
    pub const NONBLOCK: u16 = 4;
    pub const RSYNC: u16 = 8;
    pub const SYNC: u16 = 16;
    pub const ALL: u16 = 31;
}

/// Flags for opening a file.
pub mod oflags {
    pub const CREAT: u16 = 1;
    pub const DIRECTORY: u16 = 2;
    pub const EXCL: u16 = 4;
    pub const TRUNC: u16 = 8;
    pub const ALL: u16 = 15;
}

/// Flags that tell which times of a file are set.
pub mod fstflags {
    pub const ATIM: u16 = 1;
    pub const ATIM_NOW: u16 = 2;
    pub const MTIM: u16 = 4;
    pub const MTIM_NOW: u16 = 8;
    pub const ALL: u16 = 15;
}

/// Flags that tell how a path is looked up.
pub mod lookupflags {
    pub const SYMLINK_FOLLOW: u32 = 1;
    pub const ALL: u32 = 1;
}

/// Constants of events.
pub mod event {
    pub const CLOCK: u8 = 0;
    pub const FD_READ: u8 = 1;
    pub const FD_WRITE: u8 = 2;
    /// The time of a clock is absolute.
    pub const ABSTIME: u16 = 1;
    /// The other side has closed the connection.
    pub const HANGUP: u16 = 1;
}

/// Constants of sockets.
pub mod socket {
    pub const RECV_PEEK: u16 = 1;
    pub const RECV_WAITALL: u16 = 2;
    pub const RECV_ALL: u16 = 3;
    pub const RECV_DATA_TRUNCATED: u16 = 1;
    pub const SHUT_READ: u32 = 1;
    pub const SHUT_WRITE: u32 = 2;
}

/// Checks that a value has only known bits.
///
/// # Errors
/// Returns an error if it has other bits.
pub fn known(value: u32, all: u16) -> Result<u16, Errno> {
    if value & !u32::from(all) != 0 { Err(Errno::INVAL) } else { Ok(value as u16) }
}
