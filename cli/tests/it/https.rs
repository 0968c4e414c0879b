//! Programs send requests by HTTPS. The other side is Python's, which rests on OpenSSL; without Python, tests are skipped
//! with a note.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::Folder;
use super::serve::{Server, component};

/// Cases of `error-code`.
const TLS_PROTOCOL_ERROR: u8 = 12;
const TLS_CERTIFICATE_ERROR: u8 = 13;

/// The length of the body of an answer, which is several records.
const LENGTH: usize = 300_000;

/// Answers connections one after the other. Arguments: the kind of encryption, and the folder of the certificate.
const ANSWERS: &str = r#"
import socket, ssl, sys
kind, folder = sys.argv[1:]
listener = socket.create_server(("0.0.0.0", 0))
print(listener.getsockname()[1], flush=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/server.pem", folder + "/server.key")
if kind != "none":
    context.minimum_version = context.maximum_version = ssl.TLSVersion[kind]
while True:
    connection, _ = listener.accept()
    try:
        if kind != "none":
            connection = context.wrap_socket(connection, server_side=True)
        asked = b""
        while not asked.endswith(b"asked") and not (kind == "none" and asked):
            some = connection.recv(1000)
            if not some:
                break
            asked += some
        body = bytes(i % 251 for i in range(300000))
        connection.sendall(b"HTTP/1.1 201 Made\r\nx-version: " + kind.encode() + b"\r\ncontent-length: 300000\r\n\r\n" + body)
    except (ssl.SSLError, OSError):
        pass
    connection.close()
"#;

fn certificates() -> String {
    format!("{}/../spec-tests/tests/wasi2/tls", env!("CARGO_MANIFEST_DIR"))
}

/// A server that listens at all addresses of this machine.
struct Peer {
    child: Child,
    port: String,
    _out: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts one with a version of the encryption; without Python says so.
    fn start(kind: &str) -> Option<Peer> {
        let mut command = Command::new("python3");
        command.args(["-c", ANSWERS, kind, &certificates()]).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            super::tell_skipped("Python is not installed");
            return None;
        };
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut port = String::new();
        out.read_line(&mut port).expect("it says where it listens");
        Some(Peer { child, port: port.trim().to_owned(), _out: out })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program answers that asks a server by HTTPS, and trusts the certificates in a file.
fn asked(host: &str, trusted: &str) -> Vec<u8> {
    let folder = Folder::new();
    let args = ["-q", "--net", "http", "--requests", "1", &component(&folder)];
    let server = Server::start_with(&[("SSL_CERT_FILE", trusted)], &args);
    let answer = server.get_bytes(&format!("/secure/{host}"));
    assert_eq!(server.end().code, Some(0));
    answer
}

/// The program's answer if it got none.
fn failure(code: u8) -> Vec<u8> {
    let head = b"HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 1\r\n\r\n";
    [&head[..], &[code]].concat()
}

#[test]
fn a_program_asks_another_server_by_https() {
    let authority = format!("{}/authority.pem", certificates());
    for version in ["TLSv1_2", "TLSv1_3"] {
        let Some(peer) = Peer::start(version) else { return };
        for host in ["127.0.0.1", "localhost"] {
            let answer = asked(&format!("{host}:{}", peer.port), &authority);
            assert!(
                answer.starts_with(b"HTTP/1.1 201 "),
                "{version}: {}",
                String::from_utf8_lossy(&answer[..99])
            );
            let body: Vec<u8> = (0..LENGTH).map(|i| (i % 251) as u8).collect();
            assert!(unchunked(&answer) == body, "{version}: {} bytes", answer.len());
        }
    }
}

/// The body of an answer in chunks.
fn unchunked(answer: &[u8]) -> Vec<u8> {
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4;
    let (mut rest, mut body) = (&answer[head..], Vec::new());
    while let Some(end) = rest.windows(2).position(|end| end == b"\r\n") {
        let length =
            std::str::from_utf8(&rest[..end]).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(length @ 1..) = length else { break };
        body.extend(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
    body
}

#[test]
fn who_does_not_prove_who_it_is_gets_no_request() {
    let certificates = certificates();
    let Some(peer) = Peer::start("TLSv1_3") else { return };
    let host = format!("127.0.0.1:{}", peer.port);
    // Somebody else vouches for others.
    let folder = Folder::new();
    let nobody = folder.file("none.pem", "");
    assert_eq!(asked(&host, &nobody), failure(TLS_CERTIFICATE_ERROR));
    // The certificate is for other names.
    let authority = format!("{certificates}/authority.pem");
    let other = format!("127.0.0.2:{}", peer.port);
    assert_eq!(asked(&other, &authority), failure(TLS_CERTIFICATE_ERROR));
    let Some(plain) = Peer::start("none") else { return };
    assert_eq!(asked(&format!("127.0.0.1:{}", plain.port), &authority), failure(TLS_PROTOCOL_ERROR));
}
