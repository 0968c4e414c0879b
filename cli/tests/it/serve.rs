//! A component answers requests of HTTP, and has a profile.

#[path = "../../../spec-tests/tests/wasi2/embed.rs"]
mod embed;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::{Folder, Ran, command, wprof};

/// A server that listens.
pub struct Server {
    child: Child,
    err: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        Server::start_with(&[], args)
    }

    /// Starts a server with variables in its environment.
    pub fn start_with(variables: &[(&str, &str)], args: &[&str]) -> Server {
        let all = [&["serve", "--addr", "127.0.0.1:0", "--rate", "off"], args].concat();
        let mut command = command(&all);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        err.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit("http://").next().expect("an address").to_owned();
        Server { child, err, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// What comes back on a connection of its own.
    fn send(&self, request: &str) -> String {
        String::from_utf8(self.send_for_bytes(request)).expect("UTF-8")
    }

    fn send_for_bytes(&self, request: &str) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        String::from_utf8(self.get_bytes(path)).expect("UTF-8")
    }

    pub fn get_bytes(&self, path: &str) -> Vec<u8> {
        self.send_for_bytes(&format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    }

    pub fn end(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().expect("a pipe").read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        Ran { code: self.child.wait().unwrap().code(), out, err }
    }
}

pub fn component(folder: &Folder) -> String {
    folder.file("app.wasm", embed::component("http").expect("it is a component"))
}

#[test]
fn requests_are_answered_and_profiled() {
    let folder = Folder::new();
    let (component, profile) = (component(&folder), folder.path("app.wprof"));
    let args = ["--collect", "edges,events=instructions", "--requests", "5", "-o", &profile, &component];
    let server = Server::start(&args);
    let answer = server.send(
        "POST /echo HTTP/1.1\r\nhost: x\r\nx-test: 1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\n",
    );
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nx-test: 1\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc");
    // Two on one connection, the second without a body.
    let mut stream = server.connect();
    stream
        .write_all(b"GET /count/1000 HTTP/1.1\r\nhost: x\r\n\r\nHEAD /count/20000 HTTP/1.0\r\n\r\n")
        .unwrap();
    let mut both = String::new();
    stream.read_to_string(&mut both).unwrap();
    assert_eq!(
        both,
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n1000\
         HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\n"
    );
    assert!(server.get("/silent").starts_with("HTTP/1.1 500 "));
    assert!(server.get("/nowhere").starts_with("HTTP/1.1 404 "));
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("5 requests answered"), "{}", ran.err);
    for row in ["GET /count/*", "HEAD /count/*", "POST /echo", "GET /silent"] {
        assert!(ran.err.contains(row), "{row}: {}", ran.err);
    }
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("count"), "{report}");
}

#[test]
fn what_is_no_request_is_refused_and_others_are_answered() {
    let folder = Folder::new();
    let component = component(&folder);
    let server = Server::start(&["-q", "--requests", "1", "--max-body", "100", &component]);
    let cases = [
        ("hello\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("GET / HTTP/3.0\r\n\r\n", "505"),
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n", "413"),
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "400"),
    ];
    for (request, status) in cases {
        let answer = server.send(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
    }
    // One that says nothing does not hold up the others.
    let silent = server.connect();
    assert!(server.get("/count/3").ends_with("\r\n\r\n3"));
    drop(silent);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn the_last_trap_ends_the_server_with_its_profile() {
    let folder = Folder::new();
    let (component, profile) = (component(&folder), folder.path("app.wprof"));
    let server = Server::start(&["--exact", "--restarts", "0", "-o", &profile, &component]);
    assert!(server.get("/count/500").ends_with("500"));
    assert!(server.get("/trap").starts_with("HTTP/1.1 500 "));
    let ran = server.end();
    assert_eq!(ran.code, Some(134), "{}", ran.err);
    assert!(ran.err.contains("unreachable") && ran.err.contains("GET /count/*"), "{}", ran.err);
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("500"), "{annotated}");
}

#[test]
fn after_a_trap_a_new_instance_answers_and_all_instances_are_in_the_profile() {
    let folder = Folder::new();
    let (component, profile) = (component(&folder), folder.path("app.wprof"));
    let args = [
        "--collect",
        "edges,events=instructions",
        "--restarts",
        "2",
        "--requests",
        "6",
        "-o",
        &profile,
        &component,
    ];
    let server = Server::start(&args);
    for (path, status) in
        [("/trap", 500), ("/count/500", 200), ("/count/41", 200), ("/trap", 500), ("/count/700", 200)]
    {
        let answer = server.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
    }
    assert!(server.get("/count/6000").ends_with("6000"));
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.matches("the next request has a new instance").count() == 2, "{}", ran.err);
    assert!(ran.err.contains("6 requests answered") && ran.err.contains("unreachable"), "{}", ran.err);
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("7,241"), "{annotated}");
}

/// A first trap, and one more than is allowed.
#[test]
fn a_component_that_always_traps_ends_the_server_in_the_end() {
    let folder = Folder::new();
    let component = component(&folder);
    let server = Server::start(&["-q", "--restarts", "3", &component]);
    for _ in 0..4 {
        assert!(server.get("/trap").starts_with("HTTP/1.1 500 "));
    }
    assert_eq!(server.end().code, Some(134));
    // Whatever is written of one store only ends with its first trap.
    let server = Server::start(&["--coredump", &folder.path("core"), &component]);
    assert!(server.get("/trap").starts_with("HTTP/1.1 500 "));
    assert_eq!(server.end().code, Some(134));
    assert!(std::fs::metadata(folder.path("core")).is_ok_and(|file| file.len() > 0));
}

/// More requests without an end than there are workers; the loop of `/count/4294967295` takes minutes in instrumented code.
#[test]
fn requests_that_take_too_long_are_ended_and_others_are_answered() {
    let folder = Folder::new();
    let component = component(&folder);
    for extra in [&["--exact"][..], &["--profile", "off"]] {
        let args =
            [&["--workers", "2", "--request-timeout", "300ms", "--requests", "5"], extra, &[&component]];
        let server = Server::start(&args.concat());
        std::thread::scope(|scope| {
            let ask = || server.get("/count/4294967295");
            for asked in [(); 4].map(|()| scope.spawn(ask)) {
                let answer = asked.join().expect("an answer");
                assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
            }
        });
        assert!(server.get("/count/6000").ends_with("6000"));
        let ran = server.end();
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.err.matches("the next request has a new instance").count(), 4, "{}", ran.err);
    }
}

#[test]
fn the_time_of_requests_can_be_unlimited_and_the_last_that_is_late_ends_the_server() {
    let folder = Folder::new();
    let component = component(&folder);
    for off in ["off", "0"] {
        let server = Server::start(&["-q", "--request-timeout", off, "--requests", "1", &component]);
        assert!(server.get("/count/6000").ends_with("6000"));
        assert_eq!(server.end().code, Some(0));
    }
    let server = Server::start(&["-q", "--request-timeout", "200ms", "--restarts", "0", &component]);
    assert!(server.get("/count/4294967295").starts_with("HTTP/1.1 504 "));
    assert_eq!(server.end().code, Some(134));
}

#[test]
fn only_components_that_answer_requests_are_served() {
    let folder = Folder::new();
    let module = folder.file("m.wat", "(module)");
    let said = wprof(&["serve", "--addr", "127.0.0.1:0", &module]).failed();
    assert!(said.contains("not a component"), "{said}");
    let other = folder.file(
        "c.wat",
        r#"(component (core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func (export "f") (canon lift (core func $i "f"))))"#,
    );
    let said = wprof(&["serve", "--addr", "127.0.0.1:0", &other]).failed();
    assert!(said.contains("incoming-handler"), "{said}");
    let said = wprof(&["serve", "--addr", "nowhere", &other]).failed();
    assert!(said.contains("cannot listen at nowhere") && said.contains("--addr"), "{said}");
}

/// Bytes of a long body.
fn long_body() -> Vec<u8> {
    (0..6_000_000_u32).map(|i| (i / 7 % 251) as u8).collect()
}

/// Reads a response in chunks, slowly, and returns its body.
fn read_chunks(from: &mut impl BufRead, is_slow: bool) -> Vec<u8> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(from.read_line(&mut head).unwrap(), 0, "{head}");
    }
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let len = usize::from_str_radix(line.trim(), 16).expect("the length of a chunk");
        let begin = body.len();
        body.resize(begin + len, 0);
        from.read_exact(&mut body[begin..]).unwrap();
        from.read_line(&mut line).unwrap();
        if len == 0 {
            return body;
        }
        if is_slow && body.len() < 400_000 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The component has one megabyte for bodies, and the system keeps less than one of what is on the way: so the client
/// must have its first bytes back before it has sent the last.
#[test]
fn long_bodies_pass_through_while_they_come() {
    let folder = Folder::new();
    let component = component(&folder);
    let server = Server::start(&["-q", "--requests", "2", &component]);
    let mut stream = server.connect();
    let body = long_body();
    let sending = {
        let (mut stream, body) = (stream.try_clone().unwrap(), body.clone());
        std::thread::spawn(move || {
            let head = "POST /echo HTTP/1.1\r\nhost: x\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n", body.len()).unwrap();
            stream.write_all(&body).unwrap();
            // On the same connection, in chunks.
            write!(stream, "{head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
            for part in body.chunks(100_000) {
                stream
                    .write_all(&[format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())
                    .unwrap();
            }
            stream.write_all(b"0\r\n\r\n").unwrap();
        })
    };
    let mut from = BufReader::new(&mut stream);
    for is_slow in [true, false] {
        assert!(read_chunks(&mut from, is_slow) == body, "another body comes back");
    }
    sending.join().unwrap();
    assert_eq!(server.end().code, Some(0));
}

/// The first client goes in the middle of its request, the second one in the middle of the response, the third one
/// neither sends nor reads; then there is a whole request.
#[test]
fn clients_that_leave_in_the_middle_hold_nobody_up() {
    let folder = Folder::new();
    let component = component(&folder);
    let server = Server::start(&["-q", "--requests", "4", "--connection-timeout", "1s", &component]);
    let body = long_body();
    let head = format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut first = server.connect();
    first.write_all(head.as_bytes()).unwrap();
    first.write_all(&body[..500_000]).unwrap();
    drop(first);
    let mut second = server.connect();
    second.write_all(head.as_bytes()).unwrap();
    second.write_all(&body[..1_000_000]).unwrap();
    second.read_exact(&mut [0; 1000]).unwrap();
    drop(second);
    let mut third = server.connect();
    third.write_all(head.as_bytes()).unwrap();
    third.write_all(&body[..300_000]).unwrap();
    let answer = server.get("/count/77");
    assert!(answer.ends_with("\r\n\r\n77"), "{answer}");
    drop(third);
    assert_eq!(server.end().code, Some(0));
}

/// Sends the begin of a long request, and waits for the first bytes of the response: an instance is busy from then on.
fn slow_client(server: &Server) -> TcpStream {
    let mut slow = server.connect();
    let body = long_body();
    let head = format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    slow.write_all(head.as_bytes()).unwrap();
    slow.write_all(&body[..1_000_000]).unwrap();
    slow.read_exact(&mut [0; 1000]).unwrap();
    slow
}

#[test]
fn slow_clients_do_not_keep_others_waiting_and_all_instances_are_in_the_profile() {
    let folder = Folder::new();
    let (component, profile) = (component(&folder), folder.path("app.wprof"));
    let args =
        ["--exact", "--collect", "edges,events=instructions", "--requests", "6", "-o", &profile, &component];
    let server = Server::start(&args);
    assert!(server.get("/count/1000").ends_with("1000"));
    // Both wait for their clients in the middle of a request.
    let slow = [(); 2].map(|()| slow_client(&server));
    assert!(server.get("/count/500").ends_with("500"));
    // One that traps is replaced, and leaves the others alone.
    assert!(server.get("/trap").starts_with("HTTP/1.1 500 "));
    for mut slow in slow {
        let mut sent = 1_000_000;
        let (mut from, body) = (slow.try_clone().unwrap(), long_body());
        let reading = std::thread::spawn(move || {
            // Up to the last chunk.
            let mut tail = Vec::new();
            while !tail.ends_with(b"\r\n0\r\n\r\n") {
                let mut part = [0; 10_000];
                let len = from.read(&mut part).expect("it is answered");
                assert_ne!(len, 0, "the answer is cut off");
                tail.extend_from_slice(&part[..len]);
                tail.drain(..tail.len().saturating_sub(7));
            }
        });
        while sent < body.len() {
            sent += slow.write(&body[sent..]).unwrap();
        }
        reading.join().unwrap();
    }
    assert!(server.get("/count/41").ends_with("41"));
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("6 requests answered") && ran.err.contains("POST /echo"), "{}", ran.err);
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("1,541"), "{annotated}");
}

#[test]
fn with_one_worker_requests_wait_for_their_turn() {
    let folder = Folder::new();
    let component = component(&folder);
    let server =
        Server::start(&["-q", "--workers", "1", "--connection-timeout", "1s", "--requests", "2", &component]);
    let slow = slow_client(&server);
    let mut waiting = server.connect();
    waiting.write_all(b"GET /count/7 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(waiting.read(&mut [0; 1]).is_err(), "it is not answered while the slow client has its turn");
    drop(slow);
    waiting.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\n7"), "{answer}");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn the_last_trap_ends_the_server_though_others_are_busy() {
    let folder = Folder::new();
    let component = component(&folder);
    for profile in ["exact", "off"] {
        let server = Server::start(&["-q", "--profile", profile, "--restarts", "0", &component]);
        let slow = slow_client(&server);
        assert!(server.get("/trap").starts_with("HTTP/1.1 500 "));
        // The slow client would have a minute.
        assert_eq!(server.end().code, Some(134), "--profile {profile}");
        drop(slow);
    }
}

#[test]
fn an_interrupt_ends_all_instances_and_their_profile_is_kept() {
    let folder = Folder::new();
    let (component, profile) = (component(&folder), folder.path("app.wprof"));
    let server = Server::start(&["--exact", "-o", &profile, &component]);
    let slow = [(); 2].map(|()| slow_client(&server));
    assert!(server.get("/count/123").ends_with("123"));
    let sent = std::process::Command::new("kill").args(["-INT", &server.child.id().to_string()]).status();
    assert!(sent.expect("kill exists").success());
    // The slow clients would have a minute.
    let ran = server.end();
    drop(slow);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(ran.err.contains("3 requests answered"), "{}", ran.err);
    let annotated = wprof(&["annotate", &profile, "count"]).succeeded();
    assert!(annotated.contains("123"), "{annotated}");
}
