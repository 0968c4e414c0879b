//! Data that C attaches to a function or to a thing in a store.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of C that ends what a pointer stands for.
pub type Finalizer = extern "C" fn(*mut c_void);

/// A pointer of C's, and the finalizer to call with it. The pointer is never followed here, so any thread may have it: the
/// headers say on which threads the finalizer may run.
#[derive(Default)]
pub struct Attached {
    pointer: AtomicPtr<c_void>,
    finalizer: Option<Finalizer>,
}

impl Attached {
    pub fn new(pointer: *mut c_void, finalizer: Option<Finalizer>) -> Attached {
        Attached { pointer: AtomicPtr::new(pointer), finalizer }
    }

    /// The pointer; null if there is none.
    pub fn pointer(&self) -> *mut c_void {
        self.pointer.load(Ordering::Relaxed)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(finalizer) = self.finalizer {
            finalizer(self.pointer());
        }
    }
}
