//! The source lines that execute the most instructions, in exact profiles without sampled time.

use std::collections::HashMap;

use wprof_profiler::export::executions;
use wprof_profiler::{FunctionProfile, LineFigures};

use super::numbers::{grouped, percent};
use super::page::{Ink, plain, span};
use super::place::{Line, Place, place_at};
use super::table::{Side, Table};
use super::time::{hottest_lines, sampled};
use super::view::View;
use crate::source_line::SourceLine;
use crate::sources::Sources;
use crate::{code_map, names};

/// The number of functions, the hottest, whose lines are looked up.
const FUNCTIONS: usize = 50;

/// A source line and its instructions.
pub struct LineOps {
    /// The display text of the line.
    pub line: String,
    /// The line itself.
    pub source: SourceLine,
    /// The instructions that it executed, without those of called functions.
    pub ops: u64,
}

/// The sums of a line.
#[derive(Default)]
struct Sums {
    ops: u64,
    /// The instructions of the libraries that are inlined there.
    of_libraries: HashMap<String, u64>,
}

/// Returns the lines; empty if none is known, or if time tells more.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("instructions", Side::Right),
        ("share", Side::Right),
        ("line", Side::Place),
        ("", Side::Left),
    ]);
    let mut sources = view.path.map(Sources::next_to);
    let found = if sampled(view).is_none() { hottest(view, limit) } else { Vec::new() };
    for LineOps { line, source, ops } in found {
        let text = sources.as_mut().and_then(|sources| sources.text(&source)).map(str::trim);
        table.row(vec![
            plain(grouped(ops)),
            span(percent(ops, view.ops), Ink::of_share(ops, view.ops)),
            span(line, Ink::Name),
            span(names::harmless(&text.unwrap_or_default().replace('\t', " ")), Ink::Faint),
        ]);
    }
    table
}

/// Returns the hottest `limit` lines of an exact profile. Instructions of a library count for the innermost line of the program's own that it
/// is inlined into.
pub fn hottest(view: &View<'_>, limit: usize) -> Vec<LineOps> {
    let Some(program) = view.program.filter(|_| view.sampled().is_none()) else {
        return Vec::new();
    };
    let hottest = view.profile.functions_by_ops().into_iter().take(FUNCTIONS).filter(|(_, ops)| *ops > 0);
    let mut functions: Vec<&FunctionProfile> = hottest.map(|(function, _)| function).collect();
    functions.sort_by_key(|function| function.index);
    let Ok(code) = code_map::of_instructions(program, &functions) else { return Vec::new() };
    let mut sums: HashMap<Line, Sums> = HashMap::new();
    for execution in
        functions.iter().flat_map(|function| executions(function, &code)).filter(|row| row.ops > 0)
    {
        let Place { lines, library, .. } = place_at(view, execution.offset);
        let Some(line) = lines.into_iter().next() else { continue };
        let sum = sums.entry(line).or_default();
        sum.ops = sum.ops.saturating_add(execution.ops);
        if let Some(library) = library {
            *sum.of_libraries.entry(library).or_default() += execution.ops;
        }
    }
    let mut rows: Vec<(Line, Sums)> = sums.into_iter().collect();
    rows.sort_by(|(line, ours), (other, theirs)| (theirs.ops, line).cmp(&(ours.ops, other)));
    rows.truncate(limit);
    rows.into_iter().map(|(line, sums)| described(&line, sums)).collect()
}

/// Returns the hottest `limit` lines of a profile: by time if it was sampled, else by instructions if they are exact.
pub fn figures(view: &View<'_>, limit: usize) -> Vec<LineFigures> {
    let by_time = hottest_lines(view, limit).into_iter().map(|found| LineFigures {
        file: found.source.file,
        line: found.source.line,
        time: Some((found.own, found.total)),
        ops: None,
    });
    let timed: Vec<LineFigures> = by_time.collect();
    if !timed.is_empty() {
        return timed;
    }
    let by_ops = hottest(view, limit).into_iter();
    let of = |found: LineOps| (found.source.file, found.source.line, Some(found.ops));
    by_ops.map(of).map(|(file, line, ops)| LineFigures { file, line, time: None, ops }).collect()
}

fn described(line: &Line, Sums { ops, of_libraries }: Sums) -> LineOps {
    let most =
        of_libraries.into_iter().max_by(|(name, ours), (other, theirs)| (ours, other).cmp(&(theirs, name)));
    // A library is named if it executes more than half of the line's instructions.
    let library = most.filter(|(_, of_library)| *of_library > ops / 2);
    let library = library.map(|(name, _)| format!(" ({name})")).unwrap_or_default();
    LineOps { line: format!("{line}{library}"), source: line.in_source(), ops }
}
