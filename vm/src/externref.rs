//! Host values that wasm code can hold but not inspect.

use std::any::Any;
use std::sync::Arc;

/// A host value, shared by reference. Cloning it counts a reference; it may be sent to other threads and to other stores. A
/// store to which it was passed holds it until a collection finds that wasm code does not.
#[derive(Clone)]
pub struct ExternRef(Arc<dyn Any + Send + Sync>);

impl ExternRef {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> ExternRef {
        ExternRef(Arc::new(value))
    }

    /// Returns the value.
    pub fn data(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }

    /// Returns the value, if it is a `V`.
    pub fn downcast_ref<V: 'static>(&self) -> Option<&V> {
        self.0.downcast_ref()
    }

    /// Returns whether both are the same value, not merely equal ones.
    pub fn ptr_eq(a: &ExternRef, b: &ExternRef) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }
}

impl std::fmt::Debug for ExternRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExternRef").field(&Arc::as_ptr(&self.0).cast::<()>()).finish()
    }
}
