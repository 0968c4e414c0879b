//! References to exceptions, as the host holds them.

use std::fmt;
use std::sync::Arc;

use crate::runtime::values::exceptions::Exception;

/// An exception. It belongs to a store, and lives as long as a reference to it exists. Cloning it counts a reference; it may
/// be sent to other threads, but thrown only in its store.
#[derive(Clone)]
pub struct ExnRef(pub(crate) Arc<Exception>);

impl ExnRef {
    /// Returns whether both are the same exception, not merely equal ones.
    pub fn ptr_eq(a: &ExnRef, b: &ExnRef) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }
}

impl fmt::Debug for ExnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExnRef").field(&self.to_string()).finish()
    }
}

impl fmt::Display for ExnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
