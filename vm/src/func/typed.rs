//! Functions whose type is known to the Rust compiler.

use std::marker::PhantomData;

use super::{Func, Values, WasmParams, WasmResults, error};
use crate::runtime::abi::VmValue;
use crate::runtime::enter;
use crate::{AsContextMut, Result};

/// A function that takes `P` and returns `R`.
pub struct TypedFunc<P, R> {
    func: Func,
    ty: PhantomData<fn(P) -> R>,
}

impl<P, R> Clone for TypedFunc<P, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, R> Copy for TypedFunc<P, R> {}

impl<P, R> std::fmt::Debug for TypedFunc<P, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedFunc").field(&self.func).finish()
    }
}

impl<P: WasmParams, R: WasmResults> TypedFunc<P, R> {
    /// `func`, whose type has been checked.
    pub(super) fn new(func: Func) -> TypedFunc<P, R> {
        TypedFunc { func, ty: PhantomData }
    }

    /// The function without its type.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls it.
    ///
    /// # Errors
    /// If it traps, or a host function that it calls fails.
    ///
    /// # Panics
    /// If it is another store's, or a host function that it calls panics.
    pub fn call(&self, mut store: impl AsContextMut, params: P) -> Result<R> {
        let context = store.as_context_mut();
        let len = context.0.opaque.func_type(self.func.0).func_type().array_len();
        context.0.opaque.collect_if_due(&[]);
        let mut values = Values::from_elem(VmValue::default(), len);
        params.store(&mut values, &mut context.0.opaque);
        // SAFETY: the types were checked when this was made, and there is room for arguments and results.
        unsafe {
            enter::call(context.0, self.func.0, &mut values).map_err(error)?;
            Ok(R::load(&values, &context.0.opaque))
        }
    }
}
