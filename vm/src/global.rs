//! Globals, as the embedder sees them.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use crate::runtime::instances::stored::Stored;
use crate::{AsContext, AsContextMut, Error, ErrorKind, GlobalType, Result, Val};

/// A global in a store: a small value, valid as long as the store, which may be sent to other threads; access needs the
/// store, and takes constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Global(pub(crate) Stored);

impl Global {
    /// Creates a global with an initial value.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn new(mut store: impl AsContextMut, ty: GlobalType, value: Val) -> Result<Global> {
        let opaque = &mut store.as_context_mut().0.opaque;
        value.check_type(&ty.content, opaque)?;
        let value = value.to_vm(opaque);
        let index = opaque.items.add_global(ty, value, None);
        Ok(Global(opaque.items.handle(index)))
    }

    /// Returns the global's type.
    pub fn ty(&self, store: impl AsContext) -> GlobalType {
        let items = &store.as_context().0.opaque.items;
        items.global(items.index(self.0)).ty().clone()
    }

    /// Returns the global's value.
    pub fn get(&self, mut store: impl AsContextMut) -> Val {
        let opaque = &store.as_context_mut().0.opaque;
        let global = opaque.items.global(opaque.items.index(self.0));
        // SAFETY: a global of this store holds a value of its type.
        unsafe { Val::from_vm(global.get(), &global.ty().content, opaque) }
    }

    /// Sets the global's value.
    ///
    /// # Errors
    /// Fails if the global is immutable, or the value has another type.
    pub fn set(&self, mut store: impl AsContextMut, value: Val) -> Result<()> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let index = opaque.items.index(self.0);
        let ty = opaque.items.global(index).ty().clone();
        value.check_type(&ty.content, opaque)?;
        if !ty.mutable {
            return Err(Error::new(ErrorKind::Type, "an immutable global cannot be set"));
        }
        let value = value.to_vm(opaque);
        opaque.items.global_mut(index).set(value);
        Ok(())
    }
}
