//! Source places of code, with their owners.

use wprof_profiler::BlockProfile;

use super::view::View;
use crate::names;
use crate::source_line::SourceLine;

/// The source place of some code.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The line, followed by the lines of the functions that the code is inlined into.
    pub lines: Vec<Line>,
    /// The library that executes there, if the code is not the program's own.
    pub library: Option<String>,
    /// Whether the first line is the program's own.
    pub is_own: bool,
}

/// The maximum number of lines without code, such as comments, within a range of lines.
const MOST_BETWEEN: u32 = 8;

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    file: String,
    line: u32,
}

impl Line {
    /// Returns the path of the file in the debug information.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the number of the line in its file.
    pub fn number(&self) -> u32 {
        self.line
    }

    /// Reports whether few lines lie between this one and a later one of the same file.
    pub fn is_near(&self, later: &Line) -> bool {
        self.file == later.file && later.line.saturating_sub(self.line) <= MOST_BETWEEN + 1
    }

    /// Returns the line as tables of source files know it.
    pub fn in_source(&self) -> SourceLine {
        SourceLine { file: self.file.clone(), line: self.line, inlined: None }
    }
}

/// Shows the file without its folder.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = std::path::Path::new(&self.file).file_name().map(|name| name.to_string_lossy());
        write!(f, "{}:{}", names::harmless(&name.unwrap_or_default()), self.line)
    }
}

/// Returns the place of the code at an offset: beginning with the innermost line of the program's own or, if all lines
/// are a library's, with the innermost line.
pub fn place_at(view: &View<'_>, offset: u32) -> Place {
    view.program.map_or_else(Place::default, |program| of_symbols(view, &program.symbols_at(offset)))
}

/// Returns the same, unless the code has no line of its own, but only the code that it is inlined into has one.
pub fn place_with_line(view: &View<'_>, offset: u32) -> Option<Place> {
    let symbols = view.program?.symbols_at(offset);
    let first = symbols.first()?;
    let has_line = first.file().is_some() && first.line().is_some_and(|line| line > 0);
    has_line.then(|| of_symbols(view, &symbols))
}

/// Returns the place of code with these symbols, the innermost first.
fn of_symbols(view: &View<'_>, symbols: &[wprof::FrameSymbol]) -> Place {
    let place = |symbol: &wprof::FrameSymbol| {
        let line = symbol.line().filter(|&line| line > 0)?;
        Some(Line { file: symbol.file()?.to_owned(), line })
    };
    let is_own = |symbol: &wprof::FrameSymbol| {
        place(symbol).is_some_and(|line| !view.ownership.is_library(&line.file))
    };
    let own = symbols.iter().position(is_own);
    let name = symbols.first().and_then(|symbol| symbol.name()).filter(|_| own != Some(0));
    let library = name.map(names::bare);
    let lines = symbols.iter().skip(own.unwrap_or(0)).filter_map(place).collect();
    // A line of a library already names the library.
    Place { lines, library: library.filter(|_| own.is_some()), is_own: own.is_some() }
}

/// The maximum number of bytes of code that are looked up to find a line.
const MOST_LOOKUPS: usize = 200;

/// Returns the first place of some blocks in the program's own source, also where they are inlined, or else the first in a
/// library, or else the offset where they begin.
pub fn of_blocks<'b>(view: &View<'_>, blocks: impl IntoIterator<Item = &'b BlockProfile>) -> String {
    let mut blocks = blocks.into_iter().map(|block| block.code).peekable();
    let start = blocks.peek().map_or(0, |code| code.start);
    let mut of_library = None;
    // Compilers give some instructions no line.
    for offset in blocks.flat_map(|code| code.start..code.end).take(MOST_LOOKUPS) {
        // There the line of the surrounding code says little.
        let Some(Place { lines, is_own, .. }) = place_with_line(view, offset) else { continue };
        match lines.into_iter().next() {
            Some(line) if is_own => return line.to_string(),
            line => of_library = of_library.or(line),
        }
    }
    of_library.map_or_else(|| format!("{start:#x}"), |line| line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_functions_are_not_near() {
        let line = |file: &str, line| Line { file: file.to_owned(), line };
        let near = |later: Line| line("src/value.go", 40).is_near(&later);
        assert!(near(line("src/value.go", 41)) && near(line("src/value.go", 49)));
        assert!(!near(line("src/value.go", 856)) && !near(line("lib/value.go", 41)));
    }
}
