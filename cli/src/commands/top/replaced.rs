//! A profile file that somebody replaces again and again.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wprof_profiler::Profile;

/// The file, and which of its contents were seen.
pub struct Replaced {
    path: PathBuf,
    /// What a new file differs in: its number on the disk, and when it was written.
    seen: Option<(u64, i64, i64)>,
}

impl Replaced {
    /// Nothing seen yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: None }
    }

    /// The profile in it, if that is a new one; nothing while there is no file.
    ///
    /// # Errors
    /// If it is no profile, or cannot be read.
    pub fn look(&mut self) -> Result<Option<Profile>> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => (found.ino(), found.mtime(), found.mtime_nsec()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| self.path.display().to_string()),
        };
        if self.seen.replace(found) == Some(found) {
            return Ok(None);
        }
        crate::commands::read_profile(&self.path).map(Some)
    }
}
