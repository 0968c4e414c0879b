//! Functions with a type that the Rust compiler knows.

use std::marker::PhantomData;

use super::{Func, WasmParams, WasmResults, error};
use crate::runtime::control::enter;
use crate::runtime::instances::abi::VmValue;
use crate::store::StoreInner;
use crate::waiting::on_fiber;
use crate::{AsContextMut, Result, StoreContextMut};

/// A function that takes `P` and returns `R`: a small value as [`Func`], whose type was checked once. A call neither
/// allocates memory nor takes a lock, unless it is the first of its type, for which a trampoline is compiled.
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
    /// Wraps `func`, whose type has been checked.
    pub(super) fn new(func: Func) -> TypedFunc<P, R> {
        TypedFunc { func, ty: PhantomData }
    }

    /// Returns the function without its static type.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls the function.
    ///
    /// # Errors
    /// Fails if the function traps, or if a host function that it calls fails.
    ///
    /// # Panics
    /// Panics if the function belongs to another store, or if a host function that it calls panics.
    pub fn call(&self, mut store: impl AsContextMut, params: P) -> Result<R> {
        self.call_in(store.as_context_mut().0, params, false)
    }

    /// Calls the function on its own stack, as a future. Where an async host function
    /// ([`Linker::func_wrap_async`](crate::Linker::func_wrap_async)) waits, or
    /// [`UpdateDeadline::Yield`](crate::UpdateDeadline::Yield) requests it, the thread returns to the executor. The
    /// future may resume on any thread; any executor that polls is sufficient. Profiles, backtraces and limits equal
    /// those of a call that does not wait; processor time is that of the threads that run it. Cycles
    /// ([`Metric`](crate::Metric)) continue to count while it waits.
    ///
    /// Dropping the future before it is ready ends the call as a trap would: waiting host functions are dropped, and
    /// the counts of the frames that ended there are exact.
    ///
    /// # Errors
    /// Fails as [`TypedFunc::call`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`TypedFunc::call`] does, when it is polled.
    pub fn call_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        params: P,
    ) -> impl Future<Output = Result<R>> + Send + use<'a, T, S, P, R> {
        let (func, store) = (*self, store.into().0);
        on_fiber(store, move |store| func.call_in(store, params, true))
    }

    fn call_in<T: 'static>(&self, store: &mut StoreInner<T>, params: P, may_wait: bool) -> Result<R> {
        // Tuples have at most 16 values, most of them few, and what there is room for must be written.
        match const { if P::LEN > R::LEN { P::LEN } else { R::LEN } } {
            0..=2 => self.call_with::<T, 2>(store, params, may_wait),
            3..=6 => self.call_with::<T, 6>(store, params, may_wait),
            _ => self.call_with::<T, 16>(store, params, may_wait),
        }
    }

    fn call_with<T: 'static, const ROOM: usize>(
        &self,
        store: &mut StoreInner<T>,
        params: P,
        may_wait: bool,
    ) -> Result<R> {
        store.opaque.collect_if_due();
        let mut values = [VmValue::default(); ROOM];
        params.store(&mut values, &mut store.opaque);
        // SAFETY: the types were checked when `self` was created, and there is room for arguments and results. If the
        // call may wait, it is alone on the fiber.
        unsafe {
            let called = match may_wait {
                true => enter::call_or_wait(store, self.func.0, &mut values),
                false => enter::call(store, self.func.0, &mut values),
            };
            called.map_err(|ended| error(ended, &store.opaque))?;
            Ok(R::load(&values, &store.opaque))
        }
    }
}
