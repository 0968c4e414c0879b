//! Handles of items in stores: an index, or a function's address, with the identity of the store.
//!
//! Invariant: a handle gives its content only to the store that it belongs to.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::abi::VmFuncRef;

/// Identifies a store within the process, so that foreign handles are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(u64);

/// An item in a store, by its index among the items of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stored {
    store: StoreId,
    index: u32,
}

/// A function in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FuncPtr {
    store: StoreId,
    pointer: NonNull<VmFuncRef>,
}

// SAFETY: the pointer is only followed together with a reference to its store, which is checked.
unsafe impl Send for FuncPtr {}
// SAFETY: as above.
unsafe impl Sync for FuncPtr {}

impl Stored {
    /// Returns the store that contains the item.
    pub fn store(self) -> StoreId {
        self.store
    }
}

impl StoreId {
    /// Returns the identity of a new store.
    pub fn fresh() -> StoreId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        StoreId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a handle for item number `index` of its kind.
    pub fn handle(self, index: u32) -> Stored {
        Stored { store: self, index }
    }

    /// Returns the index of a handle.
    ///
    /// # Panics
    /// Panics if the handle belongs to another store.
    pub fn index(self, handle: Stored) -> u32 {
        self.check(handle.store);
        handle.index
    }

    /// Returns a handle for the function at an address.
    ///
    /// # Safety
    /// `pointer` comes from a vmctx or host context of this store.
    pub unsafe fn func(self, pointer: NonNull<VmFuncRef>) -> FuncPtr {
        FuncPtr { store: self, pointer }
    }

    /// Returns the address of a function.
    ///
    /// # Panics
    /// Panics if the function belongs to another store.
    #[inline]
    pub fn pointer(self, func: FuncPtr) -> NonNull<VmFuncRef> {
        self.check(func.store);
        func.pointer
    }

    fn check(self, id: StoreId) {
        assert!(id == self, "object used with the wrong store: it belongs to another one");
    }
}
