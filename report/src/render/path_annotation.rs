//! One path of a function: its source lines and instructions in order, and its special properties.

use wprof_profiler::{EdgeId, EdgeProfile, FunctionProfile, Path, PathEnd};

use super::branches::way;
use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, plain, span};
use super::path_text::{blocks, target};
use super::sample;
use super::view::View;
use crate::disassembly::Line;
use crate::names;
use crate::source_line::SourceLine;
use crate::sources::Sources;

/// A path and the data to annotate it.
#[derive(Debug)]
pub struct AnnotatedPath<'a> {
    /// The profile and the module.
    pub view: View<'a>,
    /// The function.
    pub function: &'a FunctionProfile,
    /// The path's number.
    pub id: u64,
    /// The path.
    pub path: Path,
    /// The instructions of the function.
    pub code: Vec<Line>,
    /// The source files.
    pub sources: Sources,
}

/// The width of block names.
const BLOCK_WIDTH: usize = 6;

/// Writes the path.
pub fn write(page: &mut Page, mut annotated: AnnotatedPath<'_>) {
    write_head(page, &annotated);
    page.gap();
    let mut source = None;
    let all = blocks(annotated.function, &annotated.path, &PathEnd::Finished(annotated.id));
    for (block, edge) in all.into_iter().zip(annotated.path.edges.clone()) {
        let code = annotated.function.blocks[block.index()].code;
        let is_in = |line: &&Line| line.offset.is_some_and(|at| (code.start..code.end).contains(&at));
        let lines: Vec<Line> = annotated.code.iter().filter(is_in).cloned().collect();
        let mut label = block.to_string();
        for line in &lines {
            annotated.write_source(page, line, &mut source);
            page.line(&[span(format!("{label:<BLOCK_WIDTH$}"), Ink::Strong), plain(line.text.clone())]);
            label.clear();
        }
        if lines.is_empty() {
            let text = span("(no instructions)", Ink::Faint);
            page.line(&[span(format!("{label:<BLOCK_WIDTH$}"), Ink::Strong), text]);
        }
        annotated.write_edge(page, edge);
    }
}

impl AnnotatedPath<'_> {
    fn edge(&self, edge: EdgeId) -> &EdgeProfile {
        &self.function.edges[edge.index()]
    }

    /// Returns how often the edge was taken, and how often control left its source block.
    fn share(&self, edge: EdgeId) -> (u64, u64) {
        let count = |edge| self.function.edge_count(edge).unwrap_or(0);
        let out = self.function.out_edges(self.edge(edge).from);
        (count(edge), out.map(|(edge, _)| count(edge)).fold(0, u64::saturating_add))
    }

    fn is_choice(&self, edge: EdgeId) -> bool {
        self.function.out_edges(self.edge(edge).from).nth(1).is_some()
    }

    /// Writes the source line of an instruction, if it differs from the previous one.
    fn write_source(&mut self, page: &mut Page, line: &Line, last: &mut Option<SourceLine>) {
        let found = line.offset.filter(|_| !line.is_structure()).and_then(|at| self.view.line(at));
        if found.is_none() || found == *last {
            return;
        }
        let Some(found) = &found else { return };
        let text = self.sources.text(found).map(|text| names::harmless(&text.trim().replace('\t', " ")));
        let margin = " ".repeat(BLOCK_WIDTH);
        let place = span(format!("{margin}{}", found.with_function()), Ink::Warm);
        page.line(&[place, plain("  "), span(text.unwrap_or_default(), Ink::Strong)]);
        *last = Some(found.clone());
    }

    /// Writes where the path continues, if there is a choice or the path ends.
    fn write_edge(&self, page: &mut Page, edge: EdgeId) {
        let EdgeProfile { to, kind, .. } = *self.edge(edge);
        let is_last = self.path.edges.last() == Some(&edge);
        if !is_last && !self.is_choice(edge) {
            return;
        }
        let (taken, left) = self.share(edge);
        let text =
            format!("└ {:<9} → {:<5} {:>6}", way(kind), target(self.function, to), percent(taken, left));
        page.line(&[plain(" ".repeat(BLOCK_WIDTH + 2)), span(text, Ink::Faint)]);
    }
}

fn write_head(page: &mut Page, annotated: &AnnotatedPath<'_>) {
    let AnnotatedPath { view, function, id, .. } = annotated;
    page.line(&[
        span(view.name(function.index), Ink::Name),
        plain(format!("  (function {}), path {id}", function.index)),
    ]);
    for line in
        [times(annotated), instructions(annotated), ends(annotated), rarest(annotated), own_edges(annotated)]
    {
        if !line.is_empty() {
            page.line(&[plain("  "), plain(line)]);
        }
    }
    if let Some(rate) = function.kind.rate() {
        page.line(&[plain(format!("  seen in bursts: {}", sample::size(rate)))]);
    }
}

/// Describes how often the path ran.
fn times(annotated: &AnnotatedPath<'_>) -> String {
    let AnnotatedPath { function, id, .. } = annotated;
    let finished = function.paths().map_or(&[][..], |paths| &paths.finished);
    let all = finished.iter().map(|path| path.count).fold(0, u64::saturating_add);
    match function.path_count(*id) {
        0 => "it did not run".to_owned(),
        count => format!("{}, {} of the function's paths", count_of(count, "time"), percent(count, all)),
    }
}

/// Describes how much the path executed.
fn instructions(annotated: &AnnotatedPath<'_>) -> String {
    let AnnotatedPath { function, path, id, .. } = annotated;
    let blocks = blocks(function, path, &PathEnd::Finished(*id));
    let ops: u64 = blocks.iter().map(|block| u64::from(function.blocks[block.index()].ops)).sum();
    let all = ops.saturating_mul(function.path_count(*id));
    let share = percent(all, function.ops());
    format!("{}, {} in all, {share} of the function's", count_of(ops, "instruction"), grouped(all))
}

/// Describes where the path begins and ends.
fn ends(annotated: &AnnotatedPath<'_>) -> String {
    let AnnotatedPath { function, path, .. } = annotated;
    let begins = match path.start.index() {
        0 => "at the entry".to_owned(),
        _ => format!("at {}, after an earlier path", path.start),
    };
    let last = path.edges.last().map_or(path.start, |&last| annotated.edge(last).to);
    let ends = match last == function.exit() {
        true => "leaves the function".to_owned(),
        false => format!("continues at {last} with another path"),
    };
    format!("begins {begins}; {ends}")
}

/// Describes the branch on the path that takes the path's direction most rarely.
fn rarest(annotated: &AnnotatedPath<'_>) -> String {
    let choices = annotated.path.edges.iter().filter(|&&edge| annotated.is_choice(edge));
    let share = |edge: EdgeId| {
        let (taken, left) = annotated.share(edge);
        taken as f64 / left.max(1) as f64
    };
    let Some(&rarest) = choices.min_by(|&&a, &&b| share(a).total_cmp(&share(b))) else {
        return String::new();
    };
    let (taken, left) = annotated.share(rarest);
    let EdgeProfile { from, kind, .. } = *annotated.edge(rarest);
    format!("rarest branch: {from} {}, {} of {}", way(kind), percent(taken, left), count_of(left, "time"))
}

/// Describes the edges that no other path crossed.
fn own_edges(annotated: &AnnotatedPath<'_>) -> String {
    let AnnotatedPath { function, id, path, .. } = annotated;
    let count = function.path_count(*id);
    let own = path.edges.iter().filter(|&&edge| count > 0 && function.edge_count(edge) == Some(count));
    let own = own.map(|&edge| annotated.edge(edge));
    let own: Vec<String> = own.map(|edge| format!("{} → {}", edge.from, target(function, edge.to))).collect();
    if own.is_empty() { String::new() } else { format!("no other path crossed {}", own.join(", ")) }
}
