//! Serving: requests that arrive while a program runs, and responses that it still writes.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use super::incoming::{IncomingRequest, StreamedResponse};
use super::incoming_way::{Arriving, BodySender, arriving};
use super::message::Request;
use super::wire::{
    BodyPart, BodyReader, Framing, Lines, WireError, WireLimits, read_request_head, response_head, write_body,
};
use crate::wasi::system::System;
use crate::{Error, ErrorKind, Result};

/// A request, all of whose body may not have arrived.
pub struct StreamedRequest {
    /// The request, with what has arrived of its body.
    pub request: Request,
    arriving: Option<Arriving>,
}

impl std::fmt::Debug for StreamedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_arriving = self.arriving.is_some();
        f.debug_struct("StreamedRequest")
            .field("request", &self.request)
            .field("is_arriving", &is_arriving)
            .finish()
    }
}

impl From<Request> for StreamedRequest {
    fn from(request: Request) -> StreamedRequest {
        StreamedRequest { request, arriving: None }
    }
}

impl StreamedRequest {
    /// Creates a request whose body is sent while the program runs. The request's own body is not used.
    ///
    /// # Errors
    /// Fails if the system has no more descriptors.
    pub fn arriving(request: Request) -> Result<(StreamedRequest, BodySender)> {
        let failed =
            |_| Error::new(ErrorKind::Host, "the system has no descriptors for the body of a request");
        let (sender, arriving) = arriving().map_err(failed)?;
        Ok((StreamedRequest { request, arriving: Some(arriving) }, sender))
    }

    pub(super) fn into_incoming(self, system: &System) -> Result<IncomingRequest> {
        IncomingRequest::new(system, self.request, self.arriving)
    }
}

/// A request on a connection, and the rest of its body.
pub struct Incoming<'a, R> {
    /// The request, with its body if that is short.
    pub request: Request,
    /// Whether the peer may send another request.
    pub keeps_alive: bool,
    /// Whether the peer is of HTTP/1.1: only then bodies may be in chunks.
    pub is_1_1: bool,
    /// The body, if it is long.
    pub rest: Option<IncomingPieces<'a, R>>,
}

/// The body of a request, of which a part is still to be read.
pub struct IncomingPieces<'a, R> {
    lines: Lines<'a, R>,
    first: Vec<u8>,
    pieces: BodyReader,
}

impl<R> std::fmt::Debug for Incoming<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("request", &self.request).finish_non_exhaustive()
    }
}

impl<R> std::fmt::Debug for IncomingPieces<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncomingPieces").finish_non_exhaustive()
    }
}

/// Reads a request: as [`read_request`](super::read_request) if its body has at most `short` bytes, and else up to
/// there.
///
/// # Errors
/// Fails as [`read_request`](super::read_request) does.
pub fn read_incoming<'a, R: BufRead>(
    from: &'a mut R,
    reply: &mut impl Write,
    limits: &WireLimits,
    short: usize,
) -> std::result::Result<Option<Incoming<'a, R>>, WireError> {
    let mut lines = Lines::new(from, limits);
    let Some(head) = read_request_head(&mut lines, reply)? else { return Ok(None) };
    let (mut request, mut pieces) = (head.request, head.body);
    let mut first = Vec::new();
    let rest = loop {
        if first.len() > short {
            break Some(IncomingPieces { lines, first, pieces });
        }
        match pieces.next(&mut lines)? {
            BodyPart::Bytes(bytes) => first.extend(bytes),
            BodyPart::End(trailers) => {
                (request.body, request.trailers) = (first, trailers);
                break None;
            }
        }
    };
    Ok(Some(Incoming { request, keeps_alive: head.keeps_alive, is_1_1: head.is_1_1, rest }))
}

impl<R: BufRead> IncomingPieces<'_, R> {
    /// Passes the body on as it comes, and then what comes to nobody if the program reads no more. A program may not
    /// read for at most `patience`. Returns whether the whole body was read, so that another request may follow.
    pub fn pass_on(mut self, to: BodySender, patience: Duration) -> bool {
        let mut to = sent(to, &self.first, patience);
        loop {
            match self.pieces.next(&mut self.lines) {
                Ok(BodyPart::Bytes(bytes)) => to = to.and_then(|to| sent(to, &bytes, patience)),
                Ok(BodyPart::End(trailers)) => {
                    if let Some(to) = to {
                        to.finish(Ok(trailers));
                    }
                    return true;
                }
                Err(error) => {
                    if let Some(to) = to {
                        to.finish(Err(error));
                    }
                    return false;
                }
            }
        }
    }
}

/// Sends bytes; returns the sender unless the program reads no more.
fn sent(mut to: BodySender, bytes: &[u8], patience: Duration) -> Option<BodySender> {
    match to.send(bytes, patience) {
        Ok(()) => Some(to),
        Err(_) => {
            to.finish(Err(WireError::Incomplete));
            None
        }
    }
}

/// Writes a response to a request with a method as its body comes. Returns whether another request may follow on the
/// connection.
///
/// # Errors
/// Returns the connection's error, or one of the kind [`io::ErrorKind::UnexpectedEof`] if the program did not finish the
/// body: then the connection must end.
pub fn write_streamed(
    to: &mut impl Write,
    StreamedResponse { status, headers, mut body }: StreamedResponse,
    method: &str,
    (keeps_alive, is_1_1): (bool, bool),
) -> io::Result<bool> {
    let framing = match body.length() {
        Some(length) => Framing::Length(length),
        None if is_1_1 => Framing::Chunked,
        None => Framing::Close,
    };
    let keeps_alive = keeps_alive && framing != Framing::Close;
    to.write_all(&response_head((status, &headers), method, framing, keeps_alive))?;
    if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
        to.flush()?;
        // Nobody reads what the program writes.
        while let BodyPart::Bytes(_) = body.next()? {}
        return Ok(keeps_alive);
    }
    write_body(to, framing == Framing::Chunked, || body.next())?;
    Ok(keeps_alive)
}
