//! Serialization of messages.

use std::io::{self, Write};

use super::body::BodyPart;
use crate::wasi2::http::message::{Headers, Request, Response};

/// Fields about the encoding of the body, which this module sets itself.
const OF_CONNECTION: [&str; 4] = ["content-length", "transfer-encoding", "connection", "keep-alive"];

/// Writes a response to a request with a method. A response to `HEAD` has no body, but has its length.
///
/// # Errors
/// Returns the connection's error.
pub fn write_response(
    to: &mut impl Write,
    response: &Response,
    method: &str,
    keeps_alive: bool,
) -> io::Result<()> {
    let (status, length) = (response.status, response.body.len() as u64);
    let out = response_head((status, &response.headers), method, Framing::Length(length), keeps_alive);
    let has_none = is_without_body(status) || method == "HEAD";
    to.write_all(&out)?;
    to.write_all(if has_none { &[] } else { &response.body })?;
    to.flush()
}

/// How the receiver finds the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
    /// By the end of the connection, for clients that know no chunks.
    Close,
}

/// Reports whether a response with this status has no body, whatever its headers say.
fn is_without_body(status: u16) -> bool {
    matches!(status, 100..200 | 204 | 304)
}

/// Returns the head of a response to a request with a method.
pub fn response_head(
    (status, headers): (u16, &Headers),
    method: &str,
    framing: Framing,
    keeps_alive: bool,
) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
    fields(&mut out, headers, &OF_CONNECTION);
    if !keeps_alive {
        out.extend(b"connection: close\r\n");
    }
    if !is_without_body(status) {
        // In a response to `HEAD` a component may state the length of the omitted body.
        let said = headers.iter().find(|(name, _)| name == "content-length" && method == "HEAD");
        match (said, framing) {
            (Some((_, said)), Framing::Length(0) | Framing::Chunked | Framing::Close) => {
                out.extend([b"content-length: ", &said[..], b"\r\n"].concat());
            }
            (_, Framing::Length(length)) => out.extend(format!("content-length: {length}\r\n").bytes()),
            (_, Framing::Chunked) => out.extend(b"transfer-encoding: chunked\r\n"),
            (_, Framing::Close) => {}
        }
    }
    out.extend(b"\r\n");
    out
}

/// Writes a request, after which the connection ends.
///
/// # Errors
/// Returns the connection's error.
pub fn write_request(to: &mut impl Write, request: &Request) -> io::Result<()> {
    to.write_all(&request_head(request, Framing::Length(request.body.len() as u64)))?;
    to.write_all(&request.body)?;
    to.flush()
}

/// Returns the head of a request, after which the connection ends.
pub fn request_head(request: &Request, framing: Framing) -> Vec<u8> {
    let path = request.path_with_query.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let host = request.authority.as_deref().unwrap_or_default();
    let mut out = format!("{} {path} HTTP/1.1\r\nhost: {host}\r\n", request.method).into_bytes();
    fields(&mut out, &request.headers, &[&OF_CONNECTION[..], &["host"]].concat());
    out.extend(b"connection: close\r\n");
    let may_have_none = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "DELETE" | "TRACE");
    match framing {
        Framing::Length(0) if may_have_none => {}
        Framing::Length(length) => out.extend(format!("content-length: {length}\r\n").bytes()),
        Framing::Chunked | Framing::Close => out.extend(b"transfer-encoding: chunked\r\n"),
    }
    out.extend(b"\r\n");
    out
}

/// Writes a body, in chunks if it has no length, as it comes from `next`: bytes, or the trailers at its end. What has
/// come is sent at once.
///
/// # Errors
/// Returns the connection's error, or that of `next`: then the peer finds the body incomplete.
pub fn write_body(
    to: &mut impl Write,
    is_chunked: bool,
    mut next: impl FnMut() -> io::Result<BodyPart>,
) -> io::Result<()> {
    loop {
        match next()? {
            BodyPart::Bytes(bytes) if is_chunked => {
                to.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat())?;
            }
            BodyPart::Bytes(bytes) => to.write_all(&bytes)?,
            BodyPart::End(trailers) if is_chunked => {
                let mut out = b"0\r\n".to_vec();
                fields(&mut out, &trailers, &OF_CONNECTION);
                out.extend(b"\r\n");
                to.write_all(&out)?;
                return to.flush();
            }
            BodyPart::End(_) => return to.flush(),
        }
        to.flush()?;
    }
}

fn fields(out: &mut Vec<u8>, headers: &Headers, without: &[&str]) {
    for (name, value) in headers.iter().filter(|(name, _)| !without.contains(&name.as_str())) {
        out.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
