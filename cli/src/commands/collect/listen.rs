//! Reception of counters over the network, from pages that another server serves.
//!
//! A page loads `wprof.js` from this server, which inserts its address. The script posts the counters of each instance
//! repeatedly, under a name of the instance; the last post counts. No received data is interpreted before it is
//! checked.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use wprof::wasi2::http::{Request, Response};
use wprof_instrument::javascript;

use super::Counters;
use crate::commands::web::connections;
use crate::commands::web::inbox::{Inbox, LIMITS, received, response, target};
use crate::output;

/// The fields that let any page send counters here.
const FIELDS: [(&str, &str); 3] = [
    ("access-control-allow-origin", "*"),
    ("access-control-allow-private-network", "true"),
    ("cross-origin-resource-policy", "cross-origin"),
];

/// Receives counters until Ctrl-C or another request to end the process.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub fn until_interrupted(address: SocketAddr) -> Result<Counters> {
    let (listener, address) = connections::listen(address, "give a free one with --listen ADDRESS:PORT")?;
    let stop = connections::interruption()?;
    let url = format!("http://{address}/");
    output::tell_line(format_args!(
        "wprof: load {url}wprof.js in a page; Ctrl-C ends and writes the profile"
    ));
    let inbox: Arc<Mutex<Inbox>> = Arc::default();
    let taking = inbox.clone();
    let answer = move |request: Request| answer(&request, &url, &taking);
    connections::serve(listener, LIMITS, answer, || stop.load(Ordering::Relaxed))?;
    Ok(inbox.lock().unwrap_or_else(PoisonError::into_inner).take_all())
}

/// Answers one request.
fn answer(request: &Request, url: &str, inbox: &Mutex<Inbox>) -> Response {
    let script = |status, body: &str| response(status, "text/javascript", &FIELDS, body);
    match (request.method.as_str(), target(request).0) {
        ("GET", "/wprof.js") => {
            let own =
                format!("globalThis.wprof = {{ url: '{url}', ...globalThis.wprof }};\n{}", javascript());
            script(200, &own)
        }
        ("OPTIONS", _) => script(204, ""),
        ("POST", path) => {
            let name = path.trim_start_matches('/');
            let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
            received(inbox.take(name, &request.body).map(drop), &FIELDS)
        }
        _ => script(404, "wprof.js is here, and nothing else\n"),
    }
}
