//! The text form of LLVM's sample profiles (AutoFDO), for `clang -fprofile-sample-use` and its like.
//!
//! Input: how often instructions were executed, each with its place in the source: function and line, and if it was inlined
//! the calls that it was inlined through. Output: for each function the executions of its lines, those of inlined
//! functions below the line that called them.
//! The count of a line is that of its most frequent instruction, as copies of a line are executed one by one; totals are
//! sums of lines.
//! Source: LLVM, `SampleProfReader.h`; Chen, Li & Moseley, *AutoFDO: Automatic Feedback-Directed Optimization for Warehouse-Scale
//! Applications*, CGO 2016. Loses discriminators, so ways through one line are one, and targets of indirect calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceInFunction {
    /// The function, as linkers know it.
    pub function: String,
    /// The line, less the line that the function is defined at. Only 16 bits count.
    pub line: u32,
}

/// Executions by function and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleProfile {
    functions: BTreeMap<String, Body>,
}

/// What was executed of one function, or of one copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Body {
    calls: u64,
    lines: BTreeMap<u32, u64>,
    inlined: BTreeMap<(u32, String), Body>,
}

impl SampleProfile {
    /// Adds an instruction. The place that it is of is the first; each was inlined at the next one.
    pub fn add_instruction(&mut self, places: &[PlaceInFunction], count: u64) {
        let Some((outer, rest)) = places.split_last() else { return };
        let mut body = self.functions.entry(outer.function.clone()).or_default();
        let mut line = outer.line & 0xffff;
        for place in rest.iter().rev() {
            body = body.inlined.entry((line, place.function.clone())).or_default();
            line = place.line & 0xffff;
        }
        let most = body.lines.entry(line).or_default();
        *most = count.max(*most);
    }

    /// Adds calls of a function.
    pub fn add_calls(&mut self, function: &str, calls: u64) {
        let body = self.functions.entry(function.to_owned()).or_default();
        body.calls = body.calls.saturating_add(calls);
    }

    /// Whether nothing was executed.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Writes the functions, those with most executions first.
    ///
    /// # Errors
    /// If `out` refuses.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut functions: Vec<(&String, &Body)> = self.functions.iter().collect();
        functions.sort_by_key(|(_, body)| Reverse(body.total()));
        for (name, body) in functions {
            writeln!(out, "{name}:{}:{}", body.total(), body.calls)?;
            body.write_lines(1, &mut out)?;
        }
        Ok(())
    }
}

impl Body {
    fn total(&self) -> u64 {
        let inlined = self.inlined.values().map(Self::total);
        self.lines.values().copied().chain(inlined).fold(0, u64::saturating_add)
    }

    fn write_lines(&self, depth: usize, out: &mut impl Write) -> io::Result<()> {
        for (line, count) in &self.lines {
            writeln!(out, "{:depth$}{line}: {count}", "")?;
        }
        for ((line, name), body) in &self.inlined {
            writeln!(out, "{:depth$}{line}: {name}:{}", "", body.total())?;
            body.write_lines(depth + 1, out)?;
        }
        Ok(())
    }
}
