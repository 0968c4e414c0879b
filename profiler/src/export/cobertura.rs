//! Cobertura's XML: one package per folder, one class per source file.
//!
//! Source: `coverage-04.dtd`. The format loses how often each way of a branch was taken: a line has only the share of
//! its ways that were taken. Complexity is not measured.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::coverage::Ways;
use super::xml::Escaped;
use super::{BranchCoverage, Coverage, FileCoverage};

/// Writes the coverage of all files; `timestamp` is in seconds since 1970.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_cobertura(coverage: &Coverage, timestamp: u64, mut out: impl Write) -> io::Result<()> {
    let sums = Sums::add_up(&coverage.files);
    writeln!(out, "<?xml version=\"1.0\"?>")?;
    writeln!(out, "<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">")?;
    writeln!(
        out,
        r#"<coverage {} lines-covered="{}" lines-valid="{}" branches-covered="{}" branches-valid="{}" complexity="0" version="1" timestamp="{timestamp}">"#,
        sums.rates(),
        sums.lines.taken,
        sums.lines.all,
        sums.branches.taken,
        sums.branches.all,
    )?;
    writeln!(out, "<sources><source>.</source></sources>\n<packages>")?;
    for (folder, files) in by_folder(&coverage.files) {
        let rates = Sums::add_up(files.iter().copied()).rates();
        writeln!(out, r#"<package name="{}" {rates} complexity="0"><classes>"#, Escaped(folder))?;
        files.iter().try_for_each(|file| write_class(file, &mut out))?;
        writeln!(out, "</classes></package>")?;
    }
    writeln!(out, "</packages>\n</coverage>")
}

/// Covered and total lines and branch ways.
#[derive(Default)]
struct Sums {
    lines: Ways,
    branches: Ways,
}

impl Sums {
    fn add_up<'a>(files: impl IntoIterator<Item = &'a FileCoverage>) -> Self {
        files.into_iter().fold(Self::default(), |sum, file| Self {
            lines: sum.lines.plus(Ways { taken: file.lines_hit(), all: file.lines.len() }),
            branches: sum.branches.plus(file.ways()),
        })
    }

    fn rates(&self) -> String {
        format!(r#"line-rate="{}" branch-rate="{}""#, rate(self.lines), rate(self.branches))
    }
}

/// Returns the covered share; an empty set counts as covered.
fn rate(ways: Ways) -> f64 {
    if ways.all == 0 { 1.0 } else { ways.taken as f64 / ways.all as f64 }
}

fn folder_and_name(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

fn by_folder(files: &[FileCoverage]) -> BTreeMap<&str, Vec<&FileCoverage>> {
    let mut folders: BTreeMap<&str, Vec<&FileCoverage>> = BTreeMap::new();
    for file in files {
        folders.entry(folder_and_name(&file.path).0).or_default().push(file);
    }
    folders
}

fn write_class(file: &FileCoverage, mut out: impl Write) -> io::Result<()> {
    let (name, path) = (Escaped(folder_and_name(&file.path).1), Escaped(&file.path));
    let rates = Sums::add_up([file]).rates();
    writeln!(out, r#"<class name="{name}" filename="{path}" {rates} complexity="0">"#)?;
    writeln!(out, "<methods>")?;
    for ((line, name), &calls) in &file.functions {
        let (name, was_called) = (Escaped(name), u8::from(calls > 0));
        writeln!(
            out,
            r#"<method name="{name}" signature="" line-rate="{was_called}" branch-rate="{was_called}" complexity="0"><lines><line number="{line}" hits="{calls}"/></lines></method>"#
        )?;
    }
    writeln!(out, "</methods>\n<lines>")?;
    for (line, hits) in &file.lines {
        let branches = file.branches.get(line).map(Vec::as_slice).unwrap_or_default();
        writeln!(out, r#"<line number="{line}" hits="{hits}"{}/>"#, condition(branches))?;
    }
    writeln!(out, "</lines>\n</class>")
}

/// Returns the XML attributes of a line with branches.
fn condition(branches: &[BranchCoverage]) -> String {
    let ways = branches.iter().fold(Ways::default(), |sum, branch| sum.plus(branch.tally()));
    if ways.all == 0 {
        return String::new();
    }
    let percent = 100 * ways.taken / ways.all;
    format!(r#" branch="true" condition-coverage="{percent}% ({}/{})""#, ways.taken, ways.all)
}
