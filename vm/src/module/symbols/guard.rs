//! A budget for reading debug information.
//!
//! DWARF entries refer to tables: of abbreviations, of ranges, of line numbers, of names. Compilers write one
//! table per entry or share it between few entries. Where thousands of entries share one large table, reading
//! takes time and memory that grow with the square of the file size, in `addr2line` as in this code. So the
//! tables that an entry refers to are measured before they are read, and all of them together may be no larger
//! than a multiple of the sections' length.
//!
//! Input: sections, units, entries. Output: whether the budget suffices to read them. Invariant: measuring takes
//! no more time than the budget, and memory for one table at a time.

use std::cell::Cell;

use gimli::{AttributeValue, Reader as _, ReaderOffset as _};

use super::sections::{Dwarf, Entry, Reader, Unit};

/// Budget per byte of the sections. A byte read counts one, except as stated below. Unshared line tables alone
/// use half of the budget.
const PER_BYTE: u64 = 16;

/// Weight of a byte of a line table or of abbreviations, or of a range, which take that much more memory.
const TABLE: u64 = 8;

/// Budget independent of the sections' length.
const ALWAYS: u64 = 1 << 20;

/// Longer names are refused, because each look at an entry would read the whole name.
const LONGEST_NAME: usize = 1 << 16;

/// Deeper nesting of inlined calls is not followed, because `addr2line` recurses into it.
const DEEPEST_INLINING: usize = 400;

/// The reason why debug information is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It exceeds the rest of the budget.
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

/// The rest of the budget.
#[derive(Debug)]
pub struct Budget(Cell<u64>);

impl Budget {
    /// Creates the budget for sections with `bytes` bytes in total.
    pub fn new(bytes: u64) -> Budget {
        Budget(Cell::new(ALWAYS + PER_BYTE * bytes))
    }

    /// Takes `amount` off the budget.
    ///
    /// # Errors
    /// Returns an error if that exceeds the rest of the budget.
    pub fn take(&self, amount: u64) -> Result<()> {
        self.0.set(self.0.get().checked_sub(amount).ok_or(Refused::TooMuch)?);
        Ok(())
    }

    /// Takes off the cost of a unit's root entry: its abbreviations and its line table.
    ///
    /// # Errors
    /// Returns an error if that exceeds the rest of the budget, or the unit is damaged.
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

    /// Takes off the cost of a unit's ranges and file names, once its header is read.
    ///
    /// # Errors
    /// Returns an error if that exceeds the rest of the budget, or the unit is damaged.
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

    /// Takes off the cost of an entry of any kind. `inlined` holds the depths of the inlined calls around it.
    ///
    /// # Errors
    /// Returns an error if that exceeds the rest of the budget, or the entry is damaged.
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

    /// Takes off the list of ranges that an entry refers to, if any.
    fn take_ranges(&self, dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Result<()> {
        let Some(value) = entry.attr_value(gimli::DW_AT_ranges) else { return Ok(()) };
        let Some(offset) = dwarf.attr_ranges_offset(unit, value)? else { return Ok(()) };
        let mut ranges = dwarf.raw_ranges(unit, offset)?;
        // Skipping an empty range takes time, too.
        while ranges.next()?.is_some() {
            self.take(TABLE)?;
        }
        Ok(())
    }
}

/// Returns whether a section of names contains one that is too long.
pub fn has_long_name(section: &[u8]) -> bool {
    section.split(|&byte| byte == 0).any(|name| name.len() > LONGEST_NAME)
}
