//! `input-stream` of `wasi:io/streams`.

use std::io::{Cursor, IoSliceMut, Read};
use std::sync::Arc;

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::answer::Answer;
use super::errors::{StreamFail, Streamed};
use super::host::{Host, release_held, table};
use super::http::{Ending, ErrorCode};
use super::poll::{Pollable, Wish};
use crate::component::Resource;
use crate::wasi::budget::Charge;
use crate::wasi::calls::wait_for;
use crate::wasi::descriptors::What;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::Guest;
use crate::wasi::host_file::HostFile;

/// Maximum bytes that one call reads: programs continue with the rest.
pub const MOST: u64 = 1 << 20;

/// A readable stream.
pub struct InputStream {
    source: Source,
    /// Whether the stream has ended or failed.
    is_over: bool,
    /// Its part of the budget of open files, if it has one of its own.
    _open: Option<Charge>,
    /// How a body has ended, once it has.
    ending: Option<Arc<Answer<Ending>>>,
}

enum Source {
    /// The program's standard input, if it is in memory.
    Memory,
    Bytes(Cursor<Vec<u8>>),
    /// A file, read from a position if it has positions.
    File(Arc<HostFile>, u64),
}

impl InputStream {
    fn new(source: Source) -> InputStream {
        InputStream { source, is_over: false, _open: None, ending: None }
    }

    /// Creates the stream of standard input.
    pub fn standard(what: &What) -> InputStream {
        InputStream::new(match what {
            What::File(file) => Source::File(file.clone(), 0),
            _ => Source::Memory,
        })
    }

    /// Creates a stream of a file from a position on.
    pub fn of_file(file: Arc<HostFile>, position: u64, open: Charge) -> InputStream {
        InputStream { _open: Some(open), ..InputStream::new(Source::File(file, position)) }
    }

    /// Creates a stream of bytes in memory.
    pub fn of_bytes(bytes: Vec<u8>) -> InputStream {
        InputStream::new(Source::Bytes(Cursor::new(bytes)))
    }

    /// Creates the stream of a body that is still arriving.
    pub fn of_body(file: Arc<HostFile>, ending: Arc<Answer<Ending>>, open: Charge) -> InputStream {
        let stream = InputStream::new(Source::File(file, 0));
        InputStream { _open: Some(open), ending: Some(ending), ..stream }
    }

    /// Returns the error with which a body has ended, if it has.
    fn failure(&self) -> Option<Errno> {
        self.ending.as_ref()?.with(|ending| ending.as_ref().err().map(ErrorCode::errno))?
    }

    /// Creates the input stream of a connection, which itself counts as an open file.
    pub fn of_connection(file: Arc<HostFile>) -> InputStream {
        InputStream::new(Source::File(file, 0))
    }

    /// Reports whether the stream reads from a file.
    pub fn is_of(&self, file: &Arc<HostFile>) -> bool {
        matches!(&self.source, Source::File(own, _) if Arc::ptr_eq(own, file))
    }

    /// Ends the stream.
    pub fn close(&mut self) {
        self.is_over = true;
    }

    /// Returns the wait condition for reading.
    pub fn wish(&self) -> Wish {
        match &self.source {
            Source::File(file, _) if file.may_wait() && !self.is_over => {
                Wish::File(file.clone(), PollFlags::IN)
            }
            _ => Wish::Ready,
        }
    }
}

/// Reads at most so many bytes; none if there are none yet and the call does not wait.
///
/// # Errors
/// Fails if the stream has ended, or fails.
pub fn take(host: &mut Host<'_>, stream: &Resource<InputStream>, len: u64, waits: bool) -> Streamed<Vec<u8>> {
    let Host { guest, system } = host;
    if table(system).get(stream)?.is_over {
        return Err(StreamFail::Closed);
    }
    if len == 0 {
        return Ok(Vec::new());
    }
    if let Source::File(..) = table(system).get(stream)?.source {
        release_held(system);
    }
    let mut bytes = vec![0; len.min(MOST) as usize];
    let read = match &mut table(system).get_mut(stream)?.source {
        Source::File(file, position) => read(guest, (file, position), &mut bytes, waits),
        Source::Bytes(input) => input.read(&mut bytes).map(Some).map_err(Fail::from),
        Source::Memory => match &mut system.descriptors.get_mut(0).map_err(Fail::from)?.what {
            What::Input(input) => input.read(&mut bytes).map(Some).map_err(Fail::from),
            _ => Ok(Some(0)),
        },
    };
    let is_over = &mut table(system).get_mut(stream)?.is_over;
    match read {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(0)) => {
            *is_over = true;
            let failure = table(system).get(stream)?.failure();
            Err(failure.map_or(StreamFail::Closed, StreamFail::Failed))
        }
        Ok(Some(len)) => {
            bytes.truncate(len);
            Ok(bytes)
        }
        Err(fail) => {
            *is_over = true;
            Err(fail.into())
        }
    }
}

/// Reads once from a file; `None` if there is no data yet.
fn read(
    guest: &Guest<'_>,
    (file, position): (&HostFile, &mut u64),
    bytes: &mut [u8],
    waits: bool,
) -> Outcome<Option<usize>> {
    loop {
        if file.may_wait() {
            match wait_for(guest, file, PollFlags::IN, !waits) {
                Err(Fail::Errno(Errno::AGAIN)) => return Ok(None),
                waited => waited?,
            }
        }
        match file.read(&mut [IoSliceMut::new(bytes)], *position) {
            Err(Errno::INTR) => guest.check()?,
            Err(Errno::AGAIN) if waits => {}
            Err(Errno::AGAIN) => return Ok(None),
            done => {
                let len = done?;
                *position = position.saturating_add(len as u64);
                return Ok(Some(len));
            }
        }
    }
}

pub fn read_now(host: &mut Host<'_>, (stream, len): (Resource<InputStream>, u64)) -> Streamed<Vec<u8>> {
    take(host, &stream, len, false)
}

pub fn blocking_read(host: &mut Host<'_>, (stream, len): (Resource<InputStream>, u64)) -> Streamed<Vec<u8>> {
    take(host, &stream, len, true)
}

pub fn skip(host: &mut Host<'_>, (stream, len): (Resource<InputStream>, u64)) -> Streamed<u64> {
    take(host, &stream, len, false).map(|bytes| bytes.len() as u64)
}

pub fn blocking_skip(host: &mut Host<'_>, (stream, len): (Resource<InputStream>, u64)) -> Streamed<u64> {
    take(host, &stream, len, true).map(|bytes| bytes.len() as u64)
}

pub fn subscribe(host: &mut Host<'_>, (stream,): (Resource<InputStream>,)) -> Outcome<Resource<Pollable>> {
    Ok(host.table().push_child(Pollable::Input(stream.rep()), &stream)?)
}
