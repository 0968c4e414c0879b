//! Address space for machine code: one large anonymous file, mapped readable and executable once and for all.
//!
//! Invariant: no mapping is ever writable. Code is written to the file by a system call, which changes no mapping
//! and so disturbs no other thread. Perf uses its map only for memory without a file; for perf the mapping is
//! anonymous, and code is written through the memory file of the process itself.
//!
//! Invariant: code belongs to one process. `fork` does not copy a shared file, so the child is given a copy, made
//! while nobody writes code ([`ForkCopies`]). A process that is created without the fork handlers has no such mapping
//! (`MADV_DONTFORK`).
//!
//! Invariant: a page belongs to at most one extent. Extents are assigned by [`Reservation::allocate`] and
//! returned by [`Reservation::free`], which also returns the memory to the system.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockWriteGuard};

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, ftruncate, memfd_create, seek};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::unwind_info::UnwindInfo;

/// Granularity of extents.
pub const PAGE: usize = 4096;

/// A reservation. Pages take no memory until code is written to them.
#[derive(Debug)]
pub struct Reservation {
    file: File,
    /// The address of the file's first byte.
    origin: usize,
    base: usize,
    size: usize,
    /// Free extents as (offset, length), ascending, no two of them adjacent.
    free: Mutex<Vec<(usize, usize)>>,
    /// What the system's unwinder knows of its code.
    unwind_info: Option<UnwindInfo>,
}

impl Reservation {
    /// Reserves `size` bytes, a multiple of [`PAGE`].
    ///
    /// # Errors
    /// Returns an error if the system refuses the file or the mapping.
    pub fn new(size: usize) -> io::Result<Reservation> {
        let file = code_file(size)?;
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { map_code(ptr::null_mut(), size, MapFlags::SHARED, &file)? };
        Ok(Reservation::mapped(file, base, base, size))
    }

    /// Reserves `size` bytes without a file of its own, for perf.
    ///
    /// # Errors
    /// Returns an error as [`Reservation::new`] does, or if the system does not let a process write its own
    /// memory file.
    pub fn anonymous(size: usize) -> io::Result<Reservation> {
        let file = own_memory()?;
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), size, protection, flags)? };
        Ok(Reservation::mapped(file, 0, base as usize, size))
    }

    fn mapped(file: File, origin: usize, base: usize, size: usize) -> Reservation {
        super::registry::add_range(base, size);
        let live = Live { base, size, file: file.as_raw_fd(), is_anonymous: origin == 0 };
        LIVE.write().unwrap_or_else(PoisonError::into_inner).push(live);
        Reservation { file, origin, base, size, free: Mutex::new(vec![(0, size)]), unwind_info: None }
    }

    /// Makes its code known to the system's unwinder.
    #[must_use]
    pub fn described(mut self) -> Reservation {
        // SAFETY: the range is this reservation's, which drops the table before it unmaps the range.
        self.unwind_info = Some(unsafe { UnwindInfo::new(self.base, self.size) });
        self
    }

    /// Allocates an extent of `size` bytes (a multiple of [`PAGE`]) and returns its address, or `None` if no free
    /// extent is large enough.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        debug_assert!(size > 0 && size.is_multiple_of(PAGE));
        let _no_fork = LIVE.read().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let i = free.iter().position(|&(_, len)| len >= size)?;
        let (offset, len) = free[i];
        if len == size {
            free.remove(i);
        } else {
            free[i] = (offset + size, len - size);
        }
        Some(self.base + offset)
    }

    /// Frees an extent. Its code must not run any more.
    pub fn free(&self, address: usize, size: usize) {
        let offset = address - self.base;
        let _no_fork = LIVE.read().unwrap_or_else(PoisonError::into_inner);
        // A failure, as without a file, only means that the memory stays in use until the extent is reused.
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&self.file, punch, offset as u64, size as u64);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let i = free.partition_point(|&(o, _)| o < offset);
        free.insert(i, (offset, size));
        if free.get(i + 1).is_some_and(|&(o, _)| o == offset + size) {
            free[i].1 += free.remove(i + 1).1;
        }
        if i > 0 && free[i - 1].0 + free[i - 1].1 == offset {
            free[i - 1].1 += free.remove(i).1;
        }
    }

    /// Writes `bytes` at `address`, in an extent of the caller whose code does not run yet.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the code.
    pub fn write(&self, address: usize, bytes: &[u8]) -> io::Result<()> {
        assert!(address >= self.base && address - self.base + bytes.len() <= self.size);
        let _no_fork = LIVE.read().unwrap_or_else(PoisonError::into_inner);
        self.file.write_all_at(bytes, (address - self.origin) as u64)?;
        flush(address, bytes.len())
    }
}

/// Makes the code at `address` visible to instruction fetch on all cores.
fn flush(address: usize, len: usize) -> io::Result<()> {
    // SAFETY: the range lies in a mapping that is not unmapped while the reservation lives.
    unsafe { wasmtime_jit_icache_coherence::clear_cache(address as *const _, len) }.map_err(icache_error)?;
    wasmtime_jit_icache_coherence::pipeline_flush_mt().map_err(icache_error)
}

fn icache_error(e: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("instruction cache not flushed: {e}"))
}

/// Creates a file for code of this size.
fn code_file(size: usize) -> io::Result<File> {
    let file = File::from(memfd_create("wprof-code", MemfdFlags::CLOEXEC)?);
    ftruncate(&file, size as u64)?;
    Ok(file)
}

/// Maps a file of code, for this process alone; returns the address.
///
/// # Safety
/// With `MapFlags::FIXED` the caller guarantees that it owns the memory at `at`, and that nobody uses it.
unsafe fn map_code(at: *mut libc::c_void, size: usize, flags: MapFlags, file: &File) -> io::Result<usize> {
    // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing; for a fixed address the
    // caller vouches. The advice applies to that mapping only.
    unsafe {
        let base = mmap(at, size, ProtFlags::READ | ProtFlags::EXEC, flags, file, 0)?;
        madvise(base, size, Advice::LinuxDontFork)?;
        Ok(base as usize)
    }
}

/// Opens the memory of this process for writing.
fn own_memory() -> io::Result<File> {
    File::options().write(true).open("/proc/self/mem")
}

/// A reservation of this process.
#[derive(Clone, Copy, Debug)]
struct Live {
    base: usize,
    size: usize,
    file: RawFd,
    /// Whether the mapping is private memory, written through the memory file of the process.
    is_anonymous: bool,
}

/// All reservations. Read-locked while code is written or freed, so that copies reflect one moment.
static LIVE: RwLock<Vec<Live>> = RwLock::new(Vec::new());

/// Whether this process has no copy of some code of its parent.
static HAS_LOST: AtomicBool = AtomicBool::new(false);

/// Returns whether some code of the parent process is missing in this one. Async-signal-safe.
pub fn has_lost_code() -> bool {
    HAS_LOST.load(Ordering::Relaxed)
}

/// Copies of all code, for the child of a `fork`. While they exist no code is written or freed.
pub struct ForkCopies {
    live: RwLockWriteGuard<'static, Vec<Live>>,
    /// In the order of `live`; `None` for reservations without a file, and where the system refused a copy.
    files: Vec<Option<File>>,
}

impl ForkCopies {
    /// Copies all code.
    pub fn take() -> ForkCopies {
        let live = LIVE.write().unwrap_or_else(PoisonError::into_inner);
        let files = live.iter().map(|of| if of.is_anonymous { None } else { of.copy().ok() }).collect();
        ForkCopies { live, files }
    }

    /// Installs the copies in place of the originals: in the child, before anything else.
    pub fn install(self) {
        for (of, file) in self.live.iter().zip(&self.files) {
            let file = match of.is_anonymous {
                // A file opened in the parent refers to the parent's memory.
                true => own_memory().ok(),
                // SAFETY: this process has nothing at these addresses (`MADV_DONTFORK`) except what it could have
                // mapped since `fork`, which has not returned yet.
                false => file
                    .as_ref()
                    .filter(|file| unsafe { of.map(file) }.is_ok())
                    .and_then(|f| f.try_clone().ok()),
            };
            if !file.is_some_and(|file| of.replace_file(&file)) {
                of.lose();
            }
        }
    }
}

impl Live {
    /// Returns a file with the same code.
    fn copy(&self) -> io::Result<File> {
        let copy = code_file(self.size)?;
        // SAFETY: the file stays open as long as `self` is in `LIVE`, which is locked.
        let file = unsafe { std::os::fd::BorrowedFd::borrow_raw(self.file) };
        let mut end = 0;
        loop {
            let start = match seek(file, SeekFrom::Data(end)) {
                Err(rustix::io::Errno::NXIO) => return Ok(copy),
                start => start?,
            };
            end = seek(file, SeekFrom::Hole(start))?;
            // SAFETY: these bytes are in the readable mapping, and nobody writes code while `LIVE` is locked.
            let bytes = unsafe {
                std::slice::from_raw_parts((self.base + start as usize) as *const u8, (end - start) as usize)
            };
            copy.write_all_at(bytes, start)?;
        }
    }

    /// # Safety
    /// The caller guarantees that nobody uses the memory at these addresses.
    unsafe fn map(&self, file: &File) -> io::Result<usize> {
        // SAFETY: the caller guarantees it.
        unsafe { map_code(self.base as *mut _, self.size, MapFlags::SHARED | MapFlags::FIXED, file) }
    }

    /// Makes the descriptor refer to another file; returns whether that worked.
    fn replace_file(&self, file: &File) -> bool {
        // SAFETY: the descriptor belongs to the reservation, which has no other use for the old file.
        unsafe { libc::dup3(file.as_raw_fd(), self.file, libc::O_CLOEXEC) == self.file }
    }

    /// Handles a missing copy: nothing may be mapped in place of the code, and nothing be written to the parent's
    /// file.
    fn lose(&self) {
        HAS_LOST.store(true, Ordering::Relaxed);
        let nothing = File::open("/dev/null").is_ok_and(|nothing| self.replace_file(&nothing));
        // SAFETY: these addresses are used only to run the code that is lost.
        let unmapped = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
            mmap_anonymous(self.base as *mut _, self.size, ProtFlags::empty(), flags).is_ok()
        };
        if !nothing || !unmapped {
            std::process::abort();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        drop(self.unwind_info.take());
        LIVE.write().unwrap_or_else(PoisonError::into_inner).retain(|of| of.base != self.base);
        super::registry::remove_range(self.base);
        // SAFETY: `new` mapped it with this size. The owner of an extent holds the engine, which owns the
        // reservation, so no code in it is running or reachable.
        let _ = unsafe { munmap(self.base as *mut _, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_merge_when_freed() {
        let r = Reservation::new(16 * PAGE).expect("reserved");
        let a = r.allocate(4 * PAGE).expect("free");
        let b = r.allocate(4 * PAGE).expect("free");
        let c = r.allocate(8 * PAGE).expect("free");
        assert_eq!(r.allocate(PAGE), None);
        r.free(a, 4 * PAGE);
        r.free(c, 8 * PAGE);
        r.free(b, 4 * PAGE);
        assert_eq!(r.allocate(16 * PAGE), Some(a));
    }

    #[test]
    fn written_bytes_are_readable_through_the_executable_mapping() {
        for r in [Reservation::new(4 * PAGE), Reservation::anonymous(4 * PAGE)] {
            let r = r.expect("reserved");
            let a = r.allocate(2 * PAGE).expect("free") + PAGE - 2;
            r.write(a, &[1, 2, 3, 4]).expect("written");
            // SAFETY: the four bytes were just written, inside the mapping.
            assert_eq!(unsafe { *(a as *const [u8; 4]) }, [1, 2, 3, 4]);
        }
    }
}
