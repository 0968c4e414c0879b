//! The threads of a program, and its garbage collector: what each took.

use wprof_profiler::{Callee, Collector, Profile, ThreadProfile, Timed};

use super::contexts::shown;
use super::numbers::{count_of, duration, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::table::{Side, Table};

/// The number of threads that are listed.
const MOST: usize = 16;

/// Returns the threads that took the most processor time; empty if the profile tells no threads apart.
pub fn table(profile: &Profile) -> Table {
    let has_samples = profile.threads.iter().any(|thread| thread.sampled().is_some());
    let is_counted = are_counted(profile);
    let column = |name, is_there: bool| (if is_there { name } else { "" }, Side::Right);
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        column("samples", has_samples),
        column("instructions", is_counted),
        column("calls", is_counted),
        ("thread", Side::Left),
    ]);
    let all = profile.threads.iter().map(|thread| thread.cpu_ns).fold(0, u64::saturating_add);
    for thread in heaviest_first(profile).into_iter().take(MOST) {
        let counted = |figure: u64| plain(if is_counted { grouped(figure) } else { String::new() });
        let samples = thread.sampled().map(|Timed { samples, .. }| grouped(samples)).unwrap_or_default();
        table.row(vec![
            plain(duration(thread.cpu_ns)),
            span(percent(thread.cpu_ns, all), Ink::of_share(thread.cpu_ns, all)),
            plain(samples),
            counted(thread.ops()),
            counted(thread.calls()),
            span(name(thread), Ink::Name),
        ]);
    }
    table
}

/// Returns the threads, those with most processor time first; none if the profile tells no threads apart.
pub fn heaviest_first(profile: &Profile) -> Vec<&ThreadProfile> {
    let mut all: Vec<&ThreadProfile> = profile.threads.iter().filter(|_| profile.has_threads()).collect();
    all.sort_by_key(|thread| (std::cmp::Reverse(thread.cpu_ns), thread.number));
    all
}

/// Reports whether threads can be compared by their counts: bursts of a thread are too few.
pub fn are_counted(profile: &Profile) -> bool {
    profile.sampled().is_none() && !profile.functions.is_empty()
}

/// Returns the display name of a thread.
pub fn name(thread: &ThreadProfile) -> String {
    shown(&Callee::Thread { number: thread.number })
}

/// Writes one line about the garbage collector, if it has worked.
pub fn write_collector(page: &mut Page, profile: &Profile) {
    if let Some((share, work)) = collector(profile) {
        page.gap();
        page.line(&[span(format!("  {share}"), Ink::Strong), plain(work)]);
    }
}

/// Returns how much of the time the garbage collector took, and with what; `None` if it has not worked.
pub fn collector(profile: &Profile) -> Option<(String, String)> {
    let &Collector { collections, paused_ns, longest_ns, live } =
        profile.collector.as_ref().filter(|collector| collector.collections > 0)?;
    let mut walls = profile.runs.iter().map(|run| run.wall_ns);
    let wall = walls.try_fold(0_u64, |sum, wall| Some(sum.saturating_add(wall?)));
    // Threads wait for their own collections, at the same time.
    let share = match wall.filter(|&wall| wall > 0 && !profile.has_threads()) {
        Some(wall) => percent(paused_ns, wall),
        None => duration(paused_ns),
    };
    let work = format!(
        " of the time in the garbage collector: {} of {} in all, {} at most; {} kept",
        count_of(collections, "collection"),
        duration(paused_ns),
        duration(longest_ns),
        count_of(live, "byte"),
    );
    Some((share, work))
}
