//! Metrics along paths: the hot paths of each metric, dense and sparse, and how concentrated the metric is.

use wprof_profiler::{Density, Group, Metric, MetricView};

use super::contexts::{beside_simulation, from_measuring};
use super::numbers::{average, count_of, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::paths::Paths;
use super::table::{Side, Table};
use super::view::View;
use crate::names;

/// One metric of a profile.
#[derive(Debug)]
pub struct Metered<'a> {
    view: View<'a>,
    metric: &'a Metric,
    found: MetricView<'a>,
}

impl<'a> Metered<'a> {
    /// Returns all metrics of a profile; a path is hot if it has at least `share` of a metric.
    pub fn all(view: &View<'a>, share: f64) -> impl Iterator<Item = Self> {
        let view = *view;
        let metrics = view.profile.metrics.iter().enumerate();
        metrics.map(move |(column, metric)| {
            let found = MetricView::new(view.profile, column, share);
            Self { view, metric, found }
        })
    }

    /// Returns the name of the metric.
    pub fn name(&self) -> String {
        names::harmless(&self.metric.name)
    }

    /// Returns the hottest `limit` paths.
    pub fn hot_paths(&self, limit: usize) -> Table {
        let mut table = Table::new(&[
            ("amount", Side::Right),
            ("share", Side::Right),
            ("per 1000", Side::Right),
            ("", Side::Left),
            ("times", Side::Right),
            ("path in", Side::Left),
            ("path", Side::Left),
            ("places", Side::Place),
        ]);
        let paths = Paths::new(&self.view);
        let hot = self.found.paths().into_iter();
        let hot = hot.filter(|(path, amount)| self.found.density(*amount, path.ops) != Density::Cold);
        for (path, amount) in hot.take(limit) {
            let Some([name, way, places]) = paths.description(path.function, path.id) else { continue };
            let share = percent(amount, self.found.amount());
            let density = word(self.found.density(amount, path.ops));
            table.row(vec![
                plain(grouped(amount)),
                span(share, Ink::of_share(amount, self.found.amount())),
                plain(per_1000(amount, path.ops)),
                plain(density),
                plain(grouped(path.count)),
                name,
                way,
                places,
            ]);
        }
        table
    }

    /// Returns the distribution of the metric over hot and cold paths and functions.
    pub fn spread(&self) -> Table {
        let mut table = Table::new(&[
            ("", Side::Left),
            ("number", Side::Right),
            ("of instructions", Side::Right),
            ("of the amount", Side::Right),
            ("paths each", Side::Right),
        ]);
        for (what, spread) in [("paths", self.found.over_paths()), ("functions", self.found.over_functions())]
        {
            for (density, group) in
                [("dense", spread.dense), ("sparse", spread.sparse), ("cold", spread.cold)]
            {
                self.group(&mut table, format!("{density} {what}"), group, what == "functions");
            }
        }
        table
    }

    fn group(&self, table: &mut Table, name: String, group: Group, with_paths: bool) {
        let each = match group.members {
            members if with_paths && members > 0 => average(group.paths as f64 / members as f64),
            _ => String::new(),
        };
        table.row(vec![
            plain(name),
            plain(grouped(group.members)),
            plain(percent(group.ops, self.view.ops)),
            plain(percent(group.amount, self.found.amount())),
            plain(each),
        ]);
    }

    /// Writes the total, and how much of it was caused by the measurement.
    pub fn write_total(&self, page: &mut Page) {
        let (amount, taken_off) = (self.found.amount(), self.metric.taken_off);
        let all = format!("  {} {} along all paths", grouped(amount), self.name());
        page.line(&[span(all + &from_measuring(amount, taken_off), Ink::Faint)]);
    }
}

fn per_1000(amount: u64, ops: u64) -> String {
    if ops == 0 { String::new() } else { average(amount as f64 * 1000.0 / ops as f64) }
}

fn word(density: Density) -> &'static str {
    match density {
        Density::Dense => "dense",
        Density::Sparse => "sparse",
        Density::Cold => "cold",
    }
}

/// Writes one summary line per metric.
pub fn write_brief(page: &mut Page, view: &View<'_>, share: f64) {
    for metered in Metered::all(view, share) {
        let spread = metered.found.over_paths();
        let hot = spread.dense.members + spread.sparse.members;
        let part = spread.dense.amount.saturating_add(spread.sparse.amount);
        let hot = format!(
            "; {} (at least {:.1}% each) have {}",
            count_of(hot, "hot path"),
            share * 100.0,
            percent(part, metered.found.amount())
        );
        page.gap();
        let amount = span(format!("  {}", grouped(metered.found.amount())), Ink::Strong);
        page.line(&[amount, plain(format!(" {}{hot}", metered.name()))]);
    }
    // Beside contexts, their section says it.
    if let Some(text) = beside_simulation(&view.profile.metrics).filter(|_| view.profile.contexts.is_none()) {
        page.line(&[plain(format!("  {text}"))]);
    }
}
