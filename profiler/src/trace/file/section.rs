//! The sections of a trace file.
//!
//! Invariant: a section is skipped only by a length whose checksum holds. It is unpacked only after the checksum of
//! its bytes holds, and never beyond the limits.

use std::io::{self, Read, Seek, SeekFrom};

use serde::{Serialize, de::DeserializeOwned};

use super::TraceFileError;
use crate::fnv::Fnv64;
use crate::limits::MAX_SECTION_BYTES;
use crate::packed;

pub(in crate::trace) type Tag = [u8; 4];

pub(in crate::trace) const HEAD: Tag = *b"HEAD";
pub(in crate::trace) const STCK: Tag = *b"STCK";
pub(in crate::trace) const FUNC: Tag = *b"FUNC";
pub(in crate::trace) const BITS: Tag = *b"BITS";
pub(in crate::trace) const ADDR: Tag = *b"ADDR";
pub(in crate::trace) const DONE: Tag = *b"DONE";

/// Length of a header: tag, two lengths and their checksum.
const HEADER_BYTES: usize = 28;
const CHECKSUM_BYTES: u64 = 8;

/// Packs a value into a section.
pub(in crate::trace) fn pack(tag: Tag, value: &impl Serialize) -> Result<Vec<u8>, TraceFileError> {
    let raw = postcard::to_stdvec(value).map_err(io::Error::other)?;
    if raw.len() as u64 > MAX_SECTION_BYTES {
        return Err(TraceFileError::TooLarge(MAX_SECTION_BYTES));
    }
    let stored = packed::pack(&raw)?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + stored.len() + 8);
    bytes.extend_from_slice(&tag);
    bytes.extend_from_slice(&(raw.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    let first = Fnv64::new().bytes(&bytes).finish().to_le_bytes();
    bytes.extend_from_slice(&first);
    bytes.extend_from_slice(&stored);
    let second = Fnv64::new().bytes(&stored).bytes(&first).finish();
    bytes.extend_from_slice(&second.to_le_bytes());
    Ok(bytes)
}

/// A section of the file.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Section {
    pub tag: Tag,
    /// Byte offset of the header.
    pub byte: u64,
    pub unpacked: u64,
    pub stored: u64,
    first_checksum: [u8; 8],
}

impl Section {
    /// Reads the header at `byte`; returns `None` if it is damaged, or the file is too short for the section.
    pub(in crate::trace) fn scan(
        input: &mut (impl Read + Seek),
        byte: u64,
        file: u64,
    ) -> io::Result<Option<Self>> {
        if file.saturating_sub(byte) < HEADER_BYTES as u64 + CHECKSUM_BYTES {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        input.seek(SeekFrom::Start(byte))?;
        input.read_exact(&mut header)?;
        let [tag @ .., _, _, _, _] = *take::<8>(&header, 0);
        let lengths = [take(&header, 4), take(&header, 12)].map(|bytes| u64::from_le_bytes(*bytes));
        let first_checksum = *take(&header, 20);
        let section = Self { tag, byte, unpacked: lengths[0], stored: lengths[1], first_checksum };
        let sum = Fnv64::new().bytes(&header[..20]).finish().to_le_bytes();
        let whole = section.end().is_some_and(|end| end <= file);
        Ok((whole && sum == first_checksum).then_some(section))
    }

    /// Returns the byte offset one past the section.
    pub(in crate::trace) fn end(&self) -> Option<u64> {
        self.byte.checked_add(HEADER_BYTES as u64 + CHECKSUM_BYTES)?.checked_add(self.stored)
    }

    /// Reads and unpacks the content.
    pub(in crate::trace) fn read(&self, input: &mut (impl Read + Seek)) -> Result<Vec<u8>, TraceFileError> {
        if self.unpacked > MAX_SECTION_BYTES {
            return Err(TraceFileError::TooLarge(MAX_SECTION_BYTES));
        }
        let mut stored = Vec::new();
        input.seek(SeekFrom::Start(self.byte + HEADER_BYTES as u64))?;
        input.by_ref().take(self.stored).read_to_end(&mut stored)?;
        let mut sum = [0; 8];
        input.read_exact(&mut sum)?;
        let expected = Fnv64::new().bytes(&stored).bytes(&self.first_checksum).finish();
        if u64::from_le_bytes(sum) != expected {
            return Err(self.damaged());
        }
        packed::unpack(&stored, self.unpacked).ok_or_else(|| self.damaged())
    }

    /// Reads the content as a value.
    pub(in crate::trace) fn value<T: DeserializeOwned>(
        &self,
        input: &mut (impl Read + Seek),
    ) -> Result<T, TraceFileError> {
        match postcard::take_from_bytes(&self.read(input)?) {
            Ok((value, [])) => Ok(value),
            _ => Err(self.damaged()),
        }
    }

    /// Reads the content as a value that is kept in memory, and subtracts its unpacked bytes from `left`.
    pub(in crate::trace) fn kept_value<T: DeserializeOwned>(
        &self,
        input: &mut (impl Read + Seek),
        left: &mut u64,
    ) -> Result<T, TraceFileError> {
        *left = left.checked_sub(self.unpacked).ok_or(TraceFileError::Expands)?;
        self.value(input)
    }

    /// Returns the section's bytes in the file, after verifying its content.
    pub(in crate::trace) fn copy(&self, input: &mut (impl Read + Seek)) -> Result<Vec<u8>, TraceFileError> {
        self.read(input)?;
        let length = HEADER_BYTES as u64 + self.stored + CHECKSUM_BYTES;
        let mut bytes = Vec::new();
        input.seek(SeekFrom::Start(self.byte))?;
        input.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(in crate::trace) fn damaged(&self) -> TraceFileError {
        TraceFileError::Damaged { section: self.tag.escape_ascii().to_string(), byte: self.byte }
    }
}

/// Returns `N` bytes of a header from `at` on, which the caller keeps within the header.
fn take<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> &[u8; N] {
    header[at..].first_chunk().expect("the fields lie within the header")
}
