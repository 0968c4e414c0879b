//! Connections of HTTP/1.1: a thread per connection reads requests, has them answered, and writes the responses.
//!
//! Requests with long bodies, and responses that are still being written, pass through as they come, if the server wants
//! that: a second thread then receives while the first one sends.
//!
//! Invariant: a slow client delays only its own connection, and the instance that takes its long body. Such a client must
//! still send and accept `RATE` bytes in the time that it is given.

use std::fmt::Display;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use wprof::wasi2::http::{
    Incoming, Request, Response, StreamedRequest, StreamedResponse, WireError, WireLimits, read_incoming,
    write_response, write_streamed,
};

/// The maximum number of simultaneous connections; further clients are asked to retry.
const MOST: usize = 256;
/// The interval at which a server checks whether to stop.
const PERIOD: Duration = Duration::from_millis(20);

/// The maximum time for the last bytes of a request that has been answered.
const LAST_BYTES: Duration = Duration::from_millis(250);
/// The time for which data that a client sends after an answer is read.
const FAREWELL: Duration = Duration::from_secs(1);
/// The bytes that a slow client must send or accept in the time that it is given.
const RATE: usize = 64 << 10;

/// A response: as a whole, or one whose body is still being written.
pub enum Content {
    Whole(Response),
    Streamed(StreamedResponse),
}

/// A response, and what its connection does with it.
pub struct Answer {
    pub content: Content,
    /// Whether the connection ends behind it.
    pub is_last: bool,
    /// Held until the response is written.
    pub under_way: Option<UnderWay>,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Content::Whole(response).into()
    }
}

impl From<Content> for Answer {
    fn from(content: Content) -> Answer {
        Answer { content, is_last: false, under_way: None }
    }
}

/// Counts a response that is not written yet, as long as it is held.
pub struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    pub fn new(count: &Arc<AtomicUsize>) -> UnderWay {
        count.fetch_add(1, Ordering::SeqCst);
        UnderWay(count.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens a listener at an address, and returns the actual address. `advice` says what to do if that fails.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub fn listen(address: impl ToSocketAddrs + Display, advice: &str) -> Result<(TcpListener, SocketAddr)> {
    let cannot = || format!("cannot listen at {address}: {advice}");
    let listener = TcpListener::bind(&address).with_context(cannot)?;
    let address = listener.local_addr().with_context(cannot)?;
    Ok((listener, address))
}

/// Returns a flag that Ctrl-C, or another request to end the process, sets from now on.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// The limits of all connections of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub wire: WireLimits,
    /// The maximum time for a short request to arrive, and for a short response to be accepted.
    pub patience: Duration,
    /// Bodies of requests that are longer are passed on as they come.
    pub short: usize,
}

/// Answers requests until `is_done`, which is checked periodically, returns true. Connections that are open then are
/// abandoned.
///
/// # Errors
/// Returns an error if the system provides no thread.
pub fn serve(
    listener: TcpListener,
    limits: Limits,
    answer: impl Fn(Request) -> Response + Send + Sync + 'static,
    mut is_done: impl FnMut() -> bool,
) -> Result<()> {
    let limits = Limits { short: usize::MAX, ..limits };
    open(listener, limits, move |request| answer(request.request).into())?;
    while !is_done() {
        thread::sleep(PERIOD);
    }
    Ok(())
}

/// Accepts connections from now on; `answer` is called on the threads of the connections.
///
/// # Errors
/// Returns an error if the system provides no thread.
pub fn open(
    listener: TcpListener,
    limits: Limits,
    answer: impl Fn(StreamedRequest) -> Answer + Send + Sync + 'static,
) -> Result<()> {
    let shared = Shared { answer: Arc::new(answer), open: Arc::default(), limits };
    let accept = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => begin(stream, &shared),
                // The error may be temporary, such as too many open files.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    };
    thread::Builder::new().name("accept".to_owned()).spawn(accept).context("cannot start a thread")?;
    Ok(())
}

/// The data that all connections share.
#[derive(Clone)]
struct Shared {
    answer: Arc<dyn Fn(StreamedRequest) -> Answer + Send + Sync>,
    open: Arc<AtomicUsize>,
    limits: Limits,
}

/// Starts a thread for a connection, unless there are too many.
fn begin(stream: TcpStream, shared: &Shared) {
    let shared = shared.clone();
    if shared.open.fetch_add(1, Ordering::SeqCst) >= MOST {
        shared.open.fetch_sub(1, Ordering::SeqCst);
        refuse(stream);
        return;
    }
    let open = shared.open.clone();
    let work = move || {
        // An error ends the connection.
        let _ = converse(stream, &shared);
        shared.open.fetch_sub(1, Ordering::SeqCst);
    };
    if thread::Builder::new().name("connection".to_owned()).spawn(work).is_err() {
        open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn refuse(mut stream: TcpStream) {
    let busy = Response::text(503, "too many connections");
    // The response is written at once or not at all.
    let _ = stream.set_nonblocking(true);
    let _ = write_response(&mut stream, &busy, "GET", false);
}

/// Answers the requests of a connection in sequence.
fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let Limits { wire, patience, short } = shared.limits;
    stream.set_nodelay(true)?;
    let mut reply = Paced { stream: stream.try_clone()?, patience, until: None };
    let mut from = BufReader::new(Timed { stream, patience, until: Instant::now(), read: 0 });
    loop {
        from.get_mut().begin(patience);
        let received = match read_incoming(&mut from, &mut reply, &wire, short) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(()),
            Err(error) => return give_up(&mut reply.stream, from, &error),
        };
        if !respond(received, &mut reply, shared)? {
            return Ok(());
        }
    }
}

/// Answers a request. Returns whether another may follow.
fn respond(received: Incoming<'_, BufReader<Timed>>, reply: &mut Paced, shared: &Shared) -> io::Result<bool> {
    let Incoming { request, keeps_alive, is_1_1, rest } = received;
    let patience = shared.limits.patience;
    let method = request.method.clone();
    let Some(rest) = rest else {
        return write((shared.answer)(request.into()), reply, &method, (keeps_alive, is_1_1));
    };
    let (request, sender) = StreamedRequest::arriving(request).map_err(io::Error::other)?;
    let canceller = sender.canceller()?;
    thread::scope(|scope| {
        let receiver = scope.spawn(move || rest.pass_on(sender, patience));
        let written = write((shared.answer)(request), reply, &method, (keeps_alive, is_1_1));
        let is_received = || receiver.is_finished();
        let is_cut_off = !is_within(LAST_BYTES, is_received);
        if is_cut_off {
            // A client that still writes would miss the answer if the connection closed now.
            canceller.cancel();
            // It may be gone already.
            let _ = reply.stream.shutdown(Shutdown::Write);
            is_within(FAREWELL, is_received);
            let _ = reply.stream.shutdown(Shutdown::Read);
        }
        let is_whole = receiver.join().unwrap_or(false);
        Ok(written? && is_whole && !is_cut_off)
    })
}

/// Waits for something; returns whether it was there in time.
fn is_within(time: Duration, is_there: impl Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    while !is_there() {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Writes an answer. Returns whether another may follow.
fn write(
    Answer { content, is_last, under_way }: Answer,
    reply: &mut Paced,
    method: &str,
    (keeps_alive, is_1_1): (bool, bool),
) -> io::Result<bool> {
    let keeps_alive = keeps_alive && !is_last;
    let written = match content {
        Content::Whole(response) => {
            write_response(reply, &response, method, keeps_alive).map(|()| keeps_alive)
        }
        Content::Streamed(response) => write_streamed(reply, response, method, (keeps_alive, is_1_1)),
    };
    drop(under_way);
    written
}

/// Reports the error of a request, and ends the connection.
fn give_up(reply: &mut TcpStream, mut from: BufReader<Timed>, error: &WireError) -> io::Result<()> {
    const MOST_DISCARDED: u64 = 1 << 20;
    let Some(status) = error.status() else { return Ok(()) };
    write_response(reply, &Response::text(status, &error.to_string()), "GET", false)?;
    reply.shutdown(Shutdown::Write)?;
    // A client that still writes would miss the answer if the connection closed now.
    from.get_mut().begin(FAREWELL);
    io::copy(&mut from.take(MOST_DISCARDED), &mut io::sink())?;
    reply.flush()
}

/// A connection that is read until a deadline, which each received byte moves back.
struct Timed {
    stream: TcpStream,
    patience: Duration,
    until: Instant,
    /// Bytes read in this time.
    read: usize,
}

impl Timed {
    /// Begins a time.
    fn begin(&mut self, time: Duration) {
        (self.until, self.read) = (Instant::now() + time, 0);
    }
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let len = self.stream.read(to)?;
        self.read += len;
        if self.read >= RATE {
            self.begin(self.patience);
        }
        Ok(len)
    }
}

/// A connection that is written to: what is flushed at once must be accepted in a time.
struct Paced {
    stream: TcpStream,
    patience: Duration,
    until: Option<Instant>,
}

impl Write for Paced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.patience);
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        let len = self.stream.write(&bytes[..bytes.len().min(RATE)])?;
        if len == RATE {
            self.until = None;
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.until = None;
        self.stream.flush()
    }
}
