//! Host files other than directories: regular files, devices, pipes, terminals, sockets.
//!
//! **Invariant**: no system call here waits, except for the disk: waiting happens in
//! [`wait`](super::wait), which can be interrupted. Files opened for a program are non-blocking. Files shared with this
//! process keep the process's mode, which other processes observe too, so the code asks the system for readiness first.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags};
use smallvec::SmallVec;

use super::constants::filetype;
use super::wait::ready;

/// Maximum size of an atomic write to a ready file (Linux's `PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// A host file.
#[derive(Debug)]
pub struct HostFile {
    fd: Fd,
    /// The kind of the file.
    pub shape: Shape,
    /// Whether the system supports non-blocking for a single write.
    has_nowait: AtomicBool,
}

#[derive(Debug)]
enum Fd {
    Own(OwnedFd),
    Standard(BorrowedFd<'static>),
}

/// Kinds of files, by the differences in their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A file with positions: a regular file or a block device.
    Positioned,
    /// Such a file as a standard stream, which continues at the process's position.
    Sequential,
    /// A file that may require waiting: a pipe, a terminal, another device.
    Stream,
    /// A connected socket.
    Connection,
    /// A listening socket.
    Listener,
}

impl AsFd for HostFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Fd::Own(fd) => fd.as_fd(),
            Fd::Standard(fd) => *fd,
        }
    }
}

impl HostFile {
    /// Wraps a file that was opened for the program, and does not block.
    pub fn opened(fd: OwnedFd, file_type: FileType) -> HostFile {
        let shape = match file_type {
            FileType::RegularFile | FileType::BlockDevice => Shape::Positioned,
            _ => Shape::Stream,
        };
        HostFile { fd: Fd::Own(fd), shape, has_nowait: AtomicBool::new(false) }
    }

    /// Wraps a standard stream of this process.
    pub fn standard(fd: BorrowedFd<'static>) -> HostFile {
        // If the stream does not exist, its use fails.
        let file_type = fstat(fd).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        let shape = match file_type {
            FileType::RegularFile | FileType::BlockDevice | FileType::Directory => Shape::Sequential,
            _ => Shape::Stream,
        };
        HostFile { fd: Fd::Standard(fd), shape, has_nowait: AtomicBool::new(true) }
    }

    /// Wraps a socket, and makes it non-blocking.
    ///
    /// # Errors
    /// Fails if it is not a socket.
    pub fn socket(fd: OwnedFd) -> Result<HostFile, Errno> {
        let shape =
            if rustix::net::sockopt::socket_acceptconn(&fd)? { Shape::Listener } else { Shape::Connection };
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(HostFile { fd: Fd::Own(fd), shape, has_nowait: AtomicBool::new(false) })
    }

    /// Wraps a non-blocking socket of the program's own.
    pub fn connection(fd: OwnedFd) -> HostFile {
        HostFile { fd: Fd::Own(fd), shape: Shape::Connection, has_nowait: AtomicBool::new(false) }
    }

    /// Reports whether the file is a standard stream of this process.
    pub fn is_standard(&self) -> bool {
        matches!(self.fd, Fd::Standard(_))
    }

    /// Reports whether the file is a socket that the program was given.
    pub fn is_socket(&self) -> bool {
        matches!(self.shape, Shape::Connection | Shape::Listener)
    }

    /// Reports whether the file may require waiting.
    pub fn may_wait(&self) -> bool {
        !matches!(self.shape, Shape::Positioned | Shape::Sequential)
    }

    /// Returns WASI's file type. Programs take a character device without positions for a terminal, so a standard
    /// stream is a character device only if it is a terminal.
    pub fn filetype(&self, stat: &Stat) -> u8 {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice if self.is_standard() && !rustix::termios::isatty(self) => {
                filetype::UNKNOWN
            }
            other => filetype_of(other),
        }
    }

    /// Reads once, from a position if the file has positions.
    ///
    /// # Errors
    /// Returns the system's error; `AGAIN` if there is no data yet.
    pub fn read(&self, slices: &mut [IoSliceMut<'_>], position: u64) -> Result<usize, Errno> {
        match self.shape {
            Shape::Positioned => match rustix::io::preadv(self, &mut *slices, position) {
                // No file is that long: the position is beyond the end.
                Err(Errno::INVAL) if is_beyond(position, slices) => Ok(0),
                done => done,
            },
            Shape::Sequential | Shape::Stream => rustix::io::readv(self, slices),
            Shape::Connection | Shape::Listener => Ok(self.receive(slices, false)?.0),
        }
    }

    /// Writes once, at a position if the file has positions.
    ///
    /// # Errors
    /// Returns the system's error; `AGAIN` if there is no room yet.
    pub fn write(&self, slices: &[IoSlice<'_>], position: u64) -> Result<usize, Errno> {
        match self.shape {
            Shape::Positioned => rustix::io::pwritev(self, slices, position),
            Shape::Stream if self.is_standard() => self.write_shared(slices),
            Shape::Sequential | Shape::Stream => rustix::io::writev(self, slices),
            Shape::Connection | Shape::Listener => self.send(slices),
        }
    }

    /// Writes to a file that may block. The system supports non-blocking writes for some files only: for others the
    /// code asks whether there is room, and writes what then fits.
    fn write_shared(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        /// The process's current position.
        const HERE: u64 = u64::MAX;
        if self.has_nowait.load(Ordering::Relaxed) {
            match rustix::io::pwritev2(self, slices, HERE, ReadWriteFlags::NOWAIT) {
                Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {
                    self.has_nowait.store(false, Ordering::Relaxed)
                }
                done => return done,
            }
        }
        if ready(&mut [PollFd::new(self, PollFlags::OUT)], Duration::ZERO)? == 0 {
            return Err(Errno::AGAIN);
        }
        rustix::io::writev(self, &beginning(slices, AT_ONCE))
    }

    /// Receives once; also reports whether a part of a message did not fit.
    ///
    /// # Errors
    /// Returns the system's error; `AGAIN` if there is no data yet.
    pub fn receive(&self, slices: &mut [IoSliceMut<'_>], is_peek: bool) -> Result<(usize, bool), Errno> {
        let flags = if is_peek { RecvFlags::PEEK } else { RecvFlags::empty() };
        let received = rustix::net::recvmsg(self, slices, &mut RecvAncillaryBuffer::default(), flags)?;
        Ok((received.bytes, received.flags.contains(ReturnFlags::TRUNC)))
    }

    /// Sends once.
    ///
    /// # Errors
    /// Returns the system's error; `AGAIN` if there is no room yet.
    pub fn send(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        rustix::net::sendmsg(self, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
    }
}

/// Reports whether a range from a position exceeds the system's largest position.
fn is_beyond(position: u64, slices: &[IoSliceMut<'_>]) -> bool {
    let len: usize = slices.iter().map(|slice| slice.len()).sum();
    position.saturating_add(len as u64) > i64::MAX as u64
}

/// Returns the first bytes of some buffers.
fn beginning<'a>(slices: &'a [IoSlice<'_>], mut len: usize) -> SmallVec<[IoSlice<'a>; 4]> {
    let cut = slices.iter().map_while(|slice| {
        let part = &slice[..slice.len().min(len)];
        len -= part.len();
        (!part.is_empty()).then(|| IoSlice::new(part))
    });
    cut.collect()
}

/// Returns WASI's number for a file type.
pub fn filetype_of(file_type: FileType) -> u8 {
    match file_type {
        FileType::RegularFile => filetype::REGULAR_FILE,
        FileType::Directory => filetype::DIRECTORY,
        FileType::Symlink => filetype::SYMBOLIC_LINK,
        FileType::CharacterDevice => filetype::CHARACTER_DEVICE,
        FileType::BlockDevice => filetype::BLOCK_DEVICE,
        FileType::Socket => filetype::SOCKET_STREAM,
        _ => filetype::UNKNOWN,
    }
}
