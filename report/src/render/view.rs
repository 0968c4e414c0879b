//! A profile together with the code of its program, if that is available.
//!
//! The code is optional: a report needs only the profile, and with the code it also shows source lines.

use std::path::Path;

use wprof::FrameSymbol;
use wprof_profiler::{FunctionProfile, Profile, Rate};

use crate::names;
use crate::ownership::{Ownership, USUAL};
use crate::program::Program;
use crate::source_line::SourceLine;

/// A profile to be shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The profile.
    pub(crate) profile: &'a Profile,
    /// The code of the profile's program, if available.
    pub(crate) program: Option<&'a Program>,
    /// The number of instructions executed in total.
    pub(crate) ops: u64,
    /// The owners of source files.
    pub(crate) ownership: &'a Ownership,
    /// The path of the module, beside which source files may lie; without it their text is not shown in tables.
    pub(crate) path: Option<&'a Path>,
}

impl<'a> View<'a> {
    /// Creates a view of a profile. `program` must be the profile's; without it there are no source lines, code and inlined
    /// functions, and library functions are told by their names only.
    pub fn new(profile: &'a Profile, program: Option<&'a Program>) -> Self {
        Self { profile, program, ops: profile.ops(), ownership: &USUAL, path: None }
    }

    /// Returns the profile.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Returns the view with the path of the module: tables then show the text of source lines from files that lie in the
    /// folder of the module or below.
    pub fn at(self, path: &'a Path) -> Self {
        Self { path: Some(path), ..self }
    }

    /// Returns the view with other rules of ownership.
    pub fn owned(self, ownership: &'a Ownership) -> Self {
        Self { ownership, ..self }
    }

    /// Reports whether the profile is about code, and not only about totals of events and calling contexts. A sample
    /// is, even if nothing was seen.
    pub(crate) fn is_of_code(&self) -> bool {
        let has_contexts = self.profile.contexts.as_ref().is_some_and(|tree| tree.kind.rate().is_none());
        // Imported time is all that its profile has.
        let has_time_only = self.profile.time.is_some() && self.profile.code.compiled == 0;
        let has_others = !self.profile.events.is_empty() || has_contexts || has_time_only;
        !has_others || !self.profile.functions.is_empty()
    }

    /// Returns the number of functions that ran: with bursts the number of compiled functions, since a sample misses
    /// some.
    pub(crate) fn functions_ran(&self) -> u64 {
        let seen = self.profile.functions.len() as u64;
        self.profile.bursts.map_or(seen, |_| self.profile.code.compiled)
    }

    /// Returns the share of the run that the figures of code cover, if they are sampled.
    pub(crate) fn sampled(&self) -> Option<Rate> {
        self.profile.functions.iter().find_map(|function| function.kind.rate())
    }

    /// Reports whether the profile has edge counts.
    pub(crate) fn is_of_edges(&self) -> bool {
        self.profile.functions.iter().all(FunctionProfile::has_edge_counts)
    }

    /// Returns the name of a function that ran.
    pub(crate) fn name(&self, index: u32) -> String {
        names::shown(index, self.profile.function(index).and_then(|function| function.name.as_deref()))
    }

    /// Returns the source place of the code at `offset`, or else the offset.
    pub(crate) fn place(&self, offset: u32) -> String {
        self.line(offset).map_or_else(|| format!("{offset:#x}"), |line| line.to_string())
    }

    /// Returns the source line of the code at `offset`.
    pub(crate) fn line(&self, offset: u32) -> Option<SourceLine> {
        SourceLine::of_symbols(&self.program?.symbols_at(offset))
    }
}

impl View<'_> {
    /// Returns the line that the source function with a display name executes at `offset`, where it is inlined, with the
    /// innermost function that is inlined into it there.
    pub(crate) fn line_in(&self, offset: u32, name: &str) -> Option<SourceLine> {
        let symbols = self.program?.symbols_at(offset);
        let is_it = |symbol: &FrameSymbol| symbol.name().is_some_and(|raw| names::of_symbol(raw) == name);
        let at = symbols.iter().rposition(is_it)?;
        let line = symbols[at].line().filter(|&line| line > 0)?;
        let innermost = symbols.first().and_then(FrameSymbol::name).filter(|_| at > 0);
        let inlined = innermost.map(names::bare);
        Some(SourceLine { file: symbols[at].file()?.to_owned(), line, inlined })
    }
}
