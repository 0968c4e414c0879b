//! A module's code slots: the table through which its functions are called.
//!
//! Invariant: the table neither moves nor goes away while the module lives, and each entry always holds the address
//! of runnable code: a lazy stub's until [`CodeSlots::publish`] stores the function's.

use std::ptr;
use std::sync::atomic::Ordering;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::runtime::abi::VmCodeSlots;

/// The slots of one module.
pub struct CodeSlots {
    base: *mut VmCodeSlots,
    rows: usize,
    stub: Box<Stub>,
}

/// The lazy stub of each function.
type Stub = dyn Fn(u32) -> usize + Send + Sync;

impl std::fmt::Debug for CodeSlots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeSlots").field("base", &self.base).field("rows", &self.rows).finish()
    }
}

// SAFETY: the rows are atomics; the table itself is immutable.
unsafe impl Send for CodeSlots {}
// SAFETY: as above.
unsafe impl Sync for CodeSlots {}

impl CodeSlots {
    /// One row per function, all of them pointing to the stub that `stub` gives for their index; at address `at`, if
    /// it matters where.
    ///
    /// # Errors
    /// If the system has no memory for it, or not there.
    pub fn new(
        rows: usize,
        stub: impl Fn(u32) -> usize + Send + Sync + 'static,
        at: Option<usize>,
    ) -> std::io::Result<CodeSlots> {
        let base = at.map_or_else(|| map(bytes(rows)), |address| map_at(address, bytes(rows)))?;
        let slots = CodeSlots { base: base.cast(), rows, stub: Box::new(stub) };
        for func in 0..rows as u32 {
            slots.publish(func, slots.stub(func));
        }
        Ok(slots)
    }

    /// Address of the table, which machine code holds as a constant.
    pub fn address(&self) -> usize {
        self.base as usize
    }

    /// The row of function `func`.
    pub fn row(&self, func: u32) -> &VmCodeSlots {
        assert!((func as usize) < self.rows);
        // SAFETY: `func` is a row of the mapping, which `new` filled and nothing unmaps before `drop`.
        unsafe { &*self.base.add(func as usize) }
    }

    /// What a row held at first.
    pub fn stub(&self, func: u32) -> usize {
        (self.stub)(func)
    }

    /// Makes `code` what callers of `func` reach from now on. It is already in place and in the registry.
    pub fn publish(&self, func: u32, code: usize) {
        self.publish_both(func, code, code);
    }

    /// The same, with other code for calls in bursts.
    pub fn publish_both(&self, func: u32, code: usize, in_bursts: usize) {
        self.publish_for_bursts(func, in_bursts);
        self.row(func).entry.store(code, Ordering::Release);
    }

    /// The same for calls in bursts only.
    pub fn publish_for_bursts(&self, func: u32, code: usize) {
        self.row(func).instrumented_entry.store(code, Ordering::Release);
    }
}

fn bytes(rows: usize) -> usize {
    (rows * size_of::<VmCodeSlots>()).max(1).next_multiple_of(4096)
}

/// Zeroed memory, low in the address space if possible: the address is a shorter constant there.
fn map(size: usize) -> std::io::Result<*mut std::ffi::c_void> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let anywhere = MapFlags::PRIVATE;
    // SAFETY: fresh mappings at addresses of the kernel's choice disturb nothing.
    unsafe {
        mmap_anonymous(ptr::null_mut(), size, access, anywhere | low_addresses())
            .or_else(|_| mmap_anonymous(ptr::null_mut(), size, access, anywhere))
            .map_err(Into::into)
    }
}

/// Zeroed memory at `address`, if nothing is there.
fn map_at(address: usize, size: usize) -> std::io::Result<*mut std::ffi::c_void> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a fresh mapping where nothing is disturbs nothing. A kernel that does not know the flag takes the address
    // as a hint; then what it gave is given back.
    unsafe {
        let base = mmap_anonymous(ptr::without_provenance_mut(address), size, access, flags)?;
        if base.addr() != address {
            munmap(base, size)?;
            return Err(std::io::Error::from(std::io::ErrorKind::AddrInUse));
        }
        Ok(base)
    }
}

fn low_addresses() -> MapFlags {
    #[cfg(target_arch = "x86_64")]
    let flag = MapFlags::from_bits_retain(libc::MAP_32BIT as u32);
    #[cfg(not(target_arch = "x86_64"))]
    let flag = MapFlags::empty();
    flag
}

impl Drop for CodeSlots {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size. Machine code that knows the address is the module's own, or holds
        // the module alive through an instance of it in a store.
        let _ = unsafe { munmap(self.base.cast(), bytes(self.rows)) };
    }
}
