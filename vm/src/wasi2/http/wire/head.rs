//! The head of a message: its first line and fields.

use std::io::BufRead;

use super::lines::{Lines, WireError};
use crate::wasi2::http::message::Headers;

/// The first line of a request.
pub struct RequestLine {
    pub method: String,
    target: String,
    pub is_1_1: bool,
}

/// Reports whether bytes are a token: a method or the name of a field.
pub fn is_token(bytes: &[u8]) -> bool {
    let is_one = |&byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !bytes.is_empty() && bytes.iter().all(is_one)
}

/// Reports whether bytes can be the value of a field.
pub fn is_value(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == b'\t' || byte >= b' ' && byte != 0x7f)
}

/// # Errors
/// Fails if it is not a request line.
pub fn request_line(line: &[u8]) -> Result<RequestLine, WireError> {
    let malformed = || WireError::Malformed("the first line is no METHOD TARGET VERSION");
    let [method, target, version] = line.split(|&byte| byte == b' ').collect::<Vec<_>>()[..] else {
        return Err(malformed());
    };
    let is_1_1 = is_1_1(version)?;
    if !is_token(method) || target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err(malformed());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(RequestLine { method: text(method), target: text(target), is_1_1 })
}

fn is_1_1(version: &[u8]) -> Result<bool, WireError> {
    match version {
        b"HTTP/1.1" => Ok(true),
        b"HTTP/1.0" => Ok(false),
        [b'H', b'T', b'T', b'P', b'/', _, b'.', _] => Err(WireError::Version),
        _ => Err(WireError::Malformed("the version is no HTTP/1.1")),
    }
}

/// Returns the status of a response.
///
/// # Errors
/// Fails if it is not a status line.
pub fn status_line(line: &[u8]) -> Result<u16, WireError> {
    let malformed = || WireError::Malformed("the first line is no VERSION STATUS REASON");
    let (version, rest) = line.split_at_checked(8).ok_or_else(malformed)?;
    is_1_1(version)?;
    status(rest).ok_or_else(malformed)
}

/// Parses ` 200 OK` or ` 200`.
fn status(rest: &[u8]) -> Option<u16> {
    let (digits, reason) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
    let is_end = reason.is_empty() || reason.starts_with(b" ");
    let is_number = digits.iter().all(u8::is_ascii_digit) && digits[0] != b'0';
    let number = std::str::from_utf8(digits).ok().filter(|_| is_end && is_number)?;
    number.parse().ok()
}

/// Reads the fields up to an empty line, with names in lower case.
///
/// # Errors
/// Fails if one is malformed, or if there are too many.
pub fn read_fields(lines: &mut Lines<'_, impl BufRead>) -> Result<Headers, WireError> {
    let mut fields = Headers::new();
    loop {
        let line = lines.next()?;
        if line.is_empty() {
            return Ok(fields);
        }
        if fields.len() == lines.limits.fields {
            return Err(WireError::Head(lines.limits.head));
        }
        // A line that begins with a space would continue the previous one, and a name with a space before the colon
        // would be another field: both have been used for request smuggling.
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = colon.map(|at| (&line[..at], &line[at + 1..])).unwrap_or((&[], &[]));
        if !is_token(name) || !is_value(value) {
            return Err(WireError::Malformed("a line is no NAME: VALUE"));
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        fields.push((name, value.trim_ascii().to_vec()));
    }
}

impl RequestLine {
    /// Returns the requested host, and the path on it.
    ///
    /// # Errors
    /// Fails if either is ambiguous.
    pub fn target(&self, headers: &Headers) -> Result<(Option<String>, Option<String>), WireError> {
        let mut hosts = headers.iter().filter(|(name, _)| name == "host");
        let host = match (hosts.next(), hosts.next()) {
            (Some((_, host)), None) => Some(authority(host)?),
            (None, _) if !self.is_1_1 => None,
            _ => return Err(WireError::Malformed("there must be one Host")),
        };
        if self.method == "CONNECT" {
            return Ok((Some(authority(self.target.as_bytes())?), None));
        }
        if self.target.starts_with('/') || self.target == "*" && self.method == "OPTIONS" {
            return Ok((host, Some(self.target.clone())));
        }
        let rest = self.target.split_once("://").filter(|(scheme, _)| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        });
        let (_, rest) = rest.ok_or(WireError::Malformed("the target is no path"))?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (of_target, path) = rest.split_at(end);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok((Some(authority(of_target.as_bytes())?), Some(path)))
    }
}

/// Parses `host:port`, or `host` alone.
fn authority(bytes: &[u8]) -> Result<String, WireError> {
    let is_part = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:[]%!$&'()*+,;=".contains(&byte);
    match bytes.iter().all(is_part) {
        true => Ok(String::from_utf8_lossy(bytes).into_owned()),
        false => Err(WireError::Malformed("the host is none")),
    }
}
