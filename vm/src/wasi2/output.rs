//! `output-stream` of `wasi:io/streams`.
//!
//! A program asks how many bytes it may write, and all of these are then accepted: bytes that the system does not take
//! at once are kept here, and nothing more may be written until they are gone.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::net::Shutdown;

use super::errors::{StreamFail, Streamed};
use super::host::{Host, table, trap};
use super::http::Outbox;
use super::input::{InputStream, take};
use super::poll::{Pollable, Wish};
use super::sockets::tcp::shut;
use crate::component::Resource;
use crate::wasi::OutputPipe;
use crate::wasi::budget::Charge;
use crate::wasi::calls::wait_for;
use crate::wasi::descriptors::What;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::Guest;
use crate::wasi::host_file::{HostFile, Shape};
use crate::wasi::wait::ready;

/// Maximum bytes of one permit.
const PERMIT: u64 = 64 << 10;
/// Maximum bytes that the functions that write and wait take.
const MOST_AT_ONCE: u64 = 4096;

/// A writable stream.
pub struct OutputStream {
    sink: Sink,
    /// Accepted bytes that are not written yet.
    pending: Vec<u8>,
    /// Bytes that the program may write now.
    permit: u64,
    /// Whether the stream has failed.
    is_over: bool,
    /// Whether the connection ends once nothing is pending.
    ends: bool,
    /// Its part of the budget of open files, if it has one of its own.
    open: Option<Charge>,
}

enum Sink {
    File(Arc<HostFile>, Place),
    Memory(OutputPipe),
    Body(Outbox),
    Nothing,
}

/// The write position in a file with positions.
pub enum Place {
    At(u64),
    End,
}

impl OutputStream {
    fn new(sink: Sink, open: Option<Charge>) -> OutputStream {
        OutputStream { sink, pending: Vec::new(), permit: 0, is_over: false, ends: false, open }
    }

    /// Creates the stream of standard output or error.
    pub fn standard(what: &What) -> OutputStream {
        let sink = match what {
            What::File(file) => Sink::File(file.clone(), Place::At(0)),
            What::Output(pipe) => Sink::Memory(pipe.clone()),
            _ => Sink::Nothing,
        };
        OutputStream::new(sink, None)
    }

    /// Creates a stream to a file.
    pub fn of_file(file: Arc<HostFile>, place: Place, open: Charge) -> OutputStream {
        OutputStream::new(Sink::File(file, place), Some(open))
    }

    /// Creates the stream of a body.
    pub fn of_body(outbox: Outbox) -> OutputStream {
        OutputStream::new(Sink::Body(outbox), None)
    }

    /// Creates the output stream of a connection, which itself counts as an open file.
    pub fn of_connection(file: Arc<HostFile>) -> OutputStream {
        OutputStream::new(Sink::File(file, Place::At(0)), None)
    }

    /// Reports whether the stream writes to a file.
    pub fn is_of(&self, file: &Arc<HostFile>) -> bool {
        matches!(&self.sink, Sink::File(own, _) if Arc::ptr_eq(own, file))
    }

    /// Closes the stream of a connection: the peer is notified once the accepted bytes are written.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn close(&mut self, guest: &Guest<'_>) -> Outcome {
        (self.is_over, self.ends) = (true, true);
        match self.drain(guest, false) {
            Err(StreamFail::End(fail)) => Err(fail),
            // The peer has closed the connection.
            _ => Ok(()),
        }
    }

    /// Returns the wait condition for writing.
    pub fn wish(&self) -> Wish {
        match self.sink.waiting() {
            Some(file) if !self.is_over => Wish::File(file, PollFlags::OUT),
            _ => Wish::Ready,
        }
    }

    /// Writes the pending bytes, as far as possible at once, or all of them if `waits`.
    fn drain(&mut self, guest: &Guest<'_>, waits: bool) -> Streamed {
        while !self.pending.is_empty() {
            match self.sink.write(&self.pending) {
                Ok(len) => _ = self.pending.drain(..len),
                Err(Errno::INTR) => guest.check()?,
                Err(Errno::AGAIN) => match self.sink.waiting() {
                    Some(file) if waits => wait_for(guest, &file, PollFlags::OUT, false)?,
                    _ => return Ok(()),
                },
                Err(errno) => {
                    self.is_over = true;
                    self.pending = Vec::new();
                    return Err(StreamFail::Failed(errno));
                }
            }
        }
        match &self.sink {
            Sink::File(file, _) if std::mem::take(&mut self.ends) => Ok(shut(file, Shutdown::Write)?),
            _ => Ok(()),
        }
    }

    /// Accepts all of some bytes.
    fn put(&mut self, guest: &Guest<'_>, bytes: Vec<u8>, waits: bool) -> Streamed {
        match self.pending.is_empty() {
            true => self.pending = bytes,
            false => self.pending.extend(bytes),
        }
        self.drain(guest, waits)
    }

    /// Reports whether all writes wait: pending bytes of a standard stream would be lost when a program exits.
    fn waits(&self) -> bool {
        self.open.is_none()
    }

    fn check_open(&self) -> Streamed {
        if self.is_over { Err(StreamFail::Closed) } else { Ok(()) }
    }

    /// Returns the number of bytes that may be written now.
    fn permitted(&mut self, guest: &Guest<'_>) -> Streamed<u64> {
        self.check_open()?;
        self.drain(guest, false)?;
        self.permit = match self.sink.waiting() {
            _ if !self.pending.is_empty() => 0,
            Some(file) => {
                let count = ready(&mut [PollFd::new(&*file, PollFlags::OUT)], Duration::ZERO);
                if matches!(count, Ok(0) | Err(Errno::INTR)) { 0 } else { PERMIT }
            }
            None => PERMIT,
        };
        Ok(self.permit)
    }

    /// Uses a part of the permit.
    fn use_permit(&mut self, len: u64) -> Streamed {
        let left = self.permit.checked_sub(len);
        let more =
            || trap(format_args!("a write of {len} bytes, where `check-write` has allowed {}", self.permit));
        self.permit = left.ok_or_else(|| StreamFail::End(Fail::End(more())))?;
        Ok(())
    }
}

impl Sink {
    /// Returns the file that may have no room, if there is one.
    fn waiting(&self) -> Option<Arc<HostFile>> {
        match self {
            Sink::File(file, _) => Some(file.clone()).filter(|file| file.may_wait()),
            Sink::Body(outbox) => outbox.way(),
            Sink::Memory(_) | Sink::Nothing => None,
        }
    }

    /// Writes once.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let slices = &[IoSlice::new(bytes)];
        match self {
            Sink::Nothing => Ok(bytes.len()),
            Sink::Memory(pipe) => pipe.write(slices),
            Sink::Body(outbox) => outbox.write(slices),
            Sink::File(file, Place::End) if file.shape == Shape::Positioned => {
                // Appends, so that concurrent writers do not overwrite each other.
                rustix::io::pwritev2(&**file, slices, 0, ReadWriteFlags::APPEND)
            }
            Sink::File(file, Place::End) => file.write(slices, 0),
            Sink::File(file, Place::At(position)) => {
                let len = file.write(slices, *position)?;
                *position = position.saturating_add(len as u64);
                Ok(len)
            }
        }
    }
}

type Stream = Resource<OutputStream>;

/// Applies an operation to a stream.
fn on<R>(
    host: &mut Host<'_>,
    stream: &Stream,
    act: impl FnOnce(&mut OutputStream, &Guest<'_>) -> Streamed<R>,
) -> Streamed<R> {
    act(table(host.system).get_mut(stream)?, &host.guest)
}

pub fn check_write(host: &mut Host<'_>, (stream,): (Stream,)) -> Streamed<u64> {
    on(host, &stream, OutputStream::permitted)
}

pub fn write(host: &mut Host<'_>, (stream, bytes): (Stream, Vec<u8>)) -> Streamed {
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.use_permit(bytes.len() as u64)?;
        stream.put(guest, bytes, stream.waits())
    })
}

pub fn write_zeroes(host: &mut Host<'_>, (stream, len): (Stream, u64)) -> Streamed {
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.use_permit(len)?;
        stream.put(guest, vec![0; len as usize], stream.waits())
    })
}

pub fn blocking_write_and_flush(host: &mut Host<'_>, (stream, bytes): (Stream, Vec<u8>)) -> Streamed {
    check_length(bytes.len() as u64)?;
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.put(guest, bytes, true)
    })
}

pub fn blocking_write_zeroes_and_flush(host: &mut Host<'_>, (stream, len): (Stream, u64)) -> Streamed {
    check_length(len)?;
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.put(guest, vec![0; len as usize], true)
    })
}

fn check_length(len: u64) -> Streamed {
    let long = || trap(format_args!("{len} bytes are written at once, at most {MOST_AT_ONCE} can be"));
    if len <= MOST_AT_ONCE { Ok(()) } else { Err(StreamFail::End(Fail::End(long()))) }
}

pub fn flush(host: &mut Host<'_>, (stream,): (Stream,)) -> Streamed {
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.drain(guest, false)
    })
}

pub fn blocking_flush(host: &mut Host<'_>, (stream,): (Stream,)) -> Streamed {
    on(host, &stream, |stream, guest| {
        stream.check_open()?;
        stream.drain(guest, true)
    })
}

pub fn splice(host: &mut Host<'_>, params: (Stream, Resource<InputStream>, u64)) -> Streamed<u64> {
    spliced(host, params, false)
}

pub fn blocking_splice(host: &mut Host<'_>, params: (Stream, Resource<InputStream>, u64)) -> Streamed<u64> {
    spliced(host, params, true)
}

/// Writes the data read from another stream.
fn spliced(
    host: &mut Host<'_>,
    (stream, from, len): (Stream, Resource<InputStream>, u64),
    waits: bool,
) -> Streamed<u64> {
    let room = on(host, &stream, |stream, guest| match stream.permitted(guest)? {
        0 if waits => {
            stream.drain(guest, true)?;
            Ok(PERMIT)
        }
        room => Ok(room),
    })?;
    let bytes = take(host, &from, len.min(room), waits)?;
    let count = bytes.len() as u64;
    on(host, &stream, |stream, guest| stream.put(guest, bytes, waits))?;
    Ok(count)
}

pub fn subscribe(host: &mut Host<'_>, (stream,): (Stream,)) -> Outcome<Resource<Pollable>> {
    Ok(host.table().push_child(Pollable::Output(stream.rep()), &stream)?)
}

/// Drops a stream after writing its accepted bytes, however long that takes.
pub fn drop(host: &mut Host<'_>, stream: Stream) -> Outcome {
    let mut stream = host.table().delete(stream)?;
    match stream.drain(&host.guest, true) {
        // Nobody is left to receive other errors.
        Err(StreamFail::End(fail)) => Err(fail),
        _ => Ok(()),
    }
}
