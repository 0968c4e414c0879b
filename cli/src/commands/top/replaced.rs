//! A profile file that another process replaces repeatedly.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wprof_profiler::Profile;

/// The file, and the version of it that was read last.
pub struct Replaced {
    path: PathBuf,
    /// The identity of the last version: its inode number and its modification time.
    seen: Option<(u64, i64, i64)>,
}

impl Replaced {
    /// Creates a file of which no version has been read.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: None }
    }

    /// Returns the profile in the file, if it is new; `None` while there is no file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read as a profile.
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
