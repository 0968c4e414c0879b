//! A file as memory that is read and never written.

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
    /// If it cannot be opened, is empty, or is no file that can be mapped.
    ///
    /// # Safety
    /// Nobody writes to the file or cuts it as long as this is there.
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
        // SAFETY: the bytes of the mapping stay as they are: the promise of whoever called `open`.
        unsafe { std::slice::from_raw_parts(self.0.base().as_ptr(), self.0.size()) }
    }
}
