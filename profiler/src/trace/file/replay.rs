//! Replays one chunk after the other.

use std::io::{Read, Seek};

use super::super::{TraceError, TracedFunctions};
use super::TraceFileError;
use super::reader::Chunk;

type Result<T> = std::result::Result<T, TraceFileError>;

/// Iterator over the items that `W` yields for each chunk of a trace, from some chunk on. Nothing follows an error.
pub struct Replay<'a, R, W> {
    input: &'a mut R,
    functions: &'a TracedFunctions,
    chunks: &'a [Chunk],
    begin: fn(Chunk, &mut R, &'a TracedFunctions) -> Result<W>,
    walk: Option<W>,
}

impl<'a, R: Read + Seek, W> Replay<'a, R, W> {
    /// Creates a replay of `chunks`; `begin` creates the iterator of a chunk.
    pub(super) fn new(
        input: &'a mut R,
        functions: &'a TracedFunctions,
        chunks: &'a [Chunk],
        begin: fn(Chunk, &mut R, &'a TracedFunctions) -> Result<W>,
    ) -> Self {
        Self { input, functions, chunks, begin, walk: None }
    }

    /// Begins the next chunk; returns false if there is none.
    fn next_chunk(&mut self) -> Result<bool> {
        let Some((chunk, rest)) = self.chunks.split_first() else { return Ok(false) };
        self.chunks = rest;
        self.walk = Some((self.begin)(*chunk, self.input, self.functions)?);
        Ok(true)
    }
}

impl<T, R: Read + Seek, W: Iterator<Item = std::result::Result<T, TraceError>>> Iterator
    for Replay<'_, R, W>
{
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.walk.as_mut().and_then(Iterator::next) {
            Some(Ok(item)) => Some(Ok(item)),
            Some(Err(error)) => Some(Err(self.failed(error.into()))),
            None => self.first_of_next(),
        }
    }
}

impl<'a, T, R: Read + Seek, W: Iterator<Item = std::result::Result<T, TraceError>>> Replay<'a, R, W> {
    /// Ends the replay at an error.
    fn failed(&mut self, error: TraceFileError) -> TraceFileError {
        (self.chunks, self.walk) = (&[], None);
        error
    }

    /// Returns the first item of the next chunk that has one.
    #[inline(never)]
    fn first_of_next(&mut self) -> Option<Result<T>> {
        loop {
            match self.next_chunk() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(self.failed(error))),
            }
            match self.walk.as_mut().and_then(Iterator::next) {
                Some(Ok(item)) => return Some(Ok(item)),
                Some(Err(error)) => return Some(Err(self.failed(error.into()))),
                None => {}
            }
        }
    }
}
