//! What untrusted programs, and servers that they ask, may cost their host: memory, open files and threads have limits.

use std::io::{BufRead, BufReader, ErrorKind as Io, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wprof::ErrorKind;
use wprof::wasi2::http::{Request, StreamedRequest};

use super::{Outcome, Program, allow, post, written};

/// Cases of `error-code`.
const IP_PROHIBITED: u8 = 4;
const READ_TIMEOUT: u8 = 9;
const LIMIT_REACHED: u8 = 11;
const URI_INVALID: u8 = 19;

/// How soon threads end whose work has no purpose any more; a busy machine may need longer than the second that it should
/// be.
const SOON: Duration = Duration::from_secs(5);

/// Reads the head of a request.
fn read_head(stream: &TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while !lines.next().ok_or(Io::UnexpectedEof)??.is_empty() {}
    Ok(())
}

/// Answers a request, and waits until the client ends the connection: what is not read would cut off the answer.
fn answer_with(mut stream: &TcpStream, answer: &[u8]) -> std::io::Result<()> {
    read_head(stream)?;
    stream.write_all(answer)?;
    stream.shutdown(Shutdown::Write)?;
    ends_soon(stream).map(drop)
}

/// Reports whether a client has ended its connection, or does so soon.
fn ends_soon(mut stream: &TcpStream) -> std::io::Result<bool> {
    stream.set_read_timeout(Some(SOON))?;
    let end = stream.read_to_end(&mut Vec::new());
    Ok(!end.is_err_and(|error| matches!(error.kind(), Io::WouldBlock | Io::TimedOut)))
}

/// A server in a thread, which ends when it is dropped.
struct Server {
    port: u16,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server that answers each request with these bytes.
    fn start(answer: &'static [u8]) -> Outcome<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (port, is_over) = (listener.local_addr()?.port(), Arc::<AtomicBool>::default());
        let ends = is_over.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                // A client may be gone.
                let _ = answer_with(&stream, answer);
            }
        });
        Ok(Server { port, is_over })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

const PIECES: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nback\r\n0\r\n\r\n";

#[test]
fn no_response_announces_another() -> Outcome {
    let mut program = Program::new(|_| ())?;
    for (status, is_refused) in [
        (0, true),
        (99, true),
        (100, true),
        (101, true),
        (199, true),
        (200, false),
        (999, false),
        (1000, true),
    ] {
        let answer = program.get(&format!("/code/{status}"))?.body;
        assert_eq!(answer, if is_refused { b"1" } else { b"0" }, "{status}");
    }
    Ok(())
}

#[test]
fn hosts_are_asked_for_only_as_they_were_allowed() -> Outcome {
    let server = Server::start(PIECES)?;
    let is_asked = Arc::<AtomicBool>::default();
    let asks = is_asked.clone();
    let mut program = Program::new(|builder| {
        builder.outgoing_http(move |_| {
            asks.store(true, Ordering::SeqCst);
            true
        });
    })?;
    let port = server.port;
    for host in [
        format!("[127.0.0.1]:{port}"),
        format!("]]127.0.0.1[:{port}"),
        format!("[127.0.0.1:{port}"),
        format!("127.0.0.1:0{port}"),
        "[localhost]".to_owned(),
    ] {
        let response = program.get(&format!("/proxy/{host}"))?;
        assert_eq!((response.status, response.body[0]), (502, URI_INVALID), "{host}");
    }
    assert!(!is_asked.load(Ordering::SeqCst), "the embedder is asked about no host that is none");
    assert_eq!(program.get(&format!("/proxy/127.0.0.1:{port}"))?.status, 200);
    Ok(())
}

#[test]
fn addresses_of_allowed_hosts_can_be_refused() -> Outcome {
    let server = Server::start(PIECES)?;
    let mut program = Program::new(|builder| {
        builder.outgoing_http(|_| true).outgoing_http_addr_check(|address| !address.ip().is_loopback());
    })?;
    for host in ["127.0.0.1", "localhost", "[::1]", "127.1"] {
        let response = program.get(&format!("/proxy/{host}:{}", server.port))?;
        assert_eq!((response.status, response.body[0]), (502, IP_PROHIBITED), "{host}");
    }
    Ok(())
}

#[test]
fn texts_of_requests_have_a_length_that_is_limited() -> Outcome {
    let mut program = Program::new(|_| ())?;
    assert_eq!(String::from_utf8(program.get("/long")?.body)?, "10101010");
    Ok(())
}

#[test]
fn who_keeps_messages_without_end_is_ended() -> Outcome {
    let headers = vec![("x-long".to_owned(), vec![b'a'; 8000])];
    for what in ["c", "p", "q", "r", "h"] {
        let mut program = Program::new(|_| ())?;
        let path = format!("/fill/{what}");
        let request = Request { headers: headers.clone(), ..post(&path, Vec::new()) };
        let error = program.answer(request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{path}: {error}");
    }
    Ok(())
}

#[test]
fn who_keeps_the_requests_that_it_gets_gets_no_more() -> Outcome {
    let path = format!("/hoard?{}", "a".repeat(60_000));
    let mut program = Program::new(|_| ())?;
    let error = (0..2000).find_map(|_| program.get(&path).err()).ok_or("it keeps 120 MB")?;
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    // Bodies that are still arriving are open files.
    let mut program = Program::new(|builder| _ = builder.max_descriptors(20))?;
    let mut senders = Vec::new();
    let mut kept = || -> Outcome<wprof::Result<()>> {
        let (request, sender) = StreamedRequest::arriving(post("/hoard", Vec::new()))?;
        senders.push(sender);
        Ok(program.stream(request, written).0)
    };
    let ended = (0..20).map(|_| kept()).collect::<Outcome<Vec<_>>>()?;
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 8);
    assert!(
        ended.iter().flat_map(|ended| ended.as_ref().err()).all(|error| error.kind() == ErrorKind::Limit)
    );
    Ok(())
}

#[test]
fn responses_that_nobody_reads_count_as_open_files() -> Outcome {
    let server = Server::start(PIECES)?;
    let limited = |builder: &mut _| {
        allow(builder);
        builder.max_descriptors(20);
    };
    let mut program = Program::new(limited)?;
    let said = String::from_utf8(program.get(&format!("/keep/1000/127.0.0.1:{}", server.port))?.body)?;
    // Standard streams are three files, each of the responses two, and the one to come is another.
    assert_eq!(said, format!("8 {}", LIMIT_REACHED + 1));
    let mut program = Program::new(limited)?;
    let said = String::from_utf8(program.get(&format!("/ask/200/127.0.0.1:{}", server.port))?.body)?;
    assert_eq!(said, "200 0", "what is dropped is closed");
    Ok(())
}

#[test]
fn requests_end_with_their_store_and_leave_room_for_those_of_others() -> Outcome {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let port = silent.local_addr()?.port();
    let mut one = Program::new(allow)?;
    assert_eq!(one.get(&format!("/many/100/127.0.0.1:{port}"))?.body, b"asked");
    let first = silent.accept()?.0;
    read_head(&first)?;
    let server = Server::start(PIECES)?;
    let mut other = Program::new(allow)?;
    let said = other.get(&format!("/ask/1/127.0.0.1:{}", server.port))?.body;
    assert_eq!(String::from_utf8(said)?, "1 0", "another program has places of its own");
    // The rest of its share has connected by now, or does not any more.
    drop(one);
    assert!(ends_soon(&first)?, "a request outlives its store");
    silent.set_nonblocking(true)?;
    let mut count = 1;
    while let Ok((stream, _)) = silent.accept() {
        assert!(ends_soon(&stream)?, "a request outlives its store");
        count += 1;
    }
    assert!(count <= 16, "{count} requests at once");
    Ok(())
}

#[test]
fn how_many_requests_are_under_way_is_an_option() -> Outcome {
    for (most, status) in [(0, 502), (1, 200)] {
        let server = Server::start(PIECES)?;
        let mut program = Program::new(|builder| {
            allow(builder);
            builder.max_requests(most);
        })?;
        let response = program.get(&format!("/proxy/127.0.0.1:{}", server.port))?;
        assert_eq!(response.status, status, "{response:?}");
        if status == 502 {
            assert_eq!(response.body[0], LIMIT_REACHED);
        }
    }
    Ok(())
}

/// The program has a body of 1,000 bytes and answers with the same.
#[test]
fn how_long_bodies_and_heads_are_together_is_an_option() -> Outcome {
    for (bodies, heads, fits) in [(2000, 10_000, true), (999, 10_000, false), (2000, 10, false)] {
        let mut program = Program::new(|builder| _ = builder.max_http_bodies(bodies).max_http_heads(heads))?;
        let headers = vec![("x-test".to_owned(), b"one".to_vec())];
        let answer = program.answer(Request { headers, ..post("/echo", vec![b'a'; 1000]) });
        let kind = answer.err().map(|error| error.kind());
        assert_eq!(kind, (!fits).then_some(ErrorKind::Limit), "{bodies} {heads}");
    }
    Ok(())
}

#[test]
fn requests_end_with_what_is_to_come_of_them() -> Outcome {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let port = silent.local_addr()?.port();
    silent.set_nonblocking(true)?;
    let mut program = Program::new(allow)?;
    for _ in 0..40 {
        assert_eq!(program.get(&format!("/forget/127.0.0.1:{port}"))?.body, b"gone");
    }
    while let Ok((stream, _)) = silent.accept() {
        assert!(ends_soon(&stream)?, "a request outlives what is to come of it");
    }
    // All places are free again.
    let server = Server::start(PIECES)?;
    let (said, begin) = (format!("/ask/1/127.0.0.1:{}", server.port), Instant::now());
    while program.get(&said)?.body != b"1 0" {
        assert!(begin.elapsed() < SOON, "forgotten requests keep their places");
    }
    Ok(())
}

#[test]
fn a_head_must_come_in_time_as_a_whole() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let server = thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end && stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    });
    let (mut program, begin) = (Program::new(allow)?, Instant::now());
    // The program waits two seconds for the head.
    let response = program.get(&format!("/proxy/127.0.0.1:{port}"))?;
    assert_eq!((response.status, response.body[0]), (502, READ_TIMEOUT));
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    drop(program);
    Ok(server.join().map_err(|_| "the server has panicked")??)
}
