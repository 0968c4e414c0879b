//! Adapters in a store: code by which the components of a file call each other.

use std::sync::Arc;

use crate::component::faults::Fault;
use crate::component::plan::{AdapterImport, Adapters, CoreItem};
use crate::component::state::State;
use crate::component::strings;
use crate::component::trampoline::OWN;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Error, ErrorKind, Extern, Func, FuncType, Instance, Result, ValType};

/// Instantiates adapters in place of trampolines.
///
/// # Errors
/// Fails if what they import is not there.
pub fn place<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    adapters: &Adapters,
) -> Result<()> {
    let imports =
        adapters.imports.iter().map(|item| import(store, state, item)).collect::<Result<Vec<_>>>()?;
    // They are ours: no limit of the store's is for them.
    store.0.opaque.items.leave_out_next(true);
    let instance = Instance::new(&mut *store, &adapters.module, &imports);
    let instance = instance.inspect_err(|_| store.0.opaque.items.leave_out_next(false))?;
    for (number, &trampoline) in adapters.trampolines.iter().enumerate() {
        let func = instance.get_func(&mut *store, &number.to_string());
        let missing = || Error::new(ErrorKind::Link, "an adapter is missing");
        state.set_trampoline(trampoline, func.ok_or_else(missing)?);
    }
    Ok(())
}

fn import<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    import: &AdapterImport,
) -> Result<Extern> {
    Ok(match import {
        AdapterImport::Fail => Extern::Func(fail(store)),
        AdapterImport::CheckText(memory) => Extern::Func(check_text(store, state, memory)?),
        AdapterImport::Item(item) => state.find(store, item)?,
        AdapterImport::Flags(instance) => Extern::Global(state.flags(&mut store.0.opaque, *instance)),
    })
}

/// Creates the function that traps.
fn fail<T: 'static>(store: &mut StoreContextMut<'_, T>) -> Func {
    let ty = FuncType::new([ValType::I32, ValType::I64, ValType::I64], []);
    Func::named(store, (OWN, "trap"), ty, |_, params| {
        Err(Fault::of_parts(params[0] as u32, [params[1], params[2]]).error())
    })
}

/// Creates the function that traps unless text in a memory is UTF-8.
fn check_text<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    memory: &CoreItem,
) -> Result<Func> {
    let missing = || Error::new(ErrorKind::Link, "an adapter lacks a memory");
    let memory = state.find(store, memory)?.into_memory().ok_or_else(missing)?;
    let ty = FuncType::new([ValType::I32, ValType::I32], []);
    Ok(Func::named(store, (OWN, "check text"), ty, move |mut caller, params| {
        let store = caller.as_context_mut();
        strings::check_utf8(memory.data(&store), params[0] as u32, params[1] as u32)?;
        Ok(None)
    }))
}
