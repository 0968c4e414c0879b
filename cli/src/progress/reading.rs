//! A file that is being read, with its position.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The position in a file; all clones share it.
#[derive(Clone, Debug)]
pub struct Position {
    bytes: Arc<AtomicU64>,
    length: u64,
}

impl Position {
    /// Returns the offset of the next byte.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the length of the file.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// A file that tracks how far it has been read.
#[derive(Debug)]
pub struct Reading {
    file: File,
    position: Position,
}

impl Reading {
    /// Starts at the beginning of a file.
    ///
    /// # Errors
    /// Returns an error if the system cannot tell the file's length.
    pub fn new(file: File) -> io::Result<Self> {
        let position = Position { bytes: Arc::default(), length: file.metadata()?.len() };
        Ok(Self { file, position })
    }

    /// Returns the position, which stays up to date.
    pub fn position(&self) -> Position {
        self.position.clone()
    }
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.position.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Reading {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.file.seek(to)?;
        self.position.bytes.store(at, Ordering::Relaxed);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_position_is_that_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100]).unwrap();
        file.rewind().unwrap();
        let mut reading = Reading::new(file).unwrap();
        let position = reading.position();
        reading.read_exact(&mut [0; 30]).unwrap();
        assert_eq!((position.bytes(), position.length()), (30, 100));
        reading.seek(SeekFrom::Start(90)).unwrap();
        assert_eq!(reading.read(&mut [0; 30]).unwrap(), 10);
        assert_eq!(position.bytes(), 100);
    }
}
