//! Readings of metrics: of cycles, of what the system counts, and of simulations, whose log they empty. Machine code calls
//! them by `abi::read_metrics_signature`.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::runtime::control::builtins;
use crate::runtime::instances::abi::VmStoreContext;

/// A builtin that preserves all registers, on the runtime's own stack, since wasm's stack may be exhausted. `$begin` runs
/// before; it may name cells of the context.
macro_rules! preserving_on_own_stack {
    ($target:path, $begin:expr) => {
        preserving!(
            concat!(
                // Not each use names all cells.
                "/* {next} {log} {metrics} {before} {off} */\n",
                $begin,
                "mov x16, sp
                str x16, [x0, #{saved}]
                str x30, [x0, #{saved} + 8]
                ldr x16, [x0, #{own_stack}]
                mov sp, x16
                bl 3f
                ldr x16, [x0, #{saved}]
                ldr x30, [x0, #{saved} + 8]
                mov sp, x16
                ret
                3:"
            ),
            "bl {target}",
            "",
            target = sym $target,
            next = const offset_of!(VmStoreContext, simulation_next),
            log = const offset_of!(VmStoreContext, simulation_log),
            metrics = const offset_of!(VmStoreContext, metrics),
            before = const offset_of!(VmStoreContext, cycles_before),
            off = const offset_of!(VmStoreContext, cycles_off),
            saved = const offset_of!(VmStoreContext, saved),
            own_stack = const offset_of!(VmStoreContext, own_stack),
        )
    };
}

/// Returns at once if the log for simulations is empty.
macro_rules! return_if_empty {
    () => {
        "ldr x16, [x0, #{log}]
        ldr x17, [x0, #{next}]
        cmp x16, x17
        b.ne 2f
        ret
        2:
        "
    };
}

/// See `abi::read_metrics_signature`: updates all readings.
#[unsafe(naked)]
pub extern "C" fn read_metrics() {
    preserving_on_own_stack!(builtins::read_metrics, "")
}

/// See `abi::read_metrics_signature`: updates the readings of simulations, where neither cycles are measured nor does the
/// system count.
#[unsafe(naked)]
pub extern "C" fn read_log() {
    preserving_on_own_stack!(builtins::simulate, return_if_empty!())
}

/// See `abi::read_metrics_signature`: updates cycles, the first metric, and the readings of simulations, whose cycles it
/// excludes. The counter is read once before all that a simulation does and once after it.
#[unsafe(naked)]
pub extern "C" fn read_cycles_and_log() {
    preserving!(
        "mrs x16, cntvct_el0
        ldr x17, [x0, #{off}]
        sub x16, x16, x17
        ldr x17, [x0, #{metrics}]
        str x16, [x0, #{metrics}]
        str x17, [x0, #{saved} + 8]
        ldr x16, [x0, #{log}]
        ldr x17, [x0, #{next}]
        cmp x16, x17
        b.ne 2f
        ret
        2:
        ldr x17, [x0, #{saved} + 8]
        str x17, [x0, #{before}]
        mov x16, sp
        str x16, [x0, #{saved}]
        str x30, [x0, #{saved} + 8]
        ldr x16, [x0, #{own_stack}]
        mov sp, x16
        bl 3f
        mrs x16, cntvct_el0
        ldr x17, [x0, #{metrics}]
        sub x16, x16, x17
        str x16, [x0, #{off}]
        ldr x16, [x0, #{saved}]
        ldr x30, [x0, #{saved} + 8]
        mov sp, x16
        ret
        3:",
        "bl {target}",
        "",
        target = sym builtins::simulate,
        saved = const offset_of!(VmStoreContext, saved),
        next = const offset_of!(VmStoreContext, simulation_next),
        log = const offset_of!(VmStoreContext, simulation_log),
        metrics = const offset_of!(VmStoreContext, metrics),
        before = const offset_of!(VmStoreContext, cycles_before),
        off = const offset_of!(VmStoreContext, cycles_off),
        own_stack = const offset_of!(VmStoreContext, own_stack),
    )
}

/// See `abi::read_metrics_signature`: updates cycles, the first metric.
#[unsafe(naked)]
pub extern "C" fn read_cycles() {
    naked_asm!(
        "mrs x16, cntvct_el0",
        "ldr x17, [x0, #{off}]",
        "sub x16, x16, x17",
        "str x16, [x0, #{metrics}]",
        "ret",
        metrics = const offset_of!(VmStoreContext, metrics),
        off = const offset_of!(VmStoreContext, cycles_off),
    )
}

/// Updates cycles as machine code does that has, or has not, logged an access of no bytes.
///
/// # Safety
/// The context belongs to a live store, which has a log for simulations, measures cycles, and runs no machine code.
pub unsafe fn read_cycles_and_empty_log(context: *mut VmStoreContext, has_logged: bool) {
    #[unsafe(naked)]
    extern "C" fn read() {
        naked_asm!(
            "cbz w1, 2f",
            "ldr x16, [x0, #{next}]",
            "stp xzr, xzr, [x16], #16",
            "str x16, [x0, #{next}]",
            "2:",
            "b {read}",
            next = const offset_of!(VmStoreContext, simulation_next),
            read = sym read_cycles_and_log,
        )
    }
    type Read = extern "C" fn(*mut VmStoreContext, u32);
    // SAFETY: the code takes its arguments like a C function, and changes no register that it must not change.
    unsafe { std::mem::transmute::<extern "C" fn(), Read>(read)(context, has_logged.into()) }
}
