//! What Linux perf is told of machine code: where each function is and what it is called.
//!
//! Invariant: each piece of code of a wasm function is told once, when it is placed and before it runs. When the file
//! cannot be written any more, the rest is lost and the program goes on.

mod jitdump;
mod map;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::PerfFormat;
use jitdump::Jitdump;
use map::Map;

/// The code of a function as it was placed.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    /// Where it is.
    pub address: u64,
    /// What it is.
    pub bytes: &'a [u8],
    /// The function's name, readable.
    pub name: &'a str,
    /// From which offset in the code on it comes from which line of which file; ascending.
    pub lines: Vec<(u32, String, u32)>,
}

/// The file of one process.
#[derive(Debug)]
pub(crate) struct PerfFile(Mutex<Format>);

#[derive(Debug)]
enum Format {
    Map(Map),
    Jitdump(Jitdump),
}

impl PerfFile {
    /// Creates the file.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn create(format: PerfFormat) -> io::Result<PerfFile> {
        Ok(PerfFile(Mutex::new(match format {
            PerfFormat::Map => Format::Map(Map::create()?),
            PerfFormat::Jitdump => Format::Jitdump(Jitdump::create()?),
        })))
    }

    /// Whether it has source lines.
    pub fn has_lines(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), Format::Jitdump(_))
    }

    /// Tells of a piece of code.
    pub fn add(&self, placed: &Placed<'_>) {
        let mut format = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Perf shows what it knows: a full disk is no reason to stop the program.
        let _ = match &mut *format {
            Format::Map(map) => map.add(placed),
            Format::Jitdump(jitdump) => jitdump.add(placed),
        };
    }
}

/// A file that replaces what was there, but follows no link that others may have put there.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}
