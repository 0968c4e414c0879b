//! Source functions and lines from DWARF.
//!
//! DWARF addresses are byte offsets from the start of the code section's contents. Linkers leave behind entries
//! of removed functions, whose addresses collide with live code, so only functions whose range lies within one
//! wasm function's body are believed. Bad data is ignored, and so is data that would take too much to read
//! (`guard.rs`).

use std::cell::OnceCell;
use std::sync::Arc;

use gimli::{EndianArcSlice, LittleEndian, Reader as _};
use hashbrown::HashMap;
use wprof_jit::module::ModuleInfo;

use super::guard::{Budget, Refused, has_long_name};
use super::sections::{Dwarf, Entry, Reader, Unit};
use super::{FrameSymbol, Rows, SourceRow};

type Result<T> = std::result::Result<T, Refused>;

/// The DWARF of one module.
pub struct DebugInfo {
    context: addr2line::Context<Reader>,
    units: Vec<KnownUnit>,
    dwarf: Arc<Dwarf>,
    /// Budget for data that is read once: units and their functions.
    budget: Budget,
    /// Total length of all sections in bytes.
    bytes: u64,
}

impl DebugInfo {
    /// Indexes the sections that `section` returns by name; `None` if there are none.
    pub fn read(section: impl Fn(&str) -> Option<Arc<[u8]>>) -> Option<DebugInfo> {
        let (mut bytes, mut has_long_names) = (0, false);
        let load = |id: gimli::SectionId| -> std::result::Result<Reader, gimli::Error> {
            let contents = section(id.name()).unwrap_or_default();
            bytes += contents.len() as u64;
            let is_of_names = [gimli::SectionId::DebugStr, gimli::SectionId::DebugLineStr].contains(&id);
            has_long_names |= is_of_names && has_long_name(&contents);
            Ok(EndianArcSlice::new(contents, LittleEndian))
        };
        let mut dwarf = Dwarf::load(load).ok()?;
        // Without the cache each unit would have its own copy of a table that units share.
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let (dwarf, budget) = (Arc::new(dwarf), Budget::new(bytes));
        let units = if has_long_names { Vec::new() } else { units(&dwarf, &budget).ok()? };
        if units.is_empty() {
            return None;
        }
        let context = addr2line::Context::from_arc_dwarf(dwarf.clone()).ok()?;
        Some(DebugInfo { context, units, dwarf, budget, bytes })
    }

    /// Returns the line that defines each function, by its name as in [`FrameSymbol::name`].
    pub fn definitions(&self) -> HashMap<String, u32> {
        let (mut lines, budget) = (HashMap::new(), Budget::new(self.bytes));
        for unit in &self.units {
            // Damage in one unit costs the remaining functions of that unit only.
            let _ = add_definitions(&self.dwarf, &unit.unit, &budget, &mut lines);
        }
        lines
    }

    /// Returns the names of the functions that exist, mangled as in the debug information.
    pub fn names(&self, info: &ModuleInfo) -> HashMap<u32, String> {
        let start = info.code_section.start as u64;
        let named = |(_, end): (u64, u64)| {
            let func = info.func_at(usize::try_from(start + end - 1).ok()?)?;
            // The last frame is the function that contains the code.
            let name = self.frames(end - 1)?.pop()?.name?;
            Some((func, name))
        };
        self.live(info).into_iter().filter_map(named).collect()
    }

    /// Reports whether the debug information describes functions, but none of them is where the module has code.
    pub fn is_detached(&self, info: &ModuleInfo) -> bool {
        self.units.iter().all(|unit| unit.live(self, info).is_some_and(<[_]>::is_empty))
    }

    /// Returns the line table of the functions that exist.
    pub fn rows(&self, info: &ModuleInfo) -> Vec<SourceRow> {
        let mut rows = Rows::default();
        self.live(info).into_iter().for_each(|range| self.add_rows(info, range, &mut rows));
        rows.rows
    }

    /// Returns the line table of a function; empty if the debug information does not know it.
    pub fn rows_of(&self, info: &ModuleInfo, func: u32) -> Vec<SourceRow> {
        let mut rows = Rows::default();
        let last = info.body(func).end.checked_sub(info.code_section.start + 1);
        let Some(last) = last.map(|last| last as u64).filter(|&last| self.is_live(info, last)) else {
            return Vec::new();
        };
        let units = self.units.iter().filter(|unit| unit.may_have(last));
        let mut live = units.filter_map(|unit| unit.live(self, info)).flatten();
        if let Some(&range) = live.find(|(begin, end)| (*begin..*end).contains(&last)) {
            self.add_rows(info, range, &mut rows);
        }
        rows.rows
    }

    /// Adds the rows of an address range.
    fn add_rows(&self, info: &ModuleInfo, (begin, end): (u64, u64), rows: &mut Rows) {
        let start = info.code_section.start as u64;
        let Ok(ranges) = self.context.find_location_range(begin, end) else { return };
        for (address, _, location) in ranges {
            // Line 0 marks code that the compiler attributes to no line.
            let line = location.line.filter(|&line| line > 0);
            rows.push(start + address.max(begin), location.file.zip(line));
        }
        rows.push(start + end, None);
    }

    /// Returns the discriminators of code, each with the byte offset in the module from which it holds,
    /// ascending.
    pub fn discriminators(&self, info: &ModuleInfo) -> Vec<(u32, u32)> {
        let mut rows = Vec::new();
        for unit in &self.units {
            // Damage in one unit costs the remaining rows of that unit only.
            let _ = add_discriminators(&unit.unit, &mut rows);
        }
        let live = self.live(info);
        rows.retain(|&(address, _)| has(&live, address));
        rows.sort_by_key(|&(address, _)| address);
        let start = info.code_section.start as u64;
        let offset = |(address, way): (u64, u64)| {
            Some((u32::try_from(start + address).ok()?, u32::try_from(way).ok()?))
        };
        rows.into_iter().filter_map(offset).collect()
    }

    /// Returns the address ranges of all functions that exist, ascending and disjoint; of overlapping ranges it
    /// keeps the first. Empty if they would take too much to read.
    fn live(&self, info: &ModuleInfo) -> Vec<(u64, u64)> {
        let all = self.units.iter().map(|unit| unit.live(self, info));
        let Some(all) = all.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let mut live = all.concat();
        live.sort_unstable();
        let mut end = 0;
        live.retain(|&(start, behind)| {
            let is_apart = start >= end;
            end = if is_apart { behind } else { end };
            is_apart
        });
        match self.take_looks(&live) {
            Ok(()) => live,
            Err(_) => Vec::new(),
        }
    }

    /// Takes off the budget the cost of looking up each range: one look per unit that may contain it.
    fn take_looks(&self, live: &[(u64, u64)]) -> Result<()> {
        let budget = Budget::new(self.bytes);
        for (begin, end) in self.units.iter().flat_map(|unit| &unit.ranges) {
            let first = live.partition_point(|&(_, behind)| behind <= *begin);
            let last = live.partition_point(|&(start, _)| start < *end);
            budget.take(last.saturating_sub(first) as u64)?;
        }
        Ok(())
    }

    /// Returns whether there is a function at `address`. Most callers ask for few addresses, so only the units
    /// that may contain it are read.
    fn is_live(&self, info: &ModuleInfo, address: u64) -> bool {
        let units = self.units.iter().filter(|unit| unit.may_have(address));
        // The lookup reads all of these units, so none may exceed the budget.
        let live: Option<Vec<&[(u64, u64)]>> = units.map(|unit| unit.live(self, info)).collect();
        live.is_some_and(|live| live.into_iter().any(|live| has(live, address)))
    }

    /// Returns the symbols at byte `offset` of the module, innermost inlined function first.
    pub fn at(&self, info: &ModuleInfo, offset: u32) -> Option<Vec<FrameSymbol>> {
        let address = u64::from(offset).checked_sub(info.code_section.start as u64)?;
        if self.is_live(info, address) { self.frames(address) } else { None }
    }

    /// Returns the symbols at an address, innermost inlined function first.
    fn frames(&self, address: u64) -> Option<Vec<FrameSymbol>> {
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

/// A compilation unit.
struct KnownUnit {
    unit: Unit,
    /// Address ranges that the unit declares for its code, or else those of its line table, including removed
    /// functions.
    ranges: Vec<(u64, u64)>,
    /// Address ranges of its functions that exist, ascending; `None` if they would take too much to read.
    live: OnceCell<Option<Vec<(u64, u64)>>>,
}

impl KnownUnit {
    fn new(dwarf: &Dwarf, unit: Unit) -> KnownUnit {
        let mut ranges = Vec::new();
        if let Ok(mut all) = dwarf.unit_ranges(&unit) {
            while let Ok(Some(range)) = all.next() {
                ranges.push((range.begin, range.end));
            }
        }
        // A unit without code declares no ranges either, but it has no lines.
        if let Some(program) = unit.line_program.clone().filter(|_| ranges.is_empty())
            && let Ok((_, sequences)) = program.sequences()
        {
            ranges.extend(sequences.iter().map(|sequence| (sequence.start, sequence.end)));
        }
        KnownUnit { unit, ranges, live: OnceCell::new() }
    }

    fn may_have(&self, address: u64) -> bool {
        self.ranges.iter().any(|&(begin, end)| begin <= address && address < end)
    }

    fn live(&self, of: &DebugInfo, info: &ModuleInfo) -> Option<&[(u64, u64)]> {
        let find = || {
            let mut live = functions(&of.dwarf, &self.unit, &of.budget, info).ok()?;
            live.sort_unstable();
            Some(live)
        };
        self.live.get_or_init(find).as_deref()
    }
}

/// Reads the headers of all readable units.
fn units(dwarf: &Dwarf, budget: &Budget) -> Result<Vec<KnownUnit>> {
    let mut headers = dwarf.units();
    let headers = std::iter::from_fn(move || headers.next().ok().flatten());
    let mut units = Vec::new();
    for header in headers {
        match unit(dwarf, budget, header) {
            Ok(unit) => units.push(KnownUnit::new(dwarf, unit)),
            Err(Refused::Damaged) => {}
            Err(Refused::TooMuch) => return Err(Refused::TooMuch),
        }
    }
    Ok(units)
}

fn unit(dwarf: &Dwarf, budget: &Budget, header: gimli::UnitHeader<Reader>) -> Result<Unit> {
    budget.take_unit(dwarf, &header)?;
    let unit = dwarf.unit(header)?;
    budget.take_contents(dwarf, &unit)?;
    Ok(unit)
}

/// Returns whether one of the ascending `ranges` contains `address`.
fn has(ranges: &[(u64, u64)], address: u64) -> bool {
    let next = ranges.partition_point(|&(start, _)| start <= address);
    next.checked_sub(1).is_some_and(|at| address < ranges[at].1)
}

/// Returns the address ranges of a unit's functions that exist. Damage costs the remaining functions of the unit.
fn functions(dwarf: &Dwarf, unit: &Unit, budget: &Budget, info: &ModuleInfo) -> Result<Vec<(u64, u64)>> {
    let (mut live, mut inlined) = (Vec::new(), Vec::new());
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        match budget.take_entry(dwarf, unit, entry, &mut inlined) {
            Ok(()) => {}
            Err(Refused::Damaged) => break,
            Err(Refused::TooMuch) => return Err(Refused::TooMuch),
        }
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let Ok(mut ranges) = dwarf.die_ranges(unit, entry) else { break };
        while let Ok(Some(range)) = ranges.next() {
            if in_one_body(info, range.begin, range.end) {
                live.push((range.begin, range.end));
            }
        }
    }
    Ok(live)
}

fn in_one_body(info: &ModuleInfo, begin: u64, end: u64) -> bool {
    let start = info.code_section.start as u64;
    let at = |address: u64| info.func_at(start.checked_add(address)?.try_into().ok()?);
    // The range may include the length field in front of the body.
    begin < end
        && at(end - 1).is_some_and(|func| {
            let body = info.body(func);
            begin + start + 5 >= body.start as u64
        })
}

fn add_discriminators(unit: &Unit, rows: &mut Vec<(u64, u64)>) -> Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut program = program.rows();
    while let Some((_, row)) = program.next_row()? {
        if !row.end_sequence() {
            rows.push((row.address(), row.discriminator()));
        }
    }
    Ok(())
}

fn add_definitions(
    dwarf: &Dwarf,
    unit: &Unit,
    budget: &Budget,
    lines: &mut HashMap<String, u32>,
) -> Result<()> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|line| line.udata_value());
        let line = line.and_then(|line| u32::try_from(line).ok());
        if let Some((name, line)) = name_of(dwarf, unit, entry)?.zip(line) {
            budget.take(name.len() as u64)?;
            // Of a declaration in a class and its definition, the definition refers to the declaration and takes
            // precedence.
            let is_definition = entry.attr_value(gimli::DW_AT_specification).is_some();
            match is_definition {
                true => drop(lines.insert(name, line)),
                false => drop(lines.entry(name).or_insert(line)),
            }
        }
    }
    Ok(())
}

/// Returns a function's linkage name, or else its name in the source.
fn name_of(dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Result<Option<String>> {
    for attribute in [gimli::DW_AT_linkage_name, gimli::DW_AT_name] {
        if let Some(value) = entry.attr_value(attribute) {
            return Ok(Some(dwarf.attr_string(unit, value)?.to_string_lossy()?.into_owned()));
        }
    }
    match entry.attr_value(gimli::DW_AT_specification) {
        Some(gimli::AttributeValue::UnitRef(offset)) => {
            let declared = unit.entry(offset)?;
            match declared.attr_value(gimli::DW_AT_specification) {
                None => name_of(dwarf, unit, &declared),
                // A declaration does not refer to another one.
                Some(_) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
