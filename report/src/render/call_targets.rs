//! The targets of indirect calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wprof_profiler::CallTarget;

use super::contexts;
use super::numbers::{grouped, percent};
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use super::view::View;

/// Returns the `limit` most frequent callees, each with its share of the calls from its call site.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut all: Vec<&CallTarget> = view.profile.call_targets.iter().collect();
    let mut of_site: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for target in &all {
        let calls = of_site.entry((target.caller, target.site)).or_default();
        *calls = calls.saturating_add(target.count);
    }
    all.sort_by_key(|target| Reverse(target.count));
    // Other tables of a sample count a call if a burst saw the callee; this one counts the calls that bursts saw.
    let calls = if view.sampled().is_some() { "calls made" } else { "calls" };
    let mut table = Table::new(&[
        (calls, Side::Right),
        ("share", Side::Right),
        ("callee", Side::Left),
        ("place", Side::Place),
        ("caller", Side::Left),
    ]);
    for target in all.into_iter().take(limit) {
        table.row(vec![
            plain(grouped(target.count)),
            plain(percent(target.count, of_site[&(target.caller, target.site)])),
            span(contexts::shown(&target.callee), Ink::Name),
            plain(view.place(target.site)),
            span(view.name(target.caller), Ink::Name),
        ]);
    }
    table
}
