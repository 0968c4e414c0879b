//! Memories and tables that grow, if the embedder lets them.

use std::ptr::NonNull;

use super::memory::WASM_PAGE;
use crate::Result;
use crate::runtime::instances::store::StoreOpaque;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// A memory, counted in bytes.
    Memory,
    /// A table, counted in elements.
    Table,
}

/// What is to grow, or be made.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub what: Grows,
    /// Its size now: 0 if it is to be made.
    pub current: u64,
    /// What it is to be.
    pub desired: u64,
    /// What it may be by its type.
    pub maximum: Option<u64>,
    /// Whether it was allowed and could not be done all the same, of which the embedder is only told.
    pub has_failed: bool,
}

/// Asks the embedder whether something may grow. An error ends the program. Unsafe to call unless as [`memory`].
pub type OnGrowth = unsafe fn(NonNull<StoreOpaque>, Growth) -> Result<bool>;

/// Makes memory number `index` of a store grow by `delta` pages and gives its old size in pages, or `None` if that cannot
/// or may not be.
///
/// # Errors
/// If the embedder wants the program to end.
///
/// # Safety
/// The pointer was derived from an exclusive reference to the whole store, its user's data included, and nobody uses the
/// store meanwhile: the wasm code that it is lent to, if any, waits for us, and has left in the proper way.
pub unsafe fn memory(store: NonNull<StoreOpaque>, index: u32, delta: u64) -> Result<Option<u64>> {
    // SAFETY: as required above; the reference ends with the block.
    let (current, maximum) = unsafe {
        let memory = store.as_ref().memory(index);
        (memory.len(), memory.ty().maximum.map(|pages| pages.saturating_mul(WASM_PAGE)))
    };
    let desired = current.saturating_add(delta.saturating_mul(WASM_PAGE));
    let growth = Growth { what: Grows::Memory, current, desired, maximum, has_failed: false };
    let work = |store: &mut StoreOpaque| {
        let old = store.memory_mut(index).grow(delta)?;
        store.note_size(index);
        Some(old)
    };
    // SAFETY: as required above.
    unsafe { grow(store, growth, work) }
}

/// The same for table number `index`, by `delta` elements of value `init`. It also stays as it was if the store
/// is to stop and `may_stop`.
///
/// # Errors
/// As [`memory`].
///
/// # Safety
/// As there.
pub unsafe fn table(
    store: NonNull<StoreOpaque>,
    index: u32,
    delta: u64,
    init: u64,
    may_stop: bool,
) -> Result<Option<u64>> {
    // SAFETY: as required above; the references end with the block.
    let (current, maximum, interrupt) = unsafe {
        let table = store.as_ref().table(index);
        (table.len(), table.ty().maximum, store.as_ref().interrupt().clone())
    };
    let desired = current.saturating_add(delta);
    let growth = Growth { what: Grows::Table, current, desired, maximum, has_failed: false };
    let is_to_stop = || may_stop && interrupt.stops_at_once();
    // SAFETY: as required above.
    unsafe { grow(store, growth, |store| store.table_mut(index).grow(delta, init, is_to_stop)) }
}

unsafe fn grow(
    store: NonNull<StoreOpaque>,
    growth: Growth,
    work: impl FnOnce(&mut StoreOpaque) -> Option<u64>,
) -> Result<Option<u64>> {
    // SAFETY: as required of the caller; the references end with their lines.
    unsafe {
        let on_growth = store.as_ref().hooks.on_growth;
        if let Some(ask) = on_growth
            && !ask(store, growth)?
        {
            return Ok(None);
        }
        let old = work(&mut *store.as_ptr());
        if let (None, Some(tell)) = (old, on_growth) {
            tell(store, Growth { has_failed: true, ..growth })?;
        }
        Ok(old)
    }
}
