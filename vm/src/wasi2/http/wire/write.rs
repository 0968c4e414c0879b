//! Serialization of messages.

use std::io::{self, Write};

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
    let mut out = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status)).into_bytes();
    fields(&mut out, &response.headers, &OF_CONNECTION);
    if !keeps_alive {
        out.extend(b"connection: close\r\n");
    }
    let has_none = matches!(response.status, 100..200 | 204 | 304);
    let body = if has_none || method == "HEAD" { &[][..] } else { &response.body };
    if !has_none {
        // In a response to `HEAD` a component may state the length of the omitted body.
        let said = response.headers.iter().find(|(name, _)| name == "content-length" && method == "HEAD");
        match said {
            Some((_, length)) if response.body.is_empty() => {
                out.extend([b"content-length: ", &length[..], b"\r\n"].concat());
            }
            _ => out.extend(format!("content-length: {}\r\n", response.body.len()).bytes()),
        }
    }
    out.extend(b"\r\n");
    to.write_all(&out)?;
    to.write_all(body)?;
    to.flush()
}

/// Writes a request, after which the connection ends.
///
/// # Errors
/// Returns the connection's error.
pub fn write_request(to: &mut impl Write, request: &Request) -> io::Result<()> {
    let path = request.path_with_query.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let host = request.authority.as_deref().unwrap_or_default();
    let mut out = format!("{} {path} HTTP/1.1\r\nhost: {host}\r\n", request.method).into_bytes();
    fields(&mut out, &request.headers, &[&OF_CONNECTION[..], &["host"]].concat());
    out.extend(b"connection: close\r\n");
    let may_have_none = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "DELETE" | "TRACE");
    if !request.body.is_empty() || !may_have_none {
        out.extend(format!("content-length: {}\r\n", request.body.len()).bytes());
    }
    out.extend(b"\r\n");
    to.write_all(&out)?;
    to.write_all(&request.body)?;
    to.flush()
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
