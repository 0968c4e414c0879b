//! The residual: what ran that no test ran, path by path.

use wprof_profiler::{EdgeId, FunctionProfile, PathEnd, Residual, UntestedPath};

use super::branches::way;
use super::numbers::{count_of, grouped};
use super::page::{Ink, Page, plain, span};
use super::path_text::{PathText, target};
use super::view::View;

/// Writes the figures, and the first `top` paths.
pub fn write(page: &mut Page, view: &View<'_>, residual: &Residual, top: usize) {
    page.gap();
    page.line(&[span("wprof: ", Ink::Faint), span(head(residual), Ink::Strong)]);
    if residual.beyond_edges > 0 {
        let line = format!(
            "  {} in functions without an untested edge, which coverage of edges misses",
            grouped(residual.beyond_edges)
        );
        page.line(&[plain(line)]);
    }
    for path in residual.paths.iter().take(top) {
        if let Some(function) = view.profile.function(path.function) {
            page.gap();
            write_path(page, view, function, path);
        }
    }
    if let Some(more) = residual.paths.len().checked_sub(top).filter(|&more| more > 0) {
        page.gap();
        page.line(&[span(format!("  and {}", count_of(more as u64, "more path")), Ink::Faint)]);
    }
}

fn head(residual: &Residual) -> String {
    let untested = residual.paths.len() as u64;
    match (untested, residual.ran) {
        (0, Some(ran)) => format!("all that ran was tested: {}", count_of(ran, "path")),
        (0, None) => "every path that ran was tested".to_owned(),
        (_, ran) => {
            let of = ran.map(|ran| format!(" of {}", grouped(ran))).unwrap_or_default();
            let functions = count_of(residual.functions, "function");
            format!("{}{of} ran that no test ran, in {functions}", count_of(untested, "path"))
        }
    }
}

fn write_path(page: &mut Page, view: &View<'_>, function: &FunctionProfile, untested: &UntestedPath) {
    let UntestedPath { path, end, count, ops, new_edges, .. } = untested;
    let which = match end {
        PathEnd::Finished(id) => format!("path {id}, "),
        PathEnd::Unfinished(_) => "unfinished, ".to_owned(),
    };
    let figures = format!(", {which}{}, {}", count_of(*count, "time"), count_of(*ops, "instruction"));
    page.line(&[plain("  "), span(view.name(function.index), Ink::Name), plain(figures)]);
    let text = PathText::new(view, function, path, end);
    let new = match new_edges[..] {
        [] => "all its edges were tested, in other paths".to_owned(),
        _ => new_edges.iter().map(|&edge| new_edge(function, edge)).collect::<Vec<_>>().join(", "),
    };
    let lines = [("blocks", text.blocks), ("lines", text.places), ("branches", text.branches), ("new", new)];
    for (label, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
        page.line(&[span(format!("    {label:<10}"), Ink::Faint), plain(text)]);
    }
}

/// Describes an edge that no test crossed.
fn new_edge(function: &FunctionProfile, edge: EdgeId) -> String {
    let edge = &function.edges[edge.index()];
    format!("{} → {} ({})", edge.from, target(function, edge.to), way(edge.kind))
}
