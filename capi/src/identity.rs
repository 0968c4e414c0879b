//! What tells things in a store from others, and what C has attached to them.

use std::ffi::c_void;
use std::ptr;

use wprof::{Func, Global, Instance, Memory, Table};

/// A thing in a store, as what tells it from others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    Func(Func),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Instance(Instance),
}

/// What C has attached to something, and what is to be called with it in the end.
pub struct HostInfo {
    pub info: *mut c_void,
    pub finalizer: Option<extern "C" fn(*mut c_void)>,
}

// SAFETY: C promises that what it attaches may be handed to its finalizer by whichever thread lets go of the thing last.
unsafe impl Send for HostInfo {}
// SAFETY: it is behind a lock, or in a store.
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
