//! Connections: a thread per connection reads requests, passes them on, and writes the responses.
//!
//! Invariant: a slow client delays only its own connection.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use wprof::wasi2::http::{Request, Response, WireError, WireLimits, read_request, write_response};

/// The maximum number of simultaneous connections; further clients are asked to retry.
const MOST: usize = 256;
/// The maximum number of requests that wait for the component.
const QUEUE: usize = 64;
/// How long the last responses may take to be written when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// A request, and the destination of its response.
pub struct Job {
    pub request: Request,
    pub reply: Reply,
}

/// The destination of a response.
pub struct Reply {
    to: SyncSender<Response>,
    under_way: Arc<AtomicUsize>,
}

impl Reply {
    pub fn send(self, response: Response) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        if self.to.send(response).is_err() {
            self.under_way.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// All connections of a server.
pub struct Connections {
    jobs: Receiver<Job>,
    /// The number of responses that are not written yet.
    under_way: Arc<AtomicUsize>,
}

/// The data that all connections share.
#[derive(Clone)]
struct Shared {
    jobs: SyncSender<Job>,
    under_way: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    limits: WireLimits,
    patience: Duration,
}

impl Connections {
    /// Starts to accept connections.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn open(listener: TcpListener, limits: WireLimits, patience: Duration) -> Result<Connections> {
        let (sender, jobs) = sync_channel(QUEUE);
        let under_way = Arc::new(AtomicUsize::new(0));
        let shared =
            Shared { jobs: sender, under_way: under_way.clone(), open: Arc::default(), limits, patience };
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
        Ok(Connections { jobs, under_way })
    }

    /// Returns the queue of waiting requests.
    pub fn jobs(&self) -> &Receiver<Job> {
        &self.jobs
    }

    /// Waits until the pending responses have been written, at most `FAREWELL`.
    pub fn finish(&self) {
        let end = Instant::now() + FAREWELL;
        while self.under_way.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            match self.jobs.recv_timeout(Duration::from_millis(2)) {
                Ok(job) => job.reply.send(Response::text(503, "the server ends")),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
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
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(shared.patience))?;
    let mut reply = stream.try_clone()?;
    let mut from = BufReader::new(Timed { stream, until: Instant::now() });
    loop {
        from.get_mut().until = Instant::now() + shared.patience;
        let received = match read_request(&mut from, &mut reply, &shared.limits) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(()),
            Err(error) => return give_up(&mut reply, from, &error),
        };
        let method = received.request.method.clone();
        let (response, is_ours) = match ask(received.request, shared) {
            Some(response) => (response, false),
            None => (Response::text(503, "the server ends"), true),
        };
        let keeps_alive = received.keeps_alive && !is_ours;
        let written = write_response(&mut reply, &response, &method, keeps_alive);
        if !is_ours {
            shared.under_way.fetch_sub(1, Ordering::SeqCst);
        }
        written?;
        if !keeps_alive {
            return Ok(());
        }
    }
}

/// Passes on a request and waits for its response; `None` if the server no longer answers.
fn ask(request: Request, shared: &Shared) -> Option<Response> {
    let (to, answered) = sync_channel(1);
    let reply = Reply { to, under_way: shared.under_way.clone() };
    shared.jobs.send(Job { request, reply }).ok()?;
    answered.recv().ok()
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
