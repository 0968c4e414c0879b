//! Host functions: how often they were called, and how long they ran.

use std::cmp::Reverse;

use wprof_profiler::{HostCalls, Profile};

use super::numbers::{count_of, duration, grouped};
use super::page::{Ink, Page, plain, span};
use super::table::{Side, Table};
use crate::names;

/// Returns the first `limit` functions: ordered by time or, if no time was measured, by calls.
pub fn table(calls: &[HostCalls], limit: usize) -> Table {
    let mut sorted: Vec<&HostCalls> = calls.iter().collect();
    sorted.sort_by_key(|calls| Reverse((calls.time_ns, calls.count)));
    let time = if calls.iter().any(|calls| calls.time_ns.is_some()) { "time" } else { "" };
    let mut table = Table::new(&[(time, Side::Right), ("calls", Side::Right), ("function", Side::Left)]);
    for calls in sorted.into_iter().take(limit) {
        let time = calls.time_ns.map(duration).unwrap_or_default();
        table.row(vec![plain(time), plain(grouped(calls.count)), span(name(calls), Ink::Name)]);
    }
    table
}

/// Writes one line: the time in the host, if it was measured, and the function that took the most of it.
pub fn write_brief(page: &mut Page, profile: &Profile) {
    let longest = profile.host_calls.iter().max_by_key(|calls| calls.time_ns);
    let Some((longest, time)) = longest.zip(profile.host_time_ns()) else { return };
    let calls = profile.host_calls.iter().map(|calls| calls.count).fold(0, u64::saturating_add);
    let most = match profile.host_calls.len() {
        1 => format!("all to {}", names::harmless(&longest.name)),
        _ => {
            let time = duration(longest.time_ns.unwrap_or(0));
            format!("{time} of it in {}", names::harmless(&longest.name))
        }
    };
    page.line(&[
        span(format!("  {}", duration(time)), Ink::Strong),
        plain(format!(" in {} to the host, {most}", count_of(calls, "call"))),
    ]);
}

fn name(calls: &HostCalls) -> String {
    names::harmless(&format!("{}::{}", calls.module, calls.name))
}
