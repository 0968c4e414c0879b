//! Images of large module files in memory, without their *late* parts, which may never be needed or are needed
//! elsewhere, and which are read on demand. Of a data segment of megabytes the first instance reads the parts
//! that it touches, and others share pages; debug information is for reports on the program.
//!
//! Invariant: bytes that are not late are read once and never change. If the file changes later, no late bytes
//! are used, so that one module never mixes parts of two files.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::fstat;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wprof_jit::parallel::share_out;

use super::pages::{PART, SharedPages, parts_of, prefer_large_pages};
use crate::runtime::code::reservation::PAGE;

/// The bytes of a file, with zeros in place of late ones.
#[derive(Debug)]
pub struct Image {
    base: NonNull<u8>,
    len: usize,
    /// The source of late bytes, if there are any.
    source: Option<Source>,
    /// The late parts, ascending.
    late: Vec<Late>,
}

// SAFETY: the memory that `base` points to is only read, by any thread.
unsafe impl Send for Image {}
// SAFETY: as for `Send`.
unsafe impl Sync for Image {}

/// Bytes that are read on demand.
#[derive(Debug)]
struct Late {
    bytes: Range<usize>,
    /// Whether some memory has them.
    is_given: AtomicBool,
    /// Shared pages for later memories; `None` if there is no memory for them.
    pages: OnceLock<Option<SharedPages>>,
}

/// A file that must not change.
#[derive(Debug)]
struct Source {
    file: File,
    stamp: Stamp,
}

impl Source {
    fn is_same(&self) -> io::Result<bool> {
        Ok(Stamp::new(&self.file)? == self.stamp)
    }

    fn check(&self) -> io::Result<()> {
        match self.is_same()? {
            true => Ok(()),
            false => Err(io::Error::other("the file has changed since the module was loaded: load it again")),
        }
    }
}

/// The properties by which a change of a file is detected: the time of modification, in seconds and nanoseconds,
/// and the size. Replacing the file by another one is not a change.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(i64, i64, i64);

impl Stamp {
    /// Returns the stamp of a file. Async-signal-safe.
    fn new(file: &File) -> io::Result<Stamp> {
        let about = fstat(file)?;
        Ok(Stamp(about.st_mtime as i64, about.st_mtime_nsec as i64, about.st_size as i64))
    }
}

impl Image {
    /// Reads a file of `len` bytes, except for the `late` parts, which are ascending.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is shorter, or the system has no memory for it.
    pub fn read(file: File, len: usize, late: Vec<Range<usize>>) -> io::Result<Image> {
        assert!(len > 0 && late.is_sorted_by(|a, b| a.end <= b.start));
        let stamp = Stamp::new(&file)?;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len, access, flags)? };
        let base = NonNull::new(base.cast()).expect("the kernel does not map page 0");
        let new = |bytes| Late { bytes, is_given: AtomicBool::new(false), pages: OnceLock::new() };
        let mut image = Image { base, len, source: None, late: late.into_iter().map(new).collect() };
        // SAFETY: it is the new mapping, which nothing else refers to yet.
        let bytes = unsafe { std::slice::from_raw_parts_mut(base.as_ptr(), len) };
        let ends = image.late.iter().map(|late| late.bytes.start).chain([len]);
        let begins = [0].into_iter().chain(image.late.iter().map(|late| late.bytes.end));
        for (begin, end) in begins.zip(ends) {
            let part = &mut bytes[begin..end];
            if part.len() >= PART {
                prefer_large_pages(part);
            }
            read_parts(&file, begin, part)?;
        }
        // SAFETY: it is the new mapping, which is not written any more.
        unsafe { mprotect(base.as_ptr().cast(), len, MprotectFlags::READ)? };
        image.source = (!image.late.is_empty()).then_some(Source { file, stamp });
        Ok(image)
    }

    /// Returns the late parts, ascending.
    pub fn late(&self) -> impl Iterator<Item = &Range<usize>> {
        self.late.iter().map(|late| &late.bytes)
    }

    /// Returns whether these bytes are late.
    pub fn is_late(&self, bytes: &Range<usize>) -> bool {
        self.late_part(bytes).is_some()
    }

    /// Returns the late part that contains these bytes, and its source.
    fn late_part(&self, bytes: &Range<usize>) -> Option<(&Late, &Source)> {
        let next = self.late.partition_point(|late| late.bytes.start <= bytes.start);
        let late = &self.late[next.checked_sub(1)?];
        let is_part = !bytes.is_empty() && bytes.end <= late.bytes.end;
        Some(late).filter(|_| is_part).zip(self.source.as_ref())
    }

    /// Reads late bytes.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, or the file has changed.
    pub fn read_late(&self, bytes: Range<usize>, to: &mut [u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (_, source) = self.late_part(&bytes).expect("the bytes are late");
        read_parts(&source.file, bytes.start, &mut to[..bytes.len()])?;
        source.check()
    }

    /// Reads `len` late bytes from `at` on; returns whether they could be read, and the file has not changed.
    /// Async-signal-safe.
    ///
    /// # Safety
    /// The caller guarantees that `to` has room for them, and that nobody reads or writes there meanwhile.
    pub unsafe fn read_in_handler(&self, at: usize, to: *mut u8, len: usize) -> bool {
        let Some((_, source)) = self.late_part(&(at..at + len)) else { return false };
        let mut done = 0;
        while done < len {
            let place = to.wrapping_add(done).cast();
            // SAFETY: there is room for the remaining bytes.
            let read = unsafe {
                libc::pread(source.file.as_raw_fd(), place, len - done, (at + done) as libc::off_t)
            };
            match usize::try_from(read) {
                Ok(0) => return false,
                Ok(read) => done += read,
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        source.is_same().is_ok_and(|is_same| is_same)
    }

    /// Checks that late bytes can still be read.
    ///
    /// # Errors
    /// Returns an error if the file has changed.
    pub fn check(&self) -> io::Result<()> {
        self.source.as_ref().map_or(Ok(()), Source::check)
    }

    /// Returns all bytes, including the late ones.
    ///
    /// # Errors
    /// Returns an error as [`Image::read_late`] does.
    pub fn whole(&self) -> io::Result<Vec<u8>> {
        let mut all = self.to_vec();
        self.late().try_for_each(|late| self.read_late(late.clone(), &mut all[late.clone()]))?;
        Ok(all)
    }

    /// Returns shared pages for a memory that is to receive late `bytes` from offset `at` in a page on, and which
    /// of the pages' bytes these are; `None` for the first memory.
    ///
    /// # Errors
    /// Returns an error if the file has changed since a memory received them.
    pub fn pages(&self, bytes: &Range<usize>, at: usize) -> io::Result<Option<(&SharedPages, Range<usize>)>> {
        let Some((late, source)) = self.late_part(bytes) else { return Ok(None) };
        if !late.is_given.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let start = bytes.start - late.bytes.start;
        if late.pages.get().is_none() {
            let pages =
                SharedPages::read(&source.file, late.bytes.clone(), (at + PAGE - start % PAGE) % PAGE);
            source.check()?;
            // Another thread may have read the pages first.
            let _ = late.pages.set(pages.ok());
        }
        let pages = late.pages.get().and_then(Option::as_ref);
        Ok(pages.map(|pages| (pages, start..start + bytes.len())))
    }
}

/// Reads the bytes of a file from `offset` on, in several parallel parts if there are many.
fn read_parts(file: &File, offset: usize, to: &mut [u8]) -> io::Result<()> {
    let of_part = to.len().div_ceil(parts_of(to.len())).max(1);
    let read = |(to, at): (&mut [u8], usize)| file.read_exact_at(to, at as u64);
    let parts = to.chunks_mut(of_part).zip((offset..).step_by(of_part)).collect();
    share_out(parts, read).into_iter().collect()
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has `len` bytes, which nobody writes.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: `read` mapped it with this size; all borrows from it have ended.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
