//! HTTP/1.1 requests and replies, one per connection.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// The maximum size of a body, which holds the counters of an instance or a module.
const MAX_BODY: usize = 1 << 30;
/// The maximum size of a request before its body.
const MAX_HEAD: u64 = 1 << 16;
/// How long a client may keep the server waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request, without its body.
#[derive(Debug, Default)]
pub struct Request {
    /// The method: `GET`, `POST`, …
    pub method: String,
    /// The unescaped path.
    pub path: String,
    /// The query, behind the question mark.
    pub query: String,
    /// The requested host, with the port.
    pub host: String,
    /// The destination of the response in the browser (`Sec-Fetch-Dest`): `document`, `worker`, …
    pub wanted_for: String,
    length: usize,
}

/// A reply.
#[derive(Debug)]
pub struct Reply<'a> {
    /// The status: number and reason.
    pub status: &'a str,
    /// The media type of the body.
    pub kind: &'a str,
    /// Additional header lines, each with its line end.
    pub head: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Limits how long a client may keep the server waiting.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn prepare(stream: &TcpStream) -> Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream.set_write_timeout(Some(PATIENCE))?)
}

impl Request {
    /// Reads the head of a request; returns `None` if the connection closes first: browsers open connections ahead.
    ///
    /// # Errors
    /// Returns an error if the input is not HTTP, or takes too long.
    pub fn read(reader: &mut impl BufRead) -> Result<Option<Request>> {
        let mut lines = reader.by_ref().take(MAX_HEAD).lines();
        let Some(Ok(first)) = lines.next() else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            bail!("not an HTTP request: {first}")
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Request {
            method: method.to_owned(),
            path: unescaped(path),
            query: query.to_owned(),
            ..Request::default()
        };
        for line in lines {
            let line = line?;
            if line.is_empty() {
                return Ok(Some(request));
            }
            request.header(&line)?;
        }
        bail!("a request ended too early")
    }

    fn header(&mut self, line: &str) -> Result<()> {
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                self.length = value.parse().context("the length of a request is no number")?;
            }
            "host" => value.clone_into(&mut self.host),
            "sec-fetch-dest" => value.clone_into(&mut self.wanted_for),
            _ => {}
        }
        Ok(())
    }

    /// Reads the body of the request.
    ///
    /// # Errors
    /// Returns an error if the body is too long, or does not arrive.
    pub fn body(&self, reader: &mut impl Read) -> Result<Vec<u8>> {
        ensure!(self.length <= MAX_BODY, "a request has more than {MAX_BODY} bytes");
        let mut body = Vec::new();
        reader.by_ref().take(self.length as u64).read_to_end(&mut body)?;
        ensure!(body.len() == self.length, "a request ended too early");
        Ok(body)
    }
}

/// Removes the escapes from a path; invalid escapes stay.
fn unescaped(path: &str) -> String {
    let bytes = path.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Reply<'_> {
    /// Sends the reply.
    ///
    /// # Errors
    /// Returns an error if the client does not accept it.
    pub fn send(&self, mut stream: &TcpStream) -> Result<()> {
        let Reply { status, kind, head, body } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: {kind}\r\n{head}Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        Ok(stream.write_all(body)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_nonsense_is_refused() {
        let mut text = &b"POST /a%20b%zz?x=1 HTTP/1.1\r\nHost: here:1\r\nContent-Length: 2\r\n\r\nhi!"[..];
        let request = Request::read(&mut text).expect("a request").expect("one");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a b%zz"));
        assert_eq!((request.query.as_str(), request.host.as_str()), ("x=1", "here:1"));
        assert_eq!(request.body(&mut text).expect("a body"), b"hi");
        assert!(Request::read(&mut &b""[..]).expect("nothing").is_none());
        assert!(Request::read(&mut &b"nonsense\r\n\r\n"[..]).is_err());
        assert!(Request::read(&mut &b"GET / HTTP/1.1\r\nHost: x"[..]).is_err());
        assert!(Request::read(&mut &b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"[..]).is_err());
    }
}
