//! Functions for sockets that the program was given, and for connections that it accepts.

use std::io::IoSliceMut;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};

use super::transfer::{read_file, wait_for, write_file};
use crate::wasi::constants::{fdflags, known, socket};
use crate::wasi::descriptors::Descriptor;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::{Buffers, Guest, Record};
use crate::wasi::host_file::{HostFile, Shape};
use crate::wasi::system::System;

impl System {
    pub fn sock_accept(&mut self, guest: &mut Guest<'_>, fd: u32, flags: u32, accepted: u32) -> Outcome {
        let flags = known(flags, fdflags::NONBLOCK)?;
        guest.array(accepted, 1, 4, 4)?;
        self.descriptors.check_room()?;
        let (descriptor, file) = self.descriptors.socket(fd)?;
        let connection = loop {
            match accept_with(file, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Err(Errno::INTR) => guest.check()?,
                Err(Errno::AGAIN) if !descriptor.is_nonblocking() => {
                    wait_for(guest, file, PollFlags::IN, false)?
                }
                done => break done?,
            }
        };
        let connection = Descriptor::socket(HostFile::socket(connection)?, flags);
        let connection = self.descriptors.add(connection)?;
        guest.write_u32(accepted, connection)
    }

    pub fn sock_recv(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        flags: u32,
        received: u32,
        out_flags: u32,
    ) -> Outcome {
        let flags = known(flags, socket::RECV_ALL)?;
        let is_peek = flags & socket::RECV_PEEK != 0;
        let waits_for_all = flags & socket::RECV_WAITALL != 0 && !is_peek;
        let (descriptor, file) = self.connection(fd)?;
        let (mut rest, mut total, mut is_cut) = (guest.buffers(vectors, count)?, 0, false);
        loop {
            let once = |slices: &mut [IoSliceMut<'_>]| file.receive(slices, is_peek);
            match read_file(guest, file, &rest, descriptor.is_nonblocking(), once) {
                Ok((len, was_cut)) => {
                    (total, is_cut) = (total + len, was_cut);
                    skip(&mut rest, len);
                    if len == 0 || rest.is_empty() || !waits_for_all {
                        break;
                    }
                }
                Err(Fail::Errno(Errno::AGAIN)) if total > 0 => break,
                Err(fail) => return Err(fail),
            }
        }
        guest.write_u32(received, total as u32)?;
        let out = if is_cut { socket::RECV_DATA_TRUNCATED } else { 0 };
        guest.write(out_flags, 2, &Record::<2>::new().u16(0, out))
    }

    pub fn sock_send(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        vectors: u32,
        count: u32,
        flags: u32,
        sent: u32,
    ) -> Outcome {
        let (descriptor, file) = self.connection(fd)?;
        known(flags, 0)?;
        let buffers = guest.buffers(vectors, count)?;
        let len = write_file(guest, file, &buffers, descriptor.is_nonblocking(), |slices| file.send(slices))?;
        guest.write_u32(sent, len as u32)
    }

    pub fn sock_shutdown(&mut self, _: &mut Guest<'_>, fd: u32, how: u32) -> Outcome {
        const BOTH: u32 = socket::SHUT_READ | socket::SHUT_WRITE;
        let (_, file) = self.descriptors.socket(fd)?;
        let how = match how {
            socket::SHUT_READ => Shutdown::Read,
            socket::SHUT_WRITE => Shutdown::Write,
            BOTH => Shutdown::Both,
            _ => return Err(Errno::INVAL.into()),
        };
        Ok(shutdown(file, how)?)
    }

    /// Returns a connected socket.
    fn connection(&self, fd: u32) -> Result<(&Descriptor, &HostFile), Errno> {
        let (descriptor, file) = self.descriptors.socket(fd)?;
        if file.shape == Shape::Listener { Err(Errno::NOTCONN) } else { Ok((descriptor, file)) }
    }
}

/// Removes the first `len` bytes, which have been filled.
fn skip(buffers: &mut Buffers, mut len: usize) {
    buffers.retain(|range| {
        let part = len.min(range.len());
        range.start += part;
        len -= part;
        range.start < range.end
    });
}
