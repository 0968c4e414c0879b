//! Pointers into memory that a store owns.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// A pointer to data of a store that machine code also reads and writes, so that Rust keeps no lasting reference
/// to it. The pointer is a part of the store.
pub struct StorePtr<T>(NonNull<T>);

// SAFETY: the caller of `new` guarantees that the pointer is followed only through a reference to the store: an
// exclusive one, or a shared one and then only to read. So it may be sent and shared like a value in the store.
unsafe impl<T> Send for StorePtr<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for StorePtr<T> {}

impl<T> StorePtr<T> {
    /// Wraps a pointer that is kept in a store.
    ///
    /// # Safety
    /// The caller guarantees that the target belongs to that store and lives as long; that whoever follows the
    /// pointer has a reference to the store, an exclusive one to write, or is machine code that the store is lent
    /// to; and that any thread may use the target.
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
