//! Functions, as the embedder sees them.
#![allow(unsafe_code, reason = "calls machine code with values of checked types")]

/// Expands a macro for tuples of one to sixteen values: passes it their names and positions.
macro_rules! each_tuple {
    ($define:ident) => {
        $define! {
            (A1 0)
            (A1 0, A2 1)
            (A1 0, A2 1, A3 2)
            (A1 0, A2 1, A3 2, A4 3)
            (A1 0, A2 1, A3 2, A4 3, A5 4)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10, A12 11)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10, A12 11, A13 12)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10, A12 11, A13 12, A14 13)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10, A12 11, A13 12, A14 13, A15 14)
            (A1 0, A2 1, A3 2, A4 3, A5 4, A6 5, A7 6, A8 7, A9 8, A10 9, A11 10, A12 11, A13 12, A14 13, A15 14, A16 15)
        }
    };
}
pub(crate) use each_tuple;

mod anyref;
mod array_ref;
mod host;
mod place;
mod raw;
mod struct_ref;
mod typed;
mod val;
mod values;

use std::sync::Arc;

use smallvec::SmallVec;

pub use anyref::{AnyRef, EqRef, I31};
pub use array_ref::{ArrayRef, ArrayRefPre};
pub use host::{HostFunc, IntoFunc, WasmRet};
pub(crate) use host::{awaited, dynamic, dynamic_awaited, numeric};
pub use raw::ValRaw;
pub(crate) use raw::unchecked;
pub use struct_ref::{StructRef, StructRefPre};
pub use typed::TypedFunc;
pub use val::{Ref, Val};
pub use values::{WasmParams, WasmResults, WasmTy};

use crate::caller::Caller;
use crate::runtime::control::enter::Ended;
use crate::runtime::control::{enter, host_calls as runtime_host};
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::FuncPtr;
use crate::store::{StoreContextMut, StoreInner};
use crate::waiting::on_fiber;
use crate::{
    AsContext, AsContextMut, Error, ErrorKind, FuncType, Result, ValType, WasmBacktrace, WasmCoreDump,
};

/// A function in a store: an instance's or the host's. A small value, valid as long as the store, which may be sent to
/// other threads; calls need the store. Each [`Func::call`] checks the types of its values, a [`TypedFunc`] none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Func(pub(crate) FuncPtr);

/// Arguments and results of a call.
type Values = SmallVec<[VmValue; 4]>;

impl Func {
    /// Creates a host function of type `ty`. The closure takes arguments, and must store results, of these types.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    pub fn new<T: 'static>(
        mut store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Func {
        Func::placed(&mut store.as_context_mut(), dynamic(ty, func), None)
    }

    /// Creates a host function with a module and a name for profiles. Its type has numbers only, of which it gets the
    /// bits, and at most one result.
    pub(crate) fn named<T: 'static>(
        mut store: impl AsContextMut<Data = T>,
        (module, name): (&str, &str),
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &[u64]) -> Result<Option<u64>> + Send + Sync + 'static,
    ) -> Func {
        let name = (module.to_owned(), name.to_owned());
        Func::placed(&mut store.as_context_mut(), numeric(ty, func), Some(name))
    }

    /// Creates a host function whose type follows from the closure's: up to 16 parameters, the first of which may be a
    /// [`Caller`], and a value, a tuple of values, or a [`Result`] of those.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    pub fn wrap<T: 'static, P, R>(
        mut store: impl AsContextMut<Data = T>,
        func: impl IntoFunc<T, P, R>,
    ) -> Func {
        Func::placed(&mut store.as_context_mut(), func.into_func(), None)
    }

    /// Creates an async host function of type `ty`, as [`Linker::func_new_async`](crate::Linker::func_new_async)
    /// defines one.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    pub fn new_async<T: 'static>(
        mut store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: impl for<'a> Fn(
            Caller<'a, T>,
            &'a [Val],
            &'a mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>
        + Send
        + Sync
        + 'static,
    ) -> Func {
        Func::placed(&mut store.as_context_mut(), dynamic_awaited(ty, Box::new(func)), None)
    }

    /// Creates an async host function, as [`Linker::func_wrap_async`](crate::Linker::func_wrap_async) defines one.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    pub fn wrap_async<T: 'static, P: WasmResults, R: WasmRet + 'static>(
        mut store: impl AsContextMut<Data = T>,
        func: impl for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a> + Send + Sync + 'static,
    ) -> Func {
        Func::placed(&mut store.as_context_mut(), awaited(Box::new(func)), None)
    }

    /// Puts a host function into a store, with the module and the name that profiles show.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    fn placed<T: 'static>(
        store: &mut StoreContextMut<'_, T>,
        func: HostFunc<T>,
        name: Option<(String, String)>,
    ) -> Func {
        Func(runtime_host::add(store.0, &Arc::new(func), name).expect("memory for a stub"))
    }

    /// Returns the function's type.
    pub fn ty(&self, store: impl AsContext) -> FuncType {
        store.as_context().0.opaque.items.func_type(self.0).func_type()
    }

    /// Calls the function. Types are checked at each call; [`Func::typed`] checks them once.
    ///
    /// # Errors
    /// Fails if the arguments do not match the parameter types, if `results` does not have the number of results, if
    /// the function traps, or if a host function that it calls fails.
    ///
    /// # Panics
    /// Panics if the function belongs to another store, or if a host function that it calls panics.
    pub fn call(&self, mut store: impl AsContextMut, params: &[Val], results: &mut [Val]) -> Result<()> {
        self.call_in(store.as_context_mut().0, params, results, false)
    }

    /// Calls the function on its own stack, as a future: see [`TypedFunc::call_async`].
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
        let (func, store) = (*self, store.into().0);
        on_fiber(store, move |store| func.call_in(store, params, results, true))
    }

    /// Calls the function. If it may wait, this call must be alone on its fiber.
    pub(crate) fn call_in<T: 'static>(
        &self,
        store: &mut StoreInner<T>,
        params: &[Val],
        results: &mut [Val],
        may_wait: bool,
    ) -> Result<()> {
        let context = StoreContextMut(store);
        let ty = context.0.opaque.items.func_type(self.0).func_type();
        check_params(&ty, params, &context.0.opaque)?;
        if results.len() != ty.results().len() {
            let message = format!("expected room for {} results, got {}", ty.results().len(), results.len());
            return Err(Error::new(ErrorKind::Type, message));
        }
        context.0.opaque.collect_if_due();
        let mut values: Values = params.iter().map(|p| p.to_vm(&mut context.0.opaque)).collect();
        values.resize(ty.array_len(), VmValue::default());
        // SAFETY: the arguments were checked against the function's type, and there is room for all results. A caller
        // that allows waiting vouches for the rest of the stack.
        unsafe {
            let called = match may_wait {
                true => enter::call_or_wait(context.0, self.0, &mut values),
                false => enter::call(context.0, self.0, &mut values),
            };
            called.map_err(|ended| error(ended, &context.0.opaque))?;
        }
        for ((result, value), ty) in results.iter_mut().zip(&values).zip(ty.results()) {
            // SAFETY: the function has stored results of its types.
            *result = unsafe { Val::from_vm(*value, &ty, &context.0.opaque) };
        }
        Ok(())
    }

    /// Calls a function of numbers only, with at most one result, by their bits; those above a narrow result may be
    /// anything.
    ///
    /// # Panics
    /// Panics if the function has another type.
    pub(crate) fn call_numeric<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        args: &[u64],
    ) -> Result<Option<u64>> {
        self.call_numeric_in(store, args, false)
    }

    /// Calls a function as [`Func::call_numeric`] does. If it may wait, this call must be alone on its fiber, or in one
    /// that is, but for frames that hold only what can be sent to other threads.
    ///
    /// # Panics
    /// Panics as [`Func::call_numeric`] does.
    pub(crate) fn call_numeric_in<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        args: &[u64],
        may_wait: bool,
    ) -> Result<Option<u64>> {
        let numbers = store.0.opaque.items.func_type(self.0).numbers();
        let (params, has_result) = numbers.expect("a function of numbers");
        assert!(params == args.len(), "a function with so many numbers");
        store.0.opaque.collect_if_due();
        let mut values: Values = args.iter().map(|bits| VmValue::from_u64(*bits)).collect();
        values.resize(params.max(usize::from(has_result)), VmValue::default());
        // SAFETY: the type was checked, and there is room for all results. A caller that allows waiting vouches for the
        // rest of the stack.
        let called = unsafe {
            match may_wait {
                true => enter::call_or_wait(store.0, self.0, &mut values),
                false => enter::call(store.0, self.0, &mut values),
            }
        };
        called.map_err(|ended| error(ended, &store.0.opaque))?;
        Ok(has_result.then(|| values[0].u64()))
    }

    /// Returns the same function with a static type, for faster calls.
    ///
    /// # Errors
    /// Fails if the function has another type.
    pub fn typed<P: WasmParams, R: WasmResults>(&self, store: impl AsContext) -> Result<TypedFunc<P, R>> {
        let ty = self.ty(store);
        let wanted = FuncType::new(P::types(), R::types());
        if !is_called_as(&ty, &wanted) {
            return Err(Error::new(ErrorKind::Type, format_args!("type mismatch: it is {ty}, not {wanted}")));
        }
        Ok(TypedFunc::new(*self))
    }
}

/// Converts an early end of a call to its error.
fn error(Ended { error, frames }: Ended, store: &StoreOpaque) -> Error {
    let Some(frames) = frames else { return error };
    let error = error.with_backtrace(WasmBacktrace::new(frames));
    match WasmCoreDump::new(&error) {
        Some(dump) if store.engine().config().dumps_core => error.with_state(|| dump.with_store(store)),
        _ => error,
    }
}

/// Reports whether a function of type `ty` can be called as one of type `wanted`: it accepts at least those parameters
/// and returns at most those results. Declared supertypes do not matter.
fn is_called_as(ty: &FuncType, wanted: &FuncType) -> bool {
    let all_match = |given: Vec<ValType>, expected: Vec<ValType>| {
        given.len() == expected.len() && given.iter().zip(&expected).all(|(given, ty)| given.matches(ty))
    };
    all_match(wanted.params().collect(), ty.params().collect())
        && all_match(ty.results().collect(), wanted.results().collect())
}

fn check_params(ty: &FuncType, params: &[Val], store: &StoreOpaque) -> Result<()> {
    if params.len() != ty.params().len() {
        let message = format!("expected {} arguments, got {}", ty.params().len(), params.len());
        return Err(Error::new(ErrorKind::Type, message));
    }
    params.iter().zip(ty.params()).try_for_each(|(value, ty): (&Val, ValType)| value.check_type(&ty, store))
}
