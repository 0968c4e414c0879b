//! Bodies: their lengths, and their chunks.

use std::io::BufRead;

use super::has_word;
use super::head::read_fields;
use super::lines::{Lines, WireError};
use crate::wasi2::http::message::Headers;

/// The length of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Known(u64),
    Chunked,
    /// Unknown: the body ends with the connection.
    Open,
}

impl Length {
    /// # Errors
    /// Fails if the length is ambiguous.
    pub fn of_request(headers: &Headers) -> Result<Length, WireError> {
        Ok(Length::from_headers(headers)?.unwrap_or(Length::Known(0)))
    }

    /// # Errors
    /// Fails if the length is ambiguous.
    pub fn of_response(headers: &Headers) -> Result<Length, WireError> {
        Ok(Length::from_headers(headers)?.unwrap_or(Length::Open))
    }

    fn from_headers(headers: &Headers) -> Result<Option<Length>, WireError> {
        let values = |name: &'static str| headers.iter().filter(move |(found, _)| found == name);
        let codings = values("transfer-encoding").count();
        let mut lengths = values("content-length").map(|(_, value)| length(value));
        match (codings, lengths.next()) {
            (0, None) => Ok(None),
            (0, Some(first)) => {
                let first = first?;
                match lengths.all(|other| other.is_ok_and(|other| other == first)) {
                    true => Ok(Some(Length::Known(first))),
                    false => Err(WireError::Malformed("the body has several lengths")),
                }
            }
            (1, None) => {
                let is_chunked = values("transfer-encoding")
                    .all(|(_, value)| value.trim_ascii().eq_ignore_ascii_case(b"chunked"));
                debug_assert!(!is_chunked || has_word(headers, "transfer-encoding", "chunked"));
                if is_chunked { Ok(Some(Length::Chunked)) } else { Err(WireError::Coding) }
            }
            (_, None) => Err(WireError::Coding),
            (_, Some(_)) => Err(WireError::Malformed("the body has a length and is chunked")),
        }
    }
}

/// Parses a length of digits only: readers differ in their treatment of signs and spaces.
fn length(value: &[u8]) -> Result<u64, WireError> {
    let text = std::str::from_utf8(value).ok();
    let digits = text.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|text| text.parse().ok())
        .ok_or(WireError::Malformed("the length of the body is no number"))
}

/// A body that is read piece by piece.
pub struct BodyReader {
    state: State,
    limit: usize,
    /// The bytes that have been read.
    total: u64,
}

/// What comes next.
enum State {
    /// So many bytes of the body.
    Known(u64),
    /// The rest of a chunk; behind its last byte an empty line.
    Chunk(u64),
    /// The line before a chunk.
    ChunkLine,
    /// Everything until the connection ends.
    Open,
    Over,
}

/// A part of a body.
pub enum BodyPart {
    Bytes(Vec<u8>),
    /// There is no more; these are the trailers.
    End(Headers),
}

impl BodyReader {
    /// # Errors
    /// Fails if the body is too long.
    pub fn new(length: Length, limit: usize) -> Result<BodyReader, WireError> {
        let state = match length {
            Length::Known(length) if length > limit as u64 => return Err(WireError::Body(limit)),
            Length::Known(length) => State::Known(length),
            Length::Chunked => State::ChunkLine,
            Length::Open => State::Open,
        };
        Ok(BodyReader { state, limit, total: 0 })
    }

    /// Returns the number of bytes that are left, if the message says it.
    pub fn known_length(&self) -> Option<u64> {
        if let State::Known(left) = self.state { Some(left) } else { None }
    }

    /// Returns what has arrived next; waits until something has.
    ///
    /// # Errors
    /// Fails if the body is too long, incomplete, or has malformed chunks.
    pub fn next(&mut self, lines: &mut Lines<'_, impl BufRead>) -> Result<BodyPart, WireError> {
        loop {
            match self.state {
                State::Over => return Ok(BodyPart::End(Headers::new())),
                State::Known(0) => self.state = State::Over,
                State::Chunk(0) => {
                    if !lines.chunk_line()?.is_empty() {
                        return Err(WireError::Malformed("a chunk is longer than it says"));
                    }
                    self.state = State::ChunkLine;
                }
                State::ChunkLine => match chunk_length(&lines.chunk_line()?)? {
                    0 => {
                        self.state = State::Over;
                        return Ok(BodyPart::End(read_fields(lines)?));
                    }
                    length if length > self.limit as u64 - self.total => {
                        return Err(WireError::Body(self.limit));
                    }
                    length => self.state = State::Chunk(length),
                },
                State::Known(left) | State::Chunk(left) => {
                    let bytes = lines.some(left)?;
                    if bytes.is_empty() {
                        return Err(WireError::Incomplete);
                    }
                    self.total += bytes.len() as u64;
                    let left = left - bytes.len() as u64;
                    self.state = match self.state {
                        State::Known(_) => State::Known(left),
                        _ => State::Chunk(left),
                    };
                    return Ok(BodyPart::Bytes(bytes));
                }
                State::Open => {
                    let bytes = lines.some(u64::MAX)?;
                    self.total += bytes.len() as u64;
                    if self.total > self.limit as u64 {
                        return Err(WireError::Body(self.limit));
                    }
                    if !bytes.is_empty() {
                        return Ok(BodyPart::Bytes(bytes));
                    }
                    self.state = State::Over;
                }
            }
        }
    }
}

/// Reads the rest of a body and its trailers.
///
/// # Errors
/// Fails as [`BodyReader::next`] does.
pub fn read_rest(
    lines: &mut Lines<'_, impl BufRead>,
    pieces: &mut BodyReader,
) -> Result<(Vec<u8>, Headers), WireError> {
    let mut body = Vec::new();
    loop {
        match pieces.next(lines)? {
            BodyPart::Bytes(bytes) => body.extend(bytes),
            BodyPart::End(trailers) => return Ok((body, trailers)),
        }
    }
}

/// Returns the length of a chunk, in hexadecimal; extensions behind it are ignored.
fn chunk_length(line: &[u8]) -> Result<u64, WireError> {
    let malformed = WireError::Malformed("the length of a chunk is no number");
    let end = line.iter().position(|&byte| byte == b';').unwrap_or(line.len());
    let digits = line[..end].trim_ascii_end();
    if digits.is_empty() || digits.len() > 16 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(malformed);
    }
    let text = std::str::from_utf8(digits).unwrap_or_default();
    u64::from_str_radix(text, 16).map_err(|_| malformed)
}
