//! Calls of lifted functions.
//!
//! Source: *CanonicalABI.md*, `canon lift`.

use std::sync::Arc;

use super::host_func::Passed;
use super::lift::{Lift, Loans};
use super::lower::Lower;
use super::resource::ResourceAny;
use super::state::{Lifted, State};
use super::typed::{CoreValues, Flat};
use super::types::{FuncType, MAX_FLAT_PARAMS, MAX_FLAT_RESULTS};
use super::val::Val;
use crate::runtime::values::budget::Charge;
use crate::store::StoreContextMut;
use crate::{Error, ErrorKind, Result};

/// Calls a lifted function for the host. After a failure, no function of the callee's
/// instance can be called any more. If it may wait, this call must be alone on its fiber.
///
/// # Errors
/// Fails if the arguments do not match the parameter types, the function traps, or its values violate the canonical
/// ABI.
pub fn call<T: 'static>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    index: u32,
    args: &[Val],
    may_wait: bool,
) -> Result<Option<Val>> {
    let lifted = state.lifted(store, index)?;
    check_args(&lifted.ty, args)?;
    let result = |lift: &mut Lift<'_>, flat: &[u64]| lift_result(&lifted.ty, lift, flat);
    call_with(state, store, (lifted, may_wait), |lower| lower_args(&lifted.ty, args, lower), result)
}

/// Calls a function of another component of the file, through the host.
///
/// # Errors
/// Fails if the function traps, or values violate the canonical ABI.
pub fn between<T: 'static>(passed: &mut Passed<'_, '_, T>, index: u32) -> Result<Option<u64>> {
    let (state, caller) = (passed.state, passed.caller());
    let lifted = state.lifted(passed.store, index)?;
    let instance = lifted.options.instance;
    state.check_apart(caller, instance)?;
    state.enter(&mut passed.store.0.opaque, instance, Some(caller))?;
    let mut lent = Vec::new();
    let result = passed_on(passed, lifted, &mut lent);
    lent.iter().for_each(ResourceAny::give_back);
    let result = result?;
    state.leave(&mut passed.store.0.opaque, instance, Some(caller));
    Ok(result)
}

fn passed_on<T: 'static>(
    passed: &mut Passed<'_, '_, T>,
    lifted: &Lifted,
    lent: &mut Vec<ResourceAny>,
) -> Result<Option<u64>> {
    let (state, ty) = (passed.state, &lifted.ty);
    let (args, taken) = (passed.vals()?, passed.taken());
    let lower = move |lower: &mut Lower<'_, '_, T>| {
        let flat = lower_args(ty, &args, lower);
        // They are gone before the callee runs: it may make such a call itself, and so on.
        drop((args, taken));
        flat
    };
    // Wasm code calls this, so it may wait if that may: nothing here must stay on its thread.
    let bits = called(state, passed.store, (lifted, true), lower, lent)?;
    let result = |lift: &mut Lift<'_>, flat: &[u64]| lift_result(ty, lift, flat);
    let (result, taken) = lifted_result(state, passed.store, lifted, bits, result)?;
    // The caller has the result before the callee cleans up.
    let flat = result.map_or(Ok(None), |result| passed.result((result,)))?;
    drop(taken);
    clean_up(state, passed.store, lifted, bits)?;
    Ok(flat)
}

/// Calls a lifted function for the host, as [`call`] does, with custom lowering of the arguments and lifting of the result.
///
/// What it has on the stack while the function runs can be sent to other threads: references to what threads share, and
/// resources.
///
/// # Errors
/// Fails as [`call`] does.
pub fn call_with<T: 'static, R>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    (lifted, may_wait): (&Lifted, bool),
    args: impl FnOnce(&mut Lower<'_, '_, T>) -> Result<CoreValues>,
    result: impl FnOnce(&mut Lift<'_>, &[u64]) -> Result<R>,
) -> Result<R> {
    let instance = lifted.options.instance;
    let mut lent = Vec::new();
    if let Some(bridge) = state.bridge_of(instance) {
        let result = bridge.call(state, store, (lifted, may_wait), (args, result), &mut lent);
        lent.iter().for_each(ResourceAny::give_back);
        return result;
    }
    state.enter(&mut store.0.opaque, instance, None)?;
    let result = entered(state, store, (lifted, may_wait), (args, result), &mut lent);
    lent.iter().for_each(ResourceAny::give_back);
    let result = result?;
    state.leave(&mut store.0.opaque, instance, None);
    Ok(result)
}

fn entered<T: 'static, R>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    (lifted, may_wait): (&Lifted, bool),
    (args, result): (
        impl FnOnce(&mut Lower<'_, '_, T>) -> Result<CoreValues>,
        impl FnOnce(&mut Lift<'_>, &[u64]) -> Result<R>,
    ),
    lent: &mut Vec<ResourceAny>,
) -> Result<R> {
    let bits = called(state, store, (lifted, may_wait), args, lent)?;
    let (result, _) = lifted_result(state, store, lifted, bits, result)?;
    clean_up(state, store, lifted, bits)?;
    Ok(result)
}

/// Passes the arguments and calls the core function; returns the bits of its result.
fn called<T: 'static>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    (Lifted { func, options, .. }, may_wait): (&Lifted, bool),
    args: impl FnOnce(&mut Lower<'_, '_, T>) -> Result<CoreValues>,
    lent: &mut Vec<ResourceAny>,
) -> Result<Option<u64>> {
    let flat =
        state.staying(store, options.instance, |store| args(&mut Lower::new(store, options, state, lent)))?;
    func.call_numeric_in(store, &flat, may_wait)
}

/// Takes the result out of the callee; returns what its values take as well.
fn lifted_result<T: 'static, R>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    Lifted { options, .. }: &Lifted,
    bits: Option<u64>,
    result: impl FnOnce(&mut Lift<'_>, &[u64]) -> Result<R>,
) -> Result<(R, Charge)> {
    // A result cannot contain borrowed handles.
    let mut loans = Loans::default();
    let result = result(&mut Lift::new(store, options, state, &mut loans), bits.as_slice())?;
    state.check_returned(&mut store.0.opaque, options.instance)?;
    Ok((result, loans.taken))
}

/// Lets the callee free what the result took.
fn clean_up<T: 'static>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    Lifted { options, .. }: &Lifted,
    bits: Option<u64>,
) -> Result<()> {
    let Some(post_return) = options.post_return else { return Ok(()) };
    state.staying(store, options.instance, |store| post_return.call_numeric(store, bits.as_slice()))?;
    Ok(())
}

fn lift_result(ty: &FuncType, lift: &mut Lift<'_>, flat: &[u64]) -> Result<Option<Val>> {
    match &ty.result {
        None => Ok(None),
        Some(result) if result.flat().len() > MAX_FLAT_RESULTS => {
            lift.load_passed(result, flat.first().copied().unwrap_or_default() as u32).map(Some)
        }
        Some(result) => lift.flat(result, &mut Flat(flat)).map(Some),
    }
}

fn lower_args<T: 'static>(ty: &FuncType, args: &[Val], lower: &mut Lower<'_, '_, T>) -> Result<CoreValues> {
    if ty.flat_params().len() > MAX_FLAT_PARAMS {
        let at = lower.allocate(&ty.tuple, args)?;
        return Ok(CoreValues::from_slice(&[u64::from(at)]));
    }
    let mut flat = CoreValues::new();
    for ((_, ty), value) in ty.params.iter().zip(args) {
        lower.flat(ty, value, &mut flat)?;
    }
    Ok(flat)
}

fn check_args(ty: &FuncType, args: &[Val]) -> Result<()> {
    if args.len() != ty.params.len() {
        let message = format!("expected {} arguments, got {}", ty.params.len(), args.len());
        return Err(Error::new(ErrorKind::Type, message));
    }
    let check = |((name, ty), value): (&(String, _), &Val)| {
        value.check(ty).map_err(|error| error.context(format_args!("argument `{name}`")))
    };
    ty.params.iter().zip(args).try_for_each(check)
}

/// Returns the bits of a core value.
pub fn bits(value: &crate::Val) -> u64 {
    match value {
        crate::Val::I32(value) => u64::from(*value as u32),
        crate::Val::I64(value) => *value as u64,
        crate::Val::F32(bits) => u64::from(*bits),
        crate::Val::F64(bits) => *bits,
        _ => 0,
    }
}
