//! Lines with limits, and the errors of malformed HTTP.

use std::io::{self, BufRead, ErrorKind, Read};

/// The limits of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimits {
    /// Bytes of the first line and all fields, trailers included.
    pub head: usize,
    /// Maximum number of fields.
    pub fields: usize,
    /// Bytes of the body.
    pub body: usize,
}

impl Default for WireLimits {
    /// Returns 64 KiB of head in at most 200 fields, and 16 MiB of body.
    fn default() -> Self {
        WireLimits { head: 64 << 10, fields: 200, body: 16 << 20 }
    }
}

/// The reason why there is no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are not HTTP, or are ambiguous.
    #[error("not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// The fields are too long or too many.
    #[error("the head of the message is too long: {0} bytes are allowed")]
    Head(usize),
    /// The body is too long.
    #[error("the body of the message is too long: {0} bytes are allowed")]
    Body(usize),
    /// The message has another version.
    #[error("the message is of another version of HTTP: send HTTP/1.1 or 1.0")]
    Version,
    /// The body has an unknown transfer coding.
    #[error("the body of the message has an unknown transfer coding: send chunked")]
    Coding,
    /// The connection ended before the message.
    #[error("the connection ended before the message")]
    Incomplete,
    /// The message did not arrive in time.
    #[error("the message did not come in time")]
    Timeout,
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(io::Error),
}

impl WireError {
    /// Returns the status that answers a malformed request; `None` if nobody can receive an answer.
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

/// Reads lines, and charges them to the limit.
pub struct Lines<'a, R> {
    from: &'a mut R,
    pub limits: WireLimits,
    /// Bytes left for lines.
    left: usize,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub fn new(from: &'a mut R, limits: &WireLimits) -> Self {
        Lines { from, limits: *limits, left: limits.head }
    }

    /// Returns the first line of a message, behind an empty line that some clients send; `None` if the connection has
    /// ended.
    pub fn first(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if self.from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        match self.next()? {
            line if line.is_empty() => self.next().map(Some),
            line => Ok(Some(line)),
        }
    }

    /// Returns the next line without its end, CR LF.
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

    /// Returns some bytes that have arrived, at most `most` and a buffer; none if the connection has ended.
    pub fn some(&mut self, most: u64) -> Result<Vec<u8>, WireError> {
        let there = loop {
            match self.from.fill_buf() {
                Ok(there) => break there,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        let len = there.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let bytes = there[..len].to_vec();
        self.from.consume(len);
        Ok(bytes)
    }

    /// Returns a line of a chunked body; these are short and have their own limit.
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
