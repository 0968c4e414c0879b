//! Bodies on their way to a program: a thread of the host sends, the program reads.
//!
//! The way is a pair of sockets: the system bounds what waits in it, and wakes whoever waits for room or for bytes. How
//! the body has ended is told beside it, before the socket closes.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::fields::Trailers;
use super::message::Headers;
use super::values::ErrorCode;
use crate::wasi::fail::Outcome;
use crate::wasi::host_file::HostFile;
use crate::wasi2::answer::{Answer, Teller, answer};

/// How a body has ended: with its trailers, or too early.
pub type Ending = Result<Trailers, ErrorCode>;

/// A body that arrives while the program runs: the program's end of the way.
pub struct Arriving {
    pub file: Arc<HostFile>,
    pub ending: Arc<Answer<Ending>>,
}

/// Sends a body to a program. When it is dropped before [`BodySender::finish`], the program gets an error.
pub struct BodySender {
    way: UnixStream,
    teller: Teller<Ending>,
    is_finished: bool,
}

/// Ends a body from another thread.
pub struct Canceller(UnixStream);

impl std::fmt::Debug for BodySender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodySender").field("is_finished", &self.is_finished).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}

/// Creates both ends.
///
/// # Errors
/// Fails if the system has no more descriptors.
pub fn arriving() -> Outcome<(BodySender, Arriving)> {
    let (way, theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let (ending, teller) = answer()?;
    let file = Arc::new(HostFile::connection(theirs.into()));
    Ok((BodySender { way, teller, is_finished: false }, Arriving { file, ending: Arc::new(ending) }))
}

impl BodySender {
    /// Sends bytes; waits while the program does not read, at most `patience`.
    ///
    /// # Errors
    /// Fails if the program reads no more, or not in time.
    pub fn send(&mut self, bytes: &[u8], patience: Duration) -> io::Result<()> {
        self.way.set_write_timeout(Some(patience.max(Duration::from_millis(1))))?;
        self.way.write_all(bytes)
    }

    /// Returns what ends the body from another thread.
    ///
    /// # Errors
    /// Fails if the system has no more descriptors.
    pub fn canceller(&self) -> io::Result<Canceller> {
        self.way.try_clone().map(Canceller)
    }

    /// Ends the body.
    pub(super) fn end(mut self, ending: Ending) {
        self.tell(ending);
    }

    /// Ends the body, with its trailers or the error that ended it.
    pub fn finish(self, ending: Result<Headers, super::WireError>) {
        self.end(ending.map(Trailers::uncharged).map_err(ErrorCode::of_request));
    }

    fn tell(&mut self, ending: Ending) {
        self.is_finished = true;
        self.teller.tell(ending);
        // The other end may be closed already.
        let _ = self.way.shutdown(Shutdown::Both);
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        if !self.is_finished {
            self.tell(Err(ErrorCode::ConnectionTerminated));
        }
    }
}

impl Canceller {
    /// Ends the body: who sends gets an error.
    pub fn cancel(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
