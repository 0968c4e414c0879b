//! Going on behind an instruction that has faulted on purpose.
//!
//! Some stores of machine code fault when the runtime has to do something: a budget is used up, the buffer of a trace is
//! full; and polls do at a deadline. The signal handler makes the thread continue in `entries::resume`, which saves all registers and calls [`go_on`].
//! That is host code like any other, called by machine code as it were: it may allocate, lock, call the embedder and
//! enter wasm. Then machine code goes on behind the store, or with the poll, with the same registers, but for the pinned
//! one; or it traps.
//!
//! Invariant: the embedder is only asked on the stack that wasm runs on, with as much of it left as a host function is
//! given; what needs no embedder runs on the store's own stack, as it may come where no stack is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use wprof_jit::abi::TrapCode;

use crate::arch;
use crate::arch::{Interrupted, Registers};
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::counts::events;
use crate::runtime::instances::abi::NOTHING;
use crate::runtime::instances::store::{Pending, StoreOpaque};
use crate::runtime::interruption::deadline;
use crate::runtime::interruption::signals::record;
use crate::runtime::stacks::activation::{self, Activation};

/// What no code uses below a stack pointer. Machine code of ours keeps nothing there, but this costs nothing.
const RED_ZONE: usize = 128;

/// The stack pointer from which on [`go_on`] may use a stack, if a fault of this code is for it and there is room.
///
/// # Safety
/// Wasm code of the activation, the newest, was interrupted with the stack pointer `sp`.
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

/// Does what the fault was for, and changes the registers to those with which the thread goes on.
///
/// # Safety
/// For `entries::resume` only, where the signal handler has led the thread: the registers are those of machine code of the
/// newest activation, which waits for us with its store on loan.
pub unsafe extern "C" fn go_on(interrupted: *mut Interrupted) {
    // SAFETY: the handler has found an activation, a piece of code and a trap site. Nobody else refers to the saved
    // registers.
    let (activation, interrupted) = unsafe { (&*activation::newest(), &mut *interrupted) };
    let registers = interrupted.registers();
    let object = registry::find(registers.pc).expect("code that is on the stack is not freed");
    let code = object.trap_at(registers.pc).map(|site| site.code);
    // SAFETY: as required above.
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
        // SAFETY: as required above.
        return unsafe { trap(activation, interrupted, &object) };
    }
    // SAFETY: the context is there as the store is; the instruction is a store, which was to fault and do nothing else, or
    // else a poll, which is made again.
    unsafe {
        if let Some(cell) = pinned_cell(activation) {
            *interrupted.pinned() = cell.read();
        }
        if code != Some(TrapCode::Interrupt) {
            interrupted.set_registers(Registers { pc: arch::end_of_store(registers.pc), ..registers });
        }
    }
}

/// Asks the embedder for more; whether the program goes on.
unsafe fn refill_budget(activation: &Activation, interrupted: &Interrupted) -> bool {
    let context = activation.context;
    // SAFETY: the store is lent to the wasm code that waits for us. Who looks at the stack meanwhile finds the frame that
    // was interrupted as if it had called `entries::resume`, whose frame the saved registers are in.
    unsafe {
        let store = NonNull::new_unchecked((*context).store);
        let outer = std::mem::replace(&mut (*context).exit_fp, interrupted.frame_pointer());
        let asked = catch_unwind(AssertUnwindSafe(|| events::out_of_budget(store)));
        (*context).exit_fp = outer;
        asked.unwrap_or_else(|panic| {
            *(*store.as_ptr()).pending.get_mut() = Some(Pending::Panic(panic));
            false
        })
    }
}

/// Takes what is in the buffers of the trace.
unsafe fn empty_trace(
    activation: &Activation,
    interrupted: &Interrupted,
    code: Option<TrapCode>,
    object: &CodeObject,
) -> bool {
    // SAFETY: the store is lent to the wasm code that waits for us.
    let store: &mut StoreOpaque = unsafe { &mut *(*activation.context).store };
    // SAFETY: the registers are those of machine code of this activation.
    let record = unsafe { record(code, object, interrupted.registers(), (*activation.vm.get()).fp) };
    match code {
        Some(TrapCode::TraceFull) => store.trace_is_full(&record),
        // SAFETY: the instruction is a store of a register.
        _ => store.references_are_full(&record, unsafe { interrupted.stored_value() }),
    }
    true
}

/// The thread goes on at the entry trampoline's handler, as it does after other traps.
unsafe fn trap(activation: &Activation, interrupted: &mut Interrupted, object: &CodeObject) {
    // SAFETY: the trampoline has written it, and the registers are those of machine code of this activation. The host
    // looks at the record only after wasm code has ended.
    unsafe {
        let vm = &*activation.vm.get();
        let record = record(Some(TrapCode::Host), object, interrupted.registers(), vm.fp);
        *activation.trap.get() = Some(record);
        interrupted.set_registers(Registers { pc: vm.handler, sp: vm.sp, fp: vm.fp });
    }
}

/// Puts what wasm code has in the pinned register where it belongs.
///
/// # Safety
/// Wasm code of the activation was interrupted, and nothing refers to its store's context.
pub unsafe fn store_pinned(activation: &Activation, value: i64) {
    // SAFETY: as required above.
    unsafe {
        if let Some(cell) = pinned_cell(activation) {
            cell.write(value);
        }
    }
}

/// What wasm code of the activation is to have in the pinned register; `None` if nothing.
///
/// # Safety
/// As of [`store_pinned`].
pub unsafe fn pinned(activation: &Activation) -> Option<i64> {
    // SAFETY: as required above.
    unsafe { pinned_cell(activation).map(|cell| cell.read()) }
}

/// Where that belongs which wasm code of an activation keeps in the pinned register.
unsafe fn pinned_cell(activation: &Activation) -> Option<*mut i64> {
    // SAFETY: the context lives as long as the store that was entered.
    unsafe {
        let offset = (*activation.context).pinned;
        (offset != NOTHING).then(|| activation.context.byte_add(offset).cast::<i64>())
    }
}
