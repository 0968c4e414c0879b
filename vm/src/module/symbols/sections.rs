//! The types of DWARF in the sections of a module, which are little-endian.

use gimli::{EndianArcSlice, LittleEndian};

pub(super) type Reader = EndianArcSlice<LittleEndian>;
pub(super) type Dwarf = gimli::Dwarf<Reader>;
pub(super) type Unit = gimli::Unit<Reader>;
pub(super) type Entry = gimli::DebuggingInformationEntry<Reader>;
