//! Raw counters, as the host of an instrumented instance delivers them.
//!
//! File format: the magic "wprofraw", a version, the length of the module's description and the description, the length
//! of the region in bytes, and then each page of 4 KiB of the region that is not all zero, preceded by its number. All
//! numbers have 32 bits and are little-endian.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};

use crate::Error;
use crate::descriptor::{Descriptor, SECTION};
use crate::layout::{LENGTH, MAGIC};
use crate::plan::Collected;

/// The magic bytes at the start of a file.
pub const FILE_MAGIC: &[u8; 8] = b"wprofraw";
const FILE_VERSION: u32 = 1;
const PAGE: usize = 4096;

/// The counters of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCounters {
    /// The module's description, a serialized `Descriptor`.
    pub descriptor: Vec<u8>,
    /// The bytes of the region.
    pub region: Vec<u8>,
}

impl RawCounters {
    /// Takes the counters of an instance of an instrumented module: the bytes of its memory `wprof_counters`, starting
    /// at the address of the region that `wprof_flush` returns.
    ///
    /// # Errors
    /// Returns an error if the bytes do not hold counters.
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

    /// Reads a file of counters.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
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
        // Longer regions are never written. The limit matters because omitted zero pages are allocated here.
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

    /// Returns the bytes of the file.
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

    /// Reports whether these are a trace: see [`read_trace`](crate::read_trace).
    ///
    /// # Errors
    /// Returns an error if the description is damaged or of another version.
    pub fn are_trace(&self) -> Result<bool, Error> {
        Ok(Descriptor::from_bytes(&self.descriptor)?.collected == Collected::Trace)
    }

    /// Returns the hash of the original module.
    ///
    /// # Errors
    /// Returns an error if the description is damaged or of another version.
    pub fn module_hash(&self) -> Result<[u8; 32], Error> {
        Ok(Descriptor::from_bytes(&self.descriptor)?.hash)
    }
}

fn number(rest: &mut &[u8]) -> Result<u32, Error> {
    let (bytes, more) = rest.split_first_chunk().ok_or(Error::BadCounters("the file ends too early"))?;
    *rest = more;
    Ok(u32::from_le_bytes(*bytes))
}

/// Reads 32 bits at a byte offset of a region.
pub(crate) fn word(region: &[u8], at: u32) -> Result<u32, Error> {
    let mut rest = region.get(at as usize..).unwrap_or_default();
    number(&mut rest).map_err(|_| Error::BadCounters("their memory is too short"))
}

/// Reads 64 bits at a byte offset of a region.
pub(crate) fn double(region: &[u8], at: u32) -> Result<u64, Error> {
    let bytes = region.get(at as usize..).and_then(|rest| rest.first_chunk());
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(Error::BadCounters("their memory is too short"))
}
