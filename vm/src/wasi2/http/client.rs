//! Outgoing requests, each in its own thread.

use std::io::{self, BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::message::{Request, Response};
use super::values::ErrorCode;
use super::wire::{WireLimits, read_response, write_request};
use crate::wasi::budget::Charge;
use crate::wasi2::answer::Teller;

/// Maximum concurrent requests of all programs of this process.
const MOST_AT_ONCE: usize = 64;
/// Default timeout.
const USUAL: Duration = Duration::from_secs(60);
/// Limits of a response: programs read it from memory.
const LIMITS: WireLimits = WireLimits { head: 128 << 10, fields: 500, body: 32 << 20 };

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// `request-options`
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// A response, with its part of the program's budget.
pub type Told = Result<(Response, Charge), ErrorCode>;

/// Sends a request, and passes on the response when it arrives.
pub fn send(request: Request, (timeouts, charge): (Timeouts, Charge), teller: Teller<Told>) {
    struct Place;
    impl Drop for Place {
        fn drop(&mut self) {
            RUNNING.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let before = RUNNING.fetch_add(1, Ordering::Relaxed);
    let place = Place;
    if before >= MOST_AT_ONCE {
        return teller.tell(Err(ErrorCode::ConnectionLimitReached));
    }
    let work = {
        let teller = teller.clone();
        move || {
            teller.tell(exchange(&request, timeouts).and_then(|response| charged(response, charge)));
            drop(place);
        }
    };
    if thread::Builder::new().name("http".to_owned()).spawn(work).is_err() {
        teller.tell(Err(ErrorCode::InternalError(None)));
    }
}

fn charged(response: Response, mut charge: Charge) -> Told {
    match charge.grow(response.body.len()) {
        true => Ok((response, charge)),
        false => Err(ErrorCode::HttpResponseBodySize(Some(response.body.len() as u64))),
    }
}

fn exchange(request: &Request, timeouts: Timeouts) -> Result<Response, ErrorCode> {
    let authority = request.authority.as_deref().unwrap_or_default();
    let mut stream = connect(authority, limited(timeouts.connect))?;
    let is_set = stream.set_write_timeout(Some(limited(timeouts.between_bytes)));
    is_set.and_then(|()| write_request(&mut stream, request)).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ErrorCode::ConnectionWriteTimeout,
        _ => ErrorCode::ConnectionTerminated,
    })?;
    let [first, next] = [timeouts.first_byte, timeouts.between_bytes].map(limited);
    let mut from = BufReader::new(Timed { stream, next: first, then: next });
    Ok(read_response(&mut from, &request.method, &LIMITS)?)
}

/// Limits a timeout: the system accepts no zero.
fn limited(time: Option<Duration>) -> Duration {
    time.unwrap_or(USUAL).clamp(Duration::from_millis(1), USUAL * 10)
}

fn connect(authority: &str, time: Duration) -> Result<TcpStream, ErrorCode> {
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let found = match has_port {
        true => authority.to_socket_addrs(),
        false => (authority.trim_matches(['[', ']']), 80).to_socket_addrs(),
    };
    let addresses: Vec<SocketAddr> = found.map_err(|_| ErrorCode::DestinationNotFound)?.collect();
    let mut last = ErrorCode::DestinationNotFound;
    for address in addresses {
        match TcpStream::connect_timeout(&address, time) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = of_connect(&error),
        }
    }
    Err(last)
}

fn of_connect(error: &io::Error) -> ErrorCode {
    match error.kind() {
        ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => ErrorCode::ConnectionTimeout,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ErrorCode::DestinationIpUnroutable,
        _ => ErrorCode::DestinationUnavailable,
    }
}

/// A connection with a separate timeout for the first bytes.
struct Timed {
    stream: TcpStream,
    next: Duration,
    then: Duration,
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.next))?;
        let len = self.stream.read(to)?;
        self.next = self.then;
        Ok(len)
    }
}
