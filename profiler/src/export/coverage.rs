//! Coverage by source line: lines, functions, and ways of branches that ran.
//!
//! Input: a profile, and the source lines of the code, including functions that did not run. Output: files, ascending
//! by path.
//! Invariant: code without a line is left out. A function belongs to the file of its first line; functions with the
//! same name and first line are one, and their calls are added up. An inlined line belongs to its own source file.
//! Method: the count of a line is that of its most frequent instruction in a function, summed over functions. Copies
//! of a line in one function, by inlining or unrolling, count once.

use std::collections::BTreeMap;

use super::{CodeMap, SourceLine, executions};
use crate::contexts::function_name;
use crate::{BlockId, FunctionProfile, Profile};

/// Coverage of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Files with code, ascending by path.
    pub files: Vec<FileCoverage>,
}

/// Coverage of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    /// Path of the file, as in the debug information.
    pub path: String,
    /// Calls by first line and name.
    pub functions: BTreeMap<(u32, String), u64>,
    /// Executions by line.
    pub lines: BTreeMap<u32, u64>,
    /// Branches by line, in the order of the code.
    pub branches: BTreeMap<u32, Vec<BranchCoverage>>,
}

/// One branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchCoverage {
    /// The number of times each way was taken.
    pub ways: Vec<u64>,
}

impl BranchCoverage {
    /// Reports whether control reached the branch and took one of its ways.
    pub fn was_reached(&self) -> bool {
        self.ways.iter().any(|&count| count > 0)
    }

    /// Counts the branch's ways, and those that were taken.
    pub fn tally(&self) -> Ways {
        Ways { taken: self.ways.iter().filter(|&&count| count > 0).count(), all: self.ways.len() }
    }
}

impl Coverage {
    /// Computes the coverage of all functions, including those that did not run.
    pub fn new(profile: &Profile, code: &CodeMap) -> Self {
        let mut files: BTreeMap<u32, FileCoverage> = BTreeMap::new();
        for function in profile.functions.iter().chain(&code.idle) {
            add_function(&mut files, function, code);
        }
        let mut files: Vec<FileCoverage> = files
            .into_iter()
            .map(|(file, found)| FileCoverage { path: code.files[file as usize].clone(), ..found })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

impl FileCoverage {
    /// Returns the number of lines that ran.
    pub fn lines_hit(&self) -> usize {
        self.lines.values().filter(|&&count| count > 0).count()
    }

    /// Returns the number of functions that were called.
    pub fn functions_hit(&self) -> usize {
        self.functions.values().filter(|&&calls| calls > 0).count()
    }

    /// Counts the ways of all branches, and those that were taken.
    pub fn ways(&self) -> Ways {
        self.branches.values().flatten().fold(Ways::default(), |sum, branch| sum.plus(branch.tally()))
    }
}

/// Taken and total ways of branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Number of ways that were taken.
    pub taken: usize,
    /// Number of all ways.
    pub all: usize,
}

impl Ways {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { taken: self.taken + other.taken, all: self.all + other.all }
    }
}

fn add_function(files: &mut BTreeMap<u32, FileCoverage>, function: &FunctionProfile, code: &CodeMap) {
    if let Some(first) = code.line_of(function) {
        let place = (first.line, function_name(function.index, function.name.as_deref()).into_owned());
        add(files.entry(first.file).or_default().functions.entry(place).or_default(), function.calls());
    }
    for (line, count) in line_counts(function, code) {
        add(files.entry(line.file).or_default().lines.entry(line.line).or_default(), count);
    }
    if function.has_edge_counts() {
        add_branches(files, function, code);
    }
}

fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

/// Returns by line the count of its most frequent instruction.
fn line_counts(function: &FunctionProfile, code: &CodeMap) -> BTreeMap<SourceLine, u64> {
    let mut counts = BTreeMap::new();
    for row in executions(function, code) {
        if let Some(line) = code.line_at(row.offset) {
            let most: &mut u64 = counts.entry(line).or_default();
            *most = row.count.max(*most);
        }
    }
    counts
}

fn add_branches(files: &mut BTreeMap<u32, FileCoverage>, function: &FunctionProfile, code: &CodeMap) {
    let mut ways: Vec<Vec<u64>> = vec![Vec::new(); function.blocks.len()];
    for (edge, count) in function.counted_edges() {
        if let Some(ways) = ways.get_mut(edge.from.index()) {
            ways.push(count);
        }
    }
    for (block, ways) in (0..).map(BlockId).zip(ways).filter(|(_, ways)| ways.len() > 1) {
        let found = function.blocks[block.index()].code;
        let Some(&branch) = code.instructions_in(found.start, found.end).last() else { continue };
        let Some(line) = code.line_at(branch) else { continue };
        let branches = files.entry(line.file).or_default().branches.entry(line.line).or_default();
        branches.push(BranchCoverage { ways });
    }
}
