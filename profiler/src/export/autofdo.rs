//! The text form of LLVM's sample profiles (AutoFDO), which `clang -fprofile-sample-use` reads.
//!
//! Input: execution counts of instructions, each with its source place (function, line and discriminator) and the
//! calls through which it was inlined; and the targets of calls. Output: for each function the counts of its lines,
//! with the counts of inlined functions below the line that called them.
//! The count of a line is that of its most frequent instruction, since one execution of a line executes each of its
//! instructions. Totals are sums over lines.
//! Source: LLVM, `SampleProfReader.h` and `DebugInfoMetadata.h` (discriminators); Chen, Li & Moseley, *AutoFDO:
//! Automatic Feedback-Directed Optimization for Warehouse-Scale Applications*, CGO 2016.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// A source place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceInFunction {
    /// Linkage name of the function.
    pub function: String,
    /// Line relative to the line of the function's definition. Only the lower 16 bits count.
    pub line: u32,
    /// DWARF discriminator, which tells several control-flow paths through one line apart; 0 if there is one path.
    pub discriminator: u32,
}

/// Execution counts by function and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleProfile {
    functions: BTreeMap<String, Body>,
}

/// A line of a function and its discriminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: u32,
    discriminator: u32,
}

/// Execution counts of one function, or of one inlined copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Body {
    calls: u64,
    lines: BTreeMap<Place, Executed>,
    inlined: BTreeMap<(Place, String), Body>,
}

/// Execution count of a line, and the targets of its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Executed {
    count: u64,
    targets: BTreeMap<String, u64>,
}

impl SampleProfile {
    /// Adds an instruction. `places` starts with the instruction's own place; each place was inlined at the next one.
    pub fn add_instruction(&mut self, places: &[PlaceInFunction], count: u64) {
        if let Some(line) = self.line(places) {
            line.count = count.max(line.count);
        }
    }

    /// Adds calls of `callee` made by an instruction.
    pub fn add_targets(&mut self, places: &[PlaceInFunction], callee: &str, count: u64) {
        if let Some(line) = self.line(places) {
            let calls = line.targets.entry(callee.to_owned()).or_default();
            *calls = calls.saturating_add(count);
        }
    }

    /// Adds calls to a function.
    pub fn add_calls(&mut self, function: &str, calls: u64) {
        let body = self.functions.entry(function.to_owned()).or_default();
        body.calls = body.calls.saturating_add(calls);
    }

    /// Reports whether nothing was executed.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Writes the functions, highest execution count first.
    ///
    /// # Errors
    /// Returns the error of `out` if a write fails.
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
        let mut at = Place::new(outer);
        for place in rest.iter().rev() {
            body = body.inlined.entry((at, place.function.clone())).or_default();
            at = Place::new(place);
        }
        Some(body.lines.entry(at).or_default())
    }
}

impl Place {
    fn new(place: &PlaceInFunction) -> Self {
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

/// Extracts the base discriminator; the other parts of a discriminator tell copies of code apart and are ignored.
/// Encoding in the lowest bits: a one if it is 0; else a zero, five bits of it, and whether seven more bits follow.
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
