//! Traps and polls without signals: what the signal handler does, as calls of the runtime.
//!
//! Where code must not fault ([`Config::signals_based_traps`](crate::Config::signals_based_traps)), it calls the runtime
//! in front of each trap instruction, and where a poll finds a request. The frames are those that a fault at the trap
//! instruction would leave, so all else is the same.

use super::builtins::caller;
use super::resume;
use super::throw::Landed;
use crate::arch::Registers;
use crate::runtime::code::registry;
use crate::runtime::instances::abi::VmContext;
use crate::runtime::interruption::deadline;
use crate::runtime::interruption::signals::record;
use crate::runtime::stacks::activation;

/// Ends the wasm code of the newest activation; `entries::raise` calls it, and resumes where `landed` says.
///
/// # Safety
/// For machine code of the newest activation only, which called from `return_pc` with this frame pointer, and with stack
/// pointer `sp` before the call. `pinned` is its pinned register. `link` is its link register before the call, if it is
/// a stub and the processor has one; else it is not looked at.
pub unsafe extern "C" fn raise(
    return_pc: usize,
    sp: usize,
    fp: usize,
    pinned: i64,
    landed: *mut Landed,
    link: usize,
) {
    let object = registry::find(return_pc).expect("code that is on the stack is not freed");
    let site = object.trap_from(return_pc).expect("a trap is behind the call");
    let at = object.address(site.pc);
    // A stub that is only there to trap has no frame, and is at its start.
    let pc =
        if object.trap_at(object.start).is_some() && object.function.is_none() { object.start } else { at };
    // SAFETY: the caller upholds this function's safety contract. The trampoline has written the activation; the host
    // reads the record only after wasm code has ended.
    unsafe {
        let activation = &*activation::newest();
        resume::store_pinned(activation, pinned);
        let vm = &*activation.vm.get();
        let registers = Registers::new(pc, sp, fp).with_link(link);
        let record = record(Some(site.code), &object, registers, vm.fp);
        *activation.trap.get() = Some(record);
        *landed = Landed { pc: vm.handler, sp: vm.sp, fp: vm.fp, exception: 0, pinned };
    }
}

/// What `entries::poll` returns, in two registers.
#[repr(C)]
pub struct Polled {
    /// See `Builtin::Poll`.
    answer: u64,
    /// The pinned register.
    pinned: i64,
}

const CONTINUES: u64 = 0;
const INTERRUPTED: u64 = 1;
const FAILED: u64 = 2;

/// Acts on a request to stop, for wasm code that has found it at a poll.
///
/// # Safety
/// For machine code of the newest activation only, which passes its own vmctx. `frame` is the address of a frame that
/// holds its frame pointer and the address at which it continues.
pub unsafe extern "C" fn poll(vmctx: *const VmContext, frame: usize, pinned: i64) -> Polled {
    // SAFETY: the caller upholds this function's safety contract; the store that was entered holds the page, and its
    // context is alive.
    unsafe {
        let activation = &*activation::newest();
        let page = &*activation.interrupt;
        if !page.is_requested() {
            page.make_readable();
            return Polled { answer: CONTINUES, pinned };
        }
        resume::store_pinned(activation, pinned);
        if !page.is_to_ask() {
            return Polled { answer: INTERRUPTED, pinned };
        }
        let answer = if deadline::act_for_wasm(activation.context, frame) { CONTINUES } else { FAILED };
        caller(vmctx).0.observed.metrics.empty_simulation_log();
        Polled { answer, pinned: resume::pinned(activation).unwrap_or(pinned) }
    }
}
