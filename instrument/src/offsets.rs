//! Offsets: which byte of the rewritten module was which of the original.
//!
//! Kept in the custom section `wprof.offsets`: for each function with a body where the original's began, how many
//! insertions there are, and for each how many original bytes lie between it and the one before, and how many bytes
//! were inserted; all as LEB128 numbers. So stacks and samples of the rewritten module can be told in the original's
//! bytes, and so in its source lines.

use std::ops::Range;

use wasmparser::{BinaryReader, Parser, Payload};

use crate::Error;

/// The custom section.
pub const SECTION: &str = "wprof.offsets";

/// Where bytes were inserted into one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Insertions {
    /// The original body's first byte, its locals.
    pub original: u32,
    /// For each insertion the offset in the original body before which it is, and how many bytes it has; ascending.
    pub all: Vec<(u32, u32)>,
}

impl Insertions {
    /// What byte `at` of the rewritten body was in the original module. Inserted bytes are said to be the original
    /// instruction that they stand before.
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

    /// Where the instruction at `offset` of the original body, which stands behind what was inserted there, is now.
    pub fn moved(&self, offset: u32) -> u32 {
        offset
            + self.all.iter().take_while(|(before, _)| *before <= offset).map(|(_, bytes)| bytes).sum::<u32>()
    }
}

/// Writes the section.
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
    /// By function with a body: where its body is now, and what was inserted.
    functions: Vec<(Range<u32>, Insertions)>,
}

impl OffsetMap {
    /// Reads that of an instrumented module.
    ///
    /// # Errors
    /// If it is none.
    pub fn of(module: &[u8]) -> Result<OffsetMap, Error> {
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
                // What follows is not of the original.
                break;
            }
            functions.push((body, read(&mut reader)?));
        }
        Ok(OffsetMap { functions })
    }

    /// The byte of the original that byte `offset` was; `None` if it is in no function of the original.
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
