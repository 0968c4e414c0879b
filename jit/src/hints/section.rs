//! A section of code metadata: payloads by function and offset.
//!
//! Source: "WebAssembly Code Metadata", binary format: functions ascending, and in each its items ascending by byte
//! offset from the declaration of its locals; an item is its offset, the length of its payload, and the payload.

use std::collections::BTreeMap;

/// A custom section under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataSection {
    name: &'static str,
    functions: BTreeMap<u32, BTreeMap<u32, Vec<u8>>>,
}

impl MetadataSection {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, functions: BTreeMap::new() }
    }

    /// Adds the item of an instruction, or with offset 0 that of a function.
    pub(super) fn add(&mut self, func: u32, offset: u32, payload: Vec<u8>) {
        self.functions.entry(func).or_default().insert(offset, payload);
    }

    /// Returns the name of the section.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.functions.values().map(BTreeMap::len).sum()
    }

    /// Reports whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the number of functions with items.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Returns the content, without the name.
    pub fn content(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_u32(&mut bytes, self.functions.len() as u32);
        for (func, items) in &self.functions {
            write_u32(&mut bytes, *func);
            write_u32(&mut bytes, items.len() as u32);
            for (offset, payload) in items {
                write_u32(&mut bytes, *offset);
                write_u32(&mut bytes, payload.len() as u32);
                bytes.extend_from_slice(payload);
            }
        }
        bytes
    }
}

/// Appends a number in LEB128.
pub(super) fn write_u32(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
