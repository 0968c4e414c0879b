//! The memory of a store's context, which machine code and `entries` read and write.
//!
//! It is allocated separately, since every vmctx holds its address. The parts of a store hold its address as well, each
//! for the fields that are its own. Invariant: it outlives them, and the vmctxs.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::abi::VmStoreContext;
use super::store_ptr::StorePtr;

/// The owner of a store's context.
pub struct OwnContext(StorePtr<VmStoreContext>);

// What owns nothing may be freed without being dropped, whether or not it has a content yet.
const _: () = assert!(!std::mem::needs_drop::<VmStoreContext>());

impl OwnContext {
    /// Allocates a context, which has no content yet.
    pub fn reserve() -> OwnContext {
        let place = Box::leak(Box::new(MaybeUninit::<VmStoreContext>::uninit()));
        // SAFETY: the memory is freed with the result, which is a part of a store.
        OwnContext(unsafe { StorePtr::new(NonNull::from(place).cast()) })
    }

    /// Sets the content. Must be called before anything reads it.
    pub fn fill(&mut self, content: VmStoreContext) {
        // SAFETY: the memory is this value's, and nobody refers to it while the store is borrowed exclusively.
        unsafe { self.0.write(content) };
    }

    /// Returns the address.
    #[inline]
    pub fn get(&self) -> NonNull<VmStoreContext> {
        *self.0
    }

    /// Returns the address for another part of the store.
    ///
    /// # Safety
    /// The result is kept in the same store, and followed only after [`OwnContext::fill`] and before this value is
    /// dropped.
    pub unsafe fn part(&self) -> StorePtr<VmStoreContext> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { StorePtr::new(self.get()) }
    }
}

impl Drop for OwnContext {
    fn drop(&mut self) {
        // SAFETY: `reserve` leaked the memory. Only machine code and other parts of the store refer to it; none is running
        // or will follow the address.
        drop(unsafe { Box::from_raw(self.0.cast::<MaybeUninit<VmStoreContext>>().as_ptr()) });
    }
}
