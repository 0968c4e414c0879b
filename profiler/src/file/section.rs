//! The checksummed sections of a profile file.
//!
//! Input: values to pack, or bytes. Output: bytes, or the values.
//! Invariant: a section is unpacked only after its checksum holds, and never beyond the limits. Every byte of a
//! section is used.

use serde::{Serialize, de::DeserializeOwned};

use super::FileError;
use crate::fnv::Fnv64;
use crate::limits::{MAX_SECTIONS, ReadLimits};
use crate::packed;

/// The name of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(pub(super) [u8; 4]);

const END: Tag = Tag(*b"END ");

/// Padding: it makes a file long enough for its expansion limit.
pub(super) const FILL: Tag = Tag(*b"FILL");

impl Tag {
    fn name(self) -> String {
        self.0.escape_ascii().to_string()
    }
}

/// Writer of a profile file.
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// Unpacked bytes of the sections so far.
    unpacked: u64,
}

impl Writer {
    /// Starts a file with a header.
    pub(super) fn new(header: Vec<u8>) -> Self {
        Self { bytes: header, unpacked: 0 }
    }

    /// Appends one value as a section.
    pub(super) fn section(&mut self, tag: Tag, value: &impl Serialize) -> Result<(), FileError> {
        let raw = postcard::to_stdvec(value).map_err(|_| damaged(tag))?;
        let limit = ReadLimits::default().unpacked_bytes;
        self.unpacked += raw.len() as u64;
        if self.unpacked > limit {
            return Err(FileError::TooLarge { what: "unpacked bytes", limit });
        }
        let stored = packed::pack(&raw).map_err(|_| damaged(tag))?;
        self.raw_section(tag, raw.len() as u64, &stored);
        Ok(())
    }

    /// Appends a section whose bytes are already packed.
    pub(super) fn raw_section(&mut self, tag: Tag, unpacked: u64, stored: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&tag.0);
        self.bytes.extend_from_slice(&unpacked.to_le_bytes());
        self.bytes.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(stored);
        self.seal(begin);
    }

    /// Appends the checksum of everything from `begin` on.
    fn seal(&mut self, begin: usize) {
        let sum = Fnv64::new().bytes(&self.bytes[begin..]).finish();
        self.bytes.extend_from_slice(&sum.to_le_bytes());
    }

    /// Appends the end section, whose checksum covers the whole file.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, FileError> {
        let limits = ReadLimits::default();
        let missing = limits.length_for(self.unpacked).saturating_sub(self.bytes.len() as u64);
        if missing > 0 {
            self.raw_section(FILL, 0, &vec![0; missing as usize]);
        }
        self.bytes.extend_from_slice(&END.0);
        self.bytes.extend_from_slice(&[0; 16]);
        self.seal(0);
        if self.bytes.len() as u64 > limits.file_bytes {
            return Err(FileError::TooLarge { what: "bytes", limit: limits.file_bytes });
        }
        Ok(self.bytes)
    }
}

/// One section of a file.
struct Section<'a> {
    tag: Tag,
    unpacked: u64,
    stored: &'a [u8],
}

/// Reader of a profile file, which holds the sections not yet taken.
pub(super) struct Reader<'a> {
    sections: Vec<Section<'a>>,
    /// The number of bytes that the whole file may unpack to, and the rest of it.
    allowed: u64,
    left: u64,
}

impl<'a> Reader<'a> {
    /// Splits a file into sections and verifies all checksums. The sections begin at `at`.
    pub(super) fn new(bytes: &'a [u8], mut at: usize, limits: &ReadLimits) -> Result<Self, FileError> {
        let mut sections = Vec::new();
        loop {
            let section = read_section(bytes, &mut at)?;
            if section.tag == END {
                break;
            }
            if sections.len() == MAX_SECTIONS {
                return Err(FileError::TooLarge { what: "sections", limit: MAX_SECTIONS as u64 });
            }
            sections.push(section);
        }
        if at != bytes.len() {
            return Err(FileError::Damaged { part: "what follows its end".to_owned() });
        }
        sections.retain(|section| section.tag != FILL);
        let allowed = limits.unpacked_of(bytes.len() as u64);
        Ok(Self { sections, allowed, left: allowed })
    }

    /// Unpacks the only section named `tag`, which must exist.
    pub(super) fn take<T: DeserializeOwned>(&mut self, tag: Tag) -> Result<T, FileError> {
        self.take_if_there(tag)?.ok_or_else(|| FileError::MissingSection(tag.name()))
    }

    /// Unpacks the only section named `tag`, if the file has one.
    pub(super) fn take_if_there<T: DeserializeOwned>(&mut self, tag: Tag) -> Result<Option<T>, FileError> {
        let Some(found) = self.sections.iter().position(|section| section.tag == tag) else {
            return Ok(None);
        };
        let section = self.sections.remove(found);
        if self.sections.iter().any(|other| other.tag == tag) {
            return Err(damaged(tag));
        }
        self.left =
            self.left.checked_sub(section.unpacked).ok_or(FileError::Expands { limit: self.allowed })?;
        let raw = packed::unpack(section.stored, section.unpacked).ok_or_else(|| damaged(tag))?;
        match postcard::take_from_bytes(&raw) {
            Ok((value, [])) => Ok(Some(value)),
            _ => Err(damaged(tag)),
        }
    }

    /// Ends the reading. Sections that are left are accepted in a file of a newer version only.
    pub(super) fn finish(self, newer: bool) -> Result<(), FileError> {
        match self.sections.first() {
            Some(section) if !newer => Err(FileError::UnknownSection(section.tag.name())),
            _ => Ok(()),
        }
    }
}

/// Reads the section at `at` and advances past it. The checksum of the end section covers the whole file.
fn read_section<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Section<'a>, FileError> {
    let begin = *at;
    let tag = Tag(take_array(bytes, at)?);
    let unpacked = u64::from_le_bytes(take_array(bytes, at)?);
    let length = u64::from_le_bytes(take_array(bytes, at)?);
    let stored = take(bytes, at, usize::try_from(length).unwrap_or(usize::MAX))?;
    let summed = &bytes[if tag == END { 0 } else { begin }..*at];
    let sum = u64::from_le_bytes(take_array(bytes, at)?);
    if Fnv64::new().bytes(summed).finish() != sum {
        return Err(damaged(tag));
    }
    Ok(Section { tag, unpacked, stored })
}

fn take<'a>(bytes: &'a [u8], at: &mut usize, length: usize) -> Result<&'a [u8], FileError> {
    let end = at.checked_add(length).filter(|&end| end <= bytes.len());
    let end = end.ok_or(FileError::Truncated(bytes.len() as u64))?;
    Ok(&bytes[std::mem::replace(at, end)..end])
}

fn take_array<const N: usize>(bytes: &[u8], at: &mut usize) -> Result<[u8; N], FileError> {
    Ok(take(bytes, at, N)?.try_into().expect("take gives the length asked for"))
}

fn damaged(tag: Tag) -> FileError {
    FileError::Damaged { part: format!("section {:?}", tag.name()) }
}
