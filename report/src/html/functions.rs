//! The table of functions, column by column.
//!
//! Invariant: all columns have the same length: a row for each function that ran, in the module's order, then a row for
//! each function that ran in the earlier profile only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use wprof_profiler::export::CodeMap;
use wprof_profiler::{
    Callee, Comparison, FigureKind, FunctionChange, FunctionProfile, INSTRUCTIONS, Interval, Profile, Shares,
    TimeProfile, Timed,
};

use super::figures::{self, Figure};
use super::owners::Owners;
use crate::names;
use crate::ownership::{self, Owner};
use crate::render::view::View;
use crate::source_line::SourceLine;

/// The table of functions.
#[derive(Debug, Default, Serialize)]
pub struct Functions {
    /// Function indices; none for functions that ran in the earlier profile only.
    index: Vec<Option<u32>>,
    name: Vec<String>,
    /// The full names, where they differ from the shown ones.
    full_name: Vec<Option<String>>,
    /// Whose the functions are.
    owner: Vec<Owner>,
    /// The function's beginning in the source, or else in the module.
    place: Vec<String>,
    /// The share of the function's events that was counted, if it was sampled.
    sampled: Vec<Option<f64>>,
    /// The number of blocks, and the number of blocks that ran.
    blocks: Vec<usize>,
    covered: Vec<usize>,
    /// The number of different paths that ran to their end; none if paths were not counted.
    paths: Option<Vec<usize>>,
    /// The line of the function's details in the page.
    details: Vec<Option<usize>>,
    figures: Vec<Column>,
}

/// A figure of each function.
#[derive(Debug, Serialize)]
struct Column {
    name: String,
    own: Vec<u64>,
    with_callees: Option<Vec<u64>>,
    /// The error margins of the shares, and of those with callees, in percentage points, if the figure is sampled.
    points: Option<Vec<f64>>,
    points_with_callees: Option<Vec<f64>>,
    /// The functions' own figures in the earlier profile, if there is one and it has the figure.
    before: Option<Vec<u64>>,
}

/// A row under construction: one function in both profiles.
#[derive(Clone, Copy)]
struct Row {
    index: Option<u32>,
    index_before: Option<u32>,
}

impl Functions {
    /// Creates the table for a profile; functions that are `shown` in detail have a line each.
    pub fn new(
        view: &View<'_>,
        before: Option<&Profile>,
        lines: &CodeMap,
        (shown, owners): (&[&FunctionProfile], &Owners<'_>),
    ) -> Self {
        let profile = view.profile;
        let rows = rows(profile, before);
        let details: HashMap<u32, usize> =
            shown.iter().enumerate().map(|(line, function)| (function.index, line)).collect();
        let (names, full_names) = (names_of(profile), names::full_names(profile));
        let mut table = Self { paths: profile.has_paths().then(Vec::new), ..Self::default() };
        for row in &rows {
            let function = row.index.and_then(|index| profile.function(index));
            let is_it = |function: &&&FunctionProfile| Some(function.index) == row.index;
            table.add(row, function, (lines, function.or_else(|| shown.iter().find(is_it).copied())));
            table.name.push(name(row, &names, before));
            table.owner.push(owner(row, &names, before, owners));
            table.full_name.push(row.index.and_then(|index| full_names.get(&index).cloned()));
            table.details.push(row.index.and_then(|index| details.get(&index).copied()));
        }
        let figures_before = before.map(figures::of_functions).unwrap_or_default();
        let errors = Errors::new(profile);
        let column = |figure: Figure| Column::new(figure, &rows, &figures_before, &errors);
        table.figures = figures::of_functions(profile).into_iter().map(column).collect();
        table
    }

    /// Adds a row: the counts of a function, and the place of its code, which may be known without counts.
    fn add(
        &mut self,
        row: &Row,
        function: Option<&FunctionProfile>,
        (lines, code): (&CodeMap, Option<&FunctionProfile>),
    ) {
        self.index.push(row.index);
        self.place.push(code.map_or_else(String::new, |function| place(function, lines)));
        self.sampled.push(function.and_then(|function| match function.kind {
            FigureKind::Sampled { rate } => Some(rate.as_f64()),
            FigureKind::Exact | FigureKind::Derived | FigureKind::Selected => None,
        }));
        let counts = function.map_or_else(Vec::new, FunctionProfile::block_counts);
        self.blocks.push(counts.len());
        self.covered.push(counts.iter().filter(|&&count| count > 0).count());
        if let Some(all) = &mut self.paths {
            all.push(function.and_then(|found| found.paths()).map_or(0, |paths| paths.finished.len()));
        }
    }
}

/// What tells how far shares may be wrong.
struct Errors {
    /// All sampled time.
    time: Timed,
    /// The shares of instructions, if these are sampled.
    shares: Option<Shares>,
}

impl Errors {
    fn new(profile: &Profile) -> Self {
        let time = profile.time.as_ref().map(TimeProfile::basis).unwrap_or_default();
        Self { time, shares: profile.sampled().map(|_| Shares::new(profile)) }
    }

    /// Returns the error margins of a column of time.
    fn of_time(&self, column: &[u64]) -> Vec<f64> {
        let timed = |&time_ns: &u64| Timed { time_ns, samples: 0 };
        column.iter().map(|part| tenths(Interval::of_share(timed(part), self.time).points())).collect()
    }

    fn of_instructions(&self, rows: &[Row]) -> Option<Vec<f64>> {
        let shares = self.shares.as_ref()?;
        let points = |row: &Row| row.index.map_or(0.0, |index| tenths(shares.function(index).points()));
        Some(rows.iter().map(points).collect())
    }
}

/// Rounds as tables show it, which keeps the page small.
pub fn tenths(points: f64) -> f64 {
    (10.0 * points).round() / 10.0
}

impl Column {
    fn new(figure: Figure, rows: &[Row], figures_before: &[Figure], errors: &Errors) -> Self {
        let of = |figures: &BTreeMap<u32, u64>, index: Option<u32>| {
            index.and_then(|index| figures.get(&index).copied()).unwrap_or(0)
        };
        let all = |figures: &BTreeMap<u32, u64>| rows.iter().map(|row| of(figures, row.index)).collect();
        let before = figures_before.iter().find(|before| before.name == figure.name);
        let before = before.map(|before| rows.iter().map(|row| of(&before.own, row.index_before)).collect());
        let (own, with_callees): (Vec<u64>, Option<Vec<u64>>) =
            (all(&figure.own), figure.with_callees.as_ref().map(all));
        let (points, points_with_callees) = match figure.name.as_str() {
            figures::TIME => {
                (Some(errors.of_time(&own)), with_callees.as_deref().map(|column| errors.of_time(column)))
            }
            INSTRUCTIONS => (errors.of_instructions(rows), None),
            _ => (None, None),
        };
        Self { name: figure.name, own, with_callees, points, points_with_callees, before }
    }
}

fn rows(profile: &Profile, before: Option<&Profile>) -> Vec<Row> {
    let changes =
        before.map(|before| Comparison::of_amounts(before, profile).functions()).unwrap_or_default();
    let partners: HashMap<Option<u32>, Option<u32>> =
        changes.iter().map(|change| (change.index_after, change.index_before)).collect();
    let ran = profile.functions.iter().map(|function| function.index);
    let ran: BTreeSet<u32> = ran.chain(called(profile).into_iter().map(|(index, _)| index)).collect();
    // Figures known only from calling contexts are not matched between two builds.
    let is_one_module = before.is_some_and(|before| before.module_hash == profile.module_hash);
    let row = |index| Row {
        index: Some(index),
        index_before: partners.get(&Some(index)).copied().unwrap_or(is_one_module.then_some(index)),
    };
    let is_gone = |change: &&FunctionChange| change.index_after.is_none();
    let gone = changes.iter().filter(is_gone).map(|change| change.index_before);
    let gone = gone.map(|index_before| Row { index: None, index_before });
    ran.into_iter().map(row).chain(gone).collect()
}

/// Returns the functions in calling contexts, and those that were sampled.
fn called(profile: &Profile) -> Vec<(u32, Option<&str>)> {
    let routines = profile.contexts.iter().flat_map(|tree| &tree.routines);
    let sampled = profile.time.iter().flat_map(|time| &time.callees);
    let callees = routines.map(|routine| &routine.callee).chain(sampled);
    let function = |callee| match callee {
        &Callee::Function { index, ref name } => Some((index, name.as_deref())),
        _ => None,
    };
    callees.filter_map(function).collect()
}

fn names_of(profile: &Profile) -> HashMap<u32, Option<&str>> {
    let ran = profile.functions.iter().map(|function| (function.index, function.name.as_deref()));
    ran.chain(called(profile)).collect()
}

fn name(row: &Row, names: &HashMap<u32, Option<&str>>, before: Option<&Profile>) -> String {
    match (row.index, row.index_before) {
        (Some(index), _) => names::shown(index, names.get(&index).copied().flatten()),
        (None, Some(index)) => {
            let function = before.and_then(|before| before.function(index));
            names::shown(index, function.and_then(|function| function.name.as_deref()))
        }
        (None, None) => String::new(),
    }
}

fn owner(
    row: &Row,
    names: &HashMap<u32, Option<&str>>,
    before: Option<&Profile>,
    owners: &Owners<'_>,
) -> Owner {
    match (row.index, row.index_before) {
        (Some(index), _) => owners.of_function(index, names.get(&index).copied().flatten()),
        (None, index) => {
            let function = before.zip(index).and_then(|(before, index)| before.function(index));
            ownership::of_name(function.and_then(|function| function.name.as_deref()).unwrap_or_default())
        }
    }
}

fn place(function: &FunctionProfile, lines: &CodeMap) -> String {
    let line = lines.line_of(function);
    let source = |file: &str, line| SourceLine { file: file.to_owned(), line, inlined: None };
    let line = line.map(|line| source(lines.file(line), line.line));
    line.map_or_else(|| format!("{:#x}", function.code.start), |line| line.to_string())
}
