//! What a module tells of its code besides its profile: source lines and instructions.
//!
//! Invariant: `lines` and `instructions` ascend by offset. All of it may be empty, when the module is not at hand or
//! has no debug information.

use std::collections::BTreeMap;

use super::Frame;
use crate::{Callee, CodeRange, FunctionProfile};

/// Source lines and instructions of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeMap {
    /// Source files.
    pub files: Vec<String>,
    /// From where on code comes from which line; a row holds up to the next.
    pub lines: Vec<LineRow>,
    /// Offset of each instruction that counts as one, in the functions that ran or are idle.
    pub instructions: Vec<u32>,
    /// The direct calls of functions that ran, ascending by offset: what each calls, of the profile's functions.
    pub calls: Vec<(u32, Callee)>,
    /// By offset, of places that were sampled or call: the source functions that are inlined there, the innermost first, without the
    /// function that the code is of.
    pub inlined: BTreeMap<u32, Vec<Frame>>,
    /// Where the code of functions lies that were sampled, ascending.
    pub bodies: Vec<CodeRange>,
    /// The functions that did not run, all counts 0, for those who want to know what did not; ascending by index.
    pub idle: Vec<FunctionProfile>,
    /// By function: its name in full, where the profile has a short one.
    pub full_names: BTreeMap<u32, String>,
}

/// Code from `offset` on comes from a line, or from none.
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
    /// From 1.
    pub line: u32,
}

impl CodeMap {
    /// The line that the code at `offset` comes from.
    pub fn line_at(&self, offset: u32) -> Option<SourceLine> {
        let next = self.lines.partition_point(|row| row.offset <= offset);
        self.lines[..next].last()?.line
    }

    /// The first line that a function's code comes from: compilers give some instructions none.
    pub fn line_of(&self, function: &FunctionProfile) -> Option<SourceLine> {
        self.first_line(function.code)
    }

    /// The first line of the function that the code at `offset` is of, if its body is known.
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

    /// The path of a file; empty if there is no such file.
    pub fn file(&self, line: SourceLine) -> &str {
        self.files.get(line.file as usize).map_or("", String::as_str)
    }

    /// The instructions from `start` to `end`, which is excluded.
    pub(super) fn instructions_in(&self, start: u32, end: u32) -> &[u32] {
        let position = |offset: u32| self.instructions.partition_point(|&found| found < offset);
        &self.instructions[position(start)..position(end).max(position(start))]
    }
}
