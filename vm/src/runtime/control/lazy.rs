//! Lazy compilation of functions at their first call.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use wprof_jit::abi;

use super::host_calls;
use super::store_control::Pending;
use crate::runtime::burst::store_bursts::StoreBursts;
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::instances::abi::{VmContext, VmHostContext};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::fork;
use crate::{Result, Trap};

/// Compiles the function of a lazy stub, and returns the address at which to continue. If that fails, the reason
/// is left in the store and the address is that of code that traps.
///
/// # Safety
/// For `entries::lazy_common` only, which guarantees: `callee` is a vmctx or host context; `caller` is the vmctx
/// of the calling instance, whose store is lent to wasm; `index` is a function index of the callee's module, or
/// anything for a host function.
pub unsafe extern "C" fn lazy_compile(
    callee: NonNull<c_void>,
    caller: NonNull<VmContext>,
    index: u32,
) -> usize {
    // SAFETY: the caller guarantees it. Wasm code waits for this function, so nothing else refers to the store.
    let store = unsafe { &mut *(*caller.as_ref().store).store };
    let began = store.observed.bursts.as_ref().and_then(StoreBursts::begin_first_call);
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller guarantees it.
        unsafe { compile(store, callee, index) }
    }));
    store.observed.bursts.iter_mut().for_each(|bursts| bursts.end_first_call(began));
    if let Ok(Ok(Some(address))) = compiled {
        // SAFETY: the caller guarantees it.
        unsafe { note_uncounted(store, callee, (index, address)) };
    }
    store.observed.samples.came_back();
    store.observed.metrics.read_all();
    let failure = match compiled {
        Ok(Ok(Some(address))) => return address,
        Ok(Ok(None)) => {
            Pending::Error(store.control.interrupt().take().map_or(Trap::Interrupt, Trap::from).into())
        }
        Ok(Err(error)) => Pending::Error(error),
        Err(panic) => Pending::Panic(panic),
    };
    store.control.fail(failure);
    // SAFETY: the context lives as long as the store.
    unsafe {
        let context = store.context().as_ptr();
        ((*context).failed_callee, (*context).failed_index) = (callee.as_ptr(), index);
    }
    store.engine().raise()
}

/// Notes that code for bursts calls a function which has no code for bursts, so that nothing of the call is counted.
///
/// # Safety
/// The same as for [`lazy_compile`]; `address` is that of the function's code.
unsafe fn note_uncounted(store: &mut StoreOpaque, callee: NonNull<c_void>, (index, address): (u32, usize)) {
    // SAFETY: the context lives as long as the store; the stub has left the address at which its caller continues.
    let caller = unsafe { (*store.context().as_ptr()).left_pc };
    let Some(bursts) = store.observed.bursts.as_mut().filter(|bursts| bursts.count_for_callee()) else {
        return;
    };
    let is_for_bursts = |code: Option<Arc<CodeObject>>| code.is_some_and(|object| object.code.in_bursts);
    // SAFETY: every vmctx and host context begins with its magic number.
    let is_host = unsafe { callee.cast::<u32>().read() == abi::host_context::MAGIC };
    if is_host || !is_for_bursts(registry::find_return(caller)) || is_for_bursts(registry::find(address)) {
        return;
    }
    // SAFETY: it is a vmctx, whose instance lives as long as its store.
    let instance = unsafe { callee.cast::<VmContext>().as_ref().instance };
    bursts.note_uncounted(&store.items.instance(instance as u32).module, index);
}

/// Compiles the function; `None` if the store is to stop before there is code.
unsafe fn compile(store: &StoreOpaque, callee: NonNull<c_void>, index: u32) -> Result<Option<usize>> {
    // SAFETY: every vmctx and host context begins with its magic number, which tells its type.
    unsafe {
        if callee.cast::<u32>().read() == abi::host_context::MAGIC {
            let _quiet = fork::quiet();
            return host_trampoline(store, callee.cast()).map(Some);
        }
        let instance = callee.cast::<VmContext>().as_ref().instance;
        let module = store.items.instance(instance as u32).module.clone();
        module.code_unless(index, &|| store.control.interrupt().stops_at_once())
    }
}

unsafe fn host_trampoline(store: &StoreOpaque, context: NonNull<VmHostContext>) -> Result<usize> {
    // SAFETY: the caller vouches for the context.
    let entry = unsafe { &host_calls::head(context).entry };
    let code = store.engine().wasm_to_host(entry)?;
    // SAFETY: the caller vouches for the context, and the trampoline is that of its type.
    unsafe { host_calls::publish(context, code) };
    Ok(code)
}
