//! Host functions from closures.

use std::pin::Pin;

use super::{WasmParams, WasmResults, WasmTy};
use crate::caller::Caller;
use crate::runtime::control::host::HostFunc as RuntimeFunc;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store::StoreOpaque;
use crate::store::{Embedded, StoreInner};
use crate::{AsContext, AsContextMut, Error, ErrorKind, FuncType, Result, Val, ValType};

/// What a host function may return: nothing, a value, a tuple of values, or a `Result` of those.
pub trait WasmRet {
    #[doc(hidden)]
    type Values: WasmParams;

    #[doc(hidden)]
    fn into_values(self) -> Result<Self::Values>;
}

impl<R: WasmParams> WasmRet for R {
    type Values = R;

    fn into_values(self) -> Result<R> {
        Ok(self)
    }
}

impl<R: WasmParams> WasmRet for Result<R, Error> {
    type Values = R;

    fn into_values(self) -> Result<R> {
        self
    }
}

/// A host function that belongs to no store yet.
pub type HostFunc<T> = RuntimeFunc<Embedded<T>>;

/// A closure that can be a host function of a store with data `T`. `P` and `R` are found by inference.
pub trait IntoFunc<T: 'static, P, R>: Send + Sync + 'static {
    #[doc(hidden)]
    fn into_func(self) -> HostFunc<T>;
}

fn finish<R: WasmRet>(result: R, values: &mut [VmValue], store: &mut StoreOpaque) -> Result<()> {
    result.into_values()?.store(values, store);
    Ok(())
}

macro_rules! closures {
    ($(($($a:ident $i:tt),*))*) => {
        $(
            #[allow(non_snake_case, reason = "type parameters double as variables")]
            impl<T, Z, R, $($a),*> IntoFunc<T, ($($a,)*), R> for Z
            where
                T: 'static,
                Z: Fn($($a),*) -> R + Send + Sync + 'static,
                R: WasmRet,
                $($a: WasmTy,)*
            {
                fn into_func(self) -> HostFunc<T> {
                    let params: [ValType; _] = [$($a::TYPE),*];
                    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
                        let mut caller = Caller::new(store, instance);
                        // SAFETY: the caller passes values of the parameters' types, from this store.
                        $(let $a = unsafe { $a::from_vm(values[$i], &caller.as_context().0.opaque) };)*
                        let result = self($($a),*);
                        finish(result, values, &mut caller.as_context_mut().0.opaque)
                    });
                    HostFunc { ty: FuncType::new(params, R::Values::types()), code }
                }
            }

            #[allow(non_snake_case, reason = "type parameters double as variables")]
            impl<T, Z, R, $($a),*> IntoFunc<T, (Caller<'_, T>, $($a,)*), R> for Z
            where
                T: 'static,
                Z: Fn(Caller<'_, T>, $($a),*) -> R + Send + Sync + 'static,
                R: WasmRet,
                $($a: WasmTy,)*
            {
                fn into_func(self) -> HostFunc<T> {
                    let params: [ValType; _] = [$($a::TYPE),*];
                    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
                        let mut caller = Caller::new(store, instance);
                        // SAFETY: the caller passes values of the parameters' types, from this store.
                        $(let $a = unsafe { $a::from_vm(values[$i], &caller.as_context().0.opaque) };)*
                        let result = self(caller.reborrow(), $($a),*);
                        finish(result, values, &mut caller.as_context_mut().0.opaque)
                    });
                    HostFunc { ty: FuncType::new(params, R::Values::types()), code }
                }
            }
        )*
    };
}

closures! { () }
each_tuple!(closures);

/// A host function of type `ty`.
pub(crate) fn dynamic<T: 'static>(
    ty: FuncType,
    func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
) -> HostFunc<T> {
    let types = ty.clone();
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        let mut caller = Caller::new(store, instance);
        let opaque = &caller.as_context().0.opaque;
        // SAFETY: the caller passes values of the parameters' types, from this store.
        let params: Vec<Val> = values
            .iter()
            .zip(types.params())
            .map(|(v, ty)| unsafe { Val::from_vm(*v, &ty, opaque) })
            .collect();
        let mut results: Vec<Val> = types.results().map(|ty| Val::default_for(&ty)).collect();
        func(caller.reborrow(), &params, &mut results)?;
        let opaque = &mut caller.as_context_mut().0.opaque;
        for ((result, ty), value) in results.iter().zip(types.results()).zip(values) {
            result
                .check_type(&ty, opaque)
                .map_err(|e| Error::new(ErrorKind::Type, format_args!("host function: {e}")))?;
            *value = result.to_vm(opaque);
        }
        Ok(())
    });
    HostFunc { ty, code }
}

/// What an async host function does: it gets its caller and the arguments, and gives a future that may use the store.
pub(crate) type AsyncCode<T, P, R> =
    dyn for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a> + Send + Sync;

/// A host function that is awaited.
pub(crate) fn awaited<T: 'static, P: WasmResults, R: WasmRet + 'static>(
    func: Box<AsyncCode<T, P, R>>,
) -> HostFunc<T> {
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        let Some(suspender) = store.opaque.suspender else {
            let message = "an async host function was called in a call that is not async: use call_async";
            return Err(Error::new(ErrorKind::Host, message));
        };
        // SAFETY: the caller passes values of the parameters' types, from this store.
        let params = unsafe { P::load(values, &store.opaque) };
        // What it takes says nothing about the code.
        store.opaque.drop_timed_call();
        let (left, before) = (store.opaque.leave_thread(), suspender.waited());
        let result = {
            let mut future = Pin::from(func(Caller::new(store, instance), params));
            // SAFETY: the suspender is there as we run on its fiber, with nothing below that could not be sent; and so can the
            // future.
            unsafe { suspender.wait(future.as_mut()) }
        };
        store.opaque.go_on_after(left, suspender.waited() - before);
        finish(result?, values, &mut store.opaque)
    });
    HostFunc { ty: FuncType::new(P::types(), R::Values::types()), code }
}
