//! The builtins that machine code calls for operations that it does not inline: `abi::Builtin`.
//!
//! Calls go through `entries`, which first checks that enough stack is left. A status of 1 makes the caller trap, with
//! the reason stored in the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use wprof_jit::abi::{GROW_TRAPS, check as outcome, path_row, store_context};
use wprof_profiler::BurstEvent;

use super::store_control::Pending;
use crate::runtime::counts::call_records::{Called, Extent};
use crate::runtime::counts::metrics::Measured;
use crate::runtime::counts::unfinished::Stopped;
use crate::runtime::instances::abi::{VmContext, VmStoreContext};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::{deadline, fork};
use crate::runtime::linear_memory::atomics;
use crate::runtime::linear_memory::bulk::{self, InitError};
use crate::runtime::linear_memory::growth;
use crate::runtime::samples::FOR_ENGINE;
use crate::runtime::values::{arrays, element_arrays};
use crate::{Error, Result, Trap, arch};

/// Returns the store and the index of the calling instance.
///
/// # Safety
/// For builtins only: `vmctx` belongs to the calling instance, whose store is lent to wasm, which waits for this
/// builtin.
pub(super) unsafe fn caller<'a>(vmctx: *const VmContext) -> (&'a mut StoreOpaque, u32) {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        let vmctx = &*vmctx;
        (&mut *(*vmctx.store).store, vmctx.instance as u32)
    }
}

/// Reports whether the program is to stop here, and stores the reason: a request to stop is found by checks, but a loop
/// may spend almost all its time in builtins, where no signal finds a check. May ask the embedder, and may collect, so
/// it is called before the builtin's own work.
///
/// # Safety
/// For builtins called through `entries` only: `vmctx` belongs to the calling instance, and no reference to its store
/// exists.
pub(super) unsafe fn is_to_stop(vmctx: *const VmContext) -> bool {
    // SAFETY: the caller upholds this function's safety contract; `entries` has stored the calling frame there.
    unsafe {
        let context = (*vmctx).store;
        if !(*(*context).store).control.interrupt().is_requested() {
            return false;
        }
        // The frame record that a function prologue would create.
        let frame = [(*context).left_fp, (*context).left_pc];
        !deadline::act_for_wasm(context, frame.as_ptr().expose_provenance())
    }
}

fn status(store: &mut StoreOpaque, result: Result<(), Trap>) -> u32 {
    match result.map_err(Error::from).and_then(|()| store.items.check_data()) {
        Ok(()) => 0,
        Err(error) => {
            store.control.fail_with(error);
            1
        }
    }
}

/// Defines builtins that return a status; each performs an operation on many values.
macro_rules! bulk_operations {
    ($($name:ident($($arg:ident: $ty:ty),*) = $operation:expr;)*) => {
        $(
            /// The `Builtin` of this name.
            ///
            /// # Safety
            /// For machine code only, which passes its own vmctx.
            pub unsafe extern "C" fn $name(vmctx: *const VmContext, $($arg: $ty),*) -> u32 {
                // SAFETY: `entries` calls this builtin.
                if unsafe { is_to_stop(vmctx) } {
                    return 1;
                }
                // SAFETY: machine code passes its own vmctx.
                let (store, instance) = unsafe { caller(vmctx) };
                let operation: fn(&mut StoreOpaque, u32, $($ty),*) -> Result<(), Trap> = $operation;
                let result = operation(store, instance, $($arg),*);
                status(store, result)
            }
        )*
    };
}

bulk_operations! {
    memory_copy(to: u32, from: u32, dst: u64, src: u64, n: u64) = bulk::memory_copy;
    memory_fill(memory: u32, dst: u64, byte: u32, n: u64) =
        |store, i, memory, dst, byte, n| bulk::memory_fill(store, i, memory, dst, byte as u8, n);
    memory_init(memory: u32, segment: u32, dst: u64, src: u32, n: u32) =
        |store, i, memory, segment, dst, src, n| {
            bulk::memory_init(store, i, memory, segment, dst, src, n).map_err(InitError::trap)?;
            store.touch_memory(i, memory, dst, n.into());
            Ok(())
        };
    table_copy(to: u32, from: u32, dst: u64, src: u64, n: u64) = bulk::table_copy;
    table_fill(table: u32, dst: u64, value: u64, n: u64) = bulk::table_fill;
    table_init(table: u32, segment: u32, dst: u64, src: u32, n: u32) = bulk::table_init;
    array_fill(array: u64, start: u32, low: u64, high: u64, n: u32) = arrays::fill;
    array_copy(to: u64, dst: u32, from: u64, src: u32, n: u32) = arrays::copy;
    array_init_data(to: u64, segment: u32, dst: u32, src: u32, n: u32) = arrays::init_data;
    array_init_elem(to: u64, segment: u32, dst: u32, src: u32, n: u32) = element_arrays::init_elem;
}

/// Defines builtins that return a new object, or 0.
macro_rules! allocations {
    ($($name:ident($($arg:ident: $ty:ty),*) = $operation:expr;)*) => {
        $(
            /// The `Builtin` of this name.
            ///
            /// # Safety
            /// For machine code only, which passes its own vmctx and the id of a type of its module.
            pub unsafe extern "C" fn $name(vmctx: *const VmContext, $($arg: $ty),*) -> u64 {
                // SAFETY: `entries` calls this builtin.
                if unsafe { is_to_stop(vmctx) } {
                    return 0;
                }
                // SAFETY: machine code passes its own vmctx.
                let (store, instance) = unsafe { caller(vmctx) };
                let operation: fn(&mut StoreOpaque, u32, $($ty),*) -> Result<u64, Trap> = $operation;
                operation(store, instance, $($arg),*).unwrap_or_else(|trap| fail(store, trap, 0))
            }
        )*
    };
}

allocations! {
    allocate(id: u32, length: u32) = |store, _, id, length| store.allocate(id, length);
    array_new_data(id: u32, segment: u32, src: u32, n: u32) = arrays::new_data;
    array_new_elem(id: u32, segment: u32, src: u32, n: u32) = element_arrays::new_elem;
}

/// `Builtin::MemoryGrow`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn memory_grow(vmctx: *const VmContext, memory: u32, delta: u64) -> u64 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let memory = store.items.instance(instance).memories[memory as usize];
    // SAFETY: as above; the store is whole at the origin of the loan, and nothing else uses it meanwhile.
    unsafe { grow((*vmctx).store, |store| growth::memory(store, memory, delta, true)) }
}

/// Performs a growth, about which the embedder may be asked, and returns the old size, -1 or [`GROW_TRAPS`].
///
/// # Safety
/// For builtins called through `entries` only: the context belongs to the calling instance's store.
unsafe fn grow(
    context: *mut VmStoreContext,
    work: impl FnOnce(NonNull<StoreOpaque>) -> Result<Option<u64>>,
) -> u64 {
    // The frame record that a function prologue would create.
    // SAFETY: the caller upholds this function's safety contract; `entries` has stored the calling frame there.
    let frame = unsafe { [(*context).left_fp, (*context).left_pc] };
    let work = |store| catch_unwind(AssertUnwindSafe(|| work(store)));
    // SAFETY: the frame record lives during the work, which does not panic.
    let pending = match unsafe { deadline::leave(context, frame.as_ptr().expose_provenance(), work) } {
        Ok(Ok(old)) => return old.unwrap_or(u64::MAX),
        Ok(Err(error)) => Pending::Error(error),
        Err(panic) => Pending::Panic(panic),
    };
    // SAFETY: the store is lent to wasm, which waits for this builtin.
    unsafe { (*(*context).store).control.fail(pending) };
    GROW_TRAPS as u64
}

/// The result of a failed `Builtin::MemoryWait`.
const WAIT_FAILED: u32 = 3;

/// `Builtin::MemoryWait`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn memory_wait(
    vmctx: *const VmContext,
    memory: u32,
    address: u64,
    bytes: u32,
    expected: u64,
    nanoseconds: i64,
) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let memory = match atomics::to_wait_at(&store.items, instance, memory, address, bytes) {
        Ok(memory) => memory,
        Err(trap) => return fail(store, trap, WAIT_FAILED),
    };
    // SAFETY: as above; the previous reference is no longer used. `entries` has stored the calling frame there.
    let (context, frame) = unsafe {
        let context = (*vmctx).store;
        (context, [(*context).left_fp, (*context).left_pc])
    };
    let exit_fp = frame.as_ptr().expose_provenance();
    // SAFETY: the frame record lives during the wait, and the store is lent to wasm, which waits for this builtin.
    let check = || match unsafe { deadline::act_for_wasm(context, exit_fp) } {
        true => Ok(()),
        false => Err(WAIT_FAILED),
    };
    let result = atomics::wait(&memory, address, (bytes, expected), nanoseconds, check);
    result.map_or_else(|failed| failed, |woken| woken as u32)
}

/// `Builtin::MemoryNotify`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn memory_notify(vmctx: *const VmContext, memory: u32, address: u64, most: u32) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let result = atomics::notify(&store.items, instance, memory, address, most);
    result.unwrap_or_else(|trap| fail(store, trap, u32::MAX))
}

/// Stores a trap in the store, and returns the result that signals it.
pub(super) fn fail<R>(store: &mut StoreOpaque, trap: Trap, result: R) -> R {
    store.control.fail_with(trap);
    result
}

/// `Builtin::TableGrow`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn table_grow(vmctx: *const VmContext, table: u32, delta: u64, init: u64) -> u64 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let table = store.items.instance(instance).tables[table as usize];
    // SAFETY: as in `memory_grow`.
    unsafe { grow((*vmctx).store, |store| growth::table(store, table, delta, init, true, true)) }
}

/// `Builtin::CountPath`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn count_path(vmctx: *const VmContext, func: u32, number: u64) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    if store.observed.counts_in_burst() {
        store.items.instance_mut(instance).paths.count(func, number);
    }
    0
}

/// `Builtin::TakeRow`.
///
/// # Safety
/// For machine code only, which passes its own vmctx and a row of its function's counters.
pub unsafe extern "C" fn take_row(vmctx: *const VmContext, func: u32, row: *mut u64, key: u64) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let figures = 1 + store.observed.metrics.all().len() as u32;
    // SAFETY: the row consists of that many words, and machine code waits for this builtin.
    let row = unsafe { std::slice::from_raw_parts_mut(row, path_row::words(figures) as usize) };
    store.items.instance_mut(instance).paths.empty_row(func, row);
    row[0] = key;
    0
}

/// `Builtin::CountTarget`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn count_target(vmctx: *const VmContext, cell: u32, reference: u64) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    if store.observed.counts_for_callee() {
        store.items.instance_mut(instance).count_target(cell, reference);
    }
    0
}

/// `Builtin::CutPath`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn cut_path(
    vmctx: *const VmContext,
    func: u32,
    block: u32,
    register: u64,
    counts: u64,
) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    if counts > 0 {
        // SAFETY: the context lives as long as the store; machine code, which has stored the measurements there, waits.
        let measured = unsafe { (*store.context().as_ptr()).measured }.map(i64::cast_unsigned);
        let measured = if store.observed.metrics.all().is_empty() { Measured::default() } else { measured };
        let cut = store.items.instance_mut(instance).cut.entry((func, block, register)).or_default();
        cut.add(Stopped { count: 1, measured });
    }
    store.observed.metrics.read_all();
    0
}

/// `Builtin::RecordBurst`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn record_burst(vmctx: *const VmContext, func: u32, number: u64, leaves: u32) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let event = match number {
        u64::MAX => BurstEvent::Enter { func },
        id => BurstEvent::Path { func, id },
    };
    let of_caller = store.items.instance_mut(instance);
    if let Some(bursts) = &mut store.observed.bursts {
        bursts.record(&of_caller.module, event);
    }
    if store.observed.counts_in_burst() {
        of_caller.extend_path(event, leaves != 0);
    }
    0
}

/// `Builtin::RecordAccess`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn record_access(vmctx: *const VmContext, site: u32, address: u64, bytes: u64) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    if let Some(bursts) = &mut store.observed.bursts {
        let module = &store.items.instance(instance).module;
        bursts.record(module, BurstEvent::Access { site, address, bytes });
    }
    0
}

/// `Builtin::BeginTrial`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn begin_trial(vmctx: *const VmContext, func: u32) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    store.observed.trials.begin(&store.items, instance, func)
}

/// `Builtin::EndTrial`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn end_trial(vmctx: *const VmContext) -> u32 {
    let ended = arch::cycles();
    // SAFETY: machine code passes its own vmctx.
    let (store, _) = unsafe { caller(vmctx) };
    store.observed.trials.end(&store.items, ended);
    0
}

/// `Builtin::Promote`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn promote(vmctx: *const VmContext, func: u32, block: u32) -> usize {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let of_caller = store.items.instance(instance);
    let calls = of_caller.calls_in_baseline(func);
    let quiet = fork::quiet();
    let promoted = of_caller.module.clone().request_promotion(func, block, calls);
    drop(quiet);
    if promoted.is_none() {
        of_caller.cool_down(func);
    }
    store.observed.metrics.read_all();
    promoted.unwrap_or(0)
}

/// `abi::check_signature`; called by `entries::check`, which preserves all registers except the pinned one, which
/// receives the result. If checks are not counted, that register is an ordinary one.
///
/// # Safety
/// For machine code only, which passes its store's context; `entries` has saved `fp` and `return_pc` at `exit_fp`.
pub unsafe extern "C" fn check(
    context: *mut VmStoreContext,
    return_pc: usize,
    pinned: i64,
    fp: usize,
    exit_fp: usize,
) -> i64 {
    // SAFETY: machine code passes its store's context, and the store is lent to it.
    unsafe {
        let are_counted = (*context).pinned == store_context::CHECKS as usize;
        if are_counted {
            (*context).checks = pinned;
        }
        let is_to_ask = (*(*context).store).control.interrupt().is_to_ask();
        if is_to_ask && !deadline::act_for_wasm(context, exit_fp) {
            (*context).go_on = outcome::TRAP;
        } else {
            ((*context).left_pc, (*context).left_fp, (*context).left_for) = (return_pc, fp, FOR_ENGINE);
            (*(*context).store).check_fired(return_pc, fp);
            (*context).left_pc = 0;
        }
        if are_counted { (*context).checks } else { pinned }
    }
}

/// `abi::find_record_signature`; called by `entries::find_record`, which preserves all registers.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn find_record(vmctx: *const VmContext, func: u32, sites: u32, slot: usize) {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    let cells = store.observed.record_cells(&store.items, instance, func);
    if let Some(contexts) = &mut store.observed.contexts {
        let (records, key) = (contexts.records_mut(), (vmctx.addr() + func as usize) as u64);
        let routine = records.routine(Called::Wasm(instance, func));
        records.find_and_keep(slot, routine, key, Extent { sites, cells });
    }
    store.observed.metrics.read_all();
}

/// `abi::read_metrics_signature`; called by `entries::read_metrics`, which preserves all registers.
///
/// # Safety
/// For machine code only, which passes its store's context.
pub unsafe extern "C" fn read_metrics(context: *mut VmStoreContext) {
    // SAFETY: the store is lent to wasm, which waits for this builtin.
    let store = unsafe { &mut *(*context).store };
    store.observed.metrics.read_all();
}

/// Shows simulations what they have yet to see; called by `entries::read_cycles_and_log`, which preserves all registers
/// and excludes the time from readings.
///
/// # Safety
/// For machine code only, which passes its store's context.
pub unsafe extern "C" fn simulate(context: *mut VmStoreContext) {
    // SAFETY: the store is lent to wasm, which waits for this builtin.
    let store = unsafe { &mut *(*context).store };
    store.observed.metrics.simulate_in_reading();
}
