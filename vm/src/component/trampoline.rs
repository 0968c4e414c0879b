//! Core functions that the host implements: lowered functions, and those for handles.
//!
//! Source: *CanonicalABI.md*, `canon lower`, `canon resource.new`, `canon resource.drop`, `canon resource.rep`.

use std::sync::Arc;

use super::call;
use super::faults::Fault;
use super::host_func::{HostFunc, Passed};
use super::state::{Options, State};
use super::types::FuncType;
use crate::exception::ThrownException;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Error, Func, ValType};

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
        let mut store = caller.as_context_mut();
        state.check_may_leave(&mut store.0.opaque, options.instance)?;
        let mut passed = Passed::new(&mut store, &state, (&ty, &options), params);
        let ended = match &callee {
            Callee::Host(func) => func.call(&mut passed),
            Callee::Lifted(index) => call::between(&mut passed, *index),
        };
        passed.end();
        ended.map_err(caught)
    })
}

/// Exceptions do not pass from one component to another, nor from the host to a component.
fn caught(error: Error) -> Error {
    if error.is::<ThrownException>() { Fault::Thrown.error() } else { error }
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
        let rep = params[0] as u32;
        let store = caller.as_context_mut();
        state.check_may_leave(&mut store.0.opaque, instance)?;
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
        let (mut store, handle) = (caller.as_context_mut(), params[0] as u32);
        state.check_may_leave(&mut store.0.opaque, instance)?;
        state.drop_handle(&mut store, instance, (handle, resource))?;
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
