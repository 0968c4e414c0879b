//! Statistics of requests, by path.

use std::collections::BTreeMap;
use std::time::Duration;

use wprof::Store;
use wprof::wasi::WasiCtx;
use wprof_report::names;
use wprof_report::numbers::{count_of, duration, grouped};
use wprof_report::page::{Ink, Page, Side, Table, plain, span};
use wprof_report::text;

/// The maximum number of path patterns; requests with further patterns are counted together.
const MOST_PATHS: usize = 200;
/// The number of rows that are shown.
const SHOWN: usize = 10;
/// The maximum number of times kept per pattern for quantiles; beyond it every second time is kept, then every fourth,
/// …
const MOST_TIMES: usize = 4096;
/// The name under which further patterns are counted.
const OTHERS: &str = "(other paths)";

/// The requests, by method and path pattern.
#[derive(Debug, Default)]
pub struct Requests {
    all: BTreeMap<String, Kind>,
    /// The kinds of events that are counted per request.
    events: Vec<String>,
}

#[derive(Debug, Default)]
struct Kind {
    count: u64,
    total: Duration,
    longest: Duration,
    /// A sample of the times: each `step`th.
    times: Vec<Duration>,
    step: u64,
    /// The number of failed responses.
    failed: u64,
    /// The sums of the events.
    events: Vec<u64>,
}

impl Requests {
    /// Creates empty statistics. The store counts events of these kinds.
    pub fn new(events: Vec<String>) -> Requests {
        Requests { all: BTreeMap::new(), events }
    }

    /// Returns the number of events so far, by kind.
    pub fn events(&self, store: &Store<WasiCtx>) -> Vec<u64> {
        self.events.iter().map(|kind| store.event_count(kind).unwrap_or_default()).collect()
    }

    /// Adds a request; `before` holds the numbers of events before it.
    pub fn note(
        &mut self,
        store: &Store<WasiCtx>,
        (method, path, status): (&str, &str, u16),
        time: Duration,
        before: &[u64],
    ) {
        let events: Vec<u64> =
            self.events(store).iter().zip(before).map(|(after, before)| after - before).collect();
        self.add((method, path, status), time, &events);
    }

    fn add(&mut self, (method, path, status): (&str, &str, u16), time: Duration, events: &[u64]) {
        let mut key = format!("{method} {}", pattern(path));
        if !self.all.contains_key(&key) && self.all.len() >= MOST_PATHS {
            key = OTHERS.to_owned();
        }
        let kind = self.all.entry(key).or_default();
        kind.add(time, status >= 500);
        kind.events.resize(events.len(), 0);
        kind.events.iter_mut().zip(events).for_each(|(sum, events)| *sum = sum.saturating_add(*events));
    }

    /// Writes a table, ordered by total time, the longest first.
    pub fn write(&self, page: &mut Page) {
        let count: u64 = self.all.values().map(|kind| kind.count).sum();
        text::detail(page, &format!("{} answered", count_of(count, "request")));
        let mut sorted: Vec<(&String, &Kind)> = self.all.iter().collect();
        sorted.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.total));
        let mut titles = vec![("requests", Side::Right)];
        titles.extend([("half", Side::Right), ("95%", Side::Right), ("longest", Side::Right)]);
        titles.push(("failed", Side::Right));
        // Titles are short: only the first kind has a column.
        let event = self
            .events
            .first()
            .map(|kind| (if kind == "instructions" { "instructions" } else { "events" }, Side::Right));
        titles.extend(event);
        titles.push(("path", Side::Place));
        let mut table = Table::new(&titles);
        for (path, kind) in sorted.into_iter().take(SHOWN) {
            let times = [kind.quantile(50), kind.quantile(95), kind.longest];
            let mut cells = vec![plain(grouped(kind.count))];
            cells.extend(times.map(|time| plain(duration(time.as_nanos() as u64))));
            cells.push(if kind.failed == 0 { plain("") } else { span(grouped(kind.failed), Ink::Bad) });
            if event.is_some() {
                cells.push(plain(grouped(kind.events.first().copied().unwrap_or_default())));
            }
            cells.push(span(names::harmless(path), Ink::Name));
            table.row(cells);
        }
        page.gap();
        page.table(&table);
    }
}

impl Kind {
    fn add(&mut self, time: Duration, has_failed: bool) {
        let step = self.step.max(1);
        if self.count.is_multiple_of(step) {
            self.times.push(time);
        }
        if self.times.len() >= MOST_TIMES {
            let mut index = 0_usize;
            self.times.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.step = step * 2;
        }
        self.count += 1;
        self.total += time;
        self.longest = self.longest.max(time);
        self.failed += u64::from(has_failed);
    }

    /// Returns the time within which `percent` percent of the requests were answered.
    fn quantile(&self, percent: usize) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }
}

/// Returns the pattern of a path: the path without its query, with `*` for numbers and other identifiers.
fn pattern(path: &str) -> String {
    /// Longer paths are truncated.
    const LONGEST: usize = 120;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').map(|part| if is_identifier(part) { "*" } else { part }).collect();
    parts.join("/").chars().take(LONGEST).collect()
}

/// Reports whether a path segment is an identifier: a number, or a segment with many decimal or hexadecimal digits.
fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    !part.is_empty()
        && (digits == part.len() || is_hexadecimal && digits > 0 && part.len() >= 8 || digits >= 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_in_identifiers_are_of_one_kind() {
        let cases = [
            ("/", "/"),
            ("/users/17/posts?page=2", "/users/*/posts"),
            ("/v1/items/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "/v1/items/*"),
            ("/o/deadbeef", "/o/deadbeef"),
            ("/o/deadbee7", "/o/*"),
            ("/img/photo20260101.png", "/img/*"),
            ("/a//b/", "/a//b/"),
        ];
        for (path, expected) in cases {
            assert_eq!(pattern(path), expected, "{path}");
        }
    }

    #[test]
    fn quantiles_are_those_of_all_times_within_a_sample() {
        let mut kind = Kind::default();
        (1..=100).for_each(|ms| kind.add(Duration::from_millis(ms), ms > 98));
        assert_eq!([50, 95, 100].map(|p| kind.quantile(p).as_millis()), [50, 95, 100]);
        assert_eq!((kind.count, kind.failed, kind.longest.as_millis()), (100, 2, 100));
        (0..100_000_u64).for_each(|i| kind.add(Duration::from_millis(i % 100 + 1), false));
        assert!(kind.times.len() < MOST_TIMES);
        let half = kind.quantile(50).as_millis();
        assert!((45..=55).contains(&half), "{half}");
    }

    #[test]
    fn paths_do_not_grow_without_end() {
        let mut requests = Requests::new(vec!["instructions".to_owned()]);
        for i in 0..10_000 {
            let letter = |digit: usize| char::from(b'a' + (digit % 10) as u8);
            let path: String = ['/', letter(i / 100), letter(i / 10), letter(i)].iter().collect();
            requests.add(("GET", &path, 200), Duration::from_millis(1), &[7]);
        }
        assert_eq!(requests.all.len(), MOST_PATHS + 1 - usize::from(!requests.all.contains_key(OTHERS)));
        let sum = |what: fn(&Kind) -> u64| requests.all.values().map(what).sum::<u64>();
        assert_eq!((sum(|kind| kind.count), sum(|kind| kind.events[0])), (10_000, 70_000));
    }
}
