//! Core functions that the host implements: lowered functions, and those for handles.
//!
//! Source: *CanonicalABI.md*, `canon lower`, `canon resource.new`, `canon resource.drop`, `canon resource.rep`.

use std::sync::Arc;

use super::call;
use super::host_func::{HostFunc, Passed};
use super::state::{Options, State};
use super::types::FuncType;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Func, Result, ValType};

/// The interface name in profiles for functions that are not imports.
pub const OWN: &str = "component";

/// The callee of a lowered function.
pub enum Callee<T: 'static> {
    Host(HostFunc<T>),
    /// A function of this or another component of the file, by its number in the plan.
    Lifted(u32),
}

/// Creates the core function of a lowered function.
pub fn lowered<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (ty, options): (Arc<FuncType>, Options),
    (callee, name): (Callee<T>, (&str, &str)),
) -> Func {
    let state = state.clone();
    Func::named(store, name, ty.lowered(), move |mut caller, params| {
        state.check_may_leave(options.instance)?;
        let mut store = caller.as_context_mut();
        let mut passed = Passed::new(&mut store, &state, (&ty, &options), params);
        let ended = match &callee {
            Callee::Host(func) => func.call(&mut passed),
            Callee::Lifted(index) => call_lifted(&mut passed, *index),
        };
        passed.end();
        ended
    })
}

/// Calls a function of another component of the file through the host.
fn call_lifted<T: 'static>(passed: &mut Passed<'_, '_, T>, index: u32) -> Result<Option<u64>> {
    let (state, caller) = (passed.state, passed.caller());
    state.check_apart(caller, state.component.plan().lifted[index as usize].options.instance)?;
    let args = passed.vals()?;
    match call::call(state, passed.store, (index, Some(caller)), &args)? {
        Some(result) => passed.result((result,)),
        None => Ok(None),
    }
}

/// Creates the function that makes a handle from the representation of a resource, for the component that defines
/// it.
pub fn resource_new<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], [ValType::I32]));
    Func::named(store, (OWN, "resource.new"), ty, move |mut caller, params| {
        state.check_may_leave(instance)?;
        let rep = params[0] as u32;
        let store = caller.as_context_mut();
        let handle = state.handles(&mut store.0.opaque, instance).add(resource, rep, true)?;
        Ok(Some(handle.into()))
    })
}

/// Creates the function that drops a handle.
pub fn resource_drop<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
    name: (&str, &str),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], []));
    Func::named(store, name, ty, move |mut caller, params| {
        state.check_may_leave(instance)?;
        let handle = params[0] as u32;
        state.drop_handle(&mut caller.as_context_mut(), instance, (handle, resource))?;
        Ok(None)
    })
}

/// Creates the function that returns the representation of a handle's resource, for the component that defines
/// it.
pub fn resource_rep<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (resource, instance): (u32, u32),
) -> Func {
    let (state, ty) = (state.clone(), crate::FuncType::new([ValType::I32], [ValType::I32]));
    Func::named(store, (OWN, "resource.rep"), ty, move |mut caller, params| {
        let handle = params[0] as u32;
        let store = caller.as_context_mut();
        let rep = state.handles(&mut store.0.opaque, instance).get(handle, resource)?.rep;
        Ok(Some(rep.into()))
    })
}
