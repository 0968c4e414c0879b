//! Packed trace files.

use std::io::{Read, Seek, SeekFrom, Write};

use super::walk::Walk;
use super::{Packed, chunk};
use crate::trace::file::head::{self, Stack};
use crate::trace::file::section::{BITS, FUNC, STCK, Section, Tag, pack};
use crate::trace::functions::TracedFunctions;
use crate::trace::{FunctionTable, TraceFileError, TraceReader};

const MAGIC: [u8; 8] = *b"wprp\r\n\x1a\n";
const MAJOR: u16 = 1;
const MINOR: u16 = 0;
const PBIT: Tag = *b"PBIT";

/// The result of packing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackSummary {
    /// Bits of the trace, before compression.
    pub bits: u64,
    /// Number of branches: executions of blocks that have several successors.
    pub branches: u64,
    /// Bytes of the packed bits.
    pub code_bytes: u64,
    /// Bytes of the whole packed file.
    pub file_bytes: u64,
}

impl PackSummary {
    /// Returns the bits per branch, including those of calls; `None` if there are no branches.
    pub fn bits_per_branch(&self) -> Option<f64> {
        (self.branches > 0).then(|| self.code_bytes as f64 * 8.0 / self.branches as f64)
    }
}

impl<R: Read + Seek> TraceReader<R> {
    /// Packs the trace. Parts of a damaged trace that cannot be replayed are left out.
    ///
    /// # Errors
    /// Returns an error if a chunk is damaged, or a write fails.
    pub fn pack(&mut self, out: &mut impl Write) -> Result<PackSummary, TraceFileError> {
        self.pack_first(usize::MAX, out)
    }

    /// Packs the first `most` chunks.
    ///
    /// # Errors
    /// Returns the errors of [`TraceReader::pack`].
    pub fn pack_first(&mut self, most: usize, out: &mut impl Write) -> Result<PackSummary, TraceFileError> {
        let mut summary = PackSummary::default();
        let mut walk = Walk::new(false);
        let mut emit = |bytes: &[u8], summary: &mut PackSummary| {
            summary.file_bytes += bytes.len() as u64;
            out.write_all(bytes)
        };
        emit(&[&MAGIC[..], &MAJOR.to_le_bytes(), &MINOR.to_le_bytes()].concat(), &mut summary)?;
        let ((chunks, end), mut byte, mut number) = (self.places(), head::MAGIC.len() as u64 + 4, 0);
        while byte < end
            && let Some(section) = Section::scan(self.input(), byte, end)?
        {
            let bytes = match section.tag {
                BITS if number == most => break,
                BITS if chunks.get(number) == Some(&byte) => {
                    let segment = self.segment(number)?;
                    summary.bits += segment.bits.len();
                    number += 1;
                    let packed = chunk::pack(&mut walk, self.functions(), segment)?;
                    summary.code_bytes += packed.code.len() as u64;
                    pack(PBIT, &packed)?
                }
                // A chunk whose end is missing.
                BITS => break,
                _ => section.copy(self.input())?,
            };
            emit(&bytes, &mut summary)?;
            byte = section.end().ok_or_else(|| section.damaged())?;
        }
        summary.branches = walk.branches;
        out.flush()?;
        Ok(summary)
    }
}

/// Unpacks a packed trace of at most `limit` bytes; returns its length.
///
/// # Errors
/// Returns an error if the file is not a packed trace, has another version, is damaged (the output then ends with a
/// complete chunk), or if a write fails.
pub fn unpack_trace(
    input: &mut (impl Read + Seek),
    out: &mut impl Write,
    limit: u64,
) -> Result<u64, TraceFileError> {
    let file = input.seek(SeekFrom::End(0))?;
    check_version(input)?;
    let (mut functions, mut start) = (TracedFunctions::new(), Vec::new());
    let mut walk = Walk::new(true);
    let (mut byte, mut written) = (MAGIC.len() as u64 + 4, 0);
    let mut emit = |bytes: &[u8]| {
        written += bytes.len() as u64;
        if written > limit {
            return Err(TraceFileError::UnpacksTo(limit));
        }
        Ok(out.write_all(bytes)?)
    };
    emit(&[&head::MAGIC[..], &head::MAJOR.to_le_bytes(), &head::MINOR.to_le_bytes()].concat())?;
    while byte < file {
        let cut_off = || TraceFileError::Damaged { section: "?".to_owned(), byte };
        let section = Section::scan(input, byte, file)?.ok_or_else(cut_off)?;
        let bytes = match section.tag {
            PBIT => {
                let packed: Packed = section.value(input)?;
                walk.limit(limit);
                let unpacked = chunk::unpack(&mut walk, &functions, std::mem::take(&mut start), &packed);
                let (bits, unwinds) = unpacked.ok_or_else(|| section.damaged())?;
                pack(BITS, &(bits.len(), &unwinds, bits.as_bytes()))?
            }
            FUNC => {
                add_functions(&mut functions, &section, input)?;
                section.copy(input)?
            }
            STCK => {
                let stack: Stack = section.value(input)?;
                start = stack.frames;
                section.copy(input)?
            }
            _ => section.copy(input)?,
        };
        emit(&bytes)?;
        byte = section.end().ok_or_else(|| section.damaged())?;
    }
    out.flush()?;
    Ok(written)
}

fn add_functions(
    functions: &mut TracedFunctions,
    section: &Section,
    input: &mut (impl Read + Seek),
) -> Result<(), TraceFileError> {
    let tables: Vec<FunctionTable> = section.value(input)?;
    for table in tables {
        if !functions.insert(table.function, table.traced()?) {
            return Err(section.damaged());
        }
    }
    Ok(())
}

fn check_version(input: &mut (impl Read + Seek)) -> Result<(), TraceFileError> {
    let mut start = [0; MAGIC.len() + 4];
    input.seek(SeekFrom::Start(0))?;
    input.read_exact(&mut start).map_err(|_| TraceFileError::NotPacked)?;
    let [a, b, c, d] = start[MAGIC.len()..] else { return Err(TraceFileError::NotPacked) };
    let (major, minor) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    match (start.starts_with(&MAGIC), major) {
        (false, _) => Err(TraceFileError::NotPacked),
        (true, MAJOR) => Ok(()),
        (true, _) => Err(TraceFileError::OtherVersion { major, minor }),
    }
}
