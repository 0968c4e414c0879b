//! `wasi:http` 0.2 as used by a C program, which answers requests and sends its own.

#[path = "wasi2/embed.rs"]
mod embed;
#[path = "wasi2/http_limits.rs"]
mod limits;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wprof::component::{Component, Instance, Linker};
use wprof::wasi::{WasiCtx, WasiCtxBuilder};
use wprof::wasi2::http::{self, Request, Response, StreamedRequest, StreamedResponse, write_streamed};
use wprof::{
    Collect, Config, Engine, ErrorKind, Instance as CoreInstance, ProfilingConfig, Store, Trap, wasi2,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Cases of `error-code`.
const CONNECTION_REFUSED: u8 = 6;
const REQUEST_DENIED: u8 = 15;
const RESPONSE_INCOMPLETE: u8 = 25;
const PROTOCOL_ERROR: u8 = 35;

struct Program {
    store: Store<WasiCtx>,
    instance: Instance,
}

impl Program {
    fn new(allow: impl FnOnce(&mut WasiCtxBuilder)) -> Outcome<Program> {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Edges));
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        wasi2::add_to_linker(&mut linker, |ctx: &mut WasiCtx| ctx)?;
        http::add_to_linker(&mut linker, |ctx: &mut WasiCtx| ctx)?;
        let mut builder = WasiCtxBuilder::new();
        allow(&mut builder);
        let mut store = Store::new(&engine, builder.build());
        let component = Component::new(&engine, embed::component("http")?)?;
        let instance = linker.instantiate(&mut store, &component)?;
        Ok(Program { store, instance })
    }

    fn answer(&mut self, request: Request) -> wprof::Result<Response> {
        http::handle(&mut self.store, &self.instance, |ctx| ctx, request)
    }

    fn get(&mut self, path: &str) -> wprof::Result<Response> {
        self.answer(Request {
            method: "GET".to_owned(),
            path_with_query: Some(path.to_owned()),
            ..Request::default()
        })
    }
}

#[test]
fn requests_are_answered_with_what_they_brought() -> Outcome {
    let mut program = Program::new(|_| ())?;
    let body: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let request = Request {
        method: "POST".to_owned(),
        path_with_query: Some("/echo?x".to_owned()),
        headers: vec![pair("x-test", "one"), pair("other", "no"), pair("x-test", "two")],
        body: body.clone(),
        ..Request::default()
    };
    for _ in 0..2 {
        let response = program.answer(request.clone())?;
        assert_eq!((response.status, response.body == body), (200, true));
        assert_eq!(response.headers, [pair("x-test", "one"), pair("x-test", "two")]);
    }
    assert_eq!(program.get("/count/1234")?.body, b"1234");
    let status = program.get("/status")?;
    assert_eq!((status.status, status.body.len()), (418, 0));
    // Bad syntax is case 0, a fault of the connection case 1.
    assert_eq!(program.get("/fields")?.body, b"1120");
    Ok(())
}

#[test]
fn what_is_no_answer_is_told_and_the_next_request_is_answered() -> Outcome {
    let mut program = Program::new(|_| ())?;
    for (path, why) in
        [("/silent", "has not answered"), ("/half", "has not finished"), ("/error", "HttpProtocolError")]
    {
        let error = program.get(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Host, "{path}: {error}");
        assert!(error.to_string().contains(why), "{path}: {error}");
        assert_eq!(program.get("/count/7")?.body, b"7");
    }
    let error = program.get("/trap").unwrap_err();
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached), "{error}");
    assert!(program.get("/count/7").unwrap_err().to_string().contains("cannot enter"));
    Ok(())
}

/// The loop count is known by construction: the block with the back edge runs N times for `/count/N`.
#[test]
fn the_profile_is_exact_over_all_requests_a_trap_included() -> Outcome {
    let mut program = Program::new(|_| ())?;
    for n in [1000, 2, 30_000] {
        program.get(&format!("/count/{n}"))?;
    }
    program.get("/trap").unwrap_err();
    let module = program.instance.component().modules()[0].clone();
    let core = CoreInstance::newest_of(&program.store, &module).ok_or("it has no instance")?;
    let counts = core.block_counts(&program.store)?;
    let (_, count) = counts
        .iter()
        .find(|(func, _)| module.func_name(*func) == Some("count"))
        .ok_or("`count` has not run")?;
    assert_eq!(count.iter().max(), Some(&31_002));
    Ok(())
}

/// Answers one connection with some bytes, and returns the request.
fn server(answer: &'static [u8]) -> Outcome<(u16, JoinHandle<Vec<u8>>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let answer = move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        let mut all = Vec::new();
        let mut buffer = [0; 1024];
        while !all.ends_with(b"asked") {
            match stream.read(&mut buffer) {
                Ok(len @ 1..) => all.extend(&buffer[..len]),
                _ => break,
            }
        }
        // The client may already be gone.
        let _ = stream.write_all(answer).and_then(|()| stream.shutdown(Shutdown::Both));
        all
    };
    Ok((port, thread::spawn(answer)))
}

fn allow(builder: &mut WasiCtxBuilder) {
    builder.outgoing_http(|host| host.starts_with("127.0.0.1:"));
}

#[test]
fn a_program_asks_another_server_and_passes_on_its_answer() -> Outcome {
    let answer = b"HTTP/1.1 201 Made\r\ntransfer-encoding: chunked\r\n\r\n4\r\nback\r\n0\r\n\r\n";
    let (port, server) = server(answer)?;
    let mut program = Program::new(allow)?;
    let response = program.get(&format!("/proxy/127.0.0.1:{port}"))?;
    assert_eq!((response.status, &response.body[..]), (201, &b"back"[..]));
    let sent = server.join().map_err(|_| "the server has panicked")?;
    let expected = format!(
        "POST /hello HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-length: 5\r\n\r\nasked"
    );
    assert_eq!(String::from_utf8(sent)?, expected);
    Ok(())
}

#[test]
fn what_goes_wrong_with_another_server_has_a_code() -> Outcome {
    let mut program = Program::new(allow)?;
    let mut code = |host: &str| -> Outcome<u8> {
        let response = program.get(&format!("/proxy/{host}"))?;
        assert_eq!(response.status, 502, "{host}");
        Ok(response.body[0])
    };
    assert_eq!(code("example.invalid")?, REQUEST_DENIED);
    let (port, listening) = server(b"")?;
    assert_eq!(code(&format!("127.0.0.1:{port}"))?, RESPONSE_INCOMPLETE);
    listening.join().map_err(|_| "the server has panicked")?;
    assert_eq!(code(&format!("127.0.0.1:{port}"))?, CONNECTION_REFUSED);
    for (answer, expected) in [
        (&b"hello\r\n\r\n"[..], PROTOCOL_ERROR),
        (b"HTTP/1.1 200\r\ncontent-length: 9\r\n\r\nx", RESPONSE_INCOMPLETE),
    ] {
        let (port, listening) = server(answer)?;
        assert_eq!(code(&format!("127.0.0.1:{port}"))?, expected);
        listening.join().map_err(|_| "the server has panicked")?;
    }
    Ok(())
}

/// The program waits up to two seconds for the first byte, but its deadline comes first.
#[test]
fn who_waits_for_an_answer_is_ended_by_a_deadline() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let mut program = Program::new(allow)?;
    program.store.set_deadline(Some(Instant::now() + Duration::from_millis(50)))?;
    let error = program.get(&format!("/proxy/127.0.0.1:{port}")).unwrap_err();
    assert_eq!(error.trap(), Some(Trap::Deadline), "{error}");
    drop(TcpStream::connect(("127.0.0.1", port)));
    Ok(())
}

fn post(path: &str, body: Vec<u8>) -> Request {
    let path_with_query = Some(path.to_owned());
    Request { method: "POST".to_owned(), path_with_query, body, ..Request::default() }
}

impl Program {
    /// Answers a request with what `read` does with the response, in another thread.
    fn stream<R: Send + 'static>(
        &mut self,
        request: StreamedRequest,
        read: impl FnOnce(StreamedResponse) -> R + Send + 'static,
    ) -> (wprof::Result<()>, Option<R>) {
        let (to, responses) = channel();
        let reader = thread::spawn(move || responses.recv().ok().map(read));
        let respond = move |response| to.send(response).expect("somebody reads");
        let ended = http::handle_streaming(&mut self.store, &self.instance, |ctx| ctx, request, respond);
        (ended, reader.join().expect("the reader does not panic"))
    }
}

/// Returns the bytes of a response as a client gets them, and the error that cut them off.
fn written(response: StreamedResponse) -> (Vec<u8>, Option<std::io::ErrorKind>) {
    let mut out = Vec::new();
    let written = write_streamed(&mut out, response, "POST", (true, true));
    (out, written.err().map(|error| error.kind()))
}

#[test]
fn short_responses_have_a_length_and_long_ones_chunks() -> Outcome {
    let mut program = Program::new(|_| ())?;
    let text = |out: (Vec<u8>, _)| String::from_utf8(out.0);
    let (ended, out) = program.stream(post("/echo", b"short".to_vec()).into(), written);
    ended?;
    assert_eq!(text(out.ok_or("a response")?)?, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nshort");
    let body = vec![b'x'; 3_000_000];
    let (ended, out) = program.stream(post("/echo", body.clone()).into(), written);
    ended?;
    let out = text(out.ok_or("a response")?)?;
    assert!(out.starts_with("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
    assert!(out.ends_with("\r\n0\r\n\r\n"));
    assert_eq!(out.bytes().filter(|byte| *byte == b'x').count(), body.len());
    Ok(())
}

#[test]
fn a_deadline_ends_a_program_whose_response_nobody_reads_or_whose_request_does_not_come() -> Outcome {
    for is_request in [false, true] {
        // On a busy machine a program may not have come to its response yet.
        let responses = [2, 10, 60].into_iter().map(|seconds| response_at_deadline(is_request, seconds));
        let response = responses.filter_map(Result::transpose).next().ok_or("no response in a minute")??;
        // Its reader finds that it is not whole.
        let (_, error) = written(response);
        assert_eq!(error, Some(std::io::ErrorKind::UnexpectedEof), "{is_request}");
    }
    Ok(())
}

/// Ends a program after some seconds, in its response or in its request; returns the response if it has begun.
fn response_at_deadline(is_request: bool, seconds: u64) -> Outcome<Option<StreamedResponse>> {
    let mut program = Program::new(|_| ())?;
    program.store.set_deadline(Some(Instant::now() + Duration::from_secs(seconds)))?;
    let long = post("/echo", vec![1; 3_000_000]);
    let (request, _sender) = match is_request {
        true => StreamedRequest::arriving(post("/echo", Vec::new())).map(|(r, s)| (r, Some(s)))?,
        false => (long.into(), None),
    };
    let (kept, responses) = channel();
    let respond = move |response: StreamedResponse| kept.send(response).expect("it is kept");
    let ended = http::handle_streaming(&mut program.store, &program.instance, |ctx| ctx, request, respond);
    assert_eq!(ended.unwrap_err().trap(), Some(Trap::Deadline), "{is_request}");
    Ok(responses.try_recv().ok())
}

#[test]
fn a_request_that_ends_too_early_is_an_error_and_a_reader_that_goes_ends_the_response() -> Outcome {
    let mut program = Program::new(|_| ())?;
    let (request, mut sender) = StreamedRequest::arriving(post("/echo", Vec::new()))?;
    sender.send(b"half", Duration::from_secs(60))?;
    drop(sender);
    // The program takes the error for the end.
    let (ended, out) = program.stream(request, written);
    ended?;
    assert!(String::from_utf8(out.ok_or("a response")?.0)?.contains("half"));
    // The program traps where it cannot write.
    let (ended, _) = program.stream(post("/echo", vec![1; 3_000_000]).into(), drop);
    assert_eq!(ended.unwrap_err().trap(), Some(Trap::UnreachableCodeReached));
    Ok(())
}

/// The other server's body is longer than what the program and the way have room for, or is cut off.
#[test]
fn bodies_of_other_servers_pass_through() -> Outcome {
    const PART: usize = 40_000;
    for (parts, is_whole) in [(100, true), (3, false)] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = thread::spawn(move || -> std::io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            let mut asked = [0; 4096];
            let mut len = 0;
            while !asked[..len].ends_with(b"asked") {
                len += stream.read(&mut asked[len..])?;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            for _ in 0..parts {
                stream.write_all(&[format!("{PART:x}\r\n").as_bytes(), &[b'x'; PART], b"\r\n"].concat())?;
            }
            stream.write_all(if is_whole { b"0\r\n\r\n" } else { b"" })
        });
        let mut program = Program::new(allow)?;
        let path = format!("/proxy/127.0.0.1:{port}");
        let request = Request { method: "GET".to_owned(), ..post(&path, Vec::new()) };
        let (ended, out) = program.stream(request.into(), written);
        ended?;
        let (out, error) = out.ok_or("a response")?;
        assert_eq!(error, None);
        assert_eq!(out.iter().filter(|byte| **byte == b'x').count(), parts * PART);
        server.join().map_err(|_| "the server has panicked")??;
    }
    Ok(())
}
