//! Lines with limits, and why what was read is not HTTP.

use std::io::{self, BufRead, ErrorKind, Read};

/// How much of a message is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimits {
    /// Bytes of the first line and all fields, trailers included.
    pub head: usize,
    /// How many fields.
    pub fields: usize,
    /// Bytes of the body.
    pub body: usize,
}

impl Default for WireLimits {
    /// 64 KiB of head in at most 200 fields, and 16 MiB of body.
    fn default() -> Self {
        WireLimits { head: 64 << 10, fields: 200, body: 16 << 20 }
    }
}

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is not HTTP, or can be understood in several ways.
    #[error("not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// Its fields are too long or too many.
    #[error("the head of the message is too long: {0} bytes are allowed")]
    Head(usize),
    /// Its body is too long.
    #[error("the body of the message is too long: {0} bytes are allowed")]
    Body(usize),
    /// It is of another version.
    #[error("the message is of another version of HTTP: send HTTP/1.1 or 1.0")]
    Version,
    /// Its body is encoded in a way that is not known.
    #[error("the body of the message has an unknown transfer coding: send chunked")]
    Coding,
    /// The connection ended before it did.
    #[error("the connection ended before the message")]
    Incomplete,
    /// It did not come in time.
    #[error("the message did not come in time")]
    Timeout,
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(io::Error),
}

impl WireError {
    /// The status with which a request that is none is answered; nothing if nobody is there to get an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            WireError::Malformed(_) => Some(400),
            WireError::Head(_) => Some(431),
            WireError::Body(_) => Some(413),
            WireError::Version => Some(505),
            WireError::Coding => Some(501),
            WireError::Timeout => Some(408),
            WireError::Incomplete | WireError::Io(_) => None,
        }
    }
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> WireError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => WireError::Timeout,
            ErrorKind::UnexpectedEof => WireError::Incomplete,
            _ => WireError::Io(error),
        }
    }
}

/// Reads lines, and counts what they take of the limit.
pub struct Lines<'a, R> {
    from: &'a mut R,
    pub limits: WireLimits,
    /// Bytes that lines may still take.
    left: usize,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub fn new(from: &'a mut R, limits: &WireLimits) -> Self {
        Lines { from, limits: *limits, left: limits.head }
    }

    /// The first line of a message, behind an empty one that some send; nothing if the connection has ended.
    pub fn first(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if self.from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        match self.next()? {
            line if line.is_empty() => self.next().map(Some),
            line => Ok(Some(line)),
        }
    }

    /// The next line without its end, which is CR LF.
    pub fn next(&mut self) -> Result<Vec<u8>, WireError> {
        let mut line = Vec::new();
        let mut limited = self.from.by_ref().take(self.left as u64);
        let len = limited.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(if len == self.left {
                WireError::Head(self.limits.head)
            } else {
                WireError::Incomplete
            });
        }
        self.left -= len;
        if line.pop() != Some(b'\r') {
            return Err(WireError::Malformed("a line does not end with CR LF"));
        }
        Ok(line)
    }

    /// So many bytes, appended to others.
    pub fn bytes(&mut self, len: usize, to: &mut Vec<u8>) -> Result<(), WireError> {
        // What is promised takes no memory before it is there.
        let read = self.from.by_ref().take(len as u64).read_to_end(to)?;
        if read == len { Ok(()) } else { Err(WireError::Incomplete) }
    }

    /// All that comes until the connection ends, if it is no longer than allowed.
    pub fn rest(&mut self, limit: usize) -> Result<Vec<u8>, WireError> {
        let mut all = Vec::new();
        self.from.by_ref().take(limit as u64 + 1).read_to_end(&mut all)?;
        if all.len() > limit { Err(WireError::Body(limit)) } else { Ok(all) }
    }

    /// Lines of a chunked body have a limit of their own: each is short.
    pub fn chunk_line(&mut self) -> Result<Vec<u8>, WireError> {
        const LONGEST: usize = 256;
        let before = std::mem::replace(&mut self.left, LONGEST);
        let line = self.next();
        self.left = before;
        line.map_err(|error| match error {
            WireError::Head(_) => WireError::Malformed("the line of a chunk is too long"),
            error => error,
        })
    }
}
