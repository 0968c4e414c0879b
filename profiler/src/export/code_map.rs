//! The module's information about its code besides its profile: source lines and instructions.
//!
//! Invariant: `lines` and `instructions` ascend by offset. All of it may be empty, if the module is unavailable or
//! has no debug information.

use std::collections::BTreeMap;

use super::Frame;
use crate::{Callee, CodeRange, FunctionProfile};

/// Source lines and instructions of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeMap {
    /// Source files.
    pub files: Vec<String>,
    /// Source lines by start offset; a row extends to the next.
    pub lines: Vec<LineRow>,
    /// Offset of each counted instruction, in the functions that ran or are idle.
    pub instructions: Vec<u32>,
    /// The direct calls of functions that ran, with their callees among the profile's functions, ascending by offset.
    pub calls: Vec<(u32, Callee)>,
    /// Inlined source functions by offset of sampled places and calls: innermost first, without the function that
    /// contains the code.
    pub inlined: BTreeMap<u32, Vec<Frame>>,
    /// At the same offsets: the file and line of the function that contains the code.
    pub containing: BTreeMap<u32, (String, u32)>,
    /// Code ranges of sampled functions, ascending.
    pub bodies: Vec<CodeRange>,
    /// The functions that did not run, with all counts 0, for reports about unexecuted code; ascending by index.
    pub idle: Vec<FunctionProfile>,
    /// Full names by function, where the profile has short ones.
    pub full_names: BTreeMap<u32, String>,
}

/// The source line, or its absence, of code from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Code offset.
    pub offset: u32,
    /// The line.
    pub line: Option<SourceLine>,
}

/// A line of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// Position in the list of files.
    pub file: u32,
    /// Line number, from 1.
    pub line: u32,
}

impl CodeMap {
    /// Returns the line of the code at `offset`.
    pub fn line_at(&self, offset: u32) -> Option<SourceLine> {
        let next = self.lines.partition_point(|row| row.offset <= offset);
        self.lines[..next].last()?.line
    }

    /// Returns the file and line that a function executes at an offset, not those of what is inlined there.
    pub(super) fn place_in_function(&self, offset: u32) -> Option<(String, u32)> {
        let known = self.containing.get(&offset).cloned();
        known.or_else(|| self.line_at(offset).map(|line| (self.file(line).to_owned(), line.line)))
    }

    /// Returns the first line of a function's code: compilers give no line to some instructions.
    pub fn line_of(&self, function: &FunctionProfile) -> Option<SourceLine> {
        self.first_line(function.code)
    }

    /// Returns the first line of the function that contains the code at `offset`, if its body is known.
    pub(super) fn first_line_of_function_at(&self, offset: u32) -> Option<SourceLine> {
        let behind = self.bodies.partition_point(|body| body.start <= offset);
        let body = self.bodies.get(behind.checked_sub(1)?).filter(|body| offset < body.end)?;
        self.first_line(*body)
    }

    fn first_line(&self, code: CodeRange) -> Option<SourceLine> {
        self.line_at(code.start).or_else(|| {
            let first = self.lines.partition_point(|row| row.offset < code.start);
            self.lines[first..].iter().take_while(|row| row.offset < code.end).find_map(|row| row.line)
        })
    }

    /// Returns the path of a file; empty if there is no such file.
    pub fn file(&self, line: SourceLine) -> &str {
        self.files.get(line.file as usize).map_or("", String::as_str)
    }

    /// Returns the instructions from `start` to `end`, exclusive.
    pub(super) fn instructions_in(&self, start: u32, end: u32) -> &[u32] {
        let position = |offset: u32| self.instructions.partition_point(|&found| found < offset);
        &self.instructions[position(start)..position(end).max(position(start))]
    }
}
