//! Address space for machine code: one large anonymous file, mapped readable and executable once and for all.
//!
//! Invariant: no mapping is ever writable. Code is written to the file, by a system call, which costs no change of
//! mappings and so disturbs no other thread.
//! Perf believes its map only of memory without a file: for it the mapping is anonymous, and the file that code is
//! written to is the memory of our own process.
//! Invariant: a page belongs to at most one extent; extents are given out by [`Reservation::allocate`] and come back
//! through [`Reservation::free`], which also gives the memory back to the system.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::Mutex;

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Granularity of extents.
pub const PAGE: usize = 4096;

/// One reservation. Pages take no memory until code is written to them.
#[derive(Debug)]
pub struct Reservation {
    file: File,
    /// The address of the file's first byte.
    origin: usize,
    base: usize,
    size: usize,
    /// Free extents as (offset, length), ascending, no two of them adjacent.
    free: Mutex<Vec<(usize, usize)>>,
}

impl Reservation {
    /// Reserves `size` bytes, a multiple of [`PAGE`].
    ///
    /// # Errors
    /// If the system refuses the file or the mapping.
    pub fn new(size: usize) -> std::io::Result<Reservation> {
        let file = File::from(memfd_create("wprof-code", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, size as u64)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe {
            mmap(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::EXEC, MapFlags::SHARED, &file, 0)?
        };
        Ok(Reservation::mapped(file, base as usize, base as usize, size))
    }

    /// The same without a file of its own, for perf.
    ///
    /// # Errors
    /// As [`Reservation::new`], or if the system lets nobody write the memory of processes.
    pub fn anonymous(size: usize) -> std::io::Result<Reservation> {
        let file = File::options().write(true).open("/proc/self/mem")?;
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), size, protection, flags)? };
        Ok(Reservation::mapped(file, 0, base as usize, size))
    }

    fn mapped(file: File, origin: usize, base: usize, size: usize) -> Reservation {
        super::registry::add_range(base, size);
        Reservation { file, origin, base, size, free: Mutex::new(vec![(0, size)]) }
    }

    /// Takes an extent of `size` bytes (a multiple of [`PAGE`]) and returns its address, or `None` if no free extent
    /// is large enough.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        debug_assert!(size > 0 && size.is_multiple_of(PAGE));
        let mut free = self.free.lock().expect("no panic while it is held");
        let i = free.iter().position(|&(_, len)| len >= size)?;
        let (offset, len) = free[i];
        if len == size {
            free.remove(i);
        } else {
            free[i] = (offset + size, len - size);
        }
        Some(self.base + offset)
    }

    /// Gives an extent back. Nothing may run its code any more.
    pub fn free(&self, address: usize, size: usize) {
        let offset = address - self.base;
        // Failure, as without a file, only means that the memory stays in use until the extent is reused.
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&self.file, punch, offset as u64, size as u64);
        let mut free = self.free.lock().expect("no panic while it is held");
        let i = free.partition_point(|&(o, _)| o < offset);
        free.insert(i, (offset, size));
        if free.get(i + 1).is_some_and(|&(o, _)| o == offset + size) {
            free[i].1 += free.remove(i + 1).1;
        }
        if i > 0 && free[i - 1].0 + free[i - 1].1 == offset {
            free[i - 1].1 += free.remove(i).1;
        }
    }

    /// Writes `bytes` at `address`, which lies in an extent of the caller's that nothing runs yet.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn write(&self, address: usize, bytes: &[u8]) -> std::io::Result<()> {
        assert!(address >= self.base && address - self.base + bytes.len() <= self.size);
        self.file.write_all_at(bytes, (address - self.origin) as u64)?;
        flush(address, bytes.len())
    }
}

/// Makes the code at `address` visible to instruction fetch on all cores.
fn flush(address: usize, len: usize) -> std::io::Result<()> {
    // SAFETY: the range lies in a mapping that is never unmapped while the reservation lives.
    unsafe { wasmtime_jit_icache_coherence::clear_cache(address as *const _, len) }.map_err(icache_error)?;
    wasmtime_jit_icache_coherence::pipeline_flush_mt().map_err(icache_error)
}

fn icache_error(e: impl std::fmt::Display) -> std::io::Error {
    std::io::Error::other(format!("instruction cache not flushed: {e}"))
}

impl Drop for Reservation {
    fn drop(&mut self) {
        super::registry::remove_range(self.base);
        // SAFETY: mapped by `new` with this size; whoever owned an extent held the engine, which owns this, so no
        // code in it is running or reachable.
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
            // SAFETY: four bytes just written, inside the mapping.
            assert_eq!(unsafe { *(a as *const [u8; 4]) }, [1, 2, 3, 4]);
        }
    }
}
