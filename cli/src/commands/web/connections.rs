//! Connections of HTTP/1.1: a thread per connection reads requests, has them answered, and writes the responses.
//!
//! Invariant: a slow client delays only its own connection.

use std::fmt::Display;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use wprof::wasi2::http::{Request, Response, WireError, WireLimits, read_request, write_response};

/// The maximum number of simultaneous connections; further clients are asked to retry.
const MOST: usize = 256;
/// The interval at which a server checks whether to stop.
const PERIOD: Duration = Duration::from_millis(20);

/// A response, and what its connection does with it.
pub struct Answer {
    pub response: Response,
    /// Whether the connection ends behind it.
    pub is_last: bool,
    /// Held until the response is written.
    pub under_way: Option<UnderWay>,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Answer { response, is_last: false, under_way: None }
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
    /// How long a request may take to arrive, and how long a client may not accept a response.
    pub patience: Duration,
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
    open(listener, limits, move |request| answer(request).into())?;
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
    answer: impl Fn(Request) -> Answer + Send + Sync + 'static,
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
    answer: Arc<dyn Fn(Request) -> Answer + Send + Sync>,
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
    let Limits { wire, patience } = shared.limits;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(patience))?;
    let mut reply = stream.try_clone()?;
    let mut from = BufReader::new(Timed { stream, until: Instant::now() });
    loop {
        from.get_mut().until = Instant::now() + patience;
        let received = match read_request(&mut from, &mut reply, &wire) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(()),
            Err(error) => return give_up(&mut reply, from, &error),
        };
        let method = received.request.method.clone();
        let Answer { response, is_last, under_way } = (shared.answer)(received.request);
        let keeps_alive = received.keeps_alive && !is_last;
        let written = write_response(&mut reply, &response, &method, keeps_alive);
        drop(under_way);
        written?;
        if !keeps_alive {
            return Ok(());
        }
    }
}

/// Reports the error of a request, and ends the connection.
fn give_up(reply: &mut TcpStream, mut from: BufReader<Timed>, error: &WireError) -> io::Result<()> {
    const MOST_DISCARDED: u64 = 1 << 20;
    let Some(status) = error.status() else { return Ok(()) };
    write_response(reply, &Response::text(status, &error.to_string()), "GET", false)?;
    reply.shutdown(std::net::Shutdown::Write)?;
    // A client that still writes would miss the answer if the connection closed now.
    from.get_mut().until = Instant::now() + Duration::from_secs(1);
    io::copy(&mut from.take(MOST_DISCARDED), &mut io::sink())?;
    reply.flush()
}

/// A connection that is read until a point in time.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(to)
    }
}
