//! Continuing after an instruction that faulted on purpose.
//!
//! Some stores in machine code fault when the runtime has to act: a budget is used up, or the buffer of a trace
//! is full; polls fault at a deadline. The signal handler makes the thread continue in `entries::resume`, which
//! saves all registers and calls [`go_on`]. That is ordinary host code, as if machine code had called it: it may
//! allocate, lock, call the embedder and enter wasm. Then machine code continues behind the store, or repeats the
//! poll, with the same registers except the pinned one; or it traps.
//!
//! Invariant: the embedder is asked only on the stack on which wasm runs, and only if as much of it is left as a
//! host function is guaranteed. Work without the embedder runs on the store's own stack, because the fault may
//! occur where no stack is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use wprof_jit::abi::TrapCode;

use super::store_control::Pending;
use crate::arch;
use crate::arch::{Interrupted, Registers};
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::counts::event_counts;
use crate::runtime::instances::abi::NOTHING;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::deadline;
use crate::runtime::interruption::signals::record;
use crate::runtime::stacks::activation::{self, Activation};

/// The area below a stack pointer that must not be used. Generated code keeps nothing there, but respecting it
/// costs nothing.
const RED_ZONE: usize = 128;

/// Returns the stack pointer from which [`go_on`] may use a stack, if a fault with this code is for it and there
/// is room.
///
/// # Safety
/// The caller guarantees that wasm code of the activation, the newest one, was interrupted with the stack pointer
/// `sp`.
pub unsafe fn stack_for(code: TrapCode, activation: &Activation, sp: usize) -> Option<usize> {
    // SAFETY: the context lives as long as the store that was entered.
    let (limit, own) = unsafe { ((*activation.context).stack_limit, (*activation.context).own_stack) };
    match code {
        TrapCode::Budget => (sp >= limit).then_some(sp - RED_ZONE),
        TrapCode::Interrupt => {
            // SAFETY: the store that was entered holds the page.
            let asks = unsafe { (*activation.interrupt).is_to_ask() };
            (asks && sp >= limit).then_some(sp - RED_ZONE)
        }
        TrapCode::TraceFull | TrapCode::ReferencesFull => Some(own),
        _ => None,
    }
}

/// Does what the fault was for, and sets the registers with which the thread continues.
///
/// # Safety
/// For `entries::resume` only, to which the signal handler has redirected the thread: the registers are those of
/// machine code of the newest activation, which waits with its store lent.
pub unsafe extern "C" fn go_on(interrupted: *mut Interrupted) {
    // SAFETY: the handler has found an activation, a piece of code and a trap site. Nobody else refers to the
    // saved registers.
    let (activation, interrupted) = unsafe { (&*activation::newest(), &mut *interrupted) };
    let registers = interrupted.registers();
    let object = registry::find(registers.pc).expect("code that is on the stack is not freed");
    let code = object.trap_at(registers.pc).map(|site| site.code);
    // SAFETY: the caller guarantees it.
    let goes_on = unsafe {
        store_pinned(activation, *interrupted.pinned());
        match code {
            Some(TrapCode::Budget) => refill_budget(activation, interrupted),
            Some(TrapCode::Interrupt) => {
                deadline::act_for_wasm(activation.context, interrupted.frame_pointer())
            }
            code => empty_trace(activation, interrupted, code, &object),
        }
    };
    if !goes_on {
        // SAFETY: the caller guarantees it.
        return unsafe { trap(activation, interrupted, &object) };
    }
    // SAFETY: the context lives as long as the store, which is lent to the code that waits. The instruction is a store that
    // was to fault and do nothing else, or else a poll, which is repeated.
    unsafe {
        (*(*activation.context).store).observed.metrics.empty_simulation_log();
        if let Some(cell) = pinned_cell(activation) {
            *interrupted.pinned() = cell.read();
        }
        if code != Some(TrapCode::Interrupt) {
            interrupted.set_registers(Registers { pc: arch::end_of_store(registers.pc), ..registers });
        }
    }
}

/// Asks the embedder for a new budget; returns whether the program continues.
unsafe fn refill_budget(activation: &Activation, interrupted: &Interrupted) -> bool {
    let context = activation.context;
    // SAFETY: the store is lent to the wasm code that waits. A stack walk meanwhile finds the interrupted frame
    // as if it had called `entries::resume`, whose frame contains the saved registers.
    unsafe {
        let store = NonNull::new_unchecked((*context).store);
        let outer = std::mem::replace(&mut (*context).exit_fp, interrupted.frame_pointer());
        let asked = catch_unwind(AssertUnwindSafe(|| event_counts::out_of_budget(store)));
        (*context).exit_fp = outer;
        asked.unwrap_or_else(|panic| {
            (*store.as_ptr()).control.fail(Pending::Panic(panic));
            false
        })
    }
}

/// Empties the buffers of the trace.
unsafe fn empty_trace(
    activation: &Activation,
    interrupted: &Interrupted,
    code: Option<TrapCode>,
    object: &CodeObject,
) -> bool {
    // SAFETY: the store is lent to the wasm code that waits.
    let store: &mut StoreOpaque = unsafe { &mut *(*activation.context).store };
    // SAFETY: the registers are those of machine code of this activation.
    let record = unsafe { record(code, object, interrupted.registers(), (*activation.vm.get()).fp) };
    let Some(trace) = &mut store.observed.trace else { return true };
    match code {
        Some(TrapCode::TraceFull) => trace.words_are_full(&record),
        // SAFETY: the instruction stores a register.
        _ => trace.references_are_full(&record, unsafe { interrupted.stored_value() }),
    }
    true
}

/// Makes the thread continue at the entry trampoline's handler, as after other traps.
unsafe fn trap(activation: &Activation, interrupted: &mut Interrupted, object: &CodeObject) {
    // SAFETY: the trampoline has written the activation, and the registers are those of its machine code. The
    // host reads the record only after wasm code has ended.
    unsafe {
        let vm = &*activation.vm.get();
        let record = record(Some(TrapCode::Host), object, interrupted.registers(), vm.fp);
        *activation.trap.get() = Some(record);
        interrupted.set_registers(Registers::new(vm.handler, vm.sp, vm.fp));
    }
}

/// Stores the value that wasm code keeps in the pinned register to its memory cell.
///
/// # Safety
/// The caller guarantees that wasm code of the activation was interrupted, and that nothing refers to its store's
/// context.
pub unsafe fn store_pinned(activation: &Activation, value: i64) {
    // SAFETY: the caller guarantees it.
    unsafe {
        if let Some(cell) = pinned_cell(activation) {
            cell.write(value);
        }
    }
}

/// Returns the value that wasm code of the activation needs in the pinned register; `None` if it needs none.
///
/// # Safety
/// The caller guarantees the same as for [`store_pinned`].
pub unsafe fn pinned(activation: &Activation) -> Option<i64> {
    // SAFETY: the caller guarantees it.
    unsafe { pinned_cell(activation).map(|cell| cell.read()) }
}

/// Returns the memory cell of the value that wasm code of an activation keeps in the pinned register.
unsafe fn pinned_cell(activation: &Activation) -> Option<*mut i64> {
    // SAFETY: the context lives as long as the store that was entered.
    unsafe {
        let offset = (*activation.context).pinned;
        (offset != NOTHING).then(|| activation.context.byte_add(offset).cast::<i64>())
    }
}
