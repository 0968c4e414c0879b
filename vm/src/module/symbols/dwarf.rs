//! Source functions and lines from DWARF.
//!
//! DWARF addresses are byte offsets from the start of the code section's contents. Linkers leave entries of removed
//! functions behind, whose addresses collide with live code: only functions whose range lies within one wasm
//! function's body are believed. Bad data is ignored.

use std::sync::Arc;

use gimli::{EndianArcSlice, LittleEndian, Reader as _};
use hashbrown::HashMap;
use wprof_jit::module::ModuleInfo;

use super::{FrameSymbol, Rows, SourceRow};

type Reader = EndianArcSlice<LittleEndian>;
type Dwarf = gimli::Dwarf<Reader>;
type Entry = gimli::DebuggingInformationEntry<Reader>;

/// The DWARF of one module.
pub struct DebugInfo {
    context: addr2line::Context<Reader>,
    /// Address ranges of the functions that exist, ascending.
    live: Vec<(u64, u64)>,
    dwarf: Arc<Dwarf>,
}

impl DebugInfo {
    /// Indexes the sections that `section` gives by name; nothing if there are none.
    pub fn read<'s>(info: &ModuleInfo, section: impl Fn(&str) -> Option<&'s [u8]>) -> Option<DebugInfo> {
        section(".debug_info")?;
        let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let bytes = section(id.name()).unwrap_or_default();
            Ok(EndianArcSlice::new(Arc::from(bytes), LittleEndian))
        };
        let dwarf = Arc::new(Dwarf::load(load).ok()?);
        let live = live_functions(&dwarf, info);
        let context = addr2line::Context::from_arc_dwarf(dwarf.clone()).ok()?;
        Some(DebugInfo { context, live, dwarf })
    }

    /// The line that each function is defined at, by its name as it is in [`FrameSymbol::name`].
    pub fn definitions(&self) -> HashMap<String, u32> {
        let mut lines = HashMap::new();
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = self.dwarf.unit(header) else { continue };
            // What is damaged in one unit costs that unit's remaining functions.
            let _ = add_definitions(&self.dwarf, &unit, &mut lines);
        }
        lines
    }

    /// The line table of the functions that exist.
    pub fn rows(&self, info: &ModuleInfo) -> Vec<SourceRow> {
        let start = info.code_section.start as u64;
        let mut rows = Rows::default();
        for &(begin, end) in &self.live {
            let Ok(ranges) = self.context.find_location_range(begin, end) else { continue };
            for (address, _, location) in ranges {
                // Line 0 is the compiler's way of saying that code comes from nowhere.
                let line = location.line.filter(|&line| line > 0);
                rows.push(start + address.max(begin), location.file.zip(line));
            }
            rows.push(start + end, None);
        }
        rows.rows
    }

    /// From which byte offset of the module on code has which discriminator, ascending.
    pub fn discriminators(&self, info: &ModuleInfo) -> Vec<(u32, u32)> {
        let mut rows = Vec::new();
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = self.dwarf.unit(header) else { continue };
            // What is damaged in one unit costs that unit's remaining rows.
            let _ = add_discriminators(&unit, &mut rows);
        }
        rows.retain(|&(address, _)| self.is_live(address));
        rows.sort_by_key(|&(address, _)| address);
        let start = info.code_section.start as u64;
        let offset = |(address, way): (u64, u64)| {
            Some((u32::try_from(start + address).ok()?, u32::try_from(way).ok()?))
        };
        rows.into_iter().filter_map(offset).collect()
    }

    fn is_live(&self, address: u64) -> bool {
        let next = self.live.partition_point(|&(start, _)| start <= address);
        next.checked_sub(1).is_some_and(|at| address < self.live[at].1)
    }

    /// The symbols at byte `offset` of the module, innermost inlined function first.
    pub fn at(&self, info: &ModuleInfo, offset: u32) -> Option<Vec<FrameSymbol>> {
        let address = u64::from(offset).checked_sub(info.code_section.start as u64)?;
        if !self.is_live(address) {
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

fn add_discriminators(unit: &gimli::Unit<Reader>, rows: &mut Vec<(u64, u64)>) -> Result<(), gimli::Error> {
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
    unit: &gimli::Unit<Reader>,
    lines: &mut HashMap<String, u32>,
) -> Result<(), gimli::Error> {
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|line| line.udata_value());
        let line = line.and_then(|line| u32::try_from(line).ok());
        if let Some((name, line)) = name_of(dwarf, unit, entry)?.zip(line) {
            // Of a declaration in a class and the definition, the latter says which the former is.
            let is_definition = entry.attr_value(gimli::DW_AT_specification).is_some();
            match is_definition {
                true => drop(lines.insert(name, line)),
                false => drop(lines.entry(name).or_insert(line)),
            }
        }
    }
    Ok(())
}

/// The name that a linker knows a function by, or else that in the source.
fn name_of(dwarf: &Dwarf, unit: &gimli::Unit<Reader>, entry: &Entry) -> Result<Option<String>, gimli::Error> {
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
                // Declarations do not refer to others.
                Some(_) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
