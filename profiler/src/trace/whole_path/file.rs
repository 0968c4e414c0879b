//! The file format of whole program paths.
//!
//! Invariant (as for a trace file, except that parts cannot be read): a changed byte or a truncated file is an error.
//! No file makes a reader use more than [`ReadLimits`] allow, and no grammar is expanded to read it.
//!
//! The layout is that of a trace file, with the magic `77 70 72 77 0d 0a 1a 0a` and the sections `HEAD`
//! ([`TraceHead`]), `FUNC` (the [`FunctionTable`]s, without emits), `ITEM` (some [`PathItem`]s) any number of times,
//! `RULE` (some rules: their symbols) any number of times, and `DONE` ([`TraceEnding`], of the trace).

use std::io::{Read, Seek, SeekFrom, Write};

use super::super::file::section::{DONE, FUNC, HEAD, Section, Tag, pack};
use super::numbering::SubpathNumberings;
use super::{PathItem, WholePath};
use crate::limits::MAX_PATH_STEPS;
use crate::trace::{FunctionTable, TraceEnding, TraceFileError, TraceHead};
use crate::{Grammar, ReadLimits, Symbol};

const MAGIC: [u8; 8] = *b"wprw\r\n\x1a\n";
const MAJOR: u16 = 1;
const MINOR: u16 = 0;
const ITEM: Tag = *b"ITEM";
const RULE: Tag = *b"RULE";

/// Number of items, or of rules' symbols, that are compressed together; a single rule may have more.
const TOGETHER: usize = 1 << 20;

impl WholePath {
    /// Writes the file and returns its length.
    ///
    /// # Errors
    /// Returns an error if a write fails, or there are too many functions for one section.
    pub fn write(&self, mut out: impl Write) -> Result<u64, TraceFileError> {
        let mut bytes = [&MAGIC[..], &MAJOR.to_le_bytes(), &MINOR.to_le_bytes()].concat();
        bytes.extend(pack(HEAD, &self.head)?);
        bytes.extend(pack(FUNC, &self.tables)?);
        for items in self.items.chunks(TOGETHER) {
            bytes.extend(pack(ITEM, &items)?);
        }
        let mut rest = self.grammar.rules();
        while !rest.is_empty() {
            let mut symbols = 0;
            let count = rest.iter().take_while(|body| {
                let fits = symbols < TOGETHER;
                symbols += body.len();
                fits
            });
            let (together, behind) = rest.split_at(count.count());
            bytes.extend(pack(RULE, &together)?);
            rest = behind;
        }
        bytes.extend(pack(DONE, &self.ending)?);
        out.write_all(&bytes)?;
        out.flush()?;
        Ok(bytes.len() as u64)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file is not a whole program path, has another version, is damaged, or exceeds
    /// `limits`.
    pub fn read(mut input: impl Read + Seek, limits: &ReadLimits) -> Result<Self, TraceFileError> {
        let file = input.seek(SeekFrom::End(0))?;
        let is_newer = read_version(&mut input)?;
        let mut left = limits.unpacked_of(file);
        let (mut head, mut tables, mut ending) = (None, None, None);
        let (mut items, mut rules): (Vec<PathItem>, Vec<Vec<Symbol>>) = (Vec::new(), Vec::new());
        let mut byte = MAGIC.len() as u64 + 4;
        while byte < file {
            let cut_off = || TraceFileError::Damaged { section: "?".to_owned(), byte };
            let section = Section::scan(&mut input, byte, file)?.ok_or_else(cut_off)?;
            match section.tag {
                _ if ending.is_some() => return Err(section.damaged()),
                HEAD if head.is_none() => head = Some(section.kept_value(&mut input, &mut left)?),
                FUNC if tables.is_none() => tables = Some(section.kept_value(&mut input, &mut left)?),
                ITEM => items.extend(section.kept_value::<Vec<PathItem>>(&mut input, &mut left)?),
                RULE => rules.extend(section.kept_value::<Vec<Vec<Symbol>>>(&mut input, &mut left)?),
                DONE => ending = Some(section.kept_value(&mut input, &mut left)?),
                _ if is_newer => {}
                _ => return Err(section.damaged()),
            }
            byte = section.end().ok_or_else(|| section.damaged())?;
        }
        let missing = |section: &str| TraceFileError::Damaged { section: section.to_owned(), byte: file };
        Self::of_parts(
            head.ok_or_else(|| missing("HEAD"))?,
            tables.ok_or_else(|| missing("FUNC"))?,
            items,
            Grammar::new(rules).ok_or_else(|| missing("RULE"))?,
            ending.ok_or_else(|| missing("DONE"))?,
        )?
        .ok_or_else(|| missing("ITEM"))
    }

    /// Assembles a whole path. Returns `None` if items refer to missing functions or paths, rules refer to missing
    /// items, or the paths together have too many blocks to follow.
    fn of_parts(
        head: TraceHead,
        tables: Vec<FunctionTable>,
        items: Vec<PathItem>,
        grammar: Grammar,
        ending: TraceEnding,
    ) -> Result<Option<Self>, TraceFileError> {
        let numberings = SubpathNumberings::new(&tables)?;
        let mut symbols = grammar.rules().iter().flatten().filter_map(|symbol| symbol.as_item());
        let are_items = symbols.all(|item| (item as usize) < items.len());
        let whole = Self { head, tables, numberings, items, grammar, ending };
        let steps = |&item: &PathItem| match item {
            PathItem::Enter(function) => whole.numberings.get(function).map(|_| 1),
            PathItem::Leave | PathItem::Unwound => Some(1),
            _ => whole.blocks(item).map(|blocks| blocks.len()),
        };
        let follow = |left: usize, item: &PathItem| left.checked_sub(steps(item)?);
        let can_be_followed = whole.items.iter().try_fold(MAX_PATH_STEPS, follow).is_some();
        Ok((are_items && can_be_followed).then_some(whole))
    }
}

/// Reads the version; returns whether its minor version is newer than ours.
fn read_version(input: &mut (impl Read + Seek)) -> Result<bool, TraceFileError> {
    let mut start = [0; MAGIC.len() + 4];
    input.seek(SeekFrom::Start(0))?;
    input.read_exact(&mut start).map_err(|_| TraceFileError::NoWholePath)?;
    let [a, b, c, d] = start[MAGIC.len()..] else { return Err(TraceFileError::NoWholePath) };
    let (major, minor) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    match (start.starts_with(&MAGIC), major) {
        (false, _) => Err(TraceFileError::NoWholePath),
        (true, MAJOR) => Ok(minor > MINOR),
        (true, _) => Err(TraceFileError::OtherVersion { major, minor }),
    }
}
