//! HTTP/1.1 on a connection: requests and responses as bytes.
//!
//! Input: bytes from any peer. Output: whole [`Request`](super::Request)s and [`Response`](super::Response)s, or an
//! error. Nothing is guessed: ambiguous input, such as two lengths of one body, is rejected.
//!
//! Invariant: nothing grows beyond the limits, whatever the peer sends.
//!
//! Source: RFC 9112; RFC 9110 for names and values of fields.

mod body;
mod head;
mod lines;
mod write;

use std::io::{BufRead, Write};

pub use body::{BodyPart, BodyReader};
pub use head::{is_token, is_value};
pub use lines::{Lines, WireError, WireLimits};
pub use write::{Framing, request_head, response_head, write_body, write_request, write_response};

use super::message::{Headers, Request, Response};
use body::{Length, read_rest};
use head::{read_fields, request_line, status_line};

/// A request, with its connection options.
#[derive(Debug)]
pub struct Received {
    /// The request.
    pub request: Request,
    /// Whether the peer may send another request.
    pub keeps_alive: bool,
}

/// The beginning of a request, up to its body.
pub struct RequestHead {
    /// The request without its body.
    pub request: Request,
    /// Whether the peer may send another request.
    pub keeps_alive: bool,
    /// Whether the peer knows chunks.
    pub is_1_1: bool,
    pub body: BodyReader,
}

/// Reads the head of a request; `None` if the connection ends before one begins. A client that expects permission to
/// send a body gets it through `reply`.
///
/// # Errors
/// Fails as [`read_request`] does.
pub fn read_request_head(
    lines: &mut Lines<'_, impl BufRead>,
    reply: &mut impl Write,
) -> Result<Option<RequestHead>, WireError> {
    let Some(line) = lines.first()? else { return Ok(None) };
    let line = request_line(&line)?;
    let headers = read_fields(lines)?;
    let (authority, path_with_query) = line.target(&headers)?;
    let length = Length::of_request(&headers)?;
    let body = BodyReader::new(length, lines.limits.body)?;
    if line.is_1_1 && length != Length::Known(0) && has_word(&headers, "expect", "100-continue") {
        reply.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").and_then(|()| reply.flush())?;
    }
    let keeps_alive = match line.is_1_1 {
        true => !has_word(&headers, "connection", "close"),
        false => has_word(&headers, "connection", "keep-alive"),
    };
    let is_1_1 = line.is_1_1;
    let request = Request { method: line.method, authority, path_with_query, headers, ..Request::default() };
    Ok(Some(RequestHead { request, keeps_alive, is_1_1, body }))
}

/// Reads a request; `None` if the connection ends before one begins. A client that expects permission to send a body
/// gets it through `reply`.
///
/// # Errors
/// Fails if the request is malformed, or larger than allowed: [`WireError::status`] is the status to answer.
pub fn read_request(
    from: &mut impl BufRead,
    reply: &mut impl Write,
    limits: &WireLimits,
) -> Result<Option<Received>, WireError> {
    let mut lines = Lines::new(from, limits);
    let Some(mut head) = read_request_head(&mut lines, reply)? else { return Ok(None) };
    let (body, trailers) = read_rest(&mut lines, &mut head.body)?;
    Ok(Some(Received { request: Request { body, trailers, ..head.request }, keeps_alive: head.keeps_alive }))
}

/// Reads the head of the response to a request with a method, skipping interim responses. Returns the status, the
/// fields, and the body that follows.
///
/// # Errors
/// Fails as [`read_response`] does.
pub fn read_response_head(
    lines: &mut Lines<'_, impl BufRead>,
    method: &str,
) -> Result<(u16, Headers, BodyReader), WireError> {
    loop {
        let line = lines.first()?.ok_or(WireError::Incomplete)?;
        let status = status_line(&line)?;
        let headers = read_fields(lines)?;
        if (100..200).contains(&status) {
            if status == 101 {
                return Err(WireError::Malformed("the server switches protocols"));
            }
            continue;
        }
        let has_none = method == "HEAD" || matches!(status, 204 | 304);
        let length = if has_none { Length::Known(0) } else { Length::of_response(&headers)? };
        let body = BodyReader::new(length, lines.limits.body)?;
        return Ok((status, headers, body));
    }
}

/// Reads the response to a request with a method, skipping interim responses.
///
/// # Errors
/// Fails if the response is malformed, incomplete, or larger than allowed.
pub fn read_response(
    from: &mut impl BufRead,
    method: &str,
    limits: &WireLimits,
) -> Result<Response, WireError> {
    let mut lines = Lines::new(from, limits);
    let (status, headers, mut pieces) = read_response_head(&mut lines, method)?;
    let (body, trailers) = read_rest(&mut lines, &mut pieces)?;
    Ok(Response { status, headers, body, trailers })
}

/// Reports whether a field that is a list of words contains a word.
fn has_word(headers: &[(String, Vec<u8>)], name: &str, word: &str) -> bool {
    let values = headers.iter().filter(|(found, _)| found == name).map(|(_, value)| value);
    let mut words = values.flat_map(|value| value.split(|&byte| byte == b','));
    words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}
