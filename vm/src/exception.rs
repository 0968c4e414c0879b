//! Exceptions and their tags, as the embedder sees them.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use std::sync::Arc;

use crate::exnref::ExnRef;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store::Stored;
use crate::runtime::values::exceptions::Exception;
pub use crate::runtime::values::exceptions::ThrownException;
use crate::{AsContext, AsContextMut, Error, ErrorKind, Result, Store, StoreContextMut, TagType, Val};

/// A tag in a store: exceptions have one, by which handlers know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub(crate) Stored);

impl Tag {
    /// A tag that no other is equal to.
    pub fn new(mut store: impl AsContextMut, ty: &TagType) -> Tag {
        let opaque = &mut store.as_context_mut().0.opaque;
        let index = opaque.add_tag(ty.ty().clone(), "of the host".to_owned());
        Tag(opaque.handle(index))
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> TagType {
        let opaque = &store.as_context().0.opaque;
        TagType::new(opaque.tags[opaque.index(self.0) as usize].ty.clone())
    }
}

impl ExnRef {
    /// An exception that carries these values.
    ///
    /// # Errors
    /// If the values are not of the types that the tag says.
    ///
    /// # Panics
    /// If the tag is another store's, or a value is.
    pub fn new(mut store: impl AsContextMut, tag: &Tag, values: &[Val]) -> Result<ExnRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let tag = opaque.tags[opaque.index(tag.0) as usize].clone();
        if values.len() != tag.ty.params().len() {
            let message =
                format!("the tag's exceptions carry {} values, got {}", tag.ty.params().len(), values.len());
            return Err(Error::new(ErrorKind::Type, message));
        }
        values.iter().zip(tag.ty.params()).try_for_each(|(value, ty)| value.check_type(&ty, opaque))?;
        let carried: Vec<VmValue> = values.iter().map(|value| value.to_vm(opaque)).collect();
        let exception = Arc::new(Exception::new(tag, &carried));
        // What it refers to is kept as long as the store knows it.
        opaque.exceptions.insert(exception.clone());
        Ok(ExnRef(exception))
    }

    /// Its tag.
    pub fn tag(&self) -> Tag {
        Tag(self.0.tag.handle)
    }

    /// What it carries.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn values(&self, store: impl AsContext) -> Vec<Val> {
        let opaque = &store.as_context().0.opaque;
        opaque.index(self.0.tag.handle);
        // SAFETY: they are of these types, and the store is theirs.
        self.0.typed().map(|(ty, value)| unsafe { Val::from_vm(value, &ty, opaque) }).collect()
    }
}

impl ThrownException {
    /// What was thrown.
    pub fn exception(&self) -> ExnRef {
        ExnRef(self.0.clone())
    }
}

impl Error {
    /// The exception, if one was not caught.
    pub fn exception(&self) -> Option<ExnRef> {
        self.downcast_ref::<ThrownException>().map(ThrownException::exception)
    }
}

impl<T: 'static> Store<T> {
    /// The error with which a host function throws an exception: wasm code that it returns to may catch it. Who calls
    /// wasm code that does not gets the same error.
    ///
    /// # Errors
    /// Always.
    ///
    /// # Panics
    /// If the exception is another store's.
    pub fn throw<R>(&mut self, exception: ExnRef) -> Result<R> {
        self.as_context_mut().throw(exception)
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// See [`Store::throw`].
    ///
    /// # Errors
    /// Always.
    ///
    /// # Panics
    /// As there.
    pub fn throw<R>(&mut self, exception: ExnRef) -> Result<R> {
        self.0.opaque.index(exception.0.tag.handle);
        Err(ThrownException(exception.0).into_error())
    }
}
