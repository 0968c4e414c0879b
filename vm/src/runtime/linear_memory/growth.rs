//! Growth of memories and tables, subject to the embedder's consent.

use std::ptr::NonNull;

use super::pages::WASM_PAGE;
use crate::Result;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// The kind of a growing item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// A memory, counted in bytes.
    Memory,
    /// A table, counted in elements.
    Table,
}

/// A growth or creation of an item.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub what: Grows,
    /// Current size: 0 for a creation.
    pub current: u64,
    /// Size after the growth.
    pub desired: u64,
    /// Maximum size by the item's type.
    pub maximum: Option<u64>,
    /// Whether the growth was allowed but failed, of which the embedder is only notified.
    pub has_failed: bool,
    /// Whether the embedder may wait before it answers, if the surrounding call is awaited.
    pub may_wait: bool,
}

/// Asks the embedder whether an item may grow. An error ends the program. Unsafe to call except under the contract of
/// [`memory`].
pub type OnGrowth = unsafe fn(NonNull<StoreOpaque>, Growth) -> Result<bool>;

/// Grows memory number `index` of a store by `delta` pages and returns its old size in pages, or `None` if that is
/// impossible or denied. With `may_wait` the embedder may wait before it decides.
///
/// # Errors
/// Fails if the embedder ends the program.
///
/// # Safety
/// The pointer derives from an exclusive reference to the whole store, its user's data included, and nothing else uses
/// the store meanwhile: the wasm code that it is lent to, if any, waits for this function, and has left in the proper
/// way. With `may_wait`, everything on the stack above the wasm code or the start of the fiber may move to
/// another thread.
pub unsafe fn memory(
    store: NonNull<StoreOpaque>,
    index: u32,
    delta: u64,
    may_wait: bool,
) -> Result<Option<u64>> {
    // SAFETY: the caller upholds this function's safety contract; the reference ends with the block.
    let (current, maximum) = unsafe {
        let memory = store.as_ref().items.memory(index);
        (memory.len(), memory.ty().maximum.map(|pages| pages.saturating_mul(WASM_PAGE)))
    };
    let desired = current.saturating_add(delta.saturating_mul(WASM_PAGE));
    let growth = Growth { what: Grows::Memory, current, desired, maximum, has_failed: false, may_wait };
    let work = |store: &mut StoreOpaque| {
        let old = store.items.memory_mut(index).grow(delta)?;
        store.note_size(index);
        Some(old)
    };
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { grow(store, growth, work) }
}

/// Grows table number `index` by `delta` elements of value `init`, likewise. With `may_stop`, an interruption of the
/// store also leaves the table unchanged.
///
/// # Errors
/// Fails as [`memory`] does.
///
/// # Safety
/// Same as for [`memory`].
pub unsafe fn table(
    store: NonNull<StoreOpaque>,
    index: u32,
    delta: u64,
    init: u64,
    may_stop: bool,
    may_wait: bool,
) -> Result<Option<u64>> {
    // SAFETY: the caller upholds this function's safety contract; the references end with the block.
    let (current, maximum, interrupt) = unsafe {
        let table = store.as_ref().items.table(index);
        (table.len(), table.ty().maximum, store.as_ref().control.interrupt().clone())
    };
    let desired = current.saturating_add(delta);
    let growth = Growth { what: Grows::Table, current, desired, maximum, has_failed: false, may_wait };
    let is_to_stop = || may_stop && interrupt.stops_at_once();
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { grow(store, growth, |store| store.items.table_mut(index).grow(delta, init, is_to_stop)) }
}

unsafe fn grow(
    store: NonNull<StoreOpaque>,
    growth: Growth,
    work: impl FnOnce(&mut StoreOpaque) -> Option<u64>,
) -> Result<Option<u64>> {
    // SAFETY: the caller upholds the safety contract of [`memory`]; the references end with their lines.
    unsafe {
        let on_growth = store.as_ref().control.hooks.on_growth;
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
