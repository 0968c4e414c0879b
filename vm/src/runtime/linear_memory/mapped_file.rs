//! A file mapped into memory, for reading only.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use super::mapping::Mapping;

/// The bytes of a file, which are only read.
#[derive(Debug)]
pub struct MappedFile(Mapping);

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, is empty, or cannot be mapped.
    ///
    /// # Safety
    /// The caller guarantees that nobody writes to the file or truncates it while the mapping exists.
    pub unsafe fn open(path: &Path) -> io::Result<MappedFile> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Mapping::of_file(&file, len).map(MappedFile)
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes of the mapping do not change, as the caller of `open` guarantees.
        unsafe { std::slice::from_raw_parts(self.0.base().as_ptr(), self.0.size()) }
    }
}
