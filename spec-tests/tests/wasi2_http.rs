//! `wasi:http` 0.2 as used by a C program, which answers requests and sends its own.

#[path = "wasi2/embed.rs"]
mod embed;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wprof::component::{Component, Instance, Linker};
use wprof::wasi::{WasiCtx, WasiCtxBuilder};
use wprof::wasi2::http::{self, Request, Response};
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
