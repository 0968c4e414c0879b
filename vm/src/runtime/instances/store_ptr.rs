//! Pointers into what a store owns.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// A pointer to something of a store's that machine code reads and writes as well, so that Rust has no reference to it
/// that lasts. It is a part of the store.
pub struct StorePtr<T>(NonNull<T>);

// SAFETY: by the promise to `new` nobody follows it but through a reference to the store: an exclusive one, or a shared
// one and then only to read. So it is as free as a value in the store would be.
unsafe impl<T> Send for StorePtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for StorePtr<T> {}

impl<T> StorePtr<T> {
    /// A pointer that is kept in a store.
    ///
    /// # Safety
    /// What it points to belongs to that store and lives as long. Who follows it has a reference to the store, an
    /// exclusive one to write, or is machine code that the store is lent to. What is there may be used by any thread.
    pub unsafe fn new(pointer: NonNull<T>) -> StorePtr<T> {
        StorePtr(pointer)
    }
}

impl<T> fmt::Debug for StorePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Deref for StorePtr<T> {
    type Target = NonNull<T>;

    fn deref(&self) -> &NonNull<T> {
        &self.0
    }
}
