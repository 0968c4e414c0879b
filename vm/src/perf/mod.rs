//! Files that tell Linux perf where the machine code of each function is, and its name.
//!
//! Invariant: each piece of code is reported once, when it is placed and before it runs. If the file
//! can no longer be written, later reports are lost and the program continues.

mod jitdump;
mod map;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::PerfFormat;
use crate::runtime::instances::engine_core::HelperListener;
use jitdump::Jitdump;
use map::Map;

/// The placed code of a function.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The demangled name of the function.
    pub name: &'a str,
    /// Offset in the code, file and line: the code from the offset on comes from the line. Ascending.
    pub lines: Vec<(u32, String, u32)>,
}

/// The perf file of a process.
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
    /// Returns an error if the system refuses.
    pub fn create(format: PerfFormat) -> io::Result<PerfFile> {
        Ok(PerfFile(Mutex::new(match format {
            PerfFormat::Map => Format::Map(Map::create()?),
            PerfFormat::Jitdump => Format::Jitdump(Jitdump::create()?),
        })))
    }

    /// Returns whether the format includes source lines.
    pub fn has_lines(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), Format::Jitdump(_))
    }

    /// Reports a piece of code.
    pub fn add(&self, placed: &Placed<'_>) {
        let mut format = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Perf then shows what it knows: a full disk is no reason to stop the program.
        let _ = match &mut *format {
            Format::Map(map) => map.add(placed),
            Format::Jitdump(jitdump) => jitdump.add(placed),
        };
    }
}

impl HelperListener for PerfFile {
    fn placed(&self, address: usize, bytes: &[u8], name: &'static str) {
        self.add(&Placed { address: address as u64, bytes, name, lines: Vec::new() });
    }
}

/// Creates a file, replacing an existing one, but follows no symbolic link that another user may have placed
/// there.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}
