//! Offset map: which byte of the original module each byte of the rewritten module corresponds to.
//!
//! The custom section `wprof.offsets` stores the map. For each function with a body it holds the offset of the original
//! body and the number of insertions; for each insertion, the number of original bytes since the previous one, and the
//! number of inserted bytes. All numbers are LEB128. The map lets stacks and samples of the rewritten module be
//! reported in the original's bytes, and so in its source lines.

use std::ops::Range;

use wasmparser::{BinaryReader, Parser, Payload};

use crate::Error;

/// The name of the custom section.
pub const SECTION: &str = "wprof.offsets";

/// The insertions into one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Insertions {
    /// Offset of the original body, which begins with its locals.
    pub original: u32,
    /// For each insertion, the offset in the original body before which it stands, and its length in bytes; ascending.
    pub all: Vec<(u32, u32)>,
}

impl Insertions {
    /// Returns the original module's byte for byte `at` of the rewritten body. An inserted byte maps to the original
    /// instruction that follows it.
    fn original(&self, at: u32) -> u32 {
        let mut inserted = 0;
        for &(before, bytes) in &self.all {
            if at < before + inserted {
                break;
            }
            if at < before + inserted + bytes {
                return self.original + before;
            }
            inserted += bytes;
        }
        self.original + at - inserted
    }

    /// Returns the new offset of the instruction at `offset` of the original body, behind the bytes inserted before it.
    pub fn moved(&self, offset: u32) -> u32 {
        offset
            + self.all.iter().take_while(|(before, _)| *before <= offset).map(|(_, bytes)| bytes).sum::<u32>()
    }
}

/// Writes the contents of the section.
pub fn write(functions: &[Insertions]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for function in functions {
        leb(&mut bytes, function.original);
        leb(&mut bytes, function.all.len() as u32);
        let mut last = 0;
        for &(before, inserted) in &function.all {
            leb(&mut bytes, before - last);
            leb(&mut bytes, inserted);
            last = before;
        }
    }
    bytes
}

/// Appends a number in LEB128.
pub fn leb(bytes: &mut Vec<u8>, value: u32) {
    wasm_encoder::Encode::encode(&value, bytes);
}

/// The offsets of an instrumented module.
#[derive(Debug)]
pub struct OffsetMap {
    /// For each function with a body, the range of its rewritten body, and the insertions.
    functions: Vec<(Range<u32>, Insertions)>,
}

impl OffsetMap {
    /// Reads the map of an instrumented module.
    ///
    /// # Errors
    /// Returns an error if the module has no map.
    pub fn new(module: &[u8]) -> Result<OffsetMap, Error> {
        let (mut bodies, mut section) = (Vec::new(), None);
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::CodeSectionEntry(body) => {
                    bodies.push(body.range().start as u32..body.range().end as u32)
                }
                Payload::CustomSection(custom) if custom.name() == SECTION => section = Some(custom.data()),
                _ => {}
            }
        }
        let section = section.ok_or(Error::BadCounters("the module has no section with offsets"))?;
        let mut reader = BinaryReader::new(section, 0);
        let mut functions = Vec::new();
        for body in bodies {
            if reader.eof() {
                // The bodies that follow belong to added functions.
                break;
            }
            functions.push((body, read(&mut reader)?));
        }
        Ok(OffsetMap { functions })
    }

    /// Returns the original's byte for byte `offset`; `None` if that is in no original function.
    pub fn original(&self, offset: u32) -> Option<u32> {
        let index = self.functions.partition_point(|(body, _)| body.end <= offset);
        let (body, insertions) = self.functions.get(index).filter(|(body, _)| body.contains(&offset))?;
        Some(insertions.original(offset - body.start))
    }
}

fn read(reader: &mut BinaryReader<'_>) -> Result<Insertions, Error> {
    let original = reader.read_var_u32()?;
    let count = reader.read_var_u32()?;
    let (mut all, mut last) = (Vec::new(), 0_u32);
    for _ in 0..count {
        last = last.wrapping_add(reader.read_var_u32()?);
        all.push((last, reader.read_var_u32()?));
    }
    Ok(Insertions { original, all })
}
