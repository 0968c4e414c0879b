//! Large module files in memory, as pages that linear memories can have for their own.
//!
//! A data segment of megabytes would be copied into each instance's memory, of which a program may read a few pages.
//! Here the system gives the memory the image's pages, and copies one when it is written.
//!
//! Invariant: the pages are anonymous files that only this image has a name for, and it never writes to them again.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::iter;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::thread;

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::code::reservation::PAGE;
use crate::config::cores;

/// Bytes of whole pages from which on it pays to map them rather than to copy.
const MAPPED_FROM: usize = 16 * PAGE;
/// Bytes that are worth a thread when a file is read: most of the time the system makes pages.
const PART: usize = 2 << 20;
/// Threads that read a file, where there are more processors.
const MOST_PARTS: usize = 4;
/// Bytes that are read at a time, so few that they are still in the cache when they are written.
const PIECE: usize = 64 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub struct Image {
    parts: Vec<Part>,
    base: NonNull<u8>,
    /// Where the first byte is, in the first page.
    start: usize,
    len: usize,
}

// SAFETY: what `base` points to is only read, by any thread.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    /// Reads a file of `len` bytes, the first to `start` in a page.
    ///
    /// # Errors
    /// If the file cannot be read or has fewer bytes, or the system has no memory for them.
    pub fn read(file: &File, start: usize, len: usize) -> io::Result<Image> {
        assert!(start < PAGE && len > 0);
        let size = start + len;
        let threads = cores().min(MOST_PARTS);
        let of_part = size.div_ceil((size / PART).clamp(1, threads)).next_multiple_of(PAGE);
        let read = |from: usize| Part::read(file, start, from..size.min(from + of_part));
        let parts = thread::scope(|scope| {
            let others = (of_part..size).step_by(of_part).map(|from| scope.spawn(move || read(from)));
            let others: Vec<_> = others.collect();
            let first = read(0);
            let others = others.into_iter().map(|thread| thread.join().expect("reading does not panic"));
            iter::once(first).chain(others).collect::<io::Result<Vec<Part>>>()
        })?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::empty(), flags)? };
        let base = NonNull::new(base.cast()).expect("the kernel does not map page 0");
        let image = Image { parts, base, start, len };
        for part in &image.parts {
            // SAFETY: the part's place in the mapping that was made for all.
            unsafe { part.map(part.range.clone(), base.add(part.range.start), Sharing::Read)? };
        }
        Ok(image)
    }

    /// Gives a memory the pages of `bytes` that are whole where it wants them, from address `at` on, if they are worth
    /// it, and returns the bytes that it now has, as a part of `bytes`.
    ///
    /// # Safety
    /// As many bytes from `at` on are the caller's, accessible, and nobody reads or writes them meanwhile.
    pub unsafe fn map(&self, bytes: Range<usize>, at: NonNull<u8>) -> Range<usize> {
        let whole = whole_pages(at.addr().get(), bytes.len());
        let first = self.start + bytes.start + whole.start;
        if whole.len() < MAPPED_FROM || !first.is_multiple_of(PAGE) {
            return bytes.start..bytes.start;
        }
        let mut mapped = first;
        for part in &self.parts {
            let common = part.range.start.max(first)..part.range.end.min(first + whole.len());
            if common.is_empty() {
                continue;
            }
            let (end, place) = (common.end, whole.start + common.start - first);
            // SAFETY: `whole` lies in what the caller has given.
            if unsafe { part.map(common, at.add(place), Sharing::Own) }.is_err() {
                // There are too many mappings, which the kernel finds out before it takes the old ones away.
                break;
            }
            mapped = end;
        }
        let begin = bytes.start + whole.start;
        begin..begin + (mapped - first)
    }
}

/// Some pages of an image. The system writes to a file for one thread at a time, so each has a file of its own.
#[derive(Debug)]
struct Part {
    pages: File,
    /// Which bytes of the image, counted from its first page on.
    range: Range<usize>,
}

/// Whose the pages are that are mapped.
#[derive(Clone, Copy)]
enum Sharing {
    /// The image's, to be read.
    Read,
    /// Also the mapping's own, as soon as it writes to one.
    Own,
}

impl Part {
    fn read(file: &File, start: usize, range: Range<usize>) -> io::Result<Part> {
        let mut pages = File::from(memfd_create("wprof-module", MemfdFlags::CLOEXEC)?);
        let mut at = range.start.max(start);
        pages.seek(SeekFrom::Start((at - range.start) as u64))?;
        while at < range.end {
            let (offset, len) = ((at - start) as u64, range.end - at);
            let mut next = offset;
            at += match sendfile(&pages, file, Some(&mut next), len) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(moved) => moved,
                Err(_) => copy_piece(file, offset, len, &mut pages)?,
            };
        }
        Ok(Part { pages, range })
    }

    /// Maps `bytes` of the image, from the start of a page on, at `place`.
    ///
    /// # Safety
    /// The pages at `place` are the caller's, and nobody uses them meanwhile.
    unsafe fn map(&self, bytes: Range<usize>, place: NonNull<u8>, sharing: Sharing) -> io::Result<()> {
        let (protection, flags) = match sharing {
            Sharing::Read => (ProtFlags::READ, MapFlags::SHARED),
            Sharing::Own => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE),
        };
        let (place, offset) = (place.as_ptr().cast(), (bytes.start - self.range.start) as u64);
        // SAFETY: the caller's promise.
        unsafe { mmap(place, bytes.len(), protection, flags | MapFlags::FIXED, &self.pages, offset)? };
        Ok(())
    }
}

/// Copies some of the `len` bytes of `file` from `offset` on, and returns how many, where the system cannot do it by
/// itself: it does not know how for every kind of file.
fn copy_piece(file: &File, offset: u64, len: usize, pages: &mut File) -> io::Result<usize> {
    let mut piece = vec![0; PIECE.min(len)];
    file.read_exact_at(&mut piece, offset)?;
    pages.write_all(&piece)?;
    Ok(piece.len())
}

/// Which of `len` bytes from `address` on are on pages of which all bytes are among them.
fn whole_pages(address: usize, len: usize) -> Range<usize> {
    let first = (address.next_multiple_of(PAGE) - address).min(len);
    let end = len.saturating_sub((address + len) % PAGE).max(first);
    first..end
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` on are in the mapping and in the files, which nobody writes or shortens.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.start), self.len) }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: mapped by `read` with this size; whoever borrowed from it is gone.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.start + self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_within_what_is_wanted() {
        let page = PAGE;
        assert_eq!(whole_pages(0, 2 * page), 0..2 * page);
        assert_eq!(whole_pages(1, 2 * page), page - 1..2 * page - 1);
        assert_eq!(whole_pages(page - 1, 2 * page), 1..page + 1);
        for (address, len) in [(1, 0), (1, page - 1), (1, page), (page, page - 1), (page - 1, 2)] {
            assert!(whole_pages(address, len).is_empty(), "{address} {len}");
        }
    }

    #[test]
    fn pieces_are_copied_where_the_system_cannot() {
        let bytes: Vec<u8> = (0..PIECE + 100).map(|i| (i / 50) as u8).collect();
        let (mut file, mut pages) =
            (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        file.write_all(&bytes).expect("written");
        let mut copied = 0;
        while copied < bytes.len() {
            copied += copy_piece(&file, copied as u64, bytes.len() - copied, &mut pages).expect("copied");
        }
        let mut content = vec![0; copied];
        pages.read_exact_at(&mut content, 0).expect("read");
        assert!(content == bytes);
        let beyond = copy_piece(&file, 10, bytes.len(), &mut pages)
            .and_then(|_| copy_piece(&file, PIECE as u64, PIECE, &mut pages));
        assert_eq!(beyond.expect_err("there are fewer bytes").kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn only_pages_at_the_same_place_are_given_away() {
        let mut file = tempfile::tempfile().expect("a file");
        let bytes: Vec<u8> = (0..3 * PART).map(|i| (i / 100) as u8).collect();
        file.write_all(&bytes).expect("written");
        let image = Image::read(&file, 100, bytes.len()).expect("read");
        assert!(*image == bytes);
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let place = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(ptr::null_mut(), 4 * PART, access, MapFlags::PRIVATE).expect("mapped")
        };
        let place = NonNull::new(place.cast::<u8>()).expect("mapped");
        let few = MAPPED_FROM + PAGE - 102;
        // SAFETY: the mapping is larger, and nothing else knows of it.
        let (none, small, whole) = unsafe {
            (
                image.map(0..bytes.len(), place.add(101)),
                image.map(1..1 + few, place.add(101)),
                image.map(10..bytes.len(), place.add(110)),
            )
        };
        assert_eq!((none, small), (0..0, 1..1));
        assert_eq!(whole, PAGE - 100..(bytes.len() + 100) / PAGE * PAGE - 100);
        // SAFETY: as above; all of it is accessible.
        let data = unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), 4 * PART) };
        assert!(data[100..][whole.clone()] == bytes[whole.clone()]);
        assert!(data[..PAGE].iter().chain(&data[100 + whole.end..]).all(|&byte| byte == 0));
        data.fill(1);
        assert!(*image == bytes, "the image has what was written to a memory");
        // SAFETY: mapped above; `data` is not used any more.
        unsafe { munmap(place.as_ptr().cast(), 4 * PART).expect("still mapped") };
    }
}
