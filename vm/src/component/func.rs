//! Exported functions of components.

use std::fmt;
use std::sync::Arc;

use super::call::call;
use super::state::State;
use super::typed::{Args, Returns};
use super::typed_func::TypedFunc;
use super::types::FuncType;
use super::val::Val;
use crate::store::StoreContextMut;
use crate::waiting::on_fiber;
use crate::{AsContextMut, Error, ErrorKind, Result};

/// An exported function of a component's instance.
#[derive(Clone)]
pub struct Func {
    pub(super) state: Arc<State>,
    /// Its number among the lifted functions.
    pub(super) index: u32,
    pub(super) ty: Arc<FuncType>,
}

impl Func {
    /// Returns the function's type.
    pub fn ty(&self) -> &FuncType {
        &self.ty
    }

    /// Returns the same function with Rust types.
    ///
    /// # Errors
    /// Fails if these do not represent the function's own types.
    pub fn typed<A: Args, R: Returns>(&self) -> Result<TypedFunc<A, R>> {
        TypedFunc::new(self.clone())
    }

    /// Calls the function, including its `post-return`. There is at most one result.
    ///
    /// # Errors
    /// Fails if the arguments do not match the parameter types or `results` does not have the number of results; if the
    /// function traps or a host function that it calls fails: then no function of this instance can be called any more.
    ///
    /// # Panics
    /// Panics if the function belongs to another store, or if a host function that it calls panics.
    pub fn call(&self, mut store: impl AsContextMut, params: &[Val], results: &mut [Val]) -> Result<()> {
        self.call_in(&mut store.as_context_mut(), params, results, false)
    }

    /// Calls the function on its own stack, as a future in which async host functions
    /// ([`LinkerInstance::func_wrap_async`](super::LinkerInstance::func_wrap_async)) may wait: see
    /// [`wprof::TypedFunc::call_async`](crate::TypedFunc::call_async). The store has no other call meanwhile.
    ///
    /// # Errors
    /// Fails as [`Func::call`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`Func::call`] does, when it is polled.
    pub fn call_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        params: &'a [Val],
        results: &'a mut [Val],
    ) -> impl Future<Output = Result<()>> + Send + use<'a, T, S> {
        let (func, store) = (self.clone(), store.into().0);
        on_fiber(store, move |store| func.call_in(&mut StoreContextMut(store), params, results, true))
    }

    /// Calls the function. If it may wait, this call must be alone on its fiber.
    fn call_in<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        params: &[Val],
        results: &mut [Val],
        may_wait: bool,
    ) -> Result<()> {
        let wanted = usize::from(self.ty.result.is_some());
        if results.len() != wanted {
            let message = format!("expected room for {wanted} results, got {}", results.len());
            return Err(Error::new(ErrorKind::Type, message));
        }
        let result = call(&self.state, store, self.index, params, may_wait)?;
        results.iter_mut().zip(result).for_each(|(to, result)| *to = result);
        Ok(())
    }
}

impl fmt::Debug for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Func").field("ty", &self.ty).finish_non_exhaustive()
    }
}
