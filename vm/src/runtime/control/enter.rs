//! Entries into wasm code, and their outcomes: results, or a trap with its backtrace.

use std::cell::UnsafeCell;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use wprof_jit::abi::TrapCode;

use super::call_hooks::{self, CallHook};
use super::host_calls;
use super::store_control::Pending;
use crate::runtime::counts::{event_counts, metrics};
use crate::runtime::entries;
use crate::runtime::instances::abi::{
    ArrayCall, VmActivation, VmFuncRef, VmHostContext, VmStoreContext, VmValue,
};
use crate::runtime::instances::store_opaque::{StoreOpaque, StoreWith};
use crate::runtime::instances::stored::FuncPtr;
use crate::runtime::interruption::deadline;
use crate::runtime::interruption::interrupt_page::Signals;
use crate::runtime::stacks::activation::{self, Activation, TrapRecord};
use crate::runtime::stacks::fiber::Suspender;
use crate::runtime::stacks::frames::Frame;
use crate::runtime::stacks::stack::{Here, Place};
use crate::runtime::stacks::{alt_stack, frames};
use crate::{Error, Trap};

/// The early end of a call.
#[derive(Debug)]
pub struct Ended {
    /// The reason.
    pub error: Error,
    /// The wasm frames at the trap, innermost first, if wasm code has trapped.
    pub frames: Option<Vec<Frame>>,
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended { error, frames: None }
    }
}

/// The outcome of a call.
pub type Outcome = Result<(), Ended>;

/// Calls `func`, which takes its arguments from `values` and stores its results there.
///
/// # Errors
/// Returns the reason of an early end.
///
/// # Panics
/// Panics if `func` belongs to another store, or a host function panics.
///
/// # Safety
/// `values` has room for all arguments and results, and holds arguments of the types of `func`, whose references belong
/// to this store.
pub unsafe fn call<D>(store: &mut StoreWith<D>, func: FuncPtr, values: &mut [VmValue]) -> Outcome {
    debug_assert!(values.len() >= store.opaque.items.func_type(func).ty.array_len());
    // SAFETY: the caller upholds this function's safety contract, and `StoreWith` begins with its `StoreOpaque`.
    unsafe { call_alone(NonNull::from(store).cast(), func, values.as_mut_ptr()) }
}

/// Calls `func`; the call may wait, if it is on a fiber.
///
/// # Errors
/// Fails as [`call`] does.
///
/// # Panics
/// Panics as [`call`] does.
///
/// # Safety
/// Same as for [`call`]; the caller's values on the stack can be sent to another thread.
pub unsafe fn call_or_wait<D>(store: &mut StoreWith<D>, func: FuncPtr, values: &mut [VmValue]) -> Outcome {
    debug_assert!(values.len() >= store.opaque.items.func_type(func).ty.array_len());
    // SAFETY: as in `call`.
    unsafe { call_any(NonNull::from(store).cast(), func, values.as_mut_ptr()) }
}

// What follows does not depend on the data of the store, so it is compiled once, with all that it calls.

unsafe fn call_alone(store: NonNull<StoreOpaque>, func: FuncPtr, values: *mut VmValue) -> Outcome {
    // SAFETY: the pointer derives from an exclusive reference to the whole store, which each callee returns.
    unsafe {
        let _staying = Staying::new(store);
        call_any(store, func, values)
    }
}

/// A call during which the stack must stay on its thread, as the caller's frames may hold values that cannot be sent. The
/// suspender comes back when it ends, even when a host function's panic unwinds.
struct Staying {
    store: NonNull<StoreOpaque>,
    suspender: Option<Suspender>,
}

impl Staying {
    /// Takes the suspender of the running code.
    ///
    /// # Safety
    /// The caller has the store, which lives longer than the result, whenever the result is made or dropped.
    unsafe fn new(store: NonNull<StoreOpaque>) -> Staying {
        // SAFETY: the caller guarantees it.
        Staying { store, suspender: unsafe { (*store.as_ptr()).control.replace_suspender(None) } }
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        // SAFETY: the caller of `new` guarantees it.
        unsafe { (*self.store.as_ptr()).control.replace_suspender(self.suspender.take()) };
    }
}

unsafe fn call_any(store: NonNull<StoreOpaque>, func: FuncPtr, values: *mut VmValue) -> Outcome {
    // SAFETY: the store is whole, and nobody else uses it.
    unsafe { deadline::act_before_call(store)? };
    // SAFETY: as above; the reference ends before the store is lent.
    let opaque = unsafe { &mut *store.as_ptr() };
    opaque.items.check_data()?;
    opaque.heed_tick();
    let here = Here::now();
    if here.is_low() {
        return Err(Error::from(Trap::StackOverflow).into());
    }
    opaque.observed.pass_entry_slot();
    match host_calls::context_of(&opaque.items, func) {
        // SAFETY: the caller upholds the safety contract of `call`.
        Some(context) => unsafe { call_host(store, context, values) },
        // SAFETY: as above.
        None => unsafe { call_wasm_from(here, store, func, values) },
    }
}

/// Calls a host function, which runs on the current stack, and enters wasm by its own calls.
unsafe fn call_host(
    store: NonNull<StoreOpaque>,
    context: NonNull<VmHostContext>,
    values: *mut VmValue,
) -> Outcome {
    // SAFETY: the caller guarantees the values, and has the store, which is lent here.
    let failed = unsafe {
        let _lent = Lent::new(store, 0);
        host_calls::call(context, values) != 0
    };
    // SAFETY: the host function has returned the store.
    if failed { Err(unsafe { take_pending(store) }.into()) } else { Ok(()) }
}

unsafe fn call_wasm_from(
    here: Here,
    store: NonNull<StoreOpaque>,
    func: FuncPtr,
    values: *mut VmValue,
) -> Outcome {
    // SAFETY: the caller has the store; the reference ends before it is lent.
    let opaque = unsafe { &mut *store.as_ptr() };
    let (callee, trampoline) =
        (opaque.items.func_ref(func), opaque.engine().host_to_wasm(opaque.items.func_type(func))?);
    let mut place = Place::find(here, opaque.engine().config().stack.max_bytes)
        .map_err(|e| Error::system("no memory for a stack", e))?;
    if let Some(low) = opaque.collected.objects.take_lowest() {
        place.clear_from(low);
    }
    // SAFETY: the store is whole, and nobody else uses it.
    unsafe { call_hooks::tell(store, CallHook::CallingWasm)? };
    // SAFETY: the pointer derives from the exclusive reference to the whole store, which is not used meanwhile. The
    // trampoline was compiled for the function's type.
    let outcome = unsafe {
        let _lent = Lent::new(store, place.limit());
        call_wasm(store, &callee, (trampoline, &place), values)
    };
    // SAFETY: the call has returned the store.
    let told = unsafe { call_hooks::tell(store, CallHook::ReturningFromWasm) };
    outcome.and_then(|()| Ok(told?))
}

/// A store that is lent to the code that the host calls. Returns it to its previous holder, even when a host function's
/// panic unwinds.
struct Lent {
    context: NonNull<VmStoreContext>,
    saved: *mut StoreOpaque,
    saved_limit: usize,
}

impl Lent {
    /// Lends the store, to code that may call the host down to this stack pointer.
    ///
    /// # Safety
    /// The caller holds the store exclusively until the result is dropped, and lends it to what it calls.
    unsafe fn new(store: NonNull<StoreOpaque>, limit: usize) -> Lent {
        // SAFETY: the caller guarantees it; no Rust reference to the context exists.
        unsafe {
            let context = store.as_ref().context();
            let saved = std::mem::replace(&mut (*context.as_ptr()).store, store.as_ptr());
            let saved_limit = std::mem::replace(&mut (*context.as_ptr()).stack_limit, limit);
            Lent { context, saved, saved_limit }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: the context lives as long as the store.
        unsafe {
            (*self.context.as_ptr()).store = self.saved;
            (*self.context.as_ptr()).stack_limit = self.saved_limit;
        }
    }
}

unsafe fn call_wasm(
    store: NonNull<StoreOpaque>,
    func: &VmFuncRef,
    (trampoline, place): (usize, &Place),
    values: *mut VmValue,
) -> Outcome {
    // SAFETY: the caller's pointer refers to a whole store, which is lent.
    unsafe {
        if store.as_ref().engine().signals() == Signals::Used {
            alt_stack::ensure();
        }
        event_counts::ask_before_call(store)?;
    };
    // SAFETY: this function holds the store exclusively, and gave no reference to it away.
    unsafe {
        if (*store.as_ptr()).observed.record_calls() {
            metrics::calibrate(store);
        }
    }
    let (span, in_burst);
    // SAFETY: this function holds the store exclusively until wasm code runs.
    let (context, interrupt) = unsafe {
        let store = &mut *store.as_ptr();
        store.control.attach_thread();
        if let Some(trace) = &mut store.observed.trace {
            trace.enter(func);
        }
        in_burst = store.check_entry(func);
        store.control.enter();
        span = store.observed.begin_span();
        if store.observed.record_calls() {
            store.observed.metrics.enter();
            store.observed.samples.enter(store.control.depth());
        }
        (store.context().as_ptr(), Arc::as_ptr(store.control.interrupt()))
    };
    let activation = Activation {
        vm: UnsafeCell::new(VmActivation::default()),
        previous: activation::newest(),
        context,
        vmctx: func.vmctx.cast(),
        // SAFETY: the context lives as long as the store.
        saved_exit_fp: unsafe { (*context).exit_fp },
        // SAFETY: as above.
        saved_host: unsafe { std::mem::replace(&mut (*context).host, 0) },
        // SAFETY: as above.
        saved_frames_left: unsafe { (*context).frames_left },
        stack: place.stack(),
        is_on_own_stack: place.top().is_some(),
        interrupt,
        trap: UnsafeCell::new(None),
    };
    // SAFETY: the trampoline and the code were compiled for the function's type; the caller guarantees that `values`
    // fits; the activation stays in place while it is on the chain. Wasm code keeps to its instance's memory. A
    // separate stack belongs to this entry alone.
    let trapped = activation::run(&activation, || unsafe {
        let enter = std::mem::transmute::<usize, ArrayCall>(trampoline);
        let slots = &*func.slots;
        let slot = if in_burst { &slots.instrumented_entry } else { &slots.entry };
        let code = slot.load(Ordering::Acquire);
        let vm = activation.vm.get();
        match place.top() {
            None => enter(func.vmctx, func.vmctx, code, values, vm),
            Some(top) => entries::enter_on_stack(func.vmctx, func.vmctx, code, values, vm, enter, top),
        }
    });
    // SAFETY: wasm code has ended, so this function holds the store exclusively again.
    let store = unsafe {
        (*context).exit_fp = activation.saved_exit_fp;
        (*context).host = activation.saved_host;
        (*context).frames_left = activation.saved_frames_left;
        &mut *store.as_ptr()
    };
    store.observed.end_span(span);
    store.control.leave();
    if trapped == 0 {
        return Ok(());
    }
    let record = activation.trap.into_inner().expect("left by the signal handler that unwound to here");
    Err(trap_error(store, record))
}

/// Converts a trap to an error, after counting the frames that it ended.
fn trap_error(store: &mut StoreOpaque, record: TrapRecord) -> Ended {
    if record.code == Some(TrapCode::Budget) {
        store.refuse_for_lack_of_stack();
    }
    store.observed.trials.drop_call();
    let unborn = store.count_unborn_context(&record);
    store.count_unfinished(&record, unborn);
    store.observed.charge_ended(&record);
    if let Some(trace) = &mut store.observed.trace {
        trace.unwind(&record);
    }
    let is_out_of_budget = store.control.is_out_of_budget();
    if let Err(error) = store.observed.settle_events(&record, is_out_of_budget) {
        return error.into();
    }
    let frames = Some(match store.control.thrown() {
        Some(exception) => frames::of_returns(exception.thrown.get().map_or(&[], |thrown| thrown)),
        None => frames::of_trap(&record),
    });
    let error = match record.code.map(Trap::from_code) {
        None => Trap::StackOverflow.into(),
        Some(Some(Trap::Interrupt)) => {
            store.control.interrupt().take().map_or(Trap::Interrupt, Trap::from).into()
        }
        Some(Some(trap)) => trap.into(),
        Some(None) => host_error(store),
    };
    Ended { error, frames }
}

unsafe fn take_pending(store: NonNull<StoreOpaque>) -> Error {
    // SAFETY: the caller holds the store exclusively.
    host_error(unsafe { &mut *store.as_ptr() })
}

/// Returns the reason for which the host made wasm code trap.
fn host_error(store: &mut StoreOpaque) -> Error {
    match store.control.take_pending() {
        // Unreadable data stops the code that accesses it; the signal handler does not determine the reason.
        None => store.items.check_data().err().unwrap_or_else(|| Trap::StackOverflow.into()),
        Some(Pending::Error(error)) => error,
        Some(Pending::Panic(payload)) => resume_unwind(payload),
    }
}
