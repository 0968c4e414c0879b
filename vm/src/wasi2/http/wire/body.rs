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

/// Reads a body and its trailers.
///
/// # Errors
/// Fails if it is too long, incomplete, or has malformed chunks.
pub fn read_body(
    lines: &mut Lines<'_, impl BufRead>,
    length: Length,
) -> Result<(Vec<u8>, Headers), WireError> {
    let limit = lines.limits.body;
    match length {
        Length::Chunked => chunked(lines, limit),
        Length::Open => Ok((lines.rest(limit)?, Headers::new())),
        Length::Known(length) => {
            let length = usize::try_from(length).ok().filter(|length| *length <= limit);
            let mut body = Vec::new();
            lines.bytes(length.ok_or(WireError::Body(limit))?, &mut body)?;
            Ok((body, Headers::new()))
        }
    }
}

fn chunked(lines: &mut Lines<'_, impl BufRead>, limit: usize) -> Result<(Vec<u8>, Headers), WireError> {
    let mut body = Vec::new();
    loop {
        let length = chunk_length(&lines.chunk_line()?)?;
        if length == 0 {
            return Ok((body, read_fields(lines)?));
        }
        let room = (limit - body.len()) as u64;
        if length > room {
            return Err(WireError::Body(limit));
        }
        lines.bytes(length as usize, &mut body)?;
        if !lines.chunk_line()?.is_empty() {
            return Err(WireError::Malformed("a chunk is longer than it says"));
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
