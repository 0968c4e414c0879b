//! How much debug information may take to read.
//!
//! Entries of DWARF refer to tables: of abbreviations, of ranges, of line numbers, of names. Compilers write a table for
//! each entry or share it between few. Where thousands of entries share one large table, reading takes time and memory
//! that grow with the square of the file, in `addr2line` as in ours. So what each entry leads to is measured before it is
//! read, and all of it together may be no more than a multiple of the sections' length.
//!
//! Input: sections, units, entries. Output: whether there is enough left of the budget to read them.
//! Invariant: measuring takes no more time than the budget, and memory for one table at a time.

use std::cell::Cell;

use gimli::{AttributeValue, Reader as _, ReaderOffset as _};

use super::dwarf::{Dwarf, Entry, Reader, Unit};

/// How much may be read for each byte of the sections, where a byte counts for one, but for those below. Line
/// tables that nobody shares, and nothing else, take half of it.
const PER_BYTE: u64 = 16;

/// What a byte of a line table or of abbreviations, or a range, counts for: it takes so much more memory.
const TABLE: u64 = 8;

/// How much may be read in any case.
const ALWAYS: u64 = 1 << 20;

/// Longer names than this are no names: each look at an entry would read all of one.
const LONGEST_NAME: usize = 1 << 16;

/// Deeper nesting of inlined calls is not followed: `addr2line` does so by recursion.
const DEEPEST_INLINING: usize = 400;

/// Why something is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is more than is left of the budget.
    TooMuch,
    /// It is damaged.
    Damaged,
}

impl From<gimli::Error> for Refused {
    fn from(_: gimli::Error) -> Refused {
        Refused::Damaged
    }
}

type Result<T> = std::result::Result<T, Refused>;

/// What may still be read.
#[derive(Debug)]
pub struct Budget(Cell<u64>);

impl Budget {
    /// For sections that have so many bytes together.
    pub fn of(bytes: u64) -> Budget {
        Budget(Cell::new(ALWAYS + PER_BYTE * bytes))
    }

    /// Takes so much off.
    ///
    /// # Errors
    /// If that is more than is left.
    pub fn take(&self, amount: u64) -> Result<()> {
        self.0.set(self.0.get().checked_sub(amount).ok_or(Refused::TooMuch)?);
        Ok(())
    }

    /// Takes off what the entry of a unit itself leads to, but for its line table, and what that needs to be read.
    ///
    /// # Errors
    /// If that is more than is left, or damaged.
    pub fn take_unit(&self, dwarf: &Dwarf, header: &gimli::UnitHeader<Reader>) -> Result<()> {
        self.take(1)?;
        self.take_abbreviations(dwarf, header.debug_abbrev_offset().0)?;
        let abbreviations = dwarf.abbreviations(header)?;
        let mut entries = header.entries(&abbreviations);
        let Some(root) = entries.next_dfs()? else { return Ok(()) };
        match root.attr_value(gimli::DW_AT_stmt_list) {
            Some(AttributeValue::DebugLineRef(offset)) => self.take_lines(dwarf, offset),
            _ => Ok(()),
        }
    }

    /// Takes off a table of abbreviations.
    fn take_abbreviations(&self, dwarf: &Dwarf, offset: usize) -> Result<()> {
        let mut table = gimli::Section::reader(&dwarf.debug_abbrev).clone();
        table.skip(offset)?;
        let all = table.len();
        while table.read_uleb128()? != 0 {
            table.read_uleb128()?;
            table.read_u8()?;
            loop {
                let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    table.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
        self.take(TABLE * (all - table.len()).into_u64())
    }

    /// Takes off a line table with its header.
    fn take_lines(&self, dwarf: &Dwarf, offset: gimli::DebugLineOffset) -> Result<()> {
        let mut table = gimli::Section::reader(&dwarf.debug_line).clone();
        table.skip(offset.0)?;
        let (length, _) = table.read_initial_length()?;
        self.take(length.into_u64().saturating_mul(TABLE))
    }

    /// Takes off what a unit leads to, once its header is read: its ranges, and the names of its files.
    ///
    /// # Errors
    /// If that is more than is left, or damaged.
    pub fn take_contents(&self, dwarf: &Dwarf, unit: &Unit) -> Result<()> {
        let mut entries = unit.entries();
        if let Some(root) = entries.next_dfs()? {
            self.take_ranges(dwarf, unit, root)?;
        }
        let Some(program) = &unit.line_program else { return Ok(()) };
        let header = program.header();
        let folder = unit.comp_dir.as_ref().map_or(0, |folder| folder.len());
        for file in header.file_names() {
            let length = |name| dwarf.attr_string(unit, name).map_or(0, |name| name.len());
            let names = length(file.path_name()) + file.directory(header).map_or(0, length);
            self.take((folder + names).into_u64())?;
        }
        Ok(())
    }

    /// Takes off an entry of a function, a call or anything else. `inlined` are the inlined calls around it, by depth.
    ///
    /// # Errors
    /// If that is more than is left, or damaged.
    pub fn take_entry(
        &self,
        dwarf: &Dwarf,
        unit: &Unit,
        entry: &Entry,
        inlined: &mut Vec<isize>,
    ) -> Result<()> {
        self.take(1 + entry.attrs().len() as u64)?;
        while inlined.pop_if(|depth| *depth >= entry.depth()).is_some() {}
        if entry.tag() == gimli::DW_TAG_inlined_subroutine {
            inlined.push(entry.depth());
        }
        if inlined.len() > DEEPEST_INLINING {
            return Err(Refused::TooMuch);
        }
        self.take_ranges(dwarf, unit, entry)
    }

    /// Takes off the list of ranges that an entry refers to, if it does.
    fn take_ranges(&self, dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Result<()> {
        let Some(value) = entry.attr_value(gimli::DW_AT_ranges) else { return Ok(()) };
        let Some(offset) = dwarf.attr_ranges_offset(unit, value)? else { return Ok(()) };
        let mut ranges = dwarf.raw_ranges(unit, offset)?;
        // An empty one takes time to skip, too.
        while ranges.next()?.is_some() {
            self.take(TABLE)?;
        }
        Ok(())
    }
}

/// Whether a section of names has one that is too long.
pub fn has_long_name(section: &[u8]) -> bool {
    section.split(|&byte| byte == 0).any(|name| name.len() > LONGEST_NAME)
}
