//! Files of the host that are not folders: regular ones, devices, pipes, terminals, sockets.
//!
//! **Invariant**: no call of the system here waits, but for the disk: whoever has to wait does so in
//! [`wait`](super::wait), which can be interrupted. Files that are opened for a program never block. Those that it
//! shares with this process do as the process has them, as others see that, too; so the system is asked before.

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

/// What goes at once into whatever is ready for writing (Linux's `PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// A file of the host's.
#[derive(Debug)]
pub struct HostFile {
    fd: Fd,
    /// What kind of file it is.
    pub shape: Shape,
    /// Whether the system can be told for one write not to wait.
    has_nowait: AtomicBool,
}

#[derive(Debug)]
enum Fd {
    Own(OwnedFd),
    Standard(BorrowedFd<'static>),
}

/// Kinds of files, by what differs in their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Has positions: a regular file or a block device.
    Positioned,
    /// The same as a standard stream, which goes on where the process is.
    Sequential,
    /// One may have to wait for it: a pipe, a terminal, another device.
    Stream,
    /// A socket with another side.
    Connection,
    /// A socket that others connect to.
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
    /// A file that was opened for the program, and does not block.
    pub fn opened(fd: OwnedFd, file_type: FileType) -> HostFile {
        let shape = match file_type {
            FileType::RegularFile | FileType::BlockDevice => Shape::Positioned,
            _ => Shape::Stream,
        };
        HostFile { fd: Fd::Own(fd), shape, has_nowait: AtomicBool::new(false) }
    }

    /// A standard stream of this process.
    pub fn standard(fd: BorrowedFd<'static>) -> HostFile {
        // If it is not there, whoever uses it is told so.
        let file_type = fstat(fd).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        let shape = match file_type {
            FileType::RegularFile | FileType::BlockDevice | FileType::Directory => Shape::Sequential,
            _ => Shape::Stream,
        };
        HostFile { fd: Fd::Standard(fd), shape, has_nowait: AtomicBool::new(true) }
    }

    /// A socket, which is made not to block.
    ///
    /// # Errors
    /// If it is none.
    pub fn socket(fd: OwnedFd) -> Result<HostFile, Errno> {
        let shape =
            if rustix::net::sockopt::socket_acceptconn(&fd)? { Shape::Listener } else { Shape::Connection };
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(HostFile { fd: Fd::Own(fd), shape, has_nowait: AtomicBool::new(false) })
    }

    /// A socket of the program's own, which does not block.
    pub fn connection(fd: OwnedFd) -> HostFile {
        HostFile { fd: Fd::Own(fd), shape: Shape::Connection, has_nowait: AtomicBool::new(false) }
    }

    /// Whether it is a standard stream of this process.
    pub fn is_standard(&self) -> bool {
        matches!(self.fd, Fd::Standard(_))
    }

    /// Whether it is a socket that the program was given.
    pub fn is_socket(&self) -> bool {
        matches!(self.shape, Shape::Connection | Shape::Listener)
    }

    /// Whether one may have to wait for it.
    pub fn may_wait(&self) -> bool {
        !matches!(self.shape, Shape::Positioned | Shape::Sequential)
    }

    /// WASI's type for it. Programs take a character device without positions for a terminal, so that a standard stream
    /// is one only if it is a terminal.
    pub fn filetype(&self, stat: &Stat) -> u8 {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice if self.is_standard() && !rustix::termios::isatty(self) => {
                filetype::UNKNOWN
            }
            other => filetype_of(other),
        }
    }

    /// Reads once, from a position if it has any.
    ///
    /// # Errors
    /// The system's; `AGAIN` if there is nothing yet.
    pub fn read(&self, slices: &mut [IoSliceMut<'_>], position: u64) -> Result<usize, Errno> {
        match self.shape {
            Shape::Positioned => match rustix::io::preadv(self, &mut *slices, position) {
                // No file is as long as that: it is behind the end.
                Err(Errno::INVAL) if is_beyond(position, slices) => Ok(0),
                done => done,
            },
            Shape::Sequential | Shape::Stream => rustix::io::readv(self, slices),
            Shape::Connection | Shape::Listener => Ok(self.receive(slices, false)?.0),
        }
    }

    /// Writes once, at a position if it has any.
    ///
    /// # Errors
    /// The system's; `AGAIN` if there is no room yet.
    pub fn write(&self, slices: &[IoSlice<'_>], position: u64) -> Result<usize, Errno> {
        match self.shape {
            Shape::Positioned => rustix::io::pwritev(self, slices, position),
            Shape::Stream if self.is_standard() => self.write_shared(slices),
            Shape::Sequential | Shape::Stream => rustix::io::writev(self, slices),
            Shape::Connection | Shape::Listener => self.send(slices),
        }
    }

    /// Writes to what may block. The system cannot be told not to wait for all files: for others it is asked whether there
    /// is room, and given what has room then.
    fn write_shared(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        /// At the position where the process is.
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

    /// Receives once; whether some of a message did not fit, too.
    ///
    /// # Errors
    /// The system's; `AGAIN` if there is nothing yet.
    pub fn receive(&self, slices: &mut [IoSliceMut<'_>], is_peek: bool) -> Result<(usize, bool), Errno> {
        let flags = if is_peek { RecvFlags::PEEK } else { RecvFlags::empty() };
        let received = rustix::net::recvmsg(self, slices, &mut RecvAncillaryBuffer::default(), flags)?;
        Ok((received.bytes, received.flags.contains(ReturnFlags::TRUNC)))
    }

    /// Sends once.
    ///
    /// # Errors
    /// The system's; `AGAIN` if there is no room yet.
    pub fn send(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        rustix::net::sendmsg(self, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
    }
}

/// Whether so much behind a position is more than the system can name.
fn is_beyond(position: u64, slices: &[IoSliceMut<'_>]) -> bool {
    let len: usize = slices.iter().map(|slice| slice.len()).sum();
    position.saturating_add(len as u64) > i64::MAX as u64
}

/// The first bytes of some buffers.
fn beginning<'a>(slices: &'a [IoSlice<'_>], mut len: usize) -> SmallVec<[IoSlice<'a>; 4]> {
    let cut = slices.iter().map_while(|slice| {
        let part = &slice[..slice.len().min(len)];
        len -= part.len();
        (!part.is_empty()).then(|| IoSlice::new(part))
    });
    cut.collect()
}

/// WASI's number for a type of files.
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
