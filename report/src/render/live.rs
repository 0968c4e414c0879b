//! A snapshot of a running program: its current activity, beside its activity so far.
//!
//! Input: the last two profiles of a run. Sampled figures are scaled up to the whole run.
//! Invariant: without an earlier snapshot, everything so far counts as current.

use std::collections::HashMap;

use wprof_profiler::{Callee, CodeTier, Ending, FunctionProfile, Profile, Rate, RoutineTime, TimeProfile};

use super::contexts::shown;
use super::numbers::{count_of, duration, grouped, percent, sampled_share, share};
use super::page::{Ink, Page, plain, span};
use super::runs;
use super::summary;
use super::table::{Side, Table};
use crate::names;

/// The changes since the previous snapshot.
pub struct LiveChanges<'a> {
    now: &'a Profile,
    /// The time per callee at the previous snapshot, in nanoseconds.
    time_before: HashMap<String, u64>,
    /// By function index, the instructions and calls at the previous snapshot.
    before: HashMap<u32, (u64, u64)>,
    seconds: f64,
    /// The factor that scales sampled figures up to the whole run.
    scale: f64,
}

/// The activity of a function since the previous snapshot.
struct Row<'a> {
    function: &'a FunctionProfile,
    ops: u64,
    calls: u64,
}

impl<'a> LiveChanges<'a> {
    /// Compares a profile with an earlier one of the same run, if there is one.
    pub fn new(now: &'a Profile, before: Option<&Profile>) -> Self {
        let functions = before.iter().flat_map(|before| &before.functions);
        let figures = functions.map(|function| (function.index, (function.ops(), function.calls())));
        let seconds = (wall_ns(now) - before.map_or(0.0, wall_ns)).max(0.0) / 1e9;
        let times = before.and_then(|before| before.time.as_ref());
        let times = times.map(TimeProfile::routines).unwrap_or_default();
        let time_before =
            times.iter().map(|routine| (routine.callee.to_string(), routine.own.time_ns)).collect();
        let scale = scale(now.sampled(), before.and_then(Profile::sampled));
        Self { now, time_before, before: figures.collect(), seconds, scale }
    }

    /// Shows the `limit` functions that take the most time or, if time is not sampled, that execute the most.
    pub fn write(&self, page: &mut Page, limit: usize) {
        match &self.now.time {
            Some(time) => self.write_times(page, time, limit),
            None => self.write_counts(page, limit),
        }
    }

    fn write_times(&self, page: &mut Page, time: &TimeProfile, limit: usize) {
        let ops: u64 = self.now.functions.iter().map(|function| self.row(function).ops).sum();
        self.write_head(page, ops);
        let mut table = Table::new(&[
            ("now", Side::Right),
            ("time", Side::Right),
            ("so far", Side::Right),
            ("with callees", Side::Right),
            ("instructions/s", Side::Right),
            ("function", Side::Left),
        ]);
        let since = |routine: &RoutineTime<'_>| {
            let before = self.time_before.get(&routine.callee.to_string()).copied().unwrap_or(0);
            routine.own.time_ns.saturating_sub(before)
        };
        let mut rows: Vec<_> =
            time.routines().into_iter().map(|routine| (since(&routine), routine)).collect();
        rows.sort_by_key(|(now, routine)| std::cmp::Reverse((*now, routine.own)));
        let (all, so_far) = (rows.iter().map(|(now, _)| now).sum::<u64>(), time.total().time_ns);
        for (now, routine) in rows.iter().take(limit) {
            let ops = match routine.callee {
                Callee::Function { index, .. } => self.now.function(*index).map(|found| self.row(found).ops),
                _ => None,
            };
            table.row(vec![
                span(percent(*now, all), Ink::of_share(*now, all)),
                plain(duration(*now)),
                plain(percent(routine.own.time_ns, so_far)),
                plain(percent(routine.total.time_ns, so_far)),
                plain(ops.map(|ops| grouped(self.per_second(ops))).unwrap_or_default()),
                span(shown(routine.callee), Ink::Name),
            ]);
        }
        page.gap();
        page.table(&table);
    }

    fn write_counts(&self, page: &mut Page, limit: usize) {
        let mut rows: Vec<Row<'_>> = self.now.functions.iter().map(|function| self.row(function)).collect();
        let all: u64 = rows.iter().map(|row| row.ops).sum();
        self.write_head(page, all);
        let mut table = Table::new(&[
            ("now", Side::Right),
            ("instructions/s", Side::Right),
            ("calls/s", Side::Right),
            ("so far", Side::Right),
            ("function", Side::Left),
        ]);
        rows.sort_by_key(|row| std::cmp::Reverse((row.ops, row.function.ops())));
        let so_far = self.now.ops();
        for row in rows.iter().take(limit) {
            let name = names::shown(row.function.index, row.function.name.as_deref());
            table.row(vec![
                span(share(row.ops as f64 / all.max(1) as f64), Ink::of_share(row.ops, all)),
                plain(grouped(self.per_second(row.ops))),
                plain(grouped(self.per_second(row.calls))),
                plain(share(row.function.ops() as f64 / so_far.max(1) as f64)),
                span(name, Ink::Name),
            ]);
        }
        page.gap();
        page.table(&table);
    }

    fn write_head(&self, page: &mut Page, ops: u64) {
        let program = std::path::Path::new(&self.now.program).file_name().unwrap_or_default();
        let (ended, wall) = match self.now.runs.first() {
            Some(run) => (runs::ending(&run.ending), duration(run.wall_ns.unwrap_or(0))),
            None => (runs::ending(&Ending::Running), duration(0)),
        };
        let title = format!("{} {ended} after {wall}", names::harmless(&program.to_string_lossy()));
        let speed = format!("  about {} instructions a second", grouped(self.per_second(ops)));
        page.line(&[span(title, Ink::Strong), plain(speed)]);
        let compiled = count_of(self.now.code.compiled, "function");
        if let Some(all) = &self.now.allocations {
            let [live, peak] = [all.live, all.peak].map(|blocks| grouped(blocks.bytes));
            let blocks = count_of(all.live.blocks, "block");
            summary::write_detail(page, &format!("{live} bytes live in {blocks}, at most {peak} so far"));
        }
        summary::write_detail(page, &format!("{}; {compiled} compiled{}", self.sample(), self.reoptimized()));
    }

    fn sample(&self) -> String {
        let bursts = count_of(self.now.bursts.unwrap_or(0), "burst");
        match self.now.sampled() {
            Some(rate) => format!("{bursts}, a sample of {} of the run", sampled_share(rate.as_f64())),
            None => format!("{bursts}, nothing seen in them yet"),
        }
    }

    fn reoptimized(&self) -> String {
        let versions = self.now.timeline.iter().flat_map(|timeline| &timeline.versions);
        match versions.filter(|version| version.tier == CodeTier::Reoptimized).count() {
            0 => String::new(),
            done => format!(", {} of them reoptimized", grouped(done as u64)),
        }
    }

    fn row(&self, function: &'a FunctionProfile) -> Row<'a> {
        let (ops, calls) = self.before.get(&function.index).copied().unwrap_or_default();
        Row {
            function,
            ops: function.ops().saturating_sub(ops),
            calls: function.calls().saturating_sub(calls),
        }
    }

    fn per_second(&self, seen: u64) -> u64 {
        if self.seconds > 0.0 { (seen as f64 * self.scale / self.seconds) as u64 } else { 0 }
    }
}

fn wall_ns(profile: &Profile) -> f64 {
    profile.runs.first().and_then(|run| run.wall_ns).unwrap_or(0) as f64
}

/// Returns the factor that scales figures between two samples of one run up to the whole run.
fn scale(now: Option<Rate>, before: Option<Rate>) -> f64 {
    let Some(now) = now else { return 1.0 };
    let before = before.unwrap_or(Rate { counted: 0, of: 0 });
    let counted = now.counted.saturating_sub(before.counted);
    if counted == 0 { 1.0 } else { now.of.saturating_sub(before.of) as f64 / counted as f64 }
}
