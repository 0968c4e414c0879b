//! Counters over the network: just enough of HTTP for a page to send some.
//!
//! A page gets `wprof.js` from here, told where it is from, and posts the counters of each instance under a name of the
//! instance's, again and again: the last ones count. Nothing that is sent gets a meaning before it is checked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use wprof_instrument::{JAVASCRIPT, RawCounters};

use super::Counters;
use crate::{names, output};

/// The most bytes that one instance may send.
const MAX_BODY: usize = 1 << 30;
/// The most instances.
const MAX_INSTANCES: usize = 10_000;
/// The most bytes of a request before its body.
const MAX_HEAD: u64 = 1 << 16;
/// How long a client may make us wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often we look whether to stop.
const PERIOD: Duration = Duration::from_millis(20);

/// Takes counters until Ctrl-C, or the end of the process is asked for.
///
/// # Errors
/// If nobody can be listened to at the address.
pub fn until_interrupted(address: SocketAddr) -> Result<Counters> {
    let cannot = || format!("cannot listen at {address}");
    let listener = TcpListener::bind(address).with_context(cannot)?;
    listener.set_nonblocking(true).with_context(cannot)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let url = format!("http://{}/", listener.local_addr().with_context(cannot)?);
    output::tell_line(format_args!(
        "wprof: load {url}wprof.js in a page; Ctrl-C ends and writes the profile"
    ));
    let mut all: BTreeMap<String, RawCounters> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Err(error) = answer(&stream, &url, &mut all) {
                    output::tell_line(format_args!("wprof: {}", names::harmless(&format!("{error:#}"))));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PERIOD),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    Ok(all.into_iter().collect())
}

/// Answers one request.
fn answer(stream: &TcpStream, url: &str, all: &mut BTreeMap<String, RawCounters>) -> Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let (method, path, length) = head(&mut reader)?;
    match (method.as_str(), path.as_str()) {
        ("GET", "/wprof.js") => {
            let script = format!("globalThis.wprof = {{ url: '{url}', ...globalThis.wprof }};\n{JAVASCRIPT}");
            reply(stream, "200 OK", &script)
        }
        ("OPTIONS", _) => reply(stream, "204 No Content", ""),
        ("POST", _) => {
            let taken = take(&mut reader, &path, length, all);
            let status = if taken.is_ok() { "204 No Content" } else { "400 Bad Request" };
            reply(stream, status, "")?;
            taken
        }
        _ => reply(stream, "404 Not Found", "wprof.js is here, and nothing else\n"),
    }
}

/// The method and the path of a request, and how long its body is.
fn head(reader: &mut impl BufRead) -> Result<(String, String, usize)> {
    let mut lines = reader.by_ref().take(MAX_HEAD).lines();
    let first = lines.next().context("an empty request")??;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        bail!("not an HTTP request: {first}")
    };
    let mut length = 0;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            return Ok((method.to_owned(), path.to_owned(), length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().context("the length of a request is no number")?;
        }
    }
    bail!("a request ended too early")
}

fn take(
    reader: &mut impl Read,
    path: &str,
    length: usize,
    all: &mut BTreeMap<String, RawCounters>,
) -> Result<()> {
    if length > MAX_BODY {
        bail!("an instance sent more than {MAX_BODY} bytes");
    }
    let name = path.trim_start_matches('/').to_owned();
    if !all.contains_key(&name) && all.len() >= MAX_INSTANCES {
        bail!("more than {MAX_INSTANCES} instances sent counters");
    }
    let mut body = Vec::new();
    reader.by_ref().take(length as u64).read_to_end(&mut body)?;
    let counters = RawCounters::from_bytes(&body).with_context(|| name.clone())?;
    all.insert(name, counters);
    Ok(())
}

fn reply(mut stream: &TcpStream, status: &str, body: &str) -> Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: text/javascript\r\n\
         Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Private-Network: true\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    Ok(stream.write_all(body.as_bytes())?)
}
