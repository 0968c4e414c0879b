//! Raw counters, as whoever has an instrumented instance hands them over.
//!
//! The file: "wprofraw", a version (32 bits, as all numbers little-endian), the length of the module's description and
//! the description, the length of the region in bytes, and of the region its pages of 4 KiB that are not zero, each with
//! its number before it.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};

use crate::Error;
use crate::descriptor::{Descriptor, SECTION};
use crate::layout::{LENGTH, MAGIC};

/// What a file begins with.
pub const FILE_MAGIC: &[u8; 8] = b"wprofraw";
const FILE_VERSION: u32 = 1;
const PAGE: usize = 4096;

/// What one instance has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCounters {
    /// The module's description.
    pub descriptor: Vec<u8>,
    /// The region.
    pub region: Vec<u8>,
}

impl RawCounters {
    /// Takes the counters of an instance of an instrumented module: the bytes of its memory `wprof_counters` from where
    /// `wprof_flush` says that the region begins.
    ///
    /// # Errors
    /// If they are none.
    pub fn new(module: &[u8], memory: &[u8]) -> Result<RawCounters, Error> {
        let mut descriptor = None;
        for payload in Parser::new(0).parse_all(module) {
            if let Payload::CustomSection(section) = payload?
                && section.name() == SECTION
            {
                descriptor = Some(section.data().to_vec());
            }
        }
        let descriptor = descriptor.ok_or(Error::BadCounters("the module is not instrumented"))?;
        let length = word(memory, LENGTH)? as usize;
        let region = memory.get(..length).ok_or(Error::BadCounters("the memory is too short"))?;
        RawCounters { descriptor, region: region.to_vec() }.checked()
    }

    fn checked(self) -> Result<RawCounters, Error> {
        match word(&self.region, 0)? {
            MAGIC => Ok(self),
            _ => Err(Error::BadCounters("their memory was not written by wprof_flush")),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<RawCounters, Error> {
        let short = || Error::BadCounters("the file ends too early");
        let mut rest = bytes
            .strip_prefix(FILE_MAGIC)
            .ok_or(Error::BadCounters("the file begins with something else"))?;
        if number(&mut rest)? != FILE_VERSION {
            return Err(Error::BadCounters("the file is of another version"));
        }
        let length = number(&mut rest)? as usize;
        let (descriptor, mut rest) = rest.split_at_checked(length).ok_or_else(short)?;
        let length = number(&mut rest)? as usize;
        // Longer ones are not written: most of a region are zeros, and they are made here.
        if length > 1 << 31 {
            return Err(Error::BadCounters("the region is too long"));
        }
        let mut region = vec![0; length];
        let mut seen = BTreeSet::new();
        while !rest.is_empty() {
            let page = number(&mut rest)? as usize;
            let start = page.saturating_mul(PAGE);
            let target = region.get_mut(start..length.min(start.saturating_add(PAGE)));
            let target = target.filter(|target| !target.is_empty() && seen.insert(page));
            let target = target.ok_or(Error::BadCounters("a page is not where one can be"))?;
            let (page, more) = rest.split_at_checked(target.len()).ok_or_else(short)?;
            target.copy_from_slice(page);
            rest = more;
        }
        RawCounters { descriptor: descriptor.to_vec(), region }.checked()
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FILE_MAGIC.to_vec();
        bytes.extend(FILE_VERSION.to_le_bytes());
        bytes.extend((self.descriptor.len() as u32).to_le_bytes());
        bytes.extend(&self.descriptor);
        bytes.extend((self.region.len() as u32).to_le_bytes());
        for (page, number) in self.region.chunks(PAGE).zip(0_u32..) {
            if page.iter().any(|byte| *byte != 0) {
                bytes.extend(number.to_le_bytes());
                bytes.extend(page);
            }
        }
        bytes
    }

    /// The hash of the module that was instrumented.
    ///
    /// # Errors
    /// If the description is damaged or of another version.
    pub fn module_hash(&self) -> Result<[u8; 32], Error> {
        Ok(Descriptor::from_bytes(&self.descriptor)?.hash)
    }
}

fn number(rest: &mut &[u8]) -> Result<u32, Error> {
    let (bytes, more) = rest.split_first_chunk().ok_or(Error::BadCounters("the file ends too early"))?;
    *rest = more;
    Ok(u32::from_le_bytes(*bytes))
}

/// The 32 bits at a byte of a region.
pub(crate) fn word(region: &[u8], at: u32) -> Result<u32, Error> {
    let mut rest = region.get(at as usize..).unwrap_or_default();
    number(&mut rest).map_err(|_| Error::BadCounters("their memory is too short"))
}

/// The 64 bits there.
pub(crate) fn double(region: &[u8], at: u32) -> Result<u64, Error> {
    let bytes = region.get(at as usize..).and_then(|rest| rest.first_chunk());
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(Error::BadCounters("their memory is too short"))
}
