//! The identity of things in a store, and what C has attached to them.

use std::ffi::c_void;
use std::ptr;

use wprof::{Func, Global, Instance, Memory, Table};

/// The identity of a thing in a store: equal exactly for references to the same thing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    Func(Func),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Instance(Instance),
}

/// The data that C has attached to a thing, and the finalizer to call with it.
pub struct HostInfo {
    pub info: *mut c_void,
    pub finalizer: Option<extern "C" fn(*mut c_void)>,
}

// SAFETY: the C caller guarantees that the finalizer may run on whichever thread drops the last reference.
unsafe impl Send for HostInfo {}
// SAFETY: a `HostInfo` is always behind a lock, or in a store.
unsafe impl Sync for HostInfo {}

impl Default for HostInfo {
    fn default() -> Self {
        HostInfo { info: ptr::null_mut(), finalizer: None }
    }
}

impl Drop for HostInfo {
    fn drop(&mut self) {
        if let Some(finalizer) = self.finalizer {
            finalizer(self.info);
        }
    }
}
