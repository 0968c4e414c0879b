//! The text form of LLVM's sample profiles (AutoFDO), for `clang -fprofile-sample-use` and its like.
//!
//! Input: how often instructions were executed, each with its place in the source: function, line and discriminator,
//! and if it was inlined the calls that it was inlined through; what calls called. Output: for each function the
//! executions of its lines, those of inlined functions below the line that called them.
//! The count of a line is that of its most frequent instruction, as copies of a line are executed one by one; totals
//! are sums of lines.
//! Source: LLVM, `SampleProfReader.h` and `DebugInfoMetadata.h` (discriminators); Chen, Li & Moseley, *AutoFDO:
//! Automatic Feedback-Directed Optimization for Warehouse-Scale Applications*, CGO 2016.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// A place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceInFunction {
    /// The function, as linkers know it.
    pub function: String,
    /// The line, less the line that the function is defined at. Only 16 bits count.
    pub line: u32,
    /// What tells several ways through one line apart, as DWARF has it; 0 if there is one way.
    pub discriminator: u32,
}

/// Executions by function and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleProfile {
    functions: BTreeMap<String, Body>,
}

/// A line of a function and which way through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: u32,
    discriminator: u32,
}

/// What was executed of one function, or of one copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Body {
    calls: u64,
    lines: BTreeMap<Place, Executed>,
    inlined: BTreeMap<(Place, String), Body>,
}

/// How often a line was executed, and what calls on it called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Executed {
    count: u64,
    targets: BTreeMap<String, u64>,
}

impl SampleProfile {
    /// Adds an instruction. The place that it is of is the first; each was inlined at the next one.
    pub fn add_instruction(&mut self, places: &[PlaceInFunction], count: u64) {
        if let Some(line) = self.line(places) {
            line.count = count.max(line.count);
        }
    }

    /// Adds calls of `callee` that an instruction made.
    pub fn add_targets(&mut self, places: &[PlaceInFunction], callee: &str, count: u64) {
        if let Some(line) = self.line(places) {
            let calls = line.targets.entry(callee.to_owned()).or_default();
            *calls = calls.saturating_add(count);
        }
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

    fn line(&mut self, places: &[PlaceInFunction]) -> Option<&mut Executed> {
        let (outer, rest) = places.split_last()?;
        let mut body = self.functions.entry(outer.function.clone()).or_default();
        let mut at = Place::of(outer);
        for place in rest.iter().rev() {
            body = body.inlined.entry((at, place.function.clone())).or_default();
            at = Place::of(place);
        }
        Some(body.lines.entry(at).or_default())
    }
}

impl Place {
    fn of(place: &PlaceInFunction) -> Self {
        Self { line: place.line & 0xffff, discriminator: base_discriminator(place.discriminator) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.discriminator {
            0 => write!(f, "{}", self.line),
            way => write!(f, "{}.{way}", self.line),
        }
    }
}

/// The part of a discriminator that tells ways apart. Others, which are left out, tell copies of code apart. In the
/// lowest bits: a one if it is 0; else a zero, five bits of it, and whether seven bits more follow.
fn base_discriminator(discriminator: u32) -> u32 {
    let bits = discriminator >> 1;
    match (discriminator & 1, bits & 0x20) {
        (1, _) => 0,
        (_, 0) => bits & 0x1f,
        _ => ((bits >> 1) & 0xfe0) | (bits & 0x1f),
    }
}

impl Body {
    fn total(&self) -> u64 {
        let lines = self.lines.values().map(|executed| executed.count);
        lines.chain(self.inlined.values().map(Self::total)).fold(0, u64::saturating_add)
    }

    fn write_lines(&self, depth: usize, out: &mut impl Write) -> io::Result<()> {
        for (place, Executed { count, targets }) in &self.lines {
            write!(out, "{:depth$}{place}: {count}", "")?;
            targets.iter().try_for_each(|(callee, calls)| write!(out, " {callee}:{calls}"))?;
            writeln!(out)?;
        }
        for ((place, name), body) in &self.inlined {
            writeln!(out, "{:depth$}{place}: {name}:{}", "", body.total())?;
            body.write_lines(depth + 1, out)?;
        }
        Ok(())
    }
}
