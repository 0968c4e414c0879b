//! The checksummed sections of a profile file.
//!
//! Input: values to pack, or bytes. Output: bytes, or the values.
//! Invariant: a section is unpacked only after its checksum holds, and never beyond the limits; all of a
//! section's bytes are used.

use serde::{Serialize, de::DeserializeOwned};

use super::FileError;
use crate::fnv::Fnv64;
use crate::limits::{MAX_SECTIONS, ReadLimits};
use crate::packed;

/// The name of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(pub(super) [u8; 4]);

const END: Tag = Tag(*b"END ");

/// Nothing: it makes a file long enough for what it unpacks to.
pub(super) const FILL: Tag = Tag(*b"FILL");

impl Tag {
    fn name(self) -> String {
        self.0.escape_ascii().to_string()
    }
}

/// A file being written.
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// What the sections so far unpack to.
    unpacked: u64,
}

impl Writer {
    /// Begins with a header.
    pub(super) fn new(header: Vec<u8>) -> Self {
        Self { bytes: header, unpacked: 0 }
    }

    /// Appends one value.
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

    /// Appends a section whose bytes are packed already.
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

    /// Appends the end, whose checksum is of the whole file.
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

/// The sections of a file that nobody has taken yet.
pub(super) struct Reader<'a> {
    sections: Vec<Section<'a>>,
    /// How many bytes may be unpacked of the whole file, and how many are left of that.
    allowed: u64,
    left: u64,
}

impl<'a> Reader<'a> {
    /// Splits a file into sections and checks all checksums. The sections begin at `at`.
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

    /// Unpacks the only section of this name.
    pub(super) fn take<T: DeserializeOwned>(&mut self, tag: Tag) -> Result<T, FileError> {
        self.take_if_there(tag)?.ok_or_else(|| FileError::MissingSection(tag.name()))
    }

    /// The same for a section that not every file has.
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

    /// Ends the reading; sections that are left belong to a newer version or nowhere.
    pub(super) fn finish(self, newer: bool) -> Result<(), FileError> {
        match self.sections.first() {
            Some(section) if !newer => Err(FileError::UnknownSection(section.tag.name())),
            _ => Ok(()),
        }
    }
}

/// Reads the section at `at` and moves behind it. The checksum of the end is of the whole file.
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
