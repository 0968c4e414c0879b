//! Functions whose type is known to the Rust compiler.

use std::marker::PhantomData;

use super::{Func, Values, WasmParams, WasmResults, error, on_fiber};
use crate::runtime::control::enter;
use crate::runtime::instances::abi::VmValue;
use crate::store::StoreInner;
use crate::{AsContextMut, Result, StoreContextMut};

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
        self.call_in(store.as_context_mut().0, params, false)
    }

    /// Calls it on a stack of its own, as a future: where an async host function
    /// ([`Linker::func_wrap_async`](crate::Linker::func_wrap_async)) waits, or [`UpdateDeadline::Yield`](crate::UpdateDeadline::Yield)
    /// says so, the thread goes back to the executor. The future may go on on any thread; no executor is needed but one that
    /// polls. Profiles, backtraces and limits are those of a call that does not wait; processor time is that of the threads
    /// that run it. Cycles ([`Metric`](crate::Metric)) go on while it waits.
    ///
    /// If it is dropped before it is ready the call ends as by a trap: host functions that wait are dropped, and counts of frames that
    /// ended there are exact.
    ///
    /// # Errors
    /// As [`TypedFunc::call`], and if the system has no memory for a stack.
    ///
    /// # Panics
    /// As [`TypedFunc::call`], when it is polled.
    pub fn call_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        params: P,
    ) -> impl Future<Output = Result<R>> + Send + use<'a, T, S, P, R> {
        let (func, store) = (*self, store.into().0);
        on_fiber(store, move |store| func.call_in(store, params, true))
    }

    fn call_in<T: 'static>(&self, store: &mut StoreInner<T>, params: P, may_wait: bool) -> Result<R> {
        store.opaque.collect_if_due(&[]);
        let mut values = Values::from_elem(VmValue::default(), P::LEN.max(R::LEN));
        params.store(&mut values, &mut store.opaque);
        // SAFETY: the types were checked when this was made, and there is room for arguments and results. If it may wait, this
        // is all that is on the fiber.
        unsafe {
            let called = match may_wait {
                true => enter::call_or_wait(store, self.func.0, &mut values),
                false => enter::call(store, self.func.0, &mut values),
            };
            called.map_err(error)?;
            Ok(R::load(&values, &store.opaque))
        }
    }
}
