//! Burst files: which functions were entered in each burst, which paths finished, and which memory they accessed, in
//! order.
//!
//! Input: [`BurstEvent`]s while the program runs. Output: a file from which they can be read back.
//! Invariant (as for a trace file): a truncated file gives the beginning of the run and says so. A changed byte is an
//! error, or ends the events before it.
//! A frame that was called before a burst began is not visible until it reaches its next check.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, section 2: bursts keep the order of their events, which
//! samples of single events do not.
//! Oracle: `tests/it/burst_file.rs`, and traces of the same run in `vm/tests/profiles/burst_log.rs`.
//!
//! The layout is that of a trace file, with the magic `77 70 72 62 0d 0a 1a 0a` and the sections `HEAD`
//! ([`TraceHead`]), `PATH` (some [`BurstEvent`]s) any number of times, and `DONE` ([`TraceEnding`]).

use std::io::{Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

use super::file::section::{DONE, HEAD, Section, Tag, pack};
use super::{TraceEnding, TraceFileError, TraceHead};
use crate::ReadLimits;

const MAGIC: [u8; 8] = *b"wprb\r\n\x1a\n";
const MAJOR: u16 = 1;
const MINOR: u16 = 0;
const PATH: Tag = *b"PATH";

/// Number of events that are compressed together.
const CHUNK: usize = 1 << 16;

/// Upper bound of a chunk's bytes: a tag, a site, an address and a length per event.
const MAX_CHUNK: u64 = CHUNK as u64 * (1 + 5 + 10 + 10) + 10;

/// An event in a burst.
///
/// Stored by position: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BurstEvent {
    /// A burst begins, which ends the previous one, if any.
    Begin {
        /// Number of checks that the program had reached.
        checks: u64,
    },
    /// A function is entered.
    Enter {
        /// Index of the function.
        func: u32,
    },
    /// A path has finished. Its last edge shows whether the function was left.
    Path {
        /// Index of the function.
        func: u32,
        /// Number of the path.
        id: u64,
    },
    /// A burst begins because its time has come, which ends the previous one, if any.
    BeginByTime {
        /// The time that the thread had run outside of bursts, in nanoseconds of processor time.
        nanoseconds: u64,
    },
    /// Memory is about to be accessed. The access itself may still trap.
    Access {
        /// Byte offset of the instruction in the module.
        site: u32,
        /// Address of the first byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
}

/// Writer of a burst file.
#[derive(Debug)]
pub struct BurstWriter<W> {
    out: W,
    limit: u64,
    written: u64,
    events: Vec<BurstEvent>,
    is_full: bool,
}

impl<W: Write> BurstWriter<W> {
    /// Starts a file of at most `limit` bytes, provided that this suffices for head and ending.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails.
    pub fn new(out: W, head: &TraceHead, limit: u64) -> Result<Self, TraceFileError> {
        let mut writer = Self { out, limit, written: 0, events: Vec::new(), is_full: false };
        let magic = [&MAGIC[..], &MAJOR.to_le_bytes(), &MINOR.to_le_bytes()].concat();
        writer.write(&[magic, pack(HEAD, head)?].concat())?;
        Ok(writer)
    }

    /// Appends an event, unless the limit is reached.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails.
    pub fn push(&mut self, event: BurstEvent) -> Result<(), TraceFileError> {
        if !self.is_full {
            self.events.push(event);
        }
        if self.events.len() >= CHUNK { self.write_chunk() } else { Ok(()) }
    }

    /// Writes the remaining events and the ending. Returns the length of the file, and whether the limit was reached.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails.
    pub fn finish(mut self) -> Result<(u64, bool), TraceFileError> {
        self.write_chunk()?;
        let ending = if self.is_full { TraceEnding::LimitReached } else { TraceEnding::Finished };
        self.write(&pack(DONE, &ending)?)?;
        self.out.flush()?;
        Ok((self.written, self.is_full))
    }

    fn write_chunk(&mut self) -> Result<(), TraceFileError> {
        let events = std::mem::take(&mut self.events);
        if events.is_empty() {
            return Ok(());
        }
        let bytes = pack(PATH, &events)?;
        let ending = pack(DONE, &TraceEnding::LimitReached)?;
        self.is_full = self.written + (bytes.len() + ending.len()) as u64 > self.limit;
        if self.is_full { Ok(()) } else { self.write(&bytes) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TraceFileError> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Reader of a burst file.
#[derive(Debug)]
pub struct BurstReader<R> {
    input: R,
    head: TraceHead,
    chunks: Vec<Section>,
    ending: TraceEnding,
}

impl<R: Read + Seek> BurstReader<R> {
    /// Opens a file and finds its chunks.
    ///
    /// # Errors
    /// Returns an error if the file is not a burst file, has another version, or is damaged before its first event.
    pub fn open(mut input: R) -> Result<Self, TraceFileError> {
        let bytes = input.seek(SeekFrom::End(0))?;
        check_version(&mut input)?;
        let (mut head, mut chunks, mut byte) = (None, Vec::new(), (MAGIC.len() + 4) as u64);
        let mut left = ReadLimits::default().unpacked_of(bytes);
        let ending = loop {
            let Some(section) = Section::scan(&mut input, byte, bytes)? else {
                break TraceEnding::CutOff { byte };
            };
            match section.tag {
                HEAD => head = Some(section.kept_value(&mut input, &mut left)?),
                PATH if section.unpacked <= MAX_CHUNK => chunks.push(section),
                DONE => break section.kept_value(&mut input, &mut left)?,
                _ => return Err(section.damaged()),
            }
            byte = section.end().unwrap_or(bytes);
        };
        let head = head.ok_or(TraceFileError::Damaged { section: "HEAD".to_owned(), byte: 12 })?;
        Ok(Self { input, head, chunks, ending })
    }

    /// Returns the head, which names the program.
    pub fn head(&self) -> &TraceHead {
        &self.head
    }

    /// Returns how the file ends; see [`TraceEnding::notice`].
    pub fn ending(&self) -> TraceEnding {
        self.ending
    }

    /// Iterates over all events in order. Nothing follows an error.
    pub fn events(&mut self) -> impl Iterator<Item = Result<BurstEvent, TraceFileError>> {
        let Self { input, chunks, .. } = self;
        let mut failed = false;
        let chunk = move |section: &Section| {
            let read = (!failed).then(|| section.value::<Vec<BurstEvent>>(input));
            failed |= read.as_ref().is_some_and(Result::is_err);
            read
        };
        chunks.iter().filter_map(chunk).flat_map(|read| {
            let (events, error) = read.map_or_else(|error| (Vec::new(), Some(error)), |all| (all, None));
            events.into_iter().map(Ok).chain(error.map(Err))
        })
    }
}

fn check_version(input: &mut (impl Read + Seek)) -> Result<(), TraceFileError> {
    let mut start = [0; MAGIC.len() + 4];
    input.seek(SeekFrom::Start(0))?;
    input.read_exact(&mut start).map_err(|_| TraceFileError::Foreign)?;
    let [a, b, c, d] = start[MAGIC.len()..] else { return Err(TraceFileError::Foreign) };
    let (major, minor) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    match (start.starts_with(&MAGIC), major) {
        (false, _) => Err(TraceFileError::Foreign),
        (true, MAJOR) => Ok(()),
        (true, _) => Err(TraceFileError::OtherVersion { major, minor }),
    }
}
