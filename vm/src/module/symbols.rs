//! Source functions and lines, from DWARF in custom sections.
//!
//! DWARF addresses are byte offsets from the start of the code section's contents. Linkers leave entries of removed
//! functions behind, whose addresses collide with live code: only functions whose range lies within one wasm
//! function's body are believed. Bad data is ignored.

use std::sync::{Arc, Mutex};

use gimli::{EndianArcSlice, LittleEndian};
use hashbrown::HashSet;
use wprof_jit::module::ModuleInfo;

type Reader = EndianArcSlice<LittleEndian>;
type Dwarf = gimli::Dwarf<Reader>;

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSymbol {
    name: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl FrameSymbol {
    /// Name of the function, mangled as it is in the debug information.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Source file.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Line, from 1.
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// Column, from 1.
    pub fn column(&self) -> Option<u32> {
        self.column
    }
}

/// From where on code comes from which source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Byte offset in the module.
    pub offset: u32,
    /// The file as the debug information has it, and the line; nothing where code comes from no line.
    pub line: Option<(Arc<str>, u32)>,
}

/// The debug information of one module.
pub struct Symbols(Option<Mutex<Known>>);

struct Known {
    context: addr2line::Context<Reader>,
    /// Address ranges of the functions that exist, ascending.
    live: Vec<(u64, u64)>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("present", &self.0.is_some()).finish()
    }
}

impl Symbols {
    /// Indexes the debug information of `info`.
    pub fn read(info: &ModuleInfo) -> Symbols {
        Symbols(known(info).map(Mutex::new))
    }

    /// The symbols at byte `offset` of the module, innermost inlined function first.
    pub fn at(&self, info: &ModuleInfo, offset: u32) -> Vec<FrameSymbol> {
        let Some(known) = &self.0 else { return Vec::new() };
        let Some(address) = u64::from(offset).checked_sub(info.code_section.start as u64) else {
            return Vec::new();
        };
        // A panic on strange data poisons the lock; whoever comes next gets no symbols.
        let Ok(known) = known.lock() else { return Vec::new() };
        known.at(address).unwrap_or_default()
    }
}

impl Symbols {
    /// The line table of the functions that exist: see [`Module::source_rows`](crate::Module::source_rows).
    pub fn rows(&self, info: &ModuleInfo) -> Vec<SourceRow> {
        let known = self.0.as_ref().and_then(|known| known.lock().ok());
        known.map_or_else(Vec::new, |known| known.rows(info))
    }
}

impl Known {
    fn rows(&self, info: &ModuleInfo) -> Vec<SourceRow> {
        let mut rows =
            Rows { start: info.code_section.start as u64, rows: Vec::new(), files: HashSet::new() };
        for &(begin, end) in &self.live {
            let Ok(ranges) = self.context.find_location_range(begin, end) else { continue };
            for (address, _, location) in ranges {
                // Line 0 is the compiler's way of saying that code comes from nowhere.
                let line = location.line.filter(|&line| line > 0);
                rows.push(address.max(begin), location.file.zip(line));
            }
            rows.push(end, None);
        }
        rows.rows
    }

    fn at(&self, address: u64) -> Option<Vec<FrameSymbol>> {
        let i = self.live.partition_point(|&(start, _)| start <= address).checked_sub(1)?;
        if address >= self.live[i].1 {
            return None;
        }
        let mut frames = self.context.find_frames(address).skip_all_loads().ok()?;
        let mut symbols = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|f| Some(f.raw_name().ok()?.into_owned()));
            let place = frame.location;
            symbols.push(FrameSymbol {
                name,
                file: place.as_ref().and_then(|l| l.file.map(str::to_string)),
                line: place.as_ref().and_then(|l| l.line),
                column: place.as_ref().and_then(|l| l.column),
            });
        }
        Some(symbols)
    }
}

/// A line table under construction.
struct Rows {
    /// What addresses are relative to.
    start: u64,
    rows: Vec<SourceRow>,
    files: HashSet<Arc<str>>,
}

impl Rows {
    /// Adds a row; of several at one address the last holds, and one that says what the one before says is left out.
    fn push(&mut self, address: u64, line: Option<(&str, u32)>) {
        let Ok(offset) = u32::try_from(address + self.start) else { return };
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

fn known(info: &ModuleInfo) -> Option<Known> {
    info.custom_section(".debug_info")?;
    let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let bytes = info.custom_section(id.name()).unwrap_or_default();
        Ok(EndianArcSlice::new(Arc::from(bytes), LittleEndian))
    };
    let dwarf = Arc::new(Dwarf::load(section).ok()?);
    let live = live_functions(&dwarf, info);
    let context = addr2line::Context::from_arc_dwarf(dwarf).ok()?;
    Some(Known { context, live })
}

fn live_functions(dwarf: &Dwarf, info: &ModuleInfo) -> Vec<(u64, u64)> {
    let mut live = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        // What is damaged in one unit costs that unit's remaining functions.
        let _ = add_functions(dwarf, &unit, info, &mut live);
    }
    live.sort_unstable();
    live
}

fn add_functions(
    dwarf: &Dwarf,
    unit: &gimli::Unit<Reader>,
    info: &ModuleInfo,
    live: &mut Vec<(u64, u64)>,
) -> Result<(), gimli::Error> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let mut ranges = dwarf.die_ranges(unit, entry)?;
        while let Some(range) = ranges.next()? {
            if in_one_body(info, range.begin, range.end) {
                live.push((range.begin, range.end));
            }
        }
    }
    Ok(())
}

fn in_one_body(info: &ModuleInfo, begin: u64, end: u64) -> bool {
    let start = info.code_section.start as u64;
    let at = |address: u64| info.func_at(start.checked_add(address)?.try_into().ok()?);
    // The range may include the length that stands in front of the body.
    begin < end
        && at(end - 1).is_some_and(|func| {
            let body = info.body(func);
            begin + start + 5 >= body.start as u64
        })
}
