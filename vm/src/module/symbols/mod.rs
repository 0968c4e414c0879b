//! Source functions and lines of code, from DWARF in the module or in a separate file, or else from a source map.

mod data_url;
mod debug_files;
mod dwarf;
mod guard;
mod sections;
mod source_map;

use std::sync::{Arc, Mutex};

use hashbrown::{HashMap, HashSet};
use wprof_jit::module::ModuleInfo;

pub use debug_files::{Beside, DebugFile};
use dwarf::DebugInfo;
use source_map::SourceMap;

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSymbol {
    name: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl FrameSymbol {
    /// Returns the name of the function, mangled as in the debug information.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the source file.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Returns the line, from 1.
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// Returns the column, from 1.
    pub fn column(&self) -> Option<u32> {
        self.column
    }
}

/// A row of a line table: the offset from which code comes from a source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Byte offset in the module.
    pub offset: u32,
    /// The file, named as in the debug information, and the line; `None` where code comes from no line.
    pub line: Option<(Arc<str>, u32)>,
}

/// The debug information of one module.
pub struct Symbols(Option<Mutex<Source>>);

/// The format of the debug information.
enum Source {
    Dwarf(DebugInfo),
    Map(SourceMap),
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("present", &self.0.is_some()).finish()
    }
}

impl Symbols {
    /// Indexes the debug information of `info`. `section` returns the module's sections by name; `beside`
    /// says where other files are, if the module is from a file.
    pub fn read(
        info: &ModuleInfo,
        section: impl Fn(&str) -> Option<Arc<[u8]>>,
        beside: Option<Beside<'_>>,
        debug_file: Option<&DebugFile>,
    ) -> Symbols {
        let own = || DebugInfo::read(section);
        let separate = || DebugInfo::read(|name| debug_file?.section(name).map(Arc::from));
        let dwarf = own().or_else(separate).map(Source::Dwarf);
        let source = dwarf.or_else(|| SourceMap::find(info, beside).map(Source::Map));
        Symbols(source.map(Mutex::new))
    }

    /// Returns the file or address of debug information that `info` names but that could not be read.
    pub fn missing<'a>(&self, info: &'a ModuleInfo) -> Option<&'a str> {
        let sections =
            [debug_files::DEBUG_FILE, source_map::SOURCE_MAP].into_iter().filter(|_| self.0.is_none());
        let mut names = sections.filter_map(|section| debug_files::named(info, section));
        names.find(|name| !name.starts_with("data:"))
    }

    /// Reports whether all addresses in the debug information are wrong: see
    /// [`Module::has_detached_debug_info`](crate::Module::has_detached_debug_info).
    pub fn are_detached(&self, info: &ModuleInfo) -> bool {
        let found = self.ask(|source| matches!(source, Source::Dwarf(dwarf) if dwarf.is_detached(info)));
        found.unwrap_or(false)
    }

    /// Returns the names of functions by index; empty without DWARF.
    pub fn names(&self, info: &ModuleInfo) -> HashMap<u32, String> {
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.names(info),
            Source::Map(_) => HashMap::new(),
        });
        found.unwrap_or_default()
    }

    /// Returns the symbols at byte `offset` of the module, innermost inlined function first.
    pub fn at(&self, info: &ModuleInfo, offset: u32) -> Vec<FrameSymbol> {
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.at(info, offset),
            Source::Map(map) => map.at(offset).map(|symbol| vec![symbol]),
        });
        found.flatten().unwrap_or_default()
    }

    /// Returns the line table of the functions that exist: see
    /// [`Module::source_rows`](crate::Module::source_rows).
    pub fn rows(&self, info: &ModuleInfo) -> Vec<SourceRow> {
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.rows(info),
            Source::Map(map) => map.rows(),
        });
        found.unwrap_or_default()
    }

    /// Returns the line table of one function: a single pass, where each look at an offset would search from the start.
    pub fn rows_of(&self, info: &ModuleInfo, func: u32) -> Vec<SourceRow> {
        let body = info.body(func);
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.rows_of(info, func),
            Source::Map(map) => map.rows_in(body.start as u32..body.end as u32),
        });
        found.unwrap_or_default()
    }

    /// Returns the lines of definitions: see [`Module::definition_lines`](crate::Module::definition_lines).
    pub fn definitions(&self) -> HashMap<String, u32> {
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.definitions(),
            Source::Map(_) => HashMap::new(),
        });
        found.unwrap_or_default()
    }

    /// Returns the discriminators: see [`Module::discriminators`](crate::Module::discriminators).
    pub fn discriminators(&self, info: &ModuleInfo) -> Vec<(u32, u32)> {
        let found = self.ask(|source| match source {
            Source::Dwarf(dwarf) => dwarf.discriminators(info),
            Source::Map(_) => Vec::new(),
        });
        found.unwrap_or_default()
    }

    /// Asks the source. A panic on malformed data poisons the lock; later callers get no symbols.
    fn ask<A>(&self, question: impl FnOnce(&Source) -> A) -> Option<A> {
        self.0.as_ref()?.lock().ok().map(|source| question(&source))
    }
}

/// A line table under construction.
#[derive(Default)]
struct Rows {
    rows: Vec<SourceRow>,
    files: HashSet<Arc<str>>,
}

impl Rows {
    /// Adds a row. It replaces earlier rows at the same address, and is left out if it repeats the previous line.
    fn push(&mut self, offset: u64, line: Option<(&str, u32)>) {
        let Ok(offset) = u32::try_from(offset) else { return };
        let line = line
            .map(|(file, line)| (self.files.get_or_insert_with(file, |file| Arc::from(file)).clone(), line));
        if self.rows.last().is_some_and(|last| last.offset >= offset) {
            self.rows.pop();
        }
        if self.rows.last().is_none_or(|last| last.line != line) {
            self.rows.push(SourceRow { offset, line });
        }
    }
}
