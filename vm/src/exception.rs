//! Exceptions and their tags, as the embedder sees them.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use std::sync::Arc;

use crate::exnref::ExnRef;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::stored::Stored;
use crate::runtime::values::exceptions::Exception;
pub use crate::runtime::values::exceptions::ThrownException;
use crate::{AsContext, AsContextMut, Error, ErrorKind, Result, Store, StoreContextMut, TagType, Val};

/// A tag in a store. Each exception has one, by which handlers recognise it. A small value, valid as long as the store, which
/// may be sent to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub(crate) Stored);

impl Tag {
    /// Creates a tag that is equal to no other tag.
    pub fn new(mut store: impl AsContextMut, ty: &TagType) -> Tag {
        let items = &mut store.as_context_mut().0.opaque.items;
        let index = items.add_tag(ty.ty().clone(), "of the host".to_owned());
        Tag(items.handle(index))
    }

    /// Returns the type.
    pub fn ty(&self, store: impl AsContext) -> TagType {
        let items = &store.as_context().0.opaque.items;
        TagType::new(items.tag(items.index(self.0)).ty.clone())
    }
}

impl ExnRef {
    /// Creates an exception that carries these values.
    ///
    /// # Errors
    /// Returns an error if the types of the values differ from those of the tag, or the exceptions and host values that
    /// wasm holds take more than [`StoreLimits::heap_bytes`](crate::StoreLimits::heap_bytes).
    ///
    /// # Panics
    /// Panics if the tag or a value belongs to another store.
    pub fn new(mut store: impl AsContextMut, tag: &Tag, values: &[Val]) -> Result<ExnRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let tag = opaque.items.tag(opaque.items.index(tag.0)).clone();
        if values.len() != tag.ty.params().len() {
            let message =
                format!("the tag's exceptions carry {} values, got {}", tag.ty.params().len(), values.len());
            return Err(Error::new(ErrorKind::Type, message));
        }
        values.iter().zip(tag.ty.params()).try_for_each(|(value, ty)| value.check_type(&ty, opaque))?;
        let carried: Vec<VmValue> = values.iter().map(|value| value.to_vm(opaque)).collect();
        let words: Vec<u64> = carried.iter().map(|value| value.u64()).collect();
        let charge = opaque.charge(Exception::size(&tag), &words)?;
        let exception = Arc::new(Exception::new(tag, &carried, charge));
        // The store keeps the referents of the exception alive while it holds the exception.
        opaque.collected.exceptions.insert(exception.clone());
        Ok(ExnRef(exception))
    }

    /// Returns the tag.
    pub fn tag(&self) -> Tag {
        Tag(self.0.tag.handle)
    }

    /// Returns the values that the exception carries.
    ///
    /// # Panics
    /// Panics if the exception belongs to another store.
    pub fn values(&self, store: impl AsContext) -> Vec<Val> {
        let opaque = &store.as_context().0.opaque;
        opaque.items.index(self.0.tag.handle);
        // SAFETY: the values have the types of the exception's tag, and `index` checked that the store is theirs.
        self.0.typed().map(|(ty, value)| unsafe { Val::from_vm(value, &ty, opaque) }).collect()
    }
}

impl ThrownException {
    /// Returns the exception that was thrown.
    pub fn exception(&self) -> ExnRef {
        ExnRef(self.0.clone())
    }
}

impl Error {
    /// Returns the uncaught exception, if the error is one.
    pub fn exception(&self) -> Option<ExnRef> {
        self.downcast_ref::<ThrownException>().map(ThrownException::exception)
    }
}

impl<T: 'static> Store<T> {
    /// Returns the error with which a host function throws an exception. The wasm code that called the host
    /// function may catch it; if no wasm code does, the caller of the wasm code gets the same error.
    ///
    /// # Errors
    /// Always returns an error: the exception.
    ///
    /// # Panics
    /// Panics if the exception belongs to another store.
    pub fn throw<R>(&mut self, exception: ExnRef) -> Result<R> {
        self.as_context_mut().throw(exception)
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// See [`Store::throw`].
    ///
    /// # Errors
    /// Always returns an error: the exception.
    ///
    /// # Panics
    /// Panics as [`Store::throw`] does.
    pub fn throw<R>(&mut self, exception: ExnRef) -> Result<R> {
        self.0.opaque.items.index(exception.0.tag.handle);
        Err(ThrownException(exception.0).into_error())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Adaptive, AsContext, Collect, Config, Engine, ProfilingConfig, Result, Store};

    #[test]
    fn throws_outside_of_bursts_do_not_look_for_the_frames_that_they_end() -> Result<()> {
        let looks = |profiling| {
            let mut config = Config::new();
            config.profiling(profiling).count_contexts(true);
            let store = Store::new(&Engine::new(&config)?, ());
            Ok::<_, crate::Error>(store.as_context().0.opaque.observed.look_at_ended_frames())
        };
        assert!(!looks(ProfilingConfig::Adaptive(Adaptive::default()))?);
        assert!(looks(ProfilingConfig::Exact(Collect::Edges))?);
        Ok(())
    }
}
