//! HTTP/1.1 as bytes: accepted, refused and written messages.

use std::io::{Cursor, Read};

use wprof::wasi2::http::*;

fn limits() -> WireLimits {
    WireLimits { head: 300, fields: 8, body: 100 }
}

fn request(text: &[u8]) -> Result<Option<Received>, WireError> {
    read_request(&mut Cursor::new(text), &mut Vec::new(), &limits())
}

fn response(text: &[u8], method: &str) -> Result<Response, WireError> {
    read_response(&mut Cursor::new(text), method, &limits())
}

fn fields(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

#[test]
fn requests_are_read_one_after_the_other() {
    let text = b"\r\nPOST /a?b=c HTTP/1.1\r\nHost: x:80\r\nX-Two:  2 \r\nContent-Length: 3\r\n\r\nabc\
        GET http://other/ HTTP/1.1\r\nhost: x\r\nconnection: Foo, close\r\n\r\n";
    let mut from = Cursor::new(&text[..]);
    let mut next = || read_request(&mut from, &mut Vec::new(), &limits()).unwrap();
    let Received { request, keeps_alive } = next().unwrap();
    assert_eq!((request.method.as_str(), request.path_with_query.as_deref()), ("POST", Some("/a?b=c")));
    assert_eq!(request.headers, fields(&[("host", "x:80"), ("x-two", "2"), ("content-length", "3")]));
    assert_eq!(
        (request.authority.as_deref(), &request.body[..], keeps_alive),
        (Some("x:80"), &b"abc"[..], true)
    );
    let Received { request, keeps_alive } = next().unwrap();
    assert_eq!(
        (request.authority.as_deref(), request.path_with_query.as_deref()),
        (Some("other"), Some("/"))
    );
    assert!(!keeps_alive);
    assert!(next().is_none());
}

#[test]
fn chunks_are_put_together_and_fields_behind_them_kept() {
    let text = b"PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: Chunked\r\nexpect: 100-continue\r\n\r\n\
        3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nx-sum: 7\r\n\r\n";
    let mut reply = Vec::new();
    let read = read_request(&mut Cursor::new(&text[..]), &mut reply, &limits()).unwrap().unwrap();
    assert_eq!(read.request.body, b"abc0123456789");
    assert_eq!(read.request.trailers, fields(&[("x-sum", "7")]));
    assert_eq!(reply, b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// Each request is refused with the status for its fault. The marked ones have been used for request smuggling.
#[test]
fn what_is_no_request_or_can_be_understood_in_two_ways_is_refused() {
    let long = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(400));
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(8));
    let cases = [
        (400, "GET /\r\n\r\n"),
        (400, "GET  / HTTP/1.1\r\nhost: x\r\n\r\n"),
        (400, "GE(T / HTTP/1.1\r\nhost: x\r\n\r\n"),
        (400, "GET /\u{e9} HTTP/1.1\r\nhost: x\r\n\r\n"),
        (400, "GET x HTTP/1.1\r\nhost: x\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost: a b\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost : x\r\n\r\n"), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\n folded: y\r\n\r\n"), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n"),
        (400, "GET / HTTP/1.1\nhost: x\n\n"), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1, 1\r\n\r\na"),
        (400, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: +1\r\n\r\na"), // smuggling
        (
            400,
            "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        ), // smuggling
        (501, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        (
            501,
            "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n",
        ), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: \x0bchunked\r\n\r\n"), // smuggling
        (400, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n11111111111111111\r\n"),
        (413, "GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        (413, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n"),
        (431, &long),
        (431, &many),
        (505, "GET / HTTP/2.0\r\nhost: x\r\n\r\n"),
        (400, "\x16\x03\x01\x02\x00\r\n"),
    ];
    for (status, text) in cases {
        match request(text.as_bytes()) {
            Err(error) => assert_eq!(error.status(), Some(status), "{text:?}: {error}"),
            Ok(read) => panic!("{text:?}: {read:?}"),
        }
    }
}

#[test]
fn a_connection_that_ends_early_or_is_slow_is_told_from_one_that_lies() {
    let whole = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc";
    for end in 1..whole.len() {
        assert!(matches!(request(&whole[..end]), Err(WireError::Incomplete)), "{end}");
    }
    struct Slow;
    impl Read for Slow {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::WouldBlock.into())
        }
    }
    let mut from = std::io::BufReader::new((&whole[..20]).chain(Slow));
    let error = read_request(&mut from, &mut Vec::new(), &limits()).unwrap_err();
    assert_eq!(error.status(), Some(408), "{error}");
}

#[test]
fn responses_are_read_with_the_body_that_they_have() {
    let ok =
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi and more";
    assert_eq!(response(ok, "GET").unwrap().body, b"hi");
    assert_eq!(response(ok, "HEAD").unwrap().body, b"");
    let open = response(b"HTTP/1.0 404\r\n\r\nto the end", "GET").unwrap();
    assert_eq!((open.status, &open.body[..]), (404, &b"to the end"[..]));
    assert_eq!(response(b"HTTP/1.1 204 None\r\n\r\nrest", "GET").unwrap().body, b"");
    for bad in [
        "HTTP/1.1 20 x\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1  200\r\n\r\n",
        "hello\r\n",
        "HTTP/1.1 099\r\n\r\n",
    ] {
        assert!(matches!(response(bad.as_bytes(), "GET"), Err(WireError::Malformed(_))), "{bad:?}");
    }
    assert!(matches!(
        response(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc", "GET"),
        Err(WireError::Incomplete)
    ));
    assert!(matches!(
        response(&[b"HTTP/1.1 200\r\n\r\n", &[b'x'; 101][..]].concat(), "GET"),
        Err(WireError::Body(100))
    ));
}

#[test]
fn what_is_written_is_read_as_it_was() {
    let headers = fields(&[("x-a", "1"), ("connection", "upgrade"), ("content-length", "77")]);
    let sent = Response { status: 200, headers, body: b"body".to_vec(), trailers: Headers::new() };
    let mut bytes = Vec::new();
    write_response(&mut bytes, &sent, "GET", true).unwrap();
    let read = response(&bytes, "GET").unwrap();
    assert_eq!((read.status, &read.body), (200, &sent.body));
    assert_eq!(read.headers, fields(&[("x-a", "1"), ("content-length", "4")]));

    let sent = Request {
        method: "POST".to_owned(),
        authority: Some("host:80".to_owned()),
        path_with_query: Some("/p?q".to_owned()),
        headers: fields(&[("x-b", "2"), ("host", "other")]),
        body: b"xyz".to_vec(),
        ..Request::default()
    };
    let mut bytes = Vec::new();
    write_request(&mut bytes, &sent).unwrap();
    let read = request(&bytes).unwrap().unwrap();
    assert_eq!((&read.request.method, &read.request.body), (&sent.method, &sent.body));
    assert_eq!(
        (read.request.authority, read.request.path_with_query),
        (sent.authority, sent.path_with_query)
    );
    assert!(!read.keeps_alive);
}
