//! Outgoing requests, each in its own thread, and a second one while a program still writes the body.

use std::cell::Cell;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::body::{IncomingBody, Leases};
use super::cancel::{Cancel, Guard};
use super::connection::{Connection, Reach};
use super::fields::{Trailers, cost};
use super::incoming_way::{BodySender, arriving};
use super::message::{Headers, Request};
use super::outbox::Leaving;
use super::outgoing::IncomingResponse;
use super::values::{ErrorCode, Scheme};
use super::wire::{
    BodyPart, BodyReader, Framing, Lines, WireLimits, read_response_head, request_head, write_body,
};
use crate::wasi::budget::{Budget, Charge, Place, Places};
use crate::wasi::fail::Fail;
use crate::wasi::network::MayReach;
use crate::wasi2::answer::Teller;

/// Default timeout.
const USUAL: Duration = Duration::from_secs(60);
/// How often it is checked whether a body has been sent: only then the time for the head begins.
const SLICE: Duration = Duration::from_millis(100);
/// Bodies that are longer pass through as they come.
const SHORT: usize = 64 << 10;
/// Limits of a response. Its body passes through, so its length is limited only against mistakes.
const LIMITS: WireLimits = WireLimits { head: 128 << 10, fields: 500, body: isize::MAX as usize };

/// The places of the requests of all programs of this process.
static PLACES: Places = Places::new();

/// `request-options`
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// A response.
pub type Told = Result<IncomingResponse, ErrorCode>;

/// What a request may use of its program's host.
pub struct Means {
    pub timeouts: Timeouts,
    /// The part of the budget of bodies.
    pub bodies: Charge,
    /// The budget of heads.
    pub heads: Budget,
    /// The program's share of the places.
    pub places: Budget,
    pub open_files: Budget,
    /// The check of the server's address, if there is one.
    pub reaches: Option<Arc<MayReach>>,
    pub cancel: Cancel,
    /// The parts of the budget of heads that the request itself takes.
    pub _of_head: (Charge, Charge),
}

/// Sends a request with its body, and passes on the response when its head arrives. Who drops the request's future, the
/// body of the response, or the store, ends it.
pub fn send(request: Request, body: Leaving, means: Means, teller: Teller<Told>) {
    if means.cancel.is_over() {
        return teller.tell(Err(ErrorCode::ConnectionTerminated));
    }
    let Some(place) = PLACES.take(&means.places).map(Arc::new) else {
        return teller.tell(Err(ErrorCode::ConnectionLimitReached));
    };
    let work = {
        let teller = teller.clone();
        move || {
            let guard = Guard(means.cancel.clone());
            let done = exchange(&request, (body, &place), means, &teller);
            // A body that is still being sent has no purpose any more.
            drop(guard);
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
    means: Means,
    teller: &Teller<Told>,
) -> Result<(), ErrorCode> {
    let Timeouts { connect, first_byte, between_bytes } = means.timeouts;
    let [connect, first, next] = [connect, first_byte, between_bytes].map(limited);
    if let Some(way) = body.way() {
        means.cancel.watch_body(way);
    }
    let reach = Reach {
        authority: request.authority.as_deref().unwrap_or_default(),
        is_https: request.scheme.as_deref() == Some(Scheme::Https.name()),
        may_reach: means.reaches.as_deref(),
        cancel: &means.cancel,
        place,
    };
    let stream = Connection::open(&reach, Instant::now() + connect)?;
    let upload = Arc::new(Upload::default());
    begin(request, (body, place), (&stream, next), &upload)?;
    let is_head = Cell::new(true);
    let timed = Timed { stream: stream.clone(), first, until: None, is_head: &is_head, then: next, upload };
    let mut from = BufReader::new(timed);
    let mut lines = Lines::new(&mut from, &LIMITS);
    let received = read_response_head(&mut lines, &request.method).map_err(ErrorCode::from);
    is_head.set(false);
    let received = received.and_then(|response| receive(&mut lines, response, (means, next), teller));
    let failed = from.get_ref().upload.take_failure();
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
    (means, patience): (Means, Duration),
    teller: &Teller<Told>,
) -> Result<(), ErrorCode> {
    let Means { mut bodies, heads, open_files, .. } = means;
    let charge = heads.take(cost(&headers)).ok_or(ErrorCode::HttpResponseHeaderSectionSize(None))?;
    let response = |headers, body| IncomingResponse { status, headers, body: Some(body), _charge: charge };
    if pieces.known_length().is_some_and(|length| length <= SHORT as u64) {
        let mut bytes = Vec::new();
        loop {
            match pieces.next(lines)? {
                BodyPart::Bytes(more) => bytes.extend(more),
                BodyPart::End(trailers) => {
                    if !bodies.grow(bytes.len()) {
                        return Err(ErrorCode::HttpResponseBodySize(Some(bytes.len() as u64)));
                    }
                    let trailers = Trailers::arrived(&heads, trailers);
                    let trailers = trailers.ok_or(ErrorCode::HttpResponseTrailerSectionSize(None))?;
                    teller.tell(Ok(response(headers, IncomingBody::new(bytes, trailers, bodies))));
                    return Ok(());
                }
            }
        }
    }
    let leases = Leases::taken_from(&open_files).ok_or(ErrorCode::ConnectionLimitReached)?;
    let (sender, arriving) = arriving().map_err(|_: Fail| ErrorCode::InternalError(None))?;
    teller.tell(Ok(response(headers, IncomingBody::arriving(arriving, leases))));
    pass_on(lines, pieces, (sender, &heads), patience);
    Ok(())
}

/// Passes on a body as it comes, until the program reads no more.
fn pass_on(
    lines: &mut Lines<'_, impl io::BufRead>,
    mut pieces: BodyReader,
    (mut sender, heads): (BodySender, &Budget),
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
            Ok(BodyPart::End(trailers)) => {
                let trailers = Trailers::arrived(heads, trailers);
                return sender.end(trailers.ok_or(ErrorCode::HttpResponseTrailerSectionSize(None)));
            }
            Err(error) => return sender.end(Err(error.into())),
        }
    }
}

/// Limits a timeout: the system accepts no zero.
fn limited(time: Option<Duration>) -> Duration {
    time.unwrap_or(USUAL).clamp(Duration::from_millis(1), USUAL * 10)
}

/// A connection with a time for the head as a whole, which begins when the body has been sent, and one for each piece of
/// the body.
struct Timed<'a> {
    stream: Connection,
    first: Duration,
    /// When the head must have arrived, once that is known.
    until: Option<Instant>,
    is_head: &'a Cell<bool>,
    then: Duration,
    upload: Arc<Upload>,
}

impl Read for Timed<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let is_under_way = self.upload.is_under_way.load(Ordering::SeqCst);
            let now = Instant::now();
            let until = match (is_under_way, self.is_head.get()) {
                (true, _) => now + SLICE,
                (false, true) => *self.until.get_or_insert(now + self.first),
                (false, false) => now + self.then,
            };
            match self.stream.read_until(to, until) {
                Err(error) if is_under_way && is_late(&error) => {}
                read => return read,
            }
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
