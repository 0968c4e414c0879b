//! A file as memory that is read and never written.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The bytes of a file.
#[derive(Debug)]
pub struct MappedFile {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: what `base` points to is only read, by any thread.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

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
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing; it is of the file, of which the
        // caller says that it stays as it is.
        let base = unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)? };
        Ok(MappedFile { base: NonNull::new(base.cast()).expect("the kernel does not map page 0"), len })
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has `len` bytes, which stay as they are: the promise of whoever called `open`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` with this size; whoever borrowed from it is gone.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
