//! Data references: which instruction touched which address.
//!
//! Input: references in the order of execution. Output: bytes, or the references.
//! Invariant: each is two variable-length integers: the zigzag difference of its site from the site before,
//! and of its address from the last address of the same site, so that strides are small and equal.
//! Source: Ball & Larus 1994, section 4.2, keep addresses in a file of their own, because among the
//! witnesses they would need blocking.

use std::collections::BTreeMap;

/// One load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataReference {
    /// A number of the instruction.
    pub site: u32,
    /// Where it read or wrote.
    pub address: u64,
}

/// What the differences are taken from.
#[derive(Default)]
struct Last {
    site: i64,
    addresses: BTreeMap<u32, u64>,
}

/// The bytes of some references.
pub(super) fn encode(references: &[DataReference]) -> Vec<u8> {
    let mut last = Last::default();
    let mut bytes = Vec::new();
    for &DataReference { site, address } in references {
        let site_step = i64::from(site) - std::mem::replace(&mut last.site, i64::from(site));
        let before = last.addresses.insert(site, address).unwrap_or(0);
        push(&mut bytes, zigzag(site_step));
        push(&mut bytes, zigzag(address.wrapping_sub(before) as i64));
    }
    bytes
}

/// The references in some bytes; `None` if they are none.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<DataReference>> {
    let mut last = Last::default();
    let mut references = Vec::new();
    let mut bytes = bytes.iter();
    while !bytes.as_slice().is_empty() {
        last.site = last.site.checked_add(unzigzag(pull(&mut bytes)?))?;
        let site = u32::try_from(last.site).ok()?;
        let before = last.addresses.get(&site).copied().unwrap_or(0);
        let address = before.wrapping_add(unzigzag(pull(&mut bytes)?) as u64);
        last.addresses.insert(site, address);
        references.push(DataReference { site, address });
    }
    Some(references)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Seven bits a byte, the lowest first.
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
        let addresses = [0, u64::MAX, 1 << 63, 8, 16, 24];
        let all: Vec<_> =
            sites.into_iter().zip(addresses).map(|(site, address)| DataReference { site, address }).collect();
        let bytes = encode(&all);
        assert_eq!(decode(&bytes), Some(all));
        assert!((0..bytes.len()).all(|length| decode(&bytes[..length]).is_none_or(|some| some.len() < 6)));
        assert_eq!(decode(&[0xff; 11]), None);
        assert_eq!(decode(&[1, 0]), None, "a negative site");
        let strides: Vec<_> = (0..100).map(|i| DataReference { site: 3, address: 1000 + 8 * i }).collect();
        assert_eq!(encode(&strides).len(), 3 + 99 * 2);
    }
}
