//! Writes a trace while the program runs.
//!
//! Invariant: the file never exceeds the limit. After a chunk that did not fit, only the ending is written. Between
//! two calls the file holds complete sections only.

use std::io::Write;

use super::super::{BitStream, Frame, Unwind};
use super::head::{MAGIC, MAJOR, MINOR, Stack};
use super::references::Stored;
use super::section::{ADDR, BITS, DONE, FUNC, HEAD, STCK, pack};
use super::{FunctionTable, References, TraceEnding, TraceFileError, TraceHead};

/// The part of a run between two inspections of the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceChunk {
    /// The bits written.
    pub bits: BitStream,
    /// Frames that ended other than by returning; positions count from the chunk's first bit.
    pub unwinds: Vec<Unwind>,
    /// The live frames at the end of the chunk, outermost first.
    pub end: Vec<Frame>,
    /// The data references, if they are recorded.
    pub references: Option<References>,
}

/// Writer of a trace file.
pub struct TraceWriter<W> {
    out: W,
    limit: u64,
    written: u64,
    first_bit: u64,
    /// Sections with functions that no chunk has needed yet.
    functions: Vec<u8>,
    recording: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a file of at most `limit` bytes (provided that this suffices for head and ending), with no live frame.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails.
    pub fn new(out: W, head: &TraceHead, limit: u64) -> Result<Self, TraceFileError> {
        let mut writer =
            Self { out, limit, written: 0, first_bit: 0, functions: Vec::new(), recording: true };
        let mut bytes = [&MAGIC[..], &MAJOR.to_le_bytes(), &MINOR.to_le_bytes()].concat();
        bytes.extend(pack(HEAD, head)?);
        bytes.extend(pack(STCK, &Stack { first_bit: 0, frames: Vec::new() })?);
        writer.write(&bytes)?;
        Ok(writer)
    }

    /// Reports whether chunks are still recorded.
    pub fn is_recording(&self) -> bool {
        self.recording
    }

    /// Returns the number of bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds functions whose tokens the following chunks may contain. Each function is given once; they are written
    /// with the next chunk.
    ///
    /// # Errors
    /// Returns an error if the functions together exceed a section.
    pub fn add_functions(&mut self, functions: &[FunctionTable]) -> Result<(), TraceFileError> {
        if self.recording && !functions.is_empty() {
            self.functions.extend(pack(FUNC, &functions)?);
        }
        Ok(())
    }

    /// Writes a chunk; returns false if it did not fit, or nothing is recorded any more.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails; the file then ends before this chunk.
    pub fn write_chunk(&mut self, chunk: &TraceChunk) -> Result<bool, TraceFileError> {
        if !self.recording {
            return Ok(false);
        }
        let mut bytes = std::mem::take(&mut self.functions);
        bytes.extend(pack(BITS, &(chunk.bits.len(), &chunk.unwinds, chunk.bits.as_bytes()))?);
        if let Some(references) = &chunk.references {
            bytes.extend(pack(ADDR, &Stored::new(references))?);
        }
        let first_bit = self.first_bit + chunk.bits.len();
        bytes.extend(pack(STCK, &Stack { first_bit, frames: chunk.end.clone() })?);
        let ending = pack(DONE, &TraceEnding::LimitReached)?.len() as u64;
        if self.written + bytes.len() as u64 + ending > self.limit {
            self.recording = false;
            return Ok(false);
        }
        self.first_bit = first_bit;
        self.write(&bytes)?;
        Ok(true)
    }

    /// Ends the recording before the run: the ending will say that only the beginning is there.
    pub fn stop(&mut self) {
        self.recording = false;
    }

    /// Writes the ending and flushes.
    ///
    /// # Errors
    /// Returns the error of the output if a write fails.
    pub fn finish(mut self) -> Result<W, TraceFileError> {
        let ending = if self.recording { TraceEnding::Finished } else { TraceEnding::LimitReached };
        self.write(&pack(DONE, &ending)?)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TraceFileError> {
        // After a failure the file ends somewhere in these bytes, so nothing may follow.
        let recording = std::mem::replace(&mut self.recording, false);
        self.out.write_all(bytes)?;
        self.recording = recording;
        self.written += bytes.len() as u64;
        Ok(())
    }
}
