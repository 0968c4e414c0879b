//! Disassembly of functions of a module, line by line with offsets.

mod selected;

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use wasmprinter::Print;
use wprof::Module;

use crate::error::{Error, Result};
use selected::Selected;

/// The maximum depth of indentation: a large switch nests hundreds of blocks.
const DEEPEST: usize = 24;

/// A line of text and the offset of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Byte offset in the module; none for lines that are only syntax.
    pub offset: Option<u32>,
    /// The text, indented by the nesting of the code.
    pub text: String,
}

impl Line {
    /// Reports whether the line only nests code, and so has no source line.
    pub fn is_structure(&self) -> bool {
        let word = self.text.split_whitespace().next().unwrap_or_default();
        let nests = matches!(word, "block" | "loop" | "else" | "end" | ")" | "(func" | "(local");
        nests || matches!(word, "try" | "try_table" | "catch" | "catch_all" | "delegate")
    }
}

/// Returns the text of functions, by index: head, locals, instructions.
///
/// # Errors
/// Returns an error if the printer fails.
pub fn of_functions(module: &Module, funcs: &[u32]) -> Result<HashMap<u32, Vec<Line>>> {
    let info = module.info();
    let mut funcs = funcs.to_vec();
    funcs.sort_unstable();
    funcs.dedup();
    let Selected { bytes, bodies } = Selected::new(info, &funcs);
    let body = |(&func, code): (&u32, Range<usize>)| Body { func, starts_at: info.body(func).start, code };
    let bodies: Vec<Body> = funcs.iter().zip(bodies).map(body).collect();
    let mut extract = Extract { bodies: &bodies, inside: false, lines: Vec::new(), found: HashMap::new() };
    let printed = wasmprinter::Config::new().indent_text(" ").print(&bytes, &mut extract);
    // With no bodies left, the error only says that the printer was stopped.
    if !extract.bodies.is_empty() {
        printed.map_err(|cause| Error::caused("cannot disassemble the module", cause))?;
        extract.end();
    }
    Ok(extract.found)
}

/// The position of a function's code.
struct Body {
    func: u32,
    /// The offset in the module.
    starts_at: usize,
    /// The range in the printed module.
    code: Range<usize>,
}

impl Body {
    /// Converts a printed offset into an offset of the module.
    fn in_module(&self, printed: u64) -> Option<u32> {
        let offset = (printed as usize).checked_sub(self.code.start)?;
        u32::try_from(self.starts_at + offset).ok()
    }
}

/// A printer target that extracts the lines of some functions, and stops the printer after the last.
struct Extract<'a> {
    /// The functions whose text has not ended, in the order of the text.
    bodies: &'a [Body],
    /// Whether the text is in the first of these functions.
    inside: bool,
    /// The lines of that function so far.
    lines: Vec<Line>,
    found: HashMap<u32, Vec<Line>>,
}

impl Extract<'_> {
    /// Begins or ends functions as the text reaches `offset`.
    fn move_to(&mut self, offset: usize) {
        while self.bodies.first().is_some_and(|body| body.code.end <= offset) {
            self.end();
        }
        self.inside = self.bodies.first().is_some_and(|body| body.code.contains(&offset));
    }

    /// Ends the first function.
    fn end(&mut self) {
        let [body, rest @ ..] = self.bodies else { return };
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.found.insert(body.func, outdented(lines));
        }
        self.bodies = rest;
    }
}

impl Print for Extract<'_> {
    fn write_str(&mut self, text: &str) -> io::Result<()> {
        if self.inside {
            self.lines.last_mut().expect("a line was started").text.push_str(text);
        } else if self.bodies.is_empty() {
            return Err(io::Error::other("the rest is not needed"));
        }
        Ok(())
    }

    fn start_line(&mut self, offset: Option<u64>) {
        if let Some(offset) = offset {
            self.move_to(offset as usize);
        }
        if self.inside {
            let body = &self.bodies[0];
            let offset = offset.and_then(|offset| body.in_module(offset));
            self.lines.push(Line { offset, text: String::new() });
        }
    }
}

/// Removes the indentation that all lines share, and line ends.
fn outdented(lines: Vec<Line>) -> Vec<Line> {
    let indentation = |line: &Line| line.text.len() - line.text.trim_start().len();
    let shared = lines.iter().filter(|line| !line.text.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let outdent = |line: Line| {
        let indentation = " ".repeat((indentation(&line) - shared.min(indentation(&line))).min(DEEPEST));
        Line { text: indentation + line.text.trim(), ..line }
    };
    lines.into_iter().filter(|line| !line.text.trim().is_empty()).map(outdent).collect()
}
