//! Demand paging: pages of a memory that are read from the module's file when they are touched.
//!
//! A program may touch a few pages of megabytes of data, and creating and filling a page takes a microsecond or
//! more. So the pages are inaccessible at first. The signal handler reads some where machine code faults, or the
//! host on its behalf. Code that may pass bytes to the system, for which such pages are an error, reads them in
//! advance.
//!
//! Invariant: pages become accessible only in the thread that has the memory's store on loan, or, for threads
//! that only read the memory, under the lock; and they are read from the file once, before any other thread can
//! see them. So references to present bytes stay valid: writes through a shared reference go only to pages that
//! nobody could have read. The bytes of such pages are accessed only by raw pointers here.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};

use super::image::Image;
use super::pages::{PART, prefer_large_pages};
use crate::runtime::code::reservation::PAGE;

/// Bytes of a chunk, the unit in which pages are read: large enough for few faults, small enough to read few
/// untouched pages. Of Flite's data one sentence touches 299 pages, which are in 119 chunks of 16 KB, 40 of 64,
/// 14 of 256.
const CHUNK: usize = 64 << 10;
/// Maximum number of chunks, each of which may become a mapping of its own: a process has 65,530.
const MOST_CHUNKS: usize = 512;
/// Maximum number of chunks that are read at once for a program that touches one chunk after the other.
const MOST_AT_ONCE: usize = 16;

/// All pages on demand of one store, for the signal handler; when a signal arrives, the memories of the pages may
/// be borrowed exclusively. Pages are added and never removed.
#[derive(Debug, Default)]
pub struct DemandList {
    first: OnceLock<Box<Listed>>,
}

#[derive(Debug)]
struct Listed {
    pages: Arc<DemandPages>,
    next: DemandList,
}

impl DemandList {
    /// Reports whether there never were such pages.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    /// Adds pages.
    pub fn add(&self, pages: &Arc<DemandPages>) {
        let mut end = self;
        while let Some(listed) = end.first.get() {
            end = &listed.next;
        }
        let listed = Listed { pages: pages.clone(), next: DemandList::default() };
        end.first.set(Box::new(listed)).expect("one thread at a time has the store");
    }

    /// Reads a missing page that was touched: see [`DemandPages::fault`]. Async-signal-safe.
    ///
    /// # Safety
    /// The caller guarantees that only this thread has the store.
    pub unsafe fn fault(&self, address: usize) -> Option<Faulted> {
        let mut end = self;
        while let Some(listed) = end.first.get() {
            // SAFETY: the caller guarantees it.
            if let Some(faulted) = unsafe { listed.pages.fault(address) } {
                return Some(faulted);
            }
            end = &listed.next;
        }
        None
    }
}

impl Drop for DemandList {
    fn drop(&mut self) {
        // The list may be long, so it is not dropped recursively.
        let mut next = self.first.take();
        while let Some(mut listed) = next {
            next = listed.next.first.take();
        }
    }
}

/// Pages of a memory, with the source of their contents.
#[derive(Debug)]
pub struct DemandPages {
    /// Their addresses.
    pages: Range<usize>,
    /// The file that has their bytes, from `offset` on.
    image: Arc<Image>,
    offset: usize,
    /// Size of a chunk in bytes.
    chunk: usize,
    /// By chunk, whether it is present.
    present: Box<[AtomicBool]>,
    /// Number of missing chunks.
    missing: AtomicUsize,
    filling: Mutex<()>,
    /// Whether some chunks could not be read, and are zeros.
    failed: AtomicBool,
}

impl DemandPages {
    /// Makes pages inaccessible that are to receive the late bytes of a file from `offset` on.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    ///
    /// # Safety
    /// The caller guarantees that it owns these whole pages, that they are accessible and have no other contents,
    /// and that this stays so as long as `self` is used.
    pub unsafe fn new(pages: Range<usize>, image: Arc<Image>, offset: usize) -> io::Result<DemandPages> {
        let size = pages.len();
        assert!(size > 0 && (pages.start | pages.end).is_multiple_of(PAGE));
        let chunk = size.div_ceil(MOST_CHUNKS).next_multiple_of(PAGE).max(CHUNK);
        let present: Box<[AtomicBool]> = (0..size.div_ceil(chunk)).map(|_| AtomicBool::new(false)).collect();
        let missing = AtomicUsize::new(present.len());
        let (filling, failed) = (Mutex::new(()), AtomicBool::new(false));
        let demand = DemandPages { pages, image, offset, chunk, present, missing, filling, failed };
        // The advice keeps the pages from being merged with neighbouring mappings, so that they can be made
        // accessible as a whole where the process may have no more mappings.
        // SAFETY: the advice applies to the caller's pages.
        let _ = unsafe { madvise(demand.pages.start as *mut _, size, Advice::LinuxDontDump) };
        // SAFETY: these are the caller's pages, which nobody refers to.
        unsafe { demand.protect(0..demand.present.len(), MprotectFlags::empty())? };
        Ok(demand)
    }

    /// Returns whether any of these addresses is on one of the pages, present or not.
    pub fn overlap(&self, addresses: &Range<usize>) -> bool {
        addresses.start < self.pages.end && self.pages.start < addresses.end
    }

    /// Returns whether all pages are present.
    pub fn are_there(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0
    }

    /// Reads the missing pages at these addresses.
    pub fn fill(&self, addresses: &Range<usize>) {
        let (start, end) = (addresses.start.max(self.pages.start), addresses.end.min(self.pages.end));
        if start >= end || self.are_there() {
            return;
        }
        let _lock = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        let index = |address: usize| (address - self.pages.start) / self.chunk;
        let (mut next, last) = (index(start), index(end - 1));
        while next <= last {
            let run = self.absent_from(next, last + 1 - next);
            next = run.end.max(next + 1);
            // SAFETY: the chunks are missing, and other threads wait at the lock.
            let outcome = unsafe { self.read(run.clone(), true) };
            assert!(outcome.is_some() || run.is_empty(), "the system refuses access to a memory's pages");
        }
    }

    /// Reads the missing page at an address, and some pages that may be touched next. Returns `None` if there is
    /// no such page, or the system refuses to make it accessible. Async-signal-safe.
    ///
    /// # Safety
    /// The caller guarantees that only this thread has the memory.
    pub unsafe fn fault(&self, address: usize) -> Option<Faulted> {
        let first = self.pages.contains(&address).then(|| (address - self.pages.start) / self.chunk)?;
        let is_present = |chunk: &&AtomicBool| chunk.load(Ordering::Relaxed);
        let before = self.present[..first].iter().rev().take(MOST_AT_ONCE).take_while(is_present).count();
        // SAFETY: the chunks are missing, and the caller guarantees that only this thread has the memory.
        unsafe { self.read(self.absent_from(first, before.max(1)), false) }
    }

    /// Checks that everything that was touched could be read.
    ///
    /// # Errors
    /// Returns an error if something could not be read.
    pub fn check(&self) -> io::Result<()> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The signal handler could not report the reason.
        self.image.check()?;
        Err(io::Error::other("a part of the module's file could not be read"))
    }

    /// Returns the missing chunks from `first` on, at most `most`.
    fn absent_from(&self, first: usize, most: usize) -> Range<usize> {
        let present = self.present[first..].iter().take(most);
        first..first + present.take_while(|chunk| !chunk.load(Ordering::Relaxed)).count()
    }

    /// Makes chunks accessible and reads them. Returns `None` if there are none, or the system refuses.
    ///
    /// # Safety
    /// The caller guarantees that the chunks are missing, and that nobody else uses the memory meanwhile.
    /// Allocates only if `may_allocate`.
    unsafe fn read(&self, chunks: Range<usize>, may_allocate: bool) -> Option<Faulted> {
        const ACCESS: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::WRITE);
        if chunks.is_empty() {
            return None;
        }
        // SAFETY: the chunks are read before anybody else uses them.
        unsafe {
            if self.protect(chunks.clone(), ACCESS).is_ok() {
                return Some(self.read_accessible(chunks, may_allocate));
            }
            // The process has as many mappings as it may. If all of these pages are accessible, they are one
            // mapping.
            let all = 0..self.present.len();
            self.protect(all.clone(), ACCESS).ok()?;
            let mut outcome = Faulted::Read;
            for chunk in all {
                let absent = self.absent_from(chunk, 1);
                if !absent.is_empty() && self.read_accessible(absent, may_allocate) == Faulted::Lost {
                    outcome = Faulted::Lost;
                }
            }
            Some(outcome)
        }
    }

    /// Reads chunks; those that cannot be read become zeros.
    ///
    /// # Safety
    /// The caller guarantees the same as for [`DemandPages::read`], and that the chunks are accessible.
    unsafe fn read_accessible(&self, chunks: Range<usize>, may_allocate: bool) -> Faulted {
        let addresses = self.addresses(chunks.clone());
        let (to, len) = (addresses.start as *mut u8, addresses.len());
        let begin = self.offset + (addresses.start - self.pages.start);
        let is_read = if may_allocate {
            // SAFETY: these pages belong to the caller of `new`, are accessible, and were missing: so nobody
            // refers to them, and nobody will before this returns. They contain zeros.
            let to = unsafe { std::slice::from_raw_parts_mut(to, len) };
            if len >= PART {
                prefer_large_pages(to);
            }
            self.image.read_late(begin..begin + len, to).is_ok()
        } else {
            // SAFETY: as above; but the code that touched them may have a reference to the memory, so no other
            // reference may be created here.
            unsafe { self.image.read_in_handler(begin, to, len) }
        };
        if !is_read {
            // SAFETY: as above.
            unsafe { to.write_bytes(0, len) };
            self.failed.store(true, Ordering::Relaxed);
        }
        self.present[chunks.clone()].iter().for_each(|chunk| chunk.store(true, Ordering::Relaxed));
        self.missing.fetch_sub(chunks.len(), Ordering::Release);
        if is_read { Faulted::Read } else { Faulted::Lost }
    }

    fn addresses(&self, chunks: Range<usize>) -> Range<usize> {
        let address = |chunk: usize| (self.pages.start + chunk * self.chunk).min(self.pages.end);
        address(chunks.start)..address(chunks.end)
    }

    /// # Safety
    /// The caller guarantees that nobody refers to the bytes of these chunks.
    unsafe fn protect(&self, chunks: Range<usize>, access: MprotectFlags) -> io::Result<()> {
        let addresses = self.addresses(chunks);
        // SAFETY: these pages belong to the caller of `new`.
        unsafe { mprotect(addresses.start as *mut _, addresses.len(), access)? };
        Ok(())
    }
}

/// The outcome for a page that was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faulted {
    /// The page has its contents.
    Read,
    /// The page could not be read.
    Lost,
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::ptr;

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    use super::*;

    /// Creates pages for `len` bytes of a file from `OFFSET` on, and the file. The pages stay mapped.
    fn pages(len: usize) -> (DemandPages, File) {
        let file = tempfile::tempfile().expect("a file");
        file.set_len((OFFSET + len) as u64).expect("it is long enough");
        let last = len - 8;
        for at in (0..last).step_by(PAGE).chain([last]) {
            file.write_all_at(&word(at), (OFFSET + at) as u64).expect("written");
        }
        let late = std::iter::once(OFFSET..OFFSET + len).collect();
        let image = Image::read(file.try_clone().expect("a file"), OFFSET + len, late).expect("read");
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing; nobody else has its
        // pages.
        let pages = unsafe {
            let base = mmap_anonymous(ptr::null_mut(), len, access, MapFlags::PRIVATE).expect("mapped");
            DemandPages::new(base.addr()..base.addr() + len, Arc::new(image), OFFSET).expect("made")
        };
        (pages, file)
    }

    const OFFSET: usize = 77;

    /// Returns the word at byte `at` of the data.
    fn word(at: usize) -> [u8; 8] {
        (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
    }

    fn fault(pages: &DemandPages, at: usize) -> Option<Faulted> {
        // SAFETY: nobody else uses the pages.
        unsafe { pages.fault(pages.pages.start + at) }
    }

    fn read(pages: &DemandPages, at: usize) -> [u8; 8] {
        // SAFETY: the test has read the page.
        unsafe { ((pages.pages.start + at) as *const [u8; 8]).read() }
    }

    fn present(pages: &DemandPages) -> Vec<usize> {
        (0..pages.present.len()).filter(|&chunk| pages.present[chunk].load(Ordering::Relaxed)).collect()
    }

    /// Returns how many of the bytes are readable according to the system.
    fn accessible(pages: &DemandPages) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("there is one");
        let size = |line: &str| {
            let (begin, rest) = line.split_once('-')?;
            let (end, rest) = rest.split_once(' ')?;
            let address = |text| usize::from_str_radix(text, 16).expect("an address");
            let (begin, end) = (address(begin).max(pages.pages.start), address(end).min(pages.pages.end));
            rest.starts_with('r').then(|| end.saturating_sub(begin))
        };
        maps.lines().filter_map(size).sum()
    }

    #[test]
    fn pages_are_read_as_they_are_touched() {
        let len = 100 * CHUNK + 3 * PAGE;
        let (pages, _file) = pages(len);
        assert_eq!((accessible(&pages), pages.are_there()), (0, false));
        assert_eq!(fault(&pages, 10 * CHUNK + 5), Some(Faulted::Read));
        assert_eq!((fault(&pages, 11 * CHUNK - 1), fault(&pages, len)), (None, None));
        assert_eq!((present(&pages), accessible(&pages)), (vec![10], CHUNK));
        assert_eq!(fault(&pages, len - 1), Some(Faulted::Read));
        assert_eq!(accessible(&pages), CHUNK + 3 * PAGE);
        // Consecutive faults read more and more chunks.
        for (at, last) in [(11, 11), (12, 13), (14, 17), (18, 25), (26, 41), (42, 57)] {
            assert_eq!(fault(&pages, at * CHUNK), Some(Faulted::Read));
            assert_eq!(present(&pages), (10..=last).chain([100]).collect::<Vec<_>>());
        }
        // A present chunk is not read again.
        // SAFETY: the chunk is present, and nobody else uses it.
        unsafe { ((pages.pages.start + 20 * CHUNK) as *mut u64).write(5) };
        let whole = pages.pages.clone();
        pages.fill(&(whole.start - 10..whole.start));
        assert_eq!(present(&pages).len(), 49);
        pages.fill(&(whole.start - 10..whole.start + 2 * CHUNK + 1));
        assert_eq!(present(&pages).len(), 52);
        pages.fill(&(whole.start..whole.end + 10));
        assert_eq!((accessible(&pages), pages.are_there()), (len, true));
        for at in (0..len).step_by(PAGE).filter(|&at| at != 20 * CHUNK).chain([len - 8]) {
            assert_eq!(read(&pages, at), word(at), "{at}");
        }
        assert_eq!(read(&pages, 20 * CHUNK), 5_u64.to_le_bytes());
        assert!(pages.check().is_ok());
    }

    #[test]
    fn there_are_only_so_many_chunks() {
        let len = MOST_CHUNKS * CHUNK + 5 * PAGE;
        let (pages, _file) = pages(len);
        assert_eq!(pages.chunk, CHUNK + PAGE);
        assert!(pages.present.len() <= MOST_CHUNKS);
        for at in [len - 8, 7 * PAGE, len / 2 / PAGE * PAGE] {
            assert_eq!(fault(&pages, at), Some(Faulted::Read));
            assert_eq!(read(&pages, at), word(at));
        }
        assert_eq!(present(&pages).len(), 3);
    }

    #[test]
    fn pages_that_cannot_be_read_are_zeros() {
        let (pages, file) = pages(8 * CHUNK);
        assert_eq!(fault(&pages, 0), Some(Faulted::Read));
        file.set_len((OFFSET + 5 * CHUNK) as u64).expect("cut off");
        assert!(pages.check().is_ok());
        for chunk in [1, 7] {
            assert_eq!(fault(&pages, chunk * CHUNK), Some(Faulted::Lost));
            assert_eq!(read(&pages, chunk * CHUNK), [0; 8]);
        }
        let error = pages.check().expect_err("the file has changed").to_string();
        assert!(error.contains("has changed"), "{error}");
        pages.fill(&pages.pages);
        assert_eq!((read(&pages, 0), read(&pages, 4 * CHUNK)), (word(0), [0; 8]));
    }
}
