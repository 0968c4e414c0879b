//! Reads a trace from its beginning or from any chunk.
//!
//! Input: a file. Output: its head and functions when it is opened, its chunks as [`Segment`]s, its events.
//! Invariant: opening a file reads headers, functions and ending, and skips the chunks.

use std::io::{Read, Seek, SeekFrom};

use super::super::{BitStream, Regenerator, Segment, TraceSteps, TracedFunctions, Unwind};
use super::head::{MAGIC, MAJOR, MINOR, Stack};
use super::references::Stored;
use super::replay::Replay;
use super::section::{ADDR, BITS, DONE, FUNC, HEAD, STCK, Section};
use super::{FunctionTable, References, TraceEnding, TraceFileError, TraceHead};

use crate::ReadLimits;

type Result<T> = std::result::Result<T, TraceFileError>;

/// Reader of a trace file.
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    head: TraceHead,
    tables: Vec<FunctionTable>,
    functions: TracedFunctions,
    chunks: Vec<Chunk>,
    ending: TraceEnding,
    file_bytes: u64,
}

/// The sections of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    start: Section,
    bits: Section,
    references: Option<Section>,
    end: Section,
}

impl<R: Read + Seek> TraceReader<R> {
    /// Opens a trace and reads what all chunks have in common.
    ///
    /// # Errors
    /// Returns an error if the file is not a trace, has another version, or is damaged before its first chunk.
    pub fn open(input: R) -> Result<Self> {
        Self::open_within(input, &ReadLimits::default())
    }

    /// Opens a trace within other limits; the length of the file is not limited.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), or one if what all chunks have in common exceeds a limit.
    pub fn open_within(mut input: R, limits: &ReadLimits) -> Result<Self> {
        let file_bytes = input.seek(SeekFrom::End(0))?;
        let newer = read_version(&mut input)?;
        let mut scan = Scan::new(newer, limits.unpacked_of(file_bytes));
        let ending = scan.run(&mut input, file_bytes)?;
        let head = scan.head.ok_or(TraceFileError::Damaged { section: "HEAD".to_owned(), byte: 12 })?;
        let Scan { tables, functions, chunks, .. } = scan;
        Ok(Self { input, head, tables, functions, chunks, ending, file_bytes })
    }

    /// Returns the head, which names the traced program.
    pub fn head(&self) -> &TraceHead {
        &self.head
    }

    /// Returns how the trace ends; see [`TraceEnding::notice`].
    pub fn ending(&self) -> TraceEnding {
        self.ending
    }

    /// Returns the functions in the order in which they were compiled.
    pub fn tables(&self) -> &[FunctionTable] {
        &self.tables
    }

    /// Returns the functions as [`Regenerator`] needs them.
    pub fn functions(&self) -> &TracedFunctions {
        &self.functions
    }

    /// Returns the number of chunks that can be replayed.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Returns the length of the file, of the stored bits of the first `chunks` chunks, and of their data references.
    pub(super) fn bytes(&self, chunks: usize) -> (u64, u64, u64) {
        let first = &self.chunks[..chunks];
        let references = first.iter().filter_map(|chunk| chunk.references);
        let references = references.map(|section| section.stored).sum();
        (self.file_bytes, first.iter().map(|chunk| chunk.bits.stored).sum(), references)
    }

    /// Reads one chunk, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the chunk is damaged or does not exist.
    pub fn segment(&mut self, chunk: usize) -> Result<Segment> {
        let chunk = self.chunk(chunk)?;
        chunk.segment(&mut self.input)
    }

    /// Reads the data references of one chunk; returns `None` if they were not recorded.
    ///
    /// # Errors
    /// Returns an error if the references are damaged or the chunk does not exist.
    pub fn references(&mut self, chunk: usize) -> Result<Option<References>> {
        let chunk = self.chunk(chunk)?;
        chunk.references(&mut self.input)
    }

    /// Reports whether data references were recorded.
    pub fn has_references(&self) -> bool {
        self.chunks.first().is_some_and(|chunk| chunk.references.is_some())
    }

    /// Returns the byte offset of each chunk's bits, and the end of the last complete section.
    pub(in crate::trace) fn places(&self) -> (Vec<u64>, u64) {
        let end = match self.ending {
            TraceEnding::CutOff { byte } => byte,
            _ => self.file_bytes,
        };
        (self.chunks.iter().map(|chunk| chunk.bits.byte).collect(), end)
    }

    /// Returns the underlying input.
    pub(in crate::trace) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    fn chunk(&self, chunk: usize) -> Result<Chunk> {
        let chunks = self.chunks.len();
        self.chunks.get(chunk).copied().ok_or(TraceFileError::NoChunk { chunk, chunks })
    }

    /// Returns the events from the beginning of a chunk to the end of the trace. The frames that were live at the
    /// beginning are in that chunk's [`Segment::start`].
    pub fn events_from(&mut self, chunk: usize) -> Replay<'_, R, Regenerator<'_>> {
        let chunks = self.chunks.get(chunk..).unwrap_or(&[]);
        Replay::new(&mut self.input, &self.functions, chunks, Chunk::events)
    }

    /// Returns the events as [`TraceReader::events_from`] does, together with the data references; without recorded
    /// references there are only events.
    pub fn steps_from(&mut self, chunk: usize) -> Replay<'_, R, TraceSteps<'_>> {
        let chunks = self.chunks.get(chunk..).unwrap_or(&[]);
        Replay::new(&mut self.input, &self.functions, chunks, Chunk::steps)
    }
}

impl Chunk {
    fn events<'a>(
        self,
        input: &mut (impl Read + Seek),
        functions: &'a TracedFunctions,
    ) -> Result<Regenerator<'a>> {
        Ok(Regenerator::new(functions, self.segment(input)?)?)
    }

    fn steps<'a>(
        self,
        input: &mut (impl Read + Seek),
        functions: &'a TracedFunctions,
    ) -> Result<TraceSteps<'a>> {
        let (segment, references) = (self.segment(input)?, self.references(input)?);
        let start = segment.start.clone();
        let walk = Regenerator::new(functions, segment)?;
        Ok(TraceSteps::new(functions, walk, &start, references))
    }

    fn references(&self, input: &mut (impl Read + Seek)) -> Result<Option<References>> {
        let Some(section) = self.references else { return Ok(None) };
        let stored: Stored = section.value(input)?;
        stored.references().map(Some).ok_or_else(|| section.damaged())
    }

    fn segment(&self, input: &mut (impl Read + Seek)) -> Result<Segment> {
        let (start, end): (Stack, Stack) = (self.start.value(input)?, self.end.value(input)?);
        let (len, unwinds, bytes): (u64, Vec<Unwind>, Vec<u8>) = self.bits.value(input)?;
        let bits = BitStream::from_bytes(bytes, len).ok_or_else(|| self.bits.damaged())?;
        if start.first_bit.checked_add(len) != Some(end.first_bit) {
            return Err(self.end.damaged());
        }
        Ok(Segment { first_bit: start.first_bit, bits, start: start.frames, unwinds, end: end.frames })
    }
}

/// Reads the version; returns whether its minor version is newer than ours.
fn read_version(input: &mut (impl Read + Seek)) -> Result<bool> {
    let mut start = Vec::new();
    input.seek(SeekFrom::Start(0))?;
    input.by_ref().take(12).read_to_end(&mut start)?;
    let Some(([a, b, c, d], [])) = start.strip_prefix(&MAGIC).and_then(|rest| rest.split_first_chunk())
    else {
        return Err(TraceFileError::Foreign);
    };
    let (major, minor) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    if major == MAJOR { Ok(minor > MINOR) } else { Err(TraceFileError::OtherVersion { major, minor }) }
}

/// A scan over the sections of a file.
struct Scan {
    newer: bool,
    /// The number of bytes of kept sections that may still be unpacked.
    left: u64,
    head: Option<TraceHead>,
    tables: Vec<FunctionTable>,
    functions: TracedFunctions,
    chunks: Vec<Chunk>,
    /// The last stack, and the parts of the chunk after it, which awaits its end.
    start: Option<Section>,
    bits: Option<Section>,
    references: Option<Section>,
    ending: Option<TraceEnding>,
}

impl Scan {
    fn new(newer: bool, left: u64) -> Self {
        Self {
            newer,
            left,
            head: None,
            tables: Vec::new(),
            functions: TracedFunctions::new(),
            chunks: Vec::new(),
            start: None,
            bits: None,
            references: None,
            ending: None,
        }
    }

    /// Scans the file up to its end or to the first damaged section.
    fn run(&mut self, input: &mut (impl Read + Seek), file: u64) -> Result<TraceEnding> {
        let mut byte = MAGIC.len() as u64 + 4;
        while let Some(section) = Section::scan(input, byte, file)? {
            match self.take(section, input) {
                Ok(()) => {}
                Err(error @ (TraceFileError::Io(_) | TraceFileError::Expands)) => return Err(error),
                Err(_) => break,
            }
            let Some(end) = section.end() else { break };
            if let Some(ending) = self.ending.filter(|_| end == file) {
                return Ok(ending);
            }
            byte = end;
        }
        Ok(TraceEnding::CutOff { byte })
    }

    fn take(&mut self, section: Section, input: &mut (impl Read + Seek)) -> Result<()> {
        if self.ending.is_some() || (self.head.is_none() && section.tag != HEAD) {
            return Err(section.damaged());
        }
        match section.tag {
            HEAD if self.head.is_none() => {
                self.head = Some(section.kept_value(input, &mut self.left)?);
            }
            STCK => self.stack(section)?,
            FUNC => {
                let tables = section.kept_value(input, &mut self.left)?;
                self.add_functions(tables, section)?;
            }
            BITS if self.start.is_some() && self.bits.is_none() => self.bits = Some(section),
            ADDR if self.bits.is_some() && self.references.is_none() => self.references = Some(section),
            DONE if self.bits.is_none() => {
                self.ending = Some(section.kept_value(input, &mut self.left)?);
            }
            HEAD | BITS | ADDR | DONE => return Err(section.damaged()),
            _ if self.newer => {}
            _ => return Err(section.damaged()),
        }
        Ok(())
    }

    /// Takes a stack, which ends the previous chunk and begins the next one.
    fn stack(&mut self, end: Section) -> Result<()> {
        match (self.start, self.bits.take()) {
            (None, None) => {}
            (Some(start), Some(bits)) => {
                self.chunks.push(Chunk { start, bits, references: self.references.take(), end });
            }
            _ => return Err(end.damaged()),
        }
        self.start = Some(end);
        Ok(())
    }

    fn add_functions(&mut self, tables: Vec<FunctionTable>, section: Section) -> Result<()> {
        for table in tables {
            if !self.functions.insert(table.function, table.traced()?) {
                return Err(section.damaged());
            }
            self.tables.push(table);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::super::TraceMethod;
    use super::super::section::pack;
    use super::*;

    /// Many empty functions compress to almost nothing.
    #[test]
    fn functions_that_expand_too_much_are_not_read() {
        let table = FunctionTable {
            function: 0,
            fingerprint: 0,
            method: TraceMethod::Witnesses,
            calls: Vec::new(),
            edges: Vec::new(),
            emits: Vec::new(),
            accesses: Vec::new(),
        };
        let file = |count: usize| {
            let version = [&MAGIC[..], &MAJOR.to_le_bytes(), &MINOR.to_le_bytes()].concat();
            let (head, functions) =
                (pack(HEAD, &TraceHead::default()), pack(FUNC, &vec![table.clone(); count]));
            [version, head.unwrap(), functions.unwrap()].concat()
        };
        let bomb = file(400_000);
        assert!(bomb.len() < 2000, "{}", bomb.len());
        assert!(matches!(TraceReader::open(Cursor::new(&bomb)), Err(TraceFileError::Expands)));
        let trusted = ReadLimits { expansion: u64::MAX, ..ReadLimits::default() };
        let read = TraceReader::open_within(Cursor::new(&bomb), &trusted);
        assert!(
            matches!(read.map(|read| read.ending()), Ok(TraceEnding::CutOff { .. })),
            "its tables are damaged"
        );
        assert!(TraceReader::open(Cursor::new(&file(10))).is_ok());
    }
}
