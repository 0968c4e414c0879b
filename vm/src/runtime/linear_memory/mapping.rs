//! Mappings in the address space of this process.

use std::fs::File;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

use super::pages::WASM_PAGE;
use crate::runtime::interruption::rlimits;

/// Address space that one owner has exclusively.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping owns the address space alone. Its contents are accessed only through its owner, as the
// owner's borrows allow.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Default for Mapping {
    /// Returns an empty mapping.
    fn default() -> Mapping {
        Mapping { base: NonNull::dangling(), size: 0 }
    }
}

impl Mapping {
    /// Returns the start.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Maps accessible, zeroed memory, which takes pages as they are touched.
    ///
    /// # Errors
    /// Returns an error if the system has no address space for it.
    pub fn zeroed(size: usize) -> std::io::Result<Mapping> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), size, access, flags)? };
        Ok(Mapping { base: NonNull::new(base.cast()).expect("the kernel does not map page 0"), size })
    }

    /// Maps the first `size` bytes of a file for reading.
    ///
    /// # Errors
    /// Returns an error if the file cannot be mapped.
    pub fn of_file(file: &File, size: usize) -> std::io::Result<Mapping> {
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap(ptr::null_mut(), size, ProtFlags::READ, MapFlags::PRIVATE, file, 0)? };
        Ok(Mapping { base: NonNull::new(base.cast()).expect("the kernel does not map page 0"), size })
    }

    /// Reserves inaccessible address space.
    ///
    /// # Errors
    /// Returns an error if the system has no address space for it.
    pub fn reserve(size: u64) -> std::io::Result<Mapping> {
        let size = usize::try_from(size).map_err(std::io::Error::other)?.max(WASM_PAGE as usize);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // Programs must leave address space for compiling them and writing their profiles.
        let spare = rlimits::spare_address_space();
        let both = size.checked_add(spare).ok_or(std::io::ErrorKind::OutOfMemory)?;
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), both, ProtFlags::empty(), flags)? };
        let mapping =
            Mapping { base: NonNull::new(base.cast()).expect("the kernel does not map page 0"), size };
        if spare > 0 {
            // SAFETY: the range is the end of the new mapping, which nobody knows yet.
            unsafe { munmap(base.cast::<u8>().add(size).cast(), spare)? };
        }
        Ok(mapping)
    }

    /// Makes a range readable and writable.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn make_accessible(&self, from: u64, to: u64) -> std::io::Result<()> {
        assert!(from <= to && to <= self.size as u64);
        if from == to {
            return Ok(());
        }
        // SAFETY: the range lies in this mapping, and making memory accessible invalidates nothing.
        unsafe {
            let start = self.base.as_ptr().add(from as usize).cast();
            mprotect(start, (to - from) as usize, MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(())
    }

    /// Moves the first `len` bytes of `old` here, including their page tables; `old` keeps only the rest.
    ///
    /// # Errors
    /// Returns an error if the system refuses; `old` is then unchanged.
    pub(super) fn take_over(&self, old: &mut Mapping, len: u64) -> std::io::Result<()> {
        assert!(len <= self.size as u64 && len <= old.size as u64);
        if len == 0 {
            return Ok(());
        }
        // SAFETY: both ranges lie in mappings that this memory owns; the target has no contents yet. The caller
        // updates the definition before machine code runs again. (rustix passes a wrong flag here.)
        let moved = unsafe {
            let (from, to) = (old.base.as_ptr().cast(), self.base.as_ptr().cast::<libc::c_void>());
            libc::mremap(from, len as usize, len as usize, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, to)
        };
        if moved == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // The moved part has left a hole, which another thread may fill at once, so it must not be unmapped by
        // `old` any more.
        // SAFETY: the mapping is at least `len` bytes long.
        old.base = unsafe { old.base.add(len as usize) };
        old.size -= len as usize;
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: `self` owns the range since it was mapped, without the part that `take_over` has moved
            // away; the owning memory no longer refers to it.
            let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_leaves_when_it_moves_is_no_longer_unmapped() {
        let reserve = || Mapping::reserve(4 * WASM_PAGE).expect("reserved");
        let (mut old, new) = (reserve(), reserve());
        let hole = old.base;
        old.make_accessible(0, WASM_PAGE).expect("accessible");
        new.take_over(&mut old, WASM_PAGE).expect("moved");
        // Another thread fills the hole before the rest of the old mapping is dropped.
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the address range is free, or the call fails.
        let other = unsafe { mmap_anonymous(hole.as_ptr().cast(), WASM_PAGE as usize, access, flags) };
        let other = other.expect("the hole is free").cast::<u8>();
        drop(old);
        // SAFETY: the memory was just mapped, and is unmapped after its only use.
        unsafe {
            other.write(7);
            assert_eq!(other.read(), 7);
            munmap(other.cast(), WASM_PAGE as usize).expect("still mapped");
        }
    }
}
