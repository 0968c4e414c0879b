//! Outgoing requests, each in its own thread, and a second one while a program still writes the body.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::body::IncomingBody;
use super::connection::Connection;
use super::incoming_way::{BodySender, arriving};
use super::message::{Headers, Request};
use super::outbox::Leaving;
use super::outgoing::IncomingResponse;
use super::values::{ErrorCode, Scheme};
use super::wire::{
    BodyPart, BodyReader, Framing, Lines, WireLimits, read_response_head, request_head, write_body,
};
use crate::wasi::budget::Charge;
use crate::wasi::fail::Fail;
use crate::wasi2::answer::Teller;

/// Maximum concurrent requests of all programs of this process.
const MOST_AT_ONCE: usize = 64;
/// Default timeout.
const USUAL: Duration = Duration::from_secs(60);
/// How often it is checked whether a body has been sent: only then the time for the first byte begins.
const SLICE: Duration = Duration::from_millis(100);
/// Bodies that are longer pass through as they come.
const SHORT: usize = 64 << 10;
/// Limits of a response. Its body passes through, so its length is limited only against mistakes.
const LIMITS: WireLimits = WireLimits { head: 128 << 10, fields: 500, body: isize::MAX as usize };

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// `request-options`
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// A response.
pub type Told = Result<IncomingResponse, ErrorCode>;

/// One of the requests that may run at once.
struct Place;

impl Drop for Place {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends a request with its body, and passes on the response when its head arrives.
pub fn send(request: Request, body: Leaving, (timeouts, charge): (Timeouts, Charge), teller: Teller<Told>) {
    let before = RUNNING.fetch_add(1, Ordering::Relaxed);
    let place = Arc::new(Place);
    if before >= MOST_AT_ONCE {
        return teller.tell(Err(ErrorCode::ConnectionLimitReached));
    }
    let work = {
        let teller = teller.clone();
        move || {
            let done = exchange(&request, (body, &place), (timeouts, charge), &teller);
            done.unwrap_or_else(|code| teller.tell(Err(code)));
        }
    };
    if thread::Builder::new().name("http".to_owned()).spawn(work).is_err() {
        teller.tell(Err(ErrorCode::InternalError(None)));
    }
}

/// Sends a request and receives the response.
///
/// # Errors
/// Fails as long as the program has not been told of a response.
fn exchange(
    request: &Request,
    (body, place): (Leaving, &Arc<Place>),
    (timeouts, charge): (Timeouts, Charge),
    teller: &Teller<Told>,
) -> Result<(), ErrorCode> {
    let authority = request.authority.as_deref().unwrap_or_default();
    let is_https = request.scheme.as_deref() == Some(Scheme::Https.name());
    let stream = Connection::open(authority, is_https, limited(timeouts.connect))?;
    let [first, next] = [timeouts.first_byte, timeouts.between_bytes].map(limited);
    let upload = Arc::new(Upload::default());
    begin(request, (body, place), (&stream, next), &upload)?;
    let timed = Timed { stream: stream.clone(), next: first, then: next, upload };
    let mut from = BufReader::new(timed);
    let mut lines = Lines::new(&mut from, &LIMITS);
    let received = read_response_head(&mut lines, &request.method).map_err(ErrorCode::from);
    let received = received.and_then(|response| receive(&mut lines, response, (charge, next), teller));
    let failed = from.get_ref().upload.take_failure();
    // A body that is still being sent has no purpose any more.
    stream.end();
    received.map_err(|code| failed.unwrap_or(code))
}

fn internal(_: io::Error) -> ErrorCode {
    ErrorCode::InternalError(None)
}

/// The state of the body that is being sent.
#[derive(Default)]
struct Upload {
    is_under_way: AtomicBool,
    failed: Mutex<Option<ErrorCode>>,
}

impl Upload {
    fn take_failure(&self) -> Option<ErrorCode> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Sends the head, and a body that is there; one that the program still writes in another thread.
fn begin(
    request: &Request,
    (mut body, place): (Leaving, &Arc<Place>),
    (stream, patience): (&Connection, Duration),
    upload: &Arc<Upload>,
) -> Result<(), ErrorCode> {
    let mut to = stream.clone();
    to.set_write_timeout(patience).map_err(internal)?;
    let framing = body.length().map_or(Framing::Chunked, Framing::Length);
    let head = request_head(request, framing);
    let is_under_way = body.is_under_way();
    let mut work = move || {
        to.write_all(&head)?;
        write_body(&mut to, framing == Framing::Chunked, || body.next()).inspect_err(|error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                // The program has dropped the body: half a request has no answer.
                to.end();
            }
        })
    };
    if !is_under_way {
        // A server may answer before it has read all.
        return work().or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Ok(()),
            _ => Err(of_write(&error)),
        });
    }
    upload.is_under_way.store(true, Ordering::SeqCst);
    let (upload, place) = (upload.clone(), place.clone());
    let in_thread = move || {
        let written = work();
        *upload.failed.lock().unwrap_or_else(PoisonError::into_inner) = written.err().as_ref().map(of_write);
        upload.is_under_way.store(false, Ordering::SeqCst);
        drop(place);
    };
    let spawned = thread::Builder::new().name("http".to_owned()).spawn(in_thread);
    spawned.map(drop).map_err(internal)
}

fn of_write(error: &io::Error) -> ErrorCode {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ErrorCode::ConnectionWriteTimeout,
        ErrorKind::UnexpectedEof => ErrorCode::HttpRequestBodySize(None),
        _ => ErrorCode::ConnectionTerminated,
    }
}

/// Passes on a response: short bodies as a whole, others as they come.
fn receive(
    lines: &mut Lines<'_, impl io::BufRead>,
    (status, headers, mut pieces): (u16, Headers, BodyReader),
    (mut charge, patience): (Charge, Duration),
    teller: &Teller<Told>,
) -> Result<(), ErrorCode> {
    let response = |headers, body| IncomingResponse { status, headers, body: Some(body) };
    if pieces.known_length().is_some_and(|length| length <= SHORT as u64) {
        let mut bytes = Vec::new();
        loop {
            match pieces.next(lines)? {
                BodyPart::Bytes(more) => bytes.extend(more),
                BodyPart::End(trailers) => {
                    if !charge.grow(bytes.len()) {
                        return Err(ErrorCode::HttpResponseBodySize(Some(bytes.len() as u64)));
                    }
                    teller.tell(Ok(response(headers, IncomingBody::new(bytes, trailers, Some(charge)))));
                    return Ok(());
                }
            }
        }
    }
    let (sender, arriving) = arriving().map_err(|_: Fail| ErrorCode::InternalError(None))?;
    teller.tell(Ok(response(headers, IncomingBody::arriving(arriving))));
    pass_on(lines, pieces, sender, patience);
    Ok(())
}

/// Passes on a body as it comes, until the program reads no more.
fn pass_on(
    lines: &mut Lines<'_, impl io::BufRead>,
    mut pieces: BodyReader,
    mut sender: BodySender,
    patience: Duration,
) {
    loop {
        match pieces.next(lines) {
            Ok(BodyPart::Bytes(bytes)) => {
                // A program may read as slowly as it likes, but it must.
                if sender.send(&bytes, patience.max(USUAL)).is_err() {
                    return;
                }
            }
            Ok(BodyPart::End(trailers)) => return sender.end(Ok(trailers)),
            Err(error) => return sender.end(Err(error.into())),
        }
    }
}

/// Limits a timeout: the system accepts no zero.
fn limited(time: Option<Duration>) -> Duration {
    time.unwrap_or(USUAL).clamp(Duration::from_millis(1), USUAL * 10)
}

/// A connection with a separate timeout for the first bytes, whose time begins when the body has been sent.
struct Timed {
    stream: Connection,
    next: Duration,
    then: Duration,
    upload: Arc<Upload>,
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let is_under_way = self.upload.is_under_way.load(Ordering::SeqCst);
            self.stream.set_read_timeout(if is_under_way { SLICE } else { self.next })?;
            match self.stream.read(to) {
                Err(error) if is_under_way && is_late(&error) => {}
                read => {
                    let len = read?;
                    self.next = self.then;
                    return Ok(len);
                }
            }
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
