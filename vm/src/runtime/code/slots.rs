//! The code slots of a module: the table through which its functions are called; and its dispatch cells, which
//! lead to the slots.
//!
//! Invariant: the table neither moves nor is freed while the module lives, and each entry always holds the
//! address of runnable code: that of a lazy stub until [`CodeSlots::publish`] stores that of the function.
//! Dispatch cells are filled before code that reads them is published, and then stay unchanged.

use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use wprof_jit::abi::dispatch_cell;
use wprof_jit::module::{ConstantTables, ModuleInfo, Target};

use crate::runtime::instances::abi::VmCodeSlots;

/// The code slots of one module.
pub struct CodeSlots {
    base: *mut VmCodeSlots,
    rows: usize,
    cells: usize,
    /// By dispatch, whether its cells are filled.
    filled: Mutex<Vec<bool>>,
    stub: Box<Stub>,
}

/// Number of additional rows, which lead to code that traps.
const TRAPS: usize = 3;
/// The highest address that an x86-64 instruction can encode as an absolute operand.
const HIGHEST: usize = i32::MAX as usize;

/// Returns the lazy stub of a function.
type Stub = dyn Fn(u32) -> usize + Send + Sync;

impl std::fmt::Debug for CodeSlots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeSlots").field("base", &self.base).field("rows", &self.rows).finish()
    }
}

// SAFETY: the rows are atomics; the table itself is immutable.
unsafe impl Send for CodeSlots {}
// SAFETY: as for `Send`.
unsafe impl Sync for CodeSlots {}

impl CodeSlots {
    /// Creates one row per function, which points to the stub that `stub` returns for its index, and space for
    /// the dispatch cells of `tables`, of which invalid ones lead to `traps`. `at` is the address of the table,
    /// if that matters.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the table, or not at that address.
    pub fn new(
        rows: usize,
        stub: impl Fn(u32) -> usize + Send + Sync + 'static,
        (tables, traps): (&ConstantTables, &TrapStubs),
        at: Option<usize>,
    ) -> std::io::Result<CodeSlots> {
        let cells = tables.cells() as usize;
        let size = bytes(rows, cells);
        let base = at.map_or_else(|| map(size), |address| map_at(address, size))?;
        let filled = Mutex::new(vec![false; tables.dispatches().len()]);
        let slots = CodeSlots { base: base.cast(), rows, cells, filled, stub: Box::new(stub) };
        for func in 0..rows as u32 {
            slots.publish(func, slots.stub(func));
        }
        for (trap, stub) in [traps.bad_signature, traps.null, traps.out_of_bounds].into_iter().enumerate() {
            let row = slots.any_row(rows + trap);
            row.entry.store(stub, Ordering::Release);
            row.instrumented_entry.store(stub, Ordering::Release);
        }
        Ok(slots)
    }

    /// Returns whether the whole table lies where an instruction can encode its address.
    pub fn is_low(&self) -> bool {
        self.address() + bytes(self.rows, self.cells) <= HIGHEST
    }

    /// Returns the address of the dispatch cells, if machine code can use them.
    pub fn dispatch_cells(&self) -> Option<usize> {
        (self.cells > 0 && self.is_low())
            .then(|| self.address() + (self.rows + TRAPS) * size_of::<VmCodeSlots>())
    }

    /// Fills the cells of these dispatches, if they are not filled yet.
    pub fn fill(&self, info: &ModuleInfo, dispatches: &[u32]) {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        for &number in dispatches {
            if !std::mem::replace(&mut filled[number as usize], true) {
                self.fill_cells(info, number as usize);
            }
        }
    }

    fn fill_cells(&self, info: &ModuleInfo, number: usize) {
        let tables = &info.constant_tables;
        let dispatch = &tables.dispatches()[number];
        for (cell, target) in (dispatch.first as usize..).zip(tables.targets(info, dispatch)) {
            let row = match target {
                Target::Func(func) => func as usize,
                Target::BadSignature => self.rows,
                Target::Null => self.rows + 1,
                Target::OutOfBounds => self.rows + 2,
            };
            let address = ptr::from_ref(self.any_row(row)) as usize as u32;
            assert!(cell < self.cells);
            // SAFETY: the cells lie behind the rows, in the same mapping; nothing else writes them, and machine
            // code that reads them is published later.
            unsafe { self.base.add(self.rows + TRAPS).cast::<u32>().add(cell).write(address) };
        }
    }

    /// Returns a row, which may be one of those that trap.
    fn any_row(&self, row: usize) -> &VmCodeSlots {
        assert!(row < self.rows + TRAPS);
        // SAFETY: the row lies in the mapping, which `new` maps zeroed with room for all rows and which stays
        // mapped until `drop`.
        unsafe { &*self.base.add(row) }
    }

    /// Returns the address of the table, which machine code contains as a constant.
    pub fn address(&self) -> usize {
        self.base as usize
    }

    /// Returns the row of function `func`.
    pub fn row(&self, func: u32) -> &VmCodeSlots {
        assert!((func as usize) < self.rows);
        self.any_row(func as usize)
    }

    /// Returns the stub that a row held at first.
    pub fn stub(&self, func: u32) -> usize {
        (self.stub)(func)
    }

    /// Makes callers of `func` reach `code` from now on. The code must be placed and registered.
    pub fn publish(&self, func: u32, code: usize) {
        self.publish_both(func, code, code);
    }

    /// Publishes `code` for ordinary calls, and `in_bursts` for calls in bursts.
    pub fn publish_both(&self, func: u32, code: usize, in_bursts: usize) {
        self.publish_for_bursts(func, in_bursts);
        self.row(func).entry.store(code, Ordering::Release);
    }

    /// Publishes code for calls in bursts only.
    pub fn publish_for_bursts(&self, func: u32, code: usize) {
        self.row(func).instrumented_entry.store(code, Ordering::Release);
    }
}

/// The code to which invalid dispatch cells of an engine lead.
#[derive(Clone, Copy, Debug)]
pub struct TrapStubs {
    /// Code that traps like a call of another type.
    pub bad_signature: usize,
    /// Code that traps like a call of null.
    pub null: usize,
    /// Code that traps like a call beyond the table.
    pub out_of_bounds: usize,
}

fn bytes(rows: usize, cells: usize) -> usize {
    let cells = cells * dispatch_cell::SIZE as usize;
    ((rows + TRAPS + 1) * size_of::<VmCodeSlots>() + cells).next_multiple_of(4096)
}

/// Maps zeroed memory, low in the address space if possible, because a low address is a shorter constant.
fn map(size: usize) -> std::io::Result<*mut std::ffi::c_void> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let anywhere = MapFlags::PRIVATE;
    // SAFETY: fresh mappings at addresses that the kernel chooses disturb nothing.
    unsafe {
        mmap_anonymous(ptr::null_mut(), size, access, anywhere | low_addresses())
            .or_else(|_| mmap_anonymous(ptr::null_mut(), size, access, anywhere))
            .map_err(Into::into)
    }
}

/// Maps zeroed memory at `address`, if nothing is mapped there.
fn map_at(address: usize, size: usize) -> std::io::Result<*mut std::ffi::c_void> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a fresh mapping in unused address space disturbs nothing. A kernel that does not know the flag
    // takes the address as a hint; a mapping elsewhere is then unmapped.
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
        // SAFETY: `new` mapped it with this size. Machine code that contains the address is the module's own, or
        // keeps the module alive through an instance of it in a store.
        let _ = unsafe { munmap(self.base.cast(), bytes(self.rows, self.cells)) };
    }
}
