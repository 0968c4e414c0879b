//! Core functions that are the host's: lowered functions, and those for handles.
//!
//! Source: *CanonicalABI.md*, `canon lower`, `canon resource.new`, `canon resource.drop`, `canon resource.rep`.

use std::sync::Arc;

use super::call::{self, bits, core};
use super::lift::{Lift, Loans};
use super::linker::HostFunc;
use super::lower::Lower;
use super::state::{Options, State};
use super::types::{FuncType, MAX_FLAT_PARAMS, MAX_FLAT_RESULTS};
use super::val::Val;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Error, ErrorKind, Func, Result, ValType};

/// What a lowered function calls.
pub enum Callee<T: 'static> {
    Host(Arc<HostFunc<T>>),
    /// A function of this or another component of the file.
    Lifted(u32),
}

/// A function of the component model as a core function.
pub fn lowered<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (ty, options): (Arc<FuncType>, Options),
    callee: Callee<T>,
) -> Func {
    let state = state.clone();
    let core_type = ty.lowered();
    Func::new(store, core_type.clone(), move |mut caller, params, results| {
        state.check_may_leave(options.instance)?;
        let mut store = caller.as_context_mut();
        let mut loans = Loans::default();
        let ended = lower_call(&state, &mut store, (&ty, &options), &callee, params, &mut loans);
        loans.end(&state, options.instance);
        if let Some(flat) = ended? {
            results.iter_mut().zip(core_type.results()).for_each(|(result, ty)| *result = core(ty, flat));
        }
        Ok(())
    })
}

/// Lifts the arguments, calls, and lowers the result; gives the core value that it is.
fn lower_call<T: 'static>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    (ty, options): (&FuncType, &Options),
    callee: &Callee<T>,
    params: &[crate::Val],
    loans: &mut Loans,
) -> Result<Option<u64>> {
    let mut lift = Lift::new(&*store, options, state, loans);
    let mut flat = params.iter().map(bits);
    let args = if ty.flat_params().len() > MAX_FLAT_PARAMS {
        let at = flat.next().unwrap_or_default() as u32;
        let Val::Tuple(args) = lift.load_aligned(&ty.params_in_memory(), at)? else {
            unreachable!("parameters in memory are a tuple")
        };
        args
    } else {
        ty.params.iter().map(|(_, ty)| lift.flat(ty, &mut flat)).collect::<Result<_>>()?
    };
    let result = match callee {
        Callee::Host(func) => {
            let mut results = vec![Val::Bool(false); usize::from(ty.result.is_some())];
            func(store.as_context_mut(), &args, &mut results)?;
            results.pop()
        }
        Callee::Lifted(index) => call::call(state, store, *index, &args)?,
    };
    let (Some(ty), Some(result)) = (&ty.result, result) else { return Ok(None) };
    result.check(ty).map_err(|error| Error::new(ErrorKind::Type, format_args!("host function: {error}")))?;
    let at = flat.next_back().unwrap_or_default() as u32;
    // A result cannot be lent.
    let lent = &mut Vec::new();
    state.staying(options.instance, || {
        let mut lower = Lower::new(store, options, state, lent);
        if ty.flat().len() > MAX_FLAT_RESULTS {
            return lower.store_aligned(ty, &result, at).map(|()| None);
        }
        let mut flat = Vec::new();
        lower.flat(ty, &result, &mut flat)?;
        Ok(flat.first().copied())
    })
}

/// Makes a handle for what the component that defines a resource calls one.
pub fn resource_new<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], [ValType::I32]));
    Func::new(store, ty, move |_, params, results| {
        state.check_may_leave(instance)?;
        let rep = bits(&params[0]) as u32;
        let handle = state.with_handles(instance, |handles| handles.add(resource, rep, true))?;
        results[0] = crate::Val::I32(handle as i32);
        Ok(())
    })
}

/// Drops a handle.
pub fn resource_drop<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], []));
    Func::new(store, ty, move |mut caller, params, _| {
        state.check_may_leave(instance)?;
        let handle = bits(&params[0]) as u32;
        state.drop_handle(&mut caller.as_context_mut(), instance, (handle, resource))
    })
}

/// What a handle stands for, for the component that defines the resource.
pub fn resource_rep<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], [ValType::I32]));
    Func::new(store, ty, move |_, params, results| {
        let handle = bits(&params[0]) as u32;
        let rep = state.with_handles(instance, |handles| Ok(handles.get(handle, resource)?.rep))?;
        results[0] = crate::Val::I32(rep as i32);
        Ok(())
    })
}
