//! Reading and writing.

use std::io::{IoSlice, IoSliceMut, Read};
use std::ops::Range;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::fstat;
use rustix::io::Errno;

use crate::wasi::constants::fdflags;
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::Outcome;
use crate::wasi::guest::{Filled, Guest};
use crate::wasi::host_file::{HostFile, Shape};
use crate::wasi::system::System;
use crate::wasi::wait::{ready, wait};

impl System {
    pub fn fd_read(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        read: u32,
    ) -> Outcome {
        let buffers = guest.buffers(vectors, count)?;
        let len = self.read(guest, fd, &buffers, None)?;
        guest.write_u32(read, len as u32)
    }

    pub fn fd_pread(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        offset: u64,
        read: u32,
    ) -> Outcome {
        let buffers = guest.buffers(vectors, count)?;
        let len = self.read(guest, fd, &buffers, Some(offset))?;
        guest.write_u32(read, len as u32)
    }

    pub fn fd_write(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        written: u32,
    ) -> Outcome {
        let buffers = guest.buffers(vectors, count)?;
        let len = self.write(guest, fd, &buffers, None)?;
        guest.write_u32(written, len as u32)
    }

    pub fn fd_pwrite(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        offset: u64,
        written: u32,
    ) -> Outcome {
        let buffers = guest.buffers(vectors, count)?;
        let len = self.write(guest, fd, &buffers, Some(offset))?;
        guest.write_u32(written, len as u32)
    }

    fn read(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        buffers: &[Range<usize>],
        at: Option<u64>,
    ) -> Outcome<usize> {
        let descriptor = self.descriptors.get_mut(fd)?;
        check_use(descriptor, descriptor.is_readable, at)?;
        let is_nonblocking = descriptor.is_nonblocking();
        match &mut descriptor.what {
            What::Input(input) => Ok(guest.read_into(buffers, |slices| input.read_vectored(slices))?),
            What::File(file) => {
                let from = at.unwrap_or(descriptor.position);
                let once = |slices: &mut [IoSliceMut<'_>]| file.read(slices, from);
                let len = read_file(guest, file, buffers, is_nonblocking, once)?;
                if at.is_none() {
                    descriptor.position = from.saturating_add(len as u64);
                }
                Ok(len)
            }
            _ => Err(Errno::BADF.into()),
        }
    }

    fn write(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        buffers: &[Range<usize>],
        at: Option<u64>,
    ) -> Outcome<usize> {
        let descriptor = self.descriptors.get_mut(fd)?;
        check_use(descriptor, descriptor.is_writable, at)?;
        let is_nonblocking = descriptor.is_nonblocking();
        match &mut descriptor.what {
            What::Output(pipe) => Ok(guest.write_from(buffers, |slices| pipe.write(slices))?),
            What::Nothing => Ok(buffers.iter().map(Range::len).sum()),
            What::File(file) => {
                let to = at.unwrap_or(descriptor.position);
                let len = write_file(guest, file, buffers, is_nonblocking, |slices| file.write(slices, to))?;
                if at.is_none() {
                    descriptor.position = match descriptor.flags & fdflags::APPEND != 0 {
                        true => u64::try_from(fstat(file)?.st_size).unwrap_or(0),
                        false => to.saturating_add(len as u64),
                    };
                }
                Ok(len)
            }
            _ => Err(Errno::BADF.into()),
        }
    }
}

/// Checks that a descriptor is open for this use, and that it has positions if it is used at one.
fn check_use(descriptor: &Descriptor, is_open: bool, at: Option<u64>) -> Result<(), Errno> {
    let has_positions = match &descriptor.what {
        What::File(file) => file.shape == Shape::Positioned,
        // For a folder the error does not depend on positions.
        What::Folder(_) => return Err(Errno::BADF),
        _ => false,
    };
    match (is_open, at) {
        (false, _) => Err(Errno::BADF),
        (true, Some(_)) if !has_positions => Err(Errno::SPIPE),
        (true, Some(at)) if at > i64::MAX as u64 => Err(Errno::INVAL),
        (true, _) => Ok(()),
    }
}

/// Reads with `once`, when there is something to read.
///
/// # Errors
/// Returns the errors of `once`, and an error if the program is to stop meanwhile.
pub fn read_file<R: Filled>(
    guest: &mut Guest<'_>,
    file: &HostFile,
    buffers: &[Range<usize>],
    is_nonblocking: bool,
    once: impl Fn(&mut [IoSliceMut<'_>]) -> Result<R, Errno>,
) -> Outcome<R> {
    loop {
        // Waiting is also needed where reading would not block: a pipe is at its end as long as nobody has opened
        // its other side.
        if file.may_wait() && !buffers.is_empty() {
            wait_for(guest, file, PollFlags::IN, is_nonblocking)?;
        }
        let done = guest.read_into(buffers, &once);
        match done {
            Err(Errno::INTR) => guest.check()?,
            Err(Errno::AGAIN) if !is_nonblocking => {}
            done => return Ok(done?),
        }
    }
}

/// Writes with `once`, as soon as there is room.
///
/// # Errors
/// Returns the errors of `once`, and an error if the program is to stop meanwhile.
pub fn write_file(
    guest: &mut Guest<'_>,
    file: &HostFile,
    buffers: &[Range<usize>],
    is_nonblocking: bool,
    once: impl Fn(&[IoSlice<'_>]) -> Result<usize, Errno>,
) -> Outcome<usize> {
    loop {
        let done = guest.write_from(buffers, &once);
        match done {
            Err(Errno::INTR) => guest.check()?,
            Err(Errno::AGAIN) if !is_nonblocking => wait_for(guest, file, PollFlags::OUT, false)?,
            done => return Ok(done?),
        }
    }
}

/// Waits until a file is ready.
///
/// # Errors
/// Returns an error if the descriptor is nonblocking and the file is not ready, or if the program is to stop.
pub fn wait_for(guest: &Guest<'_>, file: &HostFile, events: PollFlags, is_nonblocking: bool) -> Outcome {
    let mut fds = [PollFd::new(file, events)];
    match is_nonblocking {
        true if ready(&mut fds, Duration::ZERO)? == 0 => Err(Errno::AGAIN.into()),
        true => Ok(()),
        false => wait(guest, &mut fds, None).map(drop),
    }
}
