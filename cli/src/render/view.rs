//! A profile together with what is known of its module.
//!
//! The module is optional: a report needs only the profile, and with the module it also shows source lines.

use std::path::Path;

use wprof::Module;
use wprof_profiler::{BlockProfile, FunctionProfile, Profile, Rate};

use crate::names;
use crate::ownership::{Ownership, USUAL};

/// How many bytes of code are looked up to find a line.
const MOST_LOOKUPS: usize = 200;

/// A profile to be shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its module, if at hand.
    pub module: Option<&'a Module>,
    /// Instructions executed in all.
    pub ops: u64,
    /// Whose source files are.
    pub ownership: &'a Ownership,
}

impl<'a> View<'a> {
    /// A view of `profile`; `module` must be the one that it is of.
    pub fn new(profile: &'a Profile, module: Option<&'a Module>) -> Self {
        Self { profile, module, ops: profile.ops(), ownership: &USUAL }
    }

    /// The same where others own files.
    pub fn owned(self, ownership: &'a Ownership) -> Self {
        Self { ownership, ..self }
    }

    /// Whether it says what the code did, beside totals of events and calling contexts; samples do, if only that
    /// nothing was seen.
    pub fn is_of_code(&self) -> bool {
        let has_contexts = self.profile.contexts.as_ref().is_some_and(|tree| tree.kind.rate().is_none());
        let has_others = !self.profile.events.is_empty() || has_contexts;
        !has_others || !self.profile.functions.is_empty()
    }

    /// How many functions ran: those of which there is code were called, and a sample does not have them all.
    pub fn functions_ran(&self) -> u64 {
        let seen = self.profile.functions.len() as u64;
        self.profile.bursts.map_or(seen, |_| self.profile.code.compiled)
    }

    /// The share of the run that figures of the code are of, if they are sampled.
    pub fn sampled(&self) -> Option<Rate> {
        self.profile.functions.iter().find_map(|function| function.kind.rate())
    }

    /// Whether it says which ways control went.
    pub fn is_of_edges(&self) -> bool {
        self.profile.functions.iter().all(FunctionProfile::has_edge_counts)
    }

    /// The name of a function that ran.
    pub fn name(&self, index: u32) -> String {
        names::shown(index, self.profile.function(index).and_then(|function| function.name.as_deref()))
    }

    /// Where in the source the code at `offset` comes from, else the offset itself.
    pub fn place(&self, offset: u32) -> String {
        self.line(offset).map_or_else(|| format!("{offset:#x}"), |line| line.to_string())
    }

    /// The first place in the source that one of these pieces of code comes from, else where they begin.
    pub fn place_of<'b>(&self, blocks: impl IntoIterator<Item = &'b BlockProfile>) -> String {
        let mut blocks = blocks.into_iter().map(|block| block.code).peekable();
        let start = blocks.peek().map_or(0, |code| code.start);
        // Compilers give some instructions no line.
        let offsets = blocks.flat_map(|code| code.start..code.end).take(MOST_LOOKUPS);
        offsets
            .filter_map(|offset| self.line(offset))
            .next()
            .map_or_else(|| format!("{start:#x}"), |l| l.to_string())
    }

    /// The source line of the code at `offset`.
    pub fn line(&self, offset: u32) -> Option<SourceLine> {
        line_of(self.module?, offset)
    }
}

/// The source line of a module's code at `offset`.
pub fn line_of(module: &Module, offset: u32) -> Option<SourceLine> {
    let symbols = module.symbols_at(offset);
    let symbol = symbols.first()?;
    // Line 0 is the compiler's way of saying that code comes from nowhere.
    let line = symbol.line().filter(|&line| line > 0)?;
    let name = symbol.name().filter(|_| symbols.len() > 1);
    let inlined = name.map(names::of_symbol);
    Some(SourceLine { file: symbol.file()?.to_owned(), line, inlined })
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The file, as the debug information has it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The function that it is of, if that was inlined.
    pub inlined: Option<String>,
}

impl SourceLine {
    /// The line, and which inlined function it is of.
    pub fn with_function(&self) -> String {
        self.inlined.as_ref().map_or_else(|| self.to_string(), |name| format!("{self} in {name}, inlined"))
    }
}

/// Without the folder.
impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Path::new(&self.file).file_name().map(|name| name.to_string_lossy());
        write!(f, "{}:{}", names::harmless(&name.unwrap_or_default()), self.line)
    }
}
