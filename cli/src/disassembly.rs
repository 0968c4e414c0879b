//! One function of a module as text, line by line with offsets.

use std::io;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use wasmprinter::Print;
use wprof::Module;

/// Deeper code is not indented further: a large switch nests hundreds of blocks.
const DEEPEST: usize = 24;

/// A line of text and the code that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Byte offset in the module; none for lines that are only syntax.
    pub offset: Option<u32>,
    /// The text, indented as the code nests.
    pub text: String,
}

impl Line {
    /// Whether it only nests code, and so comes from no source line.
    pub fn is_structure(&self) -> bool {
        let word = self.text.split_whitespace().next().unwrap_or_default();
        matches!(word, "block" | "loop" | "else" | "end" | ")" | "(func" | "(local")
    }
}

/// The text of a function: its head, its locals, its instructions.
///
/// # Errors
/// If the printer fails.
pub fn of_function(module: &Module, func: u32) -> Result<Vec<Line>> {
    let info = module.info();
    let mut extract = Extract { body: info.body(func), lines: Vec::new(), state: State::Before };
    let printed = wasmprinter::Config::new().indent_text(" ").print(&info.bytes, &mut extract);
    if extract.state == State::Before {
        printed.context("cannot disassemble the module")?;
        bail!("function {func} is missing from the disassembly");
    }
    Ok(outdented(extract.lines))
}

#[derive(PartialEq, Eq)]
enum State {
    Before,
    Inside,
    Behind,
}

/// Takes from the text of a module the lines of one function, and stops the printer after them.
struct Extract {
    body: Range<usize>,
    lines: Vec<Line>,
    state: State,
}

impl Print for Extract {
    fn write_str(&mut self, text: &str) -> io::Result<()> {
        match self.state {
            State::Before => {}
            State::Inside => self.lines.last_mut().expect("a line was started").text.push_str(text),
            State::Behind => return Err(io::Error::other("the rest is not needed")),
        }
        Ok(())
    }

    fn start_line(&mut self, offset: Option<u64>) {
        let inside = offset.map(|offset| self.body.contains(&(offset as usize)));
        self.state = match (&self.state, inside) {
            (State::Before, Some(true)) => State::Inside,
            (State::Inside, Some(false)) => State::Behind,
            (State::Before, _) => State::Before,
            (State::Inside, _) => State::Inside,
            (State::Behind, _) => State::Behind,
        };
        if self.state == State::Inside {
            let offset = offset.and_then(|offset| u32::try_from(offset).ok());
            self.lines.push(Line { offset, text: String::new() });
        }
    }
}

/// Without the indentation that all lines share, and without line ends.
fn outdented(lines: Vec<Line>) -> Vec<Line> {
    let indentation = |line: &Line| line.text.len() - line.text.trim_start().len();
    let shared = lines.iter().filter(|line| !line.text.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let outdent = |line: Line| {
        let indentation = " ".repeat((indentation(&line) - shared.min(indentation(&line))).min(DEEPEST));
        Line { text: indentation + line.text.trim(), ..line }
    };
    lines.into_iter().filter(|line| !line.text.trim().is_empty()).map(outdent).collect()
}
