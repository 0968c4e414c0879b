//! Functions of WebAssembly modules and functions written in C.

use std::ffi::c_void;

use wprof::{AsContextMut, Caller, Error, Func, FuncType, Result};

use crate::attached::{Attached, Finalizer};
use crate::error::wrong;
use crate::reference::{Reference, What};
use crate::store::{Data, StoreRef};
use crate::trap;
use crate::types::ExternType;
use crate::value::Val;
use crate::vector::{Owned, Vector};

/// The C type `wasm_func_callback_t`.
type Callback = extern "C" fn(&Vector<Val>, &mut Vector<Val>) -> Owned<Reference>;
/// The C type `wasm_func_callback_with_env_t`.
type CallbackWithEnv = extern "C" fn(*mut c_void, &Vector<Val>, &mut Vector<Val>) -> Owned<Reference>;

/// Creates a function in a store that calls C.
fn new(
    store: &StoreRef,
    ty: &ExternType,
    call: impl Fn(&Vector<Val>, &mut Vector<Val>) -> Owned<Reference> + Send + Sync + 'static,
) -> Owned<Reference> {
    let ty = ty.func()?;
    let call = move |caller: Caller<'_, Data>, params: &[wprof::Val], results: &mut [wprof::Val]| {
        let store = StoreRef::from_caller(&caller);
        let mut args = Vector::new(params.iter().map(|value| Val::new(&store, value)).collect());
        let mut out = Vector::new(results.iter().map(|value| Val::new(&store, value)).collect());
        let trap = store.lend(caller, || call(&args, &mut out));
        args.take();
        let out = out.take();
        if let Some(trap) = trap {
            return Err(trap::raise(&trap));
        }
        results
            .iter_mut()
            .zip(&out)
            .try_for_each(|(result, value)| value.value().map(|value| *result = value))
    };
    let func = store.with(|context| Func::new(context, ty, call));
    Some(Box::new(Reference::new(store, What::Func(func))))
}

/// Calls a function; C owns the results.
fn call(reference: &Reference, args: &[Val]) -> Result<Vec<Val>> {
    let What::Func(func) = reference.what else { return Err(wrong("what is called is no function")) };
    let args = args.iter().map(Val::value).collect::<Result<Vec<_>>>()?;
    let store = &reference.store;
    let results = store.with(|mut context| -> Result<Vec<wprof::Val>> {
        let ty = func.ty(&context);
        let mut results: Vec<_> = ty.results().map(|ty| wprof::Val::default_for(&ty)).collect();
        func.call(context.as_context_mut(), &args, &mut results)?;
        Ok(results)
    })?;
    Ok(results.iter().map(|value| Val::new(store, value)).collect())
}

/// Returns the trap of a call that failed.
fn failed(reference: &Reference, error: &Error) -> Owned<Reference> {
    Some(Box::new(trap::of_error(&reference.store, error)))
}

fn ty(reference: &Reference) -> Option<FuncType> {
    let What::Func(func) = reference.what else { return None };
    Some(reference.store.with(|context| func.ty(context)))
}

export! {
    ["wasm_func_new"] fn(store: &StoreRef, ty: &ExternType, callback: Callback) -> Owned<Reference> {
        new(store, ty, move |args, results| callback(args, results))
    }
    ["wasm_func_new_with_env"] fn(
        store: &StoreRef,
        ty: &ExternType,
        callback: CallbackWithEnv,
        env: *mut c_void,
        finalizer: Option<Finalizer>,
    ) -> Owned<Reference> {
        let env = Attached::new(env, finalizer);
        new(store, ty, move |args, results| callback(env.pointer(), args, results))
    }
    ["wasm_func_type"] fn(func: &Reference) -> Owned<ExternType> {
        ty(func).map(|ty| Box::new(ExternType::of_func(&ty)))
    }
    ["wasm_func_param_arity"] fn(func: &Reference) -> usize {
        ty(func).map_or(0, |ty| ty.params().len())
    }
    ["wasm_func_result_arity"] fn(func: &Reference) -> usize {
        ty(func).map_or(0, |ty| ty.results().len())
    }
    ["wasm_func_call"] fn(
        func: &Reference,
        args: Option<&Vector<Val>>,
        results: Option<&mut Vector<Val>>,
    ) -> Owned<Reference> {
        match call(func, args.map(Vector::as_slice).unwrap_or_default()) {
            Ok(values) => {
                let places = results.map(Vector::places).unwrap_or_default();
                if places.len() < values.len() {
                    let message = format!("room for {} results, of {}", places.len(), values.len());
                    return failed(func, &wrong(message));
                }
                for (place, value) in places.iter_mut().zip(values) {
                    place.write(value);
                }
                None
            }
            Err(error) => failed(func, &error),
        }
    }
}
