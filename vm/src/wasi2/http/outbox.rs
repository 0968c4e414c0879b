//! Bodies on their way from a program: the program writes, and a thread of the host reads.
//!
//! What a program writes is held back until the body is finished, is long, or the program waits: so short bodies have a
//! length, and are sent at once. From then on the way is a pair of sockets, so that a program waits for a slow receiver.
//! Bodies that nobody has asked for are held back as a whole, up to a limit, and the program's budget limits all of
//! them.

use std::io::{self, IoSlice, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::fields::Trailers;
use super::message::Headers;
use super::values::ErrorCode;
use super::wire::BodyPart;
use crate::wasi::OutputPipe;
use crate::wasi::budget::{Budget, Charge};
use crate::wasi::host_file::HostFile;

/// Maximum bytes of a body that is held back as a whole.
const MOST_BYTES: usize = 64 << 20;
/// Bytes beyond which a body that is asked for is no longer held back.
const LONG: usize = 64 << 10;
/// Bytes that are passed on at once.
const AT_ONCE: usize = 16 << 10;

/// The body that a program writes. Clones are the same body.
#[derive(Clone, Default)]
pub struct Outbox(Arc<Mutex<Out>>);

/// Takes a body, or the reason why there is none to be sent.
type Then = Box<dyn FnOnce(Result<Leaving, ErrorCode>) + Send>;

#[derive(Default)]
struct Out {
    state: State,
    /// What is held back.
    held: OutputPipe,
    /// The budget of open files.
    files: Option<Budget>,
    /// The program's end of the way, once there is one.
    way: Option<(Arc<HostFile>, Charge)>,
    /// Bytes that were written.
    written: u64,
    /// The length stated by its message.
    length: Option<u64>,
    trailers: Trailers,
    then: Option<Then>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Not requested: there is no body.
    #[default]
    None,
    Open,
    Finished,
    /// The program has dropped the body, or written too much or too little.
    Broken,
}

/// A whole body with its trailers, or `None` if the program did not finish it.
pub type Delivered = Option<(Vec<u8>, Headers)>;

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the body, which is possible once; reports whether it is.
    pub fn open(&self, length: Option<u64>, (charge, files): (Charge, Budget)) -> bool {
        let mut out = self.lock();
        let is_first = out.state == State::None;
        if is_first {
            out.state = State::Open;
            (out.length, out.files) = (length, Some(files));
            out.held = OutputPipe::with_charge(MOST_BYTES, charge);
        }
        is_first
    }

    /// Returns the whole body, if nobody has asked for it before.
    pub fn delivered(&self) -> Delivered {
        let mut out = self.lock();
        match out.state {
            State::None => Some(Default::default()),
            State::Finished => Some((out.held.take(), std::mem::take(&mut out.trailers).list)),
            State::Open | State::Broken => None,
        }
    }

    /// Passes the body to `then`: at once if it is finished, and else when it is to be held back no longer.
    pub fn ask(&self, then: impl FnOnce(Result<Leaving, ErrorCode>) + Send + 'static) {
        self.lock().then = Some(Box::new(then));
        let is_due = {
            let out = self.lock();
            out.state != State::Open || out.held.len() > LONG
        };
        if is_due {
            self.release();
        }
    }

    /// Holds the body back no longer.
    pub fn release(&self) {
        let mut out = self.lock();
        let Some(then) = out.then.take() else { return };
        let leaving = match out.state {
            State::Broken => Err(ErrorCode::HttpRequestBodySize(None)),
            State::None | State::Finished => {
                Ok(Leaving { first: out.held.take(), way: None, of: self.clone() })
            }
            State::Open => match out.open_way() {
                Some(ours) => {
                    Ok(Leaving { first: out.held.take(), way: Some(Arc::new(ours)), of: self.clone() })
                }
                None => Err(ErrorCode::ConnectionLimitReached),
            },
        };
        drop(out);
        then(leaving);
    }

    /// Writes bytes; returns how many.
    ///
    /// # Errors
    /// Returns `AGAIN` if there is no room yet, and `PIPE` if nobody reads any more.
    pub fn write(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let mut out = self.lock();
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        // More than the message says would be taken for the next one.
        if out.length.is_some_and(|length| out.written + len as u64 > length) {
            out.state = State::Broken;
            return Err(Errno::FBIG);
        }
        let written = match &out.way {
            Some((way, _)) => way.write(slices, 0)?,
            None => out.held.write(slices)?,
        };
        out.written += written as u64;
        let is_long = out.then.is_some() && out.held.len() > LONG;
        drop(out);
        if is_long {
            self.release();
        }
        Ok(written)
    }

    /// Returns the file that has room when the body has.
    pub fn way(&self) -> Option<Arc<HostFile>> {
        self.lock().way.as_ref().map(|(way, _)| way.clone())
    }

    /// Ends the body with its trailers. Returns the number of written bytes if it is not what the message says.
    ///
    /// # Errors
    /// Fails if the body has another length than its message says.
    pub fn finish(&self, trailers: Trailers) -> Result<(), u64> {
        let mut out = self.lock();
        let written = out.written;
        let is_whole = out.state == State::Open && out.length.is_none_or(|length| length == written);
        out.state = if is_whole { State::Finished } else { State::Broken };
        out.trailers = trailers;
        drop(out);
        self.close();
        if is_whole { Ok(()) } else { Err(written) }
    }

    /// Reports whether the program has finished the body, or has none.
    pub fn is_finished(&self) -> bool {
        matches!(self.lock().state, State::None | State::Finished)
    }

    /// Ends the body too early, unless it is finished.
    pub fn abandon(&self) {
        let mut out = self.lock();
        if out.state == State::Open {
            out.state = State::Broken;
        }
        drop(out);
        self.close();
    }

    fn close(&self) {
        self.lock().way = None;
        self.release();
    }
}

impl Out {
    /// Opens the way and returns the host's end; `None` if there are too many open files.
    fn open_way(&mut self) -> Option<UnixStream> {
        let lease = self.files.as_ref()?.take(1)?;
        let (ours, theirs) = UnixStream::pair().ok()?;
        theirs.set_nonblocking(true).ok()?;
        self.way = Some((Arc::new(HostFile::connection(theirs.into())), lease));
        Some(ours)
    }
}

/// A body that a program may still be writing: the host's end of the way.
pub struct Leaving {
    first: Vec<u8>,
    way: Option<Arc<UnixStream>>,
    of: Outbox,
}

impl Leaving {
    /// Returns the length, if the whole body is there, or its message says it.
    pub fn length(&self) -> Option<u64> {
        match self.way {
            None => Some(self.first.len() as u64),
            Some(_) => self.of.lock().length,
        }
    }

    /// Returns the host's end of the way, if the program is still writing: once it is shut, there is no more.
    pub fn way(&self) -> Option<&Arc<UnixStream>> {
        self.way.as_ref()
    }

    /// Reports whether the program is still writing.
    pub fn is_under_way(&self) -> bool {
        self.way.is_some()
    }

    /// Returns what comes next; waits until something does.
    ///
    /// # Errors
    /// Fails if the program did not finish the body.
    pub fn next(&mut self) -> io::Result<BodyPart> {
        if !self.first.is_empty() {
            return Ok(BodyPart::Bytes(std::mem::take(&mut self.first)));
        }
        if let Some(way) = &self.way {
            let mut bytes = vec![0; AT_ONCE];
            let len = loop {
                match (&**way).read(&mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            if len > 0 {
                bytes.truncate(len);
                return Ok(BodyPart::Bytes(bytes));
            }
        }
        let mut out = self.of.lock();
        match out.state {
            State::None | State::Finished => Ok(BodyPart::End(std::mem::take(&mut out.trailers).list)),
            State::Open | State::Broken => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl std::fmt::Debug for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaving").field("is_under_way", &self.is_under_way()).finish_non_exhaustive()
    }
}
