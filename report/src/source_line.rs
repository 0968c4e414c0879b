//! Lines of source, as debug information has them.

use std::path::Path;

use wprof::{FrameSymbol, Module};

use crate::names;

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The path of the file in the debug information.
    pub file: String,
    /// The line number, from 1.
    pub line: u32,
    /// The inlined function that contains the line, if there is one.
    pub inlined: Option<String>,
}

impl SourceLine {
    /// Returns the source line of a module's code at `offset`, if debug information tells it.
    pub fn at(module: &Module, offset: u32) -> Option<Self> {
        Self::of_symbols(&module.symbols_at(offset))
    }

    /// Returns the source line of code with these symbols, innermost first.
    pub(crate) fn of_symbols(symbols: &[FrameSymbol]) -> Option<Self> {
        let symbol = symbols.first()?;
        // Compilers use line 0 for code without a source line.
        let line = symbol.line().filter(|&line| line > 0)?;
        let name = symbol.name().filter(|_| symbols.len() > 1);
        let inlined = name.map(names::of_symbol);
        Some(Self { file: symbol.file()?.to_owned(), line, inlined })
    }

    /// Formats the line with the inlined function that contains it.
    pub fn with_function(&self) -> String {
        self.inlined.as_ref().map_or_else(|| self.to_string(), |name| format!("{self} in {name}, inlined"))
    }
}

/// Shows the file without its folder.
impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Path::new(&self.file).file_name().map(|name| name.to_string_lossy());
        write!(f, "{}:{}", names::harmless(&name.unwrap_or_default()), self.line)
    }
}
