//! Replay of one chunk after the other.

use std::io::{Read, Seek};

use super::super::{TraceError, TracedFunctions};
use super::TraceFileError;
use super::reader::Chunk;

type Result<T> = std::result::Result<T, TraceFileError>;

/// What `W` gives of each chunk of a trace, from one of them on. After an error there is nothing.
pub struct Replay<'a, R, W> {
    input: &'a mut R,
    functions: &'a TracedFunctions,
    chunks: &'a [Chunk],
    begin: fn(Chunk, &mut R, &'a TracedFunctions) -> Result<W>,
    walk: Option<W>,
}

impl<'a, R: Read + Seek, W> Replay<'a, R, W> {
    /// Before the first of `chunks`, each of which is walked through as `begin` says.
    pub(super) fn new(
        input: &'a mut R,
        functions: &'a TracedFunctions,
        chunks: &'a [Chunk],
        begin: fn(Chunk, &mut R, &'a TracedFunctions) -> Result<W>,
    ) -> Self {
        Self { input, functions, chunks, begin, walk: None }
    }

    /// Begins the next chunk; false if there is none.
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
    /// There is nothing behind an error.
    fn failed(&mut self, error: TraceFileError) -> TraceFileError {
        (self.chunks, self.walk) = (&[], None);
        error
    }

    /// The first item of the next chunk that has one.
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
