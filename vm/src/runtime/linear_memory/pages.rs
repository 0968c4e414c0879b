//! Pages for large data: large pages, and pages that memories share until they write to one.
//!
//! Without them, a data segment of megabytes would be copied into each instance's memory, although a program may
//! read only a few pages of it. Here the system maps the pages into the memory, and copies a page when it is
//! written.
//!
//! Invariant: the pages are anonymous files that only [`SharedPages`] has a handle of, and it never writes to
//! them again.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use wprof_jit::parallel::share_out;

use crate::config::cores;
use crate::runtime::code::reservation::PAGE;
use crate::runtime::interruption::rlimits;

/// Bytes per wasm page.
pub const WASM_PAGE: u64 = 1 << 16;

/// Bytes per thread when a file is read; most of the time goes into the system's creation of pages.
pub const PART: usize = 2 << 20;
/// Maximum number of threads that read a file, where there are more processors.
const MOST_PARTS: usize = 4;
/// Bytes of whole pages from which mapping them pays, rather than copying.
const MAPPED_FROM: usize = 16 * PAGE;
/// Bytes that are copied at a time: few enough to be still in the cache when they are written.
const PIECE: usize = 64 << 10;

/// Returns in how many parts `size` bytes are read, each by a thread.
pub fn parts_of(size: usize) -> usize {
    (size / PART).clamp(1, cores().min(MOST_PARTS))
}

/// Asks the system for large pages, which it may not have.
pub fn prefer_large_pages(bytes: &mut [u8]) {
    let before = bytes.as_ptr().addr() % PAGE;
    // SAFETY: these are the pages that contain the bytes; their contents stay the same.
    let _ = unsafe {
        let first = bytes.as_mut_ptr().wrapping_sub(before);
        madvise(first.cast(), before + bytes.len(), Advice::LinuxHugepage)
    };
}

/// Bytes of a file, as pages.
#[derive(Debug)]
pub struct SharedPages {
    parts: Vec<Part>,
    /// The offset of the first byte in the first page.
    start: usize,
}

impl SharedPages {
    /// Reads `bytes` of a file; the first byte is placed at `start` in a page.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is shorter, or the system has no memory for the pages.
    pub fn read(file: &File, bytes: Range<usize>, start: usize) -> io::Result<SharedPages> {
        assert!(start < PAGE && !bytes.is_empty());
        let size = start + bytes.len();
        let of_part = size.div_ceil(parts_of(size)).next_multiple_of(PAGE);
        let read = |from: usize| Part::read(file, bytes.start, start, from..size.min(from + of_part));
        let parts = share_out((0..size).step_by(of_part).collect(), read);
        let parts = parts.into_iter().collect::<io::Result<Vec<Part>>>()?;
        Ok(SharedPages { parts, start })
    }

    /// Maps the pages of `bytes`, counted from the first byte that was read, into a memory from address `at` on,
    /// as far as they are whole pages at the right offset, if they are large enough to pay. Returns the mapped
    /// bytes, as a part of `bytes`.
    ///
    /// # Safety
    /// The caller guarantees that it owns as many bytes from `at` on, that they are accessible, and that nobody
    /// reads or writes them meanwhile.
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
            // SAFETY: `whole` lies in the caller's range.
            if unsafe { part.map(common, at.add(place)) }.is_err() {
                // The process has too many mappings; the kernel detects that before it removes the old ones.
                break;
            }
            mapped = end;
        }
        let begin = bytes.start + whole.start;
        begin..begin + (mapped - first)
    }
}

/// A part of the pages. The system writes to a file for one thread at a time, so each part has a file of its own.
#[derive(Debug)]
struct Part {
    pages: File,
    /// The range of its bytes, counted from the first page.
    range: Range<usize>,
}

impl Part {
    /// Reads `range`, in which byte `start` is the one at `offset` of the file.
    fn read(file: &File, offset: usize, start: usize, range: Range<usize>) -> io::Result<Part> {
        rlimits::check_file_size(range.len() as u64)?;
        let mut pages = File::from(memfd_create("wprof-module", MemfdFlags::CLOEXEC)?);
        let mut at = range.start.max(start);
        pages.seek(SeekFrom::Start((at - range.start) as u64))?;
        while at < range.end {
            let (offset, len) = ((offset + at - start) as u64, range.end - at);
            let mut next = offset;
            at += match sendfile(&pages, file, Some(&mut next), len) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(moved) => moved,
                Err(_) => copy_piece(file, offset, len, &mut pages)?,
            };
        }
        Ok(Part { pages, range })
    }

    /// Maps `bytes`, from the start of a page on, at `place`; a write there copies the page.
    ///
    /// # Safety
    /// The caller guarantees that it owns the pages at `place`, and that nobody uses them meanwhile.
    unsafe fn map(&self, bytes: Range<usize>, place: NonNull<u8>) -> io::Result<()> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        let (place, offset) = (place.as_ptr().cast(), (bytes.start - self.range.start) as u64);
        // SAFETY: the caller guarantees it.
        unsafe { mmap(place, bytes.len(), protection, flags, &self.pages, offset)? };
        Ok(())
    }
}

/// Copies some of the `len` bytes of `file` from `offset` on, and returns how many, where the system cannot do it
/// by itself, which it does not support for every kind of file.
fn copy_piece(file: &File, offset: u64, len: usize, pages: &mut File) -> io::Result<usize> {
    let mut piece = vec![0; PIECE.min(len)];
    file.read_exact_at(&mut piece, offset)?;
    pages.write_all(&piece)?;
    Ok(piece.len())
}

/// Returns which of `len` bytes from `address` on are on pages all of whose bytes are among them.
pub fn whole_pages(address: usize, len: usize) -> Range<usize> {
    let first = (address.next_multiple_of(PAGE) - address).min(len);
    let end = len.saturating_sub((address + len) % PAGE).max(first);
    first..end
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use rustix::mm::{mmap_anonymous, munmap};

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
        const BEFORE: usize = 77;
        let mut file = tempfile::tempfile().expect("a file");
        let bytes: Vec<u8> = (0..3 * PART).map(|i| (i / 100) as u8).collect();
        file.write_all(&[7; BEFORE]).and_then(|()| file.write_all(&bytes)).expect("written");
        let pages = SharedPages::read(&file, BEFORE..BEFORE + bytes.len(), 100).expect("read");
        let beyond = SharedPages::read(&file, BEFORE + 1..BEFORE + bytes.len() + 1, 100);
        assert_eq!(beyond.expect_err("there are fewer bytes").kind(), ErrorKind::UnexpectedEof);
        let map = || {
            // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
            let place = unsafe {
                let access = ProtFlags::READ | ProtFlags::WRITE;
                mmap_anonymous(ptr::null_mut(), 4 * PART, access, MapFlags::PRIVATE).expect("mapped")
            };
            NonNull::new(place.cast::<u8>()).expect("mapped")
        };
        let (place, other) = (map(), map());
        let few = MAPPED_FROM + PAGE - 102;
        // SAFETY: the mappings are larger, and nothing else knows them.
        let (none, small, whole, again) = unsafe {
            (
                pages.map(0..bytes.len(), place.add(101)),
                pages.map(1..1 + few, place.add(101)),
                pages.map(10..bytes.len(), place.add(110)),
                pages.map(10..bytes.len(), other.add(110)),
            )
        };
        assert_eq!((none, small), (0..0, 1..1));
        assert_eq!((&whole, &again), (&(PAGE - 100..(bytes.len() + 100) / PAGE * PAGE - 100), &whole));
        // SAFETY: as above; the whole mapping is accessible.
        let [data, others] =
            [place, other].map(|place| unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), 4 * PART) });
        assert!(data[100..][whole.clone()] == bytes[whole.clone()]);
        assert!(data[..PAGE].iter().chain(&data[100 + whole.end..]).all(|&byte| byte == 0));
        data.fill(1);
        assert!(others[100..][whole.clone()] == bytes[whole], "a memory has what another wrote");
        for place in [place, other] {
            // SAFETY: they were mapped above; `data` and `others` are not used any more.
            unsafe { munmap(place.as_ptr().cast(), 4 * PART).expect("still mapped") };
        }
    }
}
