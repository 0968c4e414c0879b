//! Reception of counters over the network, from pages that another server serves.
//!
//! A page loads `wprof.js` from this server, which inserts its address. The script posts the counters of each instance
//! repeatedly, under a name of the instance; the last post counts. No received data is interpreted before it is
//! checked.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use wprof_instrument::{JAVASCRIPT, RawCounters};

use super::Counters;
use crate::commands::web::http::{self, Reply, Request};
use crate::commands::web::server;
use crate::output;

/// The maximum number of instances.
const MAX_INSTANCES: usize = 10_000;

/// The latest counters of each instance, by its name.
type All = Mutex<BTreeMap<String, RawCounters>>;

/// The headers that let any page send counters here.
const HEAD: &str = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Private-Network: true\r\n\
                    Cross-Origin-Resource-Policy: cross-origin\r\n";

/// Receives counters until Ctrl-C or another request to end the process.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub fn until_interrupted(address: SocketAddr) -> Result<Counters> {
    let (listener, address) = server::listen(address)?;
    let stop = server::interruption()?;
    let url = format!("http://{address}/");
    output::tell_line(format_args!(
        "wprof: load {url}wprof.js in a page; Ctrl-C ends and writes the profile"
    ));
    let all: Arc<All> = Arc::default();
    let taking = all.clone();
    server::serve(&listener, move |stream| answer(stream, &url, &taking), || stop.load(Ordering::Relaxed))?;
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *all).into_iter().collect())
}

/// Answers one request.
fn answer(stream: &TcpStream, url: &str, all: &All) -> Result<()> {
    http::prepare(stream)?;
    let mut reader = BufReader::new(stream);
    let Some(request) = Request::read(&mut reader)? else { return Ok(()) };
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/wprof.js") => {
            let script = format!("globalThis.wprof = {{ url: '{url}', ...globalThis.wprof }};\n{JAVASCRIPT}");
            reply(stream, "200 OK", &script)
        }
        ("OPTIONS", _) => reply(stream, "204 No Content", ""),
        ("POST", path) => {
            let taken = take(path, &request.body(&mut reader)?, all);
            let status = if taken.is_ok() { "204 No Content" } else { "400 Bad Request" };
            reply(stream, status, "")?;
            taken
        }
        _ => reply(stream, "404 Not Found", "wprof.js is here, and nothing else\n"),
    }
}

fn take(path: &str, body: &[u8], all: &All) -> Result<()> {
    let name = path.trim_start_matches('/').to_owned();
    let counters = RawCounters::from_bytes(body).with_context(|| name.clone())?;
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains_key(&name) && all.len() >= MAX_INSTANCES {
        bail!("more than {MAX_INSTANCES} instances sent counters");
    }
    all.insert(name, counters);
    Ok(())
}

fn reply(stream: &TcpStream, status: &str, body: &str) -> Result<()> {
    Reply { status, kind: "text/javascript", head: HEAD, body: body.as_bytes() }.send(stream)
}
