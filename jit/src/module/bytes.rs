//! The bytes of a module.

use std::ops::Deref;
use std::sync::Arc;

/// A module's bytes, in memory of any owner. Cheap to clone.
#[derive(Clone)]
pub struct ModuleBytes(Arc<dyn Deref<Target = [u8]> + Send + Sync>);

impl ModuleBytes {
    /// Wraps the bytes that `owner` keeps; they must not change.
    pub fn kept_by<T: Deref<Target = [u8]> + Send + Sync + 'static>(owner: Arc<T>) -> ModuleBytes {
        ModuleBytes(owner)
    }
}

impl Deref for ModuleBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for ModuleBytes {
    fn from(bytes: Vec<u8>) -> ModuleBytes {
        ModuleBytes::kept_by(Arc::new(bytes))
    }
}

impl From<Arc<[u8]>> for ModuleBytes {
    fn from(bytes: Arc<[u8]>) -> ModuleBytes {
        ModuleBytes::kept_by(Arc::new(bytes))
    }
}

impl From<&[u8]> for ModuleBytes {
    fn from(bytes: &[u8]) -> ModuleBytes {
        bytes.to_vec().into()
    }
}
