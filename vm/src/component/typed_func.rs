//! Exported functions with Rust types for parameters and result.

use std::fmt;
use std::marker::PhantomData;

use super::call::call_with;
use super::func::Func;
use super::typed::{Args, Returns, check_call};
use crate::store::StoreContextMut;
use crate::waiting::on_fiber;
use crate::{AsContextMut, Error, ErrorKind, Result};

/// An exported function of a component's instance with a static type: `A` is the tuple of its arguments, `R` is `()` or
/// `(Result,)`. Values pass between Rust and the component's memory without an intermediate [`Val`](super::Val).
///
/// ```
/// use wprof::component::{Component, Linker};
/// use wprof::{Engine, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::default();
/// let component = Component::new(&engine, r#"(component
///     (core module $m (func (export "add") (param i32 i32) (result i32)
///         (i32.add (local.get 0) (local.get 1))))
///     (core instance $i (instantiate $m))
///     (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add"))))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Linker::new(&engine).instantiate(&mut store, &component)?;
/// let add = instance.get_typed_func::<(u32, u32), (u32,)>("add")?;
/// assert_eq!(add.call(&mut store, (40, 2))?, (42,));
/// # Ok(())
/// # }
/// ```
pub struct TypedFunc<A, R> {
    func: Func,
    of: PhantomData<fn(A) -> R>,
}

impl<A, R> Clone for TypedFunc<A, R> {
    fn clone(&self) -> Self {
        TypedFunc { func: self.func.clone(), of: PhantomData }
    }
}

impl<A: Args, R: Returns> TypedFunc<A, R> {
    /// # Errors
    /// Fails if the function has another type.
    pub(super) fn new(func: Func) -> Result<TypedFunc<A, R>> {
        check_call::<A, R>(&func.ty, &func.state.resources).map_err(|error| {
            Error::new(ErrorKind::Type, format_args!("{} is another type: {error}", func.ty))
        })?;
        Ok(TypedFunc { func, of: PhantomData })
    }

    /// Returns the function without its static type.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls the function, including its `post-return`.
    ///
    /// # Errors
    /// Fails if the function traps, a host function that it calls fails, or its result violates the canonical ABI: then
    /// no function of this instance can be called any more.
    ///
    /// # Panics
    /// Panics if the function belongs to another store, or if a host function that it calls panics.
    pub fn call(&self, mut store: impl AsContextMut, args: A) -> Result<R> {
        self.call_in(&mut store.as_context_mut(), args, false)
    }

    /// Calls the function on its own stack, as a future: see [`Func::call_async`].
    ///
    /// # Errors
    /// Fails as [`TypedFunc::call`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`TypedFunc::call`] does, when it is polled.
    pub fn call_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        args: A,
    ) -> impl Future<Output = Result<R>> + Send + use<'a, T, S, A, R>
    where
        A: Send + 'a,
        R: Send,
    {
        let (func, store) = (self.clone(), store.into().0);
        on_fiber(store, move |store| func.call_in(&mut StoreContextMut(store), args, true))
    }

    /// Calls the function. If it may wait, this call must be alone on its fiber.
    fn call_in<T: 'static>(&self, store: &mut StoreContextMut<'_, T>, args: A, may_wait: bool) -> Result<R> {
        let state = &self.func.state;
        let lifted = state.lifted(store, self.func.index)?;
        let ty = &*lifted.ty;
        let callee = (lifted, may_wait);
        call_with(state, store, callee, |lower| args.lower(lower, ty), |lift, flat| R::lift(lift, ty, flat))
    }
}

impl<A, R> fmt::Debug for TypedFunc<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedFunc").field("func", &self.func).finish_non_exhaustive()
    }
}
