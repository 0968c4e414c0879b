//! The data references of a chunk, in the encoding that the run writes.
//!
//! Input: references in the order of execution. Output: bytes, or the references.
//! Invariant: each reference is a sequence of variable-length integers: the zigzag difference of its site from the
//! previous site, doubled, plus one if there is a length; the zigzag difference of its index from the last index of
//! the same site, so that strides are small and equal; the length. Differences start anew with each chunk, which can
//! be read alone.
//! Source: Ball & Larus 1994, section 4.2. Sites are written although the blocks determine them: a reference that
//! does not belong to its block is thus detected, and sites compress to almost nothing.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Byte offset of the instruction in the module.
    pub site: u32,
    /// The index that the program computed.
    pub index: u64,
    /// Length of the access, where the program determines it.
    pub length: Option<u64>,
}

/// The references between two inspections of the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The references in the order of execution.
    pub all: Vec<Reference>,
    /// Number of accesses of its block that the innermost frame had made before the first reference.
    pub done: u32,
    /// For each unwinding of the chunk, the number of references in `all` before it.
    pub unwinds: Vec<u64>,
}

/// Content of the section `ADDR`.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    done: u32,
    unwinds: Vec<u64>,
    bytes: Vec<u8>,
}

impl Stored {
    pub(super) fn new(references: &References) -> Self {
        let References { all, done, unwinds } = references;
        Self { done: *done, unwinds: unwinds.clone(), bytes: encode(all) }
    }

    /// Decodes the references; returns `None` if they are damaged.
    pub(super) fn references(self) -> Option<References> {
        Some(References { all: decode(&self.bytes)?, done: self.done, unwinds: self.unwinds })
    }
}

/// The values from which differences are taken.
#[derive(Default)]
struct Last {
    site: i64,
    indices: HashMap<u32, u64>,
}

fn encode(references: &[Reference]) -> Vec<u8> {
    let mut last = Last::default();
    let mut bytes = Vec::with_capacity(references.len() * 3);
    for &Reference { site, index, length } in references {
        let site_step = i64::from(site) - std::mem::replace(&mut last.site, i64::from(site));
        let before = std::mem::replace(last.indices.entry(site).or_default(), index);
        push(&mut bytes, zigzag(site_step) << 1 | u64::from(length.is_some()));
        push(&mut bytes, zigzag(index.wrapping_sub(before) as i64));
        if let Some(length) = length {
            push(&mut bytes, length);
        }
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<Reference>> {
    let mut last = Last::default();
    let mut references = Vec::new();
    let mut bytes = bytes.iter();
    while !bytes.as_slice().is_empty() {
        let head = pull(&mut bytes)?;
        last.site = last.site.checked_add(unzigzag(head >> 1))?;
        let site = u32::try_from(last.site).ok()?;
        let before = last.indices.entry(site).or_default();
        *before = before.wrapping_add(unzigzag(pull(&mut bytes)?) as u64);
        let index = *before;
        let length = if head & 1 == 1 { Some(pull(&mut bytes)?) } else { None };
        references.push(Reference { site, index, length });
    }
    Some(references)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends an integer, seven bits per byte, the lowest first.
fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn pull(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_back() {
        let sites = [0, u32::MAX, 7, 7, 7, 0];
        let indices = [0, u64::MAX, 1 << 63, 8, 16, 24];
        let lengths = [None, Some(u64::MAX), None, None, Some(0), None];
        let all = sites.into_iter().zip(indices).zip(lengths);
        let all: Vec<_> = all.map(|((site, index), length)| Reference { site, index, length }).collect();
        let bytes = encode(&all);
        assert_eq!(decode(&bytes), Some(all));
        assert!((0..bytes.len()).all(|length| decode(&bytes[..length]).is_none_or(|some| some.len() < 6)));
        assert_eq!(decode(&[0xff; 11]), None);
        assert_eq!(decode(&[2, 0]), None, "a negative site");
        let strides = (0..100).map(|i| Reference { site: 3, index: 1000 + 8 * i, length: None });
        assert_eq!(encode(&strides.collect::<Vec<_>>()).len(), 3 + 99 * 2);
    }
}
