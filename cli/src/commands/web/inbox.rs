//! The counters that pages send: the latest of each instance, by its name. No received data is interpreted before it is
//! checked.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use wprof::wasi2::http::{Request, Response, WireLimits};
use wprof_instrument::RawCounters;
use wprof_report::names;

use super::connections::Limits;
use crate::output;

/// The maximum number of instances.
const MAX_INSTANCES: usize = 10_000;

/// The limits of servers for pages: a body holds the counters of an instance, or a module.
pub const LIMITS: Limits = Limits {
    wire: WireLimits { head: 64 << 10, fields: 200, body: 1 << 30 },
    short: usize::MAX,
    patience: Duration::from_secs(60),
};

/// Received counters.
#[derive(Debug, Default)]
pub struct Inbox(BTreeMap<String, RawCounters>);

impl Inbox {
    /// Keeps the counters of an instance. Returns whether they differ from the earlier ones.
    ///
    /// # Errors
    /// Returns an error if the bytes are no counters, or there are too many instances.
    pub fn take(&mut self, name: &str, bytes: &[u8]) -> Result<bool> {
        let counters = RawCounters::from_bytes(bytes).with_context(|| name.to_owned())?;
        let old = self.0.get(name);
        ensure!(
            old.is_some() || self.0.len() < MAX_INSTANCES,
            "more than {MAX_INSTANCES} instances sent counters"
        );
        let is_news = old != Some(&counters);
        if is_news {
            self.0.insert(name.to_owned(), counters);
        }
        Ok(is_news)
    }

    /// Reports whether nothing was received.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all counters, with the names of their instances.
    pub fn take_all(&mut self) -> Vec<(String, RawCounters)> {
        std::mem::take(&mut self.0).into_iter().collect()
    }
}

/// Returns the path and the query of a request, as they stand there.
pub fn target(request: &Request) -> (&str, &str) {
    let target = request.path_with_query.as_deref().unwrap_or("/");
    target.split_once('?').unwrap_or((target, ""))
}

/// Returns the response to counters: an error is shown here, not there.
pub fn received(taken: Result<()>, fields: &[(&str, &str)]) -> Response {
    if let Err(error) = &taken {
        output::tell_line(format_args!("wprof: {}", names::harmless(&format!("{error:#}"))));
    }
    response(if taken.is_ok() { 204 } else { 400 }, "text/plain", fields, Vec::new())
}

/// Returns a response with a body of a media type, and more fields.
pub fn response(status: u16, kind: &str, fields: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Response {
    let field = |(name, value): (&str, &str)| (name.to_owned(), value.as_bytes().to_vec());
    let headers = [("content-type", kind)].into_iter().chain(fields.iter().copied()).map(field).collect();
    Response { status, headers, body: body.into(), ..Response::default() }
}
