//! The vmctx of an instance: one mapping with the fixed head, the module's definitions, and the counters.
//!
//! Counters take address space for the worst case (one counter per byte of code, for paths all the available
//! space), and memory only where functions count.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, madvise};
use wprof_jit::abi::VmLayout;
use wprof_jit::limits::MAX_VMCTX_OFFSET;

use super::abi::VmContext;
use super::pool::Pool;
use crate::runtime::linear_memory::mapping::Mapping;

/// Returns how many counters a vmctx has room for, given the size of the module's code in bytes.
pub fn counter_capacity(layout: &VmLayout, code_bytes: u64) -> u64 {
    // A branch table of n targets has n + 1 edges in about as many bytes; every other chord has an opcode of its
    // own.
    let wanted = code_bytes + 64;
    let room = (MAX_VMCTX_OFFSET - 8).saturating_sub(layout.counter(0)) / 8;
    wanted.min(room)
}

/// The memory of one vmctx.
#[derive(Debug)]
pub struct VmCtx {
    /// Machine code writes to it only while its store is lent to it, exclusively; data that can be changed
    /// through a shared reference (`set_counter`) is atomic.
    mapping: Mapping,
    fixed: usize,
    /// The pool that the mapping comes from and returns to, if any.
    pool: Option<Arc<Pool>>,
}

impl VmCtx {
    /// Creates zeroed memory for `layout` with `counters` counters.
    ///
    /// # Errors
    /// Returns an error if the system has no address space for it.
    pub fn new(layout: &VmLayout, counters: u64, pool: Option<&Arc<Pool>>) -> std::io::Result<VmCtx> {
        let fixed = layout.size_without_counters() as usize;
        let size = (layout.counter(0) + counters * 8).next_multiple_of(4096) as usize;
        let mapping = match pool.and_then(|pool| pool.vmctx(size)) {
            Some(mapping) => mapping,
            None => {
                let mapping = Mapping::zeroed(size)?;
                // One counter must not take a huge page: with paths most counters are never touched. A kernel may
                // not support huge pages.
                // SAFETY: the advice applies to this mapping only.
                let _ = unsafe { madvise(mapping.base().as_ptr().cast(), size, Advice::LinuxNoHugepage) };
                mapping
            }
        };
        Ok(VmCtx { mapping, fixed, pool: pool.cloned() })
    }

    /// Returns the head, which machine code is passed.
    pub fn head(&self) -> NonNull<VmContext> {
        self.mapping.base().cast()
    }

    /// Returns a pointer to the `T` at `offset`, which the layout assigned to a `T`. It is not dereferenced here.
    pub fn at<T>(&self, offset: u32) -> NonNull<T> {
        let offset = offset as usize;
        assert!(offset + size_of::<T>() <= self.fixed && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: the offset is inside the mapping, as was just checked.
        unsafe { self.mapping.base().add(offset).cast() }
    }

    /// Returns the current value of the counter at `offset`.
    pub fn counter(&self, offset: u64) -> u64 {
        self.cell(offset).load(Ordering::Relaxed)
    }

    /// Sets the counter at `offset`.
    pub fn set_counter(&self, offset: u64, value: u64) {
        self.cell(offset).store(value, Ordering::Relaxed);
    }

    fn cell(&self, offset: u64) -> &AtomicU64 {
        assert!(offset + 8 <= self.mapping.size() as u64);
        // SAFETY: the cell is inside the mapping, as was just checked, and aligned, because the counters start at
        // a multiple of 64. Machine code updates it with plain instructions while its store is lent to it; then
        // only the host code that it waits for has a reference to this.
        unsafe { self.mapping.base().add(offset as usize).cast::<AtomicU64>().as_ref() }
    }
}

impl Drop for VmCtx {
    fn drop(&mut self) {
        // The vmctx is dropped with its store, when no wasm code of it runs.
        if let Some(pool) = &self.pool {
            pool.put_vmctx(std::mem::take(&mut self.mapping));
        }
    }
}
