//! The code of functions line by line, and the source files that the code comes from.
//!
//! Input: a module, the functions to show, and the module's line table. Output: a [`Listing`] of each function, and the
//! files that the listings name.
//! Invariant: files are numbered in the module's order; a line of code without a source line has none.

use std::collections::{BTreeSet, HashMap};

use crate::program::Program;
use serde::Serialize;
use wprof_profiler::FunctionProfile;
use wprof_profiler::export::{CodeMap, SourceLine};

use crate::disassembly::Line;
use crate::error::Result;
use crate::names;
use crate::sources::Sources;

/// The maximum total size of the source files that are shown.
const MOST_SOURCE: usize = 4 << 20;

/// The code of functions, and its source files.
#[derive(Debug, Default)]
pub struct Code {
    listings: HashMap<u32, Listing>,
    /// Paths of the source files.
    files: Vec<String>,
}

/// The lines of a function, column by column.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    text: Vec<String>,
    /// Offsets in the module; none for lines that are only syntax.
    offset: Vec<Option<u32>>,
    /// Blocks; -1 for lines outside of blocks.
    block: Vec<i64>,
    /// Source files and lines; -1 if unknown.
    file: Vec<i64>,
    line: Vec<u32>,
}

/// A source file.
#[derive(Debug, Serialize)]
pub struct File<'a> {
    path: &'a str,
    /// The lines of the file; none if it was not found, or is too large.
    lines: Option<Vec<String>>,
}

impl Code {
    /// Disassembles functions; without a module there is no code.
    ///
    /// # Errors
    /// Returns an error if the printer fails.
    pub fn new(program: Option<&Program>, functions: &[&FunctionProfile], map: &CodeMap) -> Result<Self> {
        let Some(program) = program else { return Ok(Self::default()) };
        let indices: Vec<u32> = functions.iter().map(|function| function.index).collect();
        let lines = program.disassembled(&indices)?;
        let used = |line: &Line| source_of(line, map).map(|source| source.file);
        let used: BTreeSet<u32> = lines.values().flatten().filter_map(used).collect();
        let numbers: HashMap<u32, i64> = used.iter().copied().zip(0..).collect();
        let files = used.iter().map(|&file| map.files[file as usize].clone()).collect();
        let mut code = Self { listings: HashMap::new(), files };
        for function in functions {
            let Some(lines) = lines.get(&function.index) else { continue };
            let mut listing = Listing::default();
            lines.iter().for_each(|line| listing.push(line, function, source_of(line, map), &numbers));
            code.listings.insert(function.index, listing);
        }
        Ok(code)
    }

    /// Returns the code of one function.
    pub fn listing(&self, function: u32) -> Option<&Listing> {
        self.listings.get(&function)
    }

    /// Returns the source files.
    pub fn files<'a>(&'a self, sources: &'a mut Sources) -> impl Iterator<Item = File<'a>> {
        let mut room = MOST_SOURCE;
        self.files.iter().map(move |path| {
            let lines = sources.lines(path).and_then(|lines| {
                room = room.checked_sub(lines.iter().map(String::len).sum())?;
                Some(lines.iter().map(|line| names::harmless(&line.replace('\t', "    "))).collect())
            });
            File { path, lines }
        })
    }
}

impl Listing {
    fn push(
        &mut self,
        line: &Line,
        function: &FunctionProfile,
        source: Option<SourceLine>,
        numbers: &HashMap<u32, i64>,
    ) {
        self.text.push(line.text.clone());
        self.offset.push(line.offset);
        let block = line.offset.and_then(|offset| block_at(function, offset));
        self.block.push(block.map_or(-1, |block| block as i64));
        self.file.push(source.map_or(-1, |source| numbers[&source.file]));
        self.line.push(source.map_or(0, |source| source.line));
    }
}

/// Returns the block of the code at `offset`: the last one that begins at or before it, unless that block has ended.
pub fn block_at(function: &FunctionProfile, offset: u32) -> Option<usize> {
    let behind = function.blocks.partition_point(|block| block.code.start <= offset);
    let block = behind.checked_sub(1)?;
    (function.blocks[block].code.end > offset).then_some(block)
}

fn source_of(line: &Line, map: &CodeMap) -> Option<SourceLine> {
    map.line_at(line.offset.filter(|_| !line.is_structure())?)
}
