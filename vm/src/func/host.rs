//! Host functions from closures.

use smallvec::SmallVec;

use super::{WasmParams, WasmResults, WasmTy};
use crate::caller::Caller;
use crate::runtime::control::host_calls::HostFunc as RuntimeFunc;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::store::{Embedded, StoreInner};
use crate::waiting::Wait;
use crate::{AsContext, AsContextMut, Error, ErrorKind, FuncType, Result, Val, ValType};

/// The return type of a host function: nothing, a value, a tuple of values, or a `Result` of those.
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

/// A host function that is not in a store yet.
pub type HostFunc<T> = RuntimeFunc<Embedded<T>>;

/// A closure that can be a host function of a store with data `T`. The compiler infers `P` and `R`.
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

/// Creates a host function of type `ty`.
pub(crate) fn dynamic<T: 'static>(
    ty: FuncType,
    func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
) -> HostFunc<T> {
    let types = ty.clone();
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        let mut caller = Caller::new(store, instance);
        let (params, mut results) = passed(&types, values, &caller.as_context().0.opaque);
        func(caller.reborrow(), &params, &mut results)?;
        give_back(&types, &results, values, &mut caller.as_context_mut().0.opaque)
    });
    HostFunc { ty, code }
}

/// Creates a host function of type `ty`, which has numbers only and at most one result: it takes the bits of its
/// arguments and returns those of its result.
pub(crate) fn numeric<T: 'static>(
    ty: FuncType,
    func: impl Fn(Caller<'_, T>, &[u64]) -> Result<Option<u64>> + Send + Sync + 'static,
) -> HostFunc<T> {
    let is_narrow = |ty: ValType| matches!(ty, ValType::I32 | ValType::F32);
    let (params, result): (Vec<bool>, _) =
        (ty.params().map(is_narrow).collect(), ty.results().next().map(is_narrow));
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        // The upper half of a narrow value may be anything.
        let bits =
            |(value, is_narrow): (&VmValue, &bool)| if *is_narrow { value.u32().into() } else { value.u64() };
        let args: SmallVec<[u64; 8]> = values.iter().zip(&params).map(bits).collect();
        let returned = func(Caller::new(store, instance), &args)?;
        if let (Some(bits), Some(is_narrow), Some(value)) = (returned, result, values.first_mut()) {
            *value = if is_narrow { VmValue::from_u32(bits as u32) } else { VmValue::from_u64(bits) };
        }
        Ok(())
    });
    HostFunc { ty, code }
}

/// Returns the arguments of a call, and places for its results.
fn passed(ty: &FuncType, values: &[VmValue], store: &StoreOpaque) -> (Vec<Val>, Vec<Val>) {
    // SAFETY: the caller passes values of the parameters' types, from this store.
    let params = values.iter().zip(ty.params()).map(|(v, ty)| unsafe { Val::from_vm(*v, &ty, store) });
    (params.collect(), ty.results().map(|ty| Val::default_for(&ty)).collect())
}

/// Stores the results for the caller, if they have the right types.
fn give_back(ty: &FuncType, results: &[Val], values: &mut [VmValue], store: &mut StoreOpaque) -> Result<()> {
    for ((result, ty), value) in results.iter().zip(ty.results()).zip(values) {
        let checked = result.check_type(&ty, store);
        checked.map_err(|e| Error::new(ErrorKind::Type, format_args!("host function: {e}")))?;
        *value = result.to_vm(store);
    }
    Ok(())
}

/// The code of an async host function: it takes its caller and the arguments, and returns a future that may use the
/// store.
pub(crate) type AsyncCode<T, P, R> =
    dyn for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a> + Send + Sync;

/// Creates an async host function.
pub(crate) fn awaited<T: 'static, P: WasmResults, R: WasmRet + 'static>(
    func: Box<AsyncCode<T, P, R>>,
) -> HostFunc<T> {
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        // SAFETY: wasm code calls this on the fiber of its call; values of wasm and the types of the parameters can be sent.
        let wait = unsafe { Wait::begin(&mut store.opaque, "an async host function")? };
        // SAFETY: the caller passes values of the parameters' types, from this store.
        let params = unsafe { P::load(values, &store.opaque) };
        let result = wait.until(func(Caller::new(store, instance), params));
        wait.end(&mut store.opaque);
        finish(result?, values, &mut store.opaque)
    });
    HostFunc { ty: FuncType::new(P::types(), R::Values::types()), code }
}

/// The code of an async host function of a dynamic type: it takes its caller, the arguments and places for the results.
pub(crate) type DynamicAsyncCode<T> = dyn for<'a> Fn(Caller<'a, T>, &'a [Val], &'a mut [Val]) -> Box<dyn Future<Output = Result<()>> + Send + 'a>
    + Send
    + Sync;

/// Creates an async host function of type `ty`.
pub(crate) fn dynamic_awaited<T: 'static>(ty: FuncType, func: Box<DynamicAsyncCode<T>>) -> HostFunc<T> {
    let types = ty.clone();
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        let (params, mut results) = passed(&types, values, &store.opaque);
        // SAFETY: wasm code calls this on the fiber of its call; a `Val` can be sent.
        let wait = unsafe { Wait::begin(&mut store.opaque, "an async host function")? };
        let result = wait.until(func(Caller::new(store, instance), &params, &mut results));
        wait.end(&mut store.opaque);
        result??;
        give_back(&types, &results, values, &mut store.opaque)
    });
    HostFunc { ty, code }
}
