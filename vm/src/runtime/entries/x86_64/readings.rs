//! Readings of metrics: of cycles, of what the system counts, and of simulations, whose log they empty. Machine code calls
//! them by `abi::read_metrics_signature`.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::runtime::control::builtins;
use crate::runtime::instances::abi::VmStoreContext;

/// A builtin that preserves all registers, on the runtime's own stack, since wasm's stack may be exhausted: only the return
/// address remains on it. `$begin` and `$end` run before and after; they may name cells of the context.
macro_rules! preserving_on_own_stack {
    ($target:path, $begin:expr, $end:expr) => {
        preserving!(
            concat!(
                // Not each use names all cells.
                "/* {next} {log} */\n",
                $begin,
                "mov [rdi + {saved}], rsp
                mov rsp, [rdi + {own_stack}]
                call 3f
                mov rsp, [rdi + {saved}]
                ",
                $end,
                "ret
                3:"
            ),
            "call {target}",
            "",
            "",
            target = sym $target,
            next = const offset_of!(VmStoreContext, simulation_next),
            log = const offset_of!(VmStoreContext, simulation_log),
            saved = const offset_of!(VmStoreContext, saved),
            own_stack = const offset_of!(VmStoreContext, own_stack),
        )
    };
}

/// Has the runtime find where the log for simulations ends, if the pinned register tells, and takes it back.
macro_rules! store_pinned {
    () => {
        "mov [rdi + {next}], r15\n"
    };
}
macro_rules! load_pinned {
    () => {
        "mov r15, [rdi + {next}]\n"
    };
}

/// Returns at once if the log for simulations is empty, which ends at `$end`: a register or a cell of the context.
macro_rules! return_if_empty {
    ($end:literal) => {
        concat!(
            "mov [rdi + {saved}], rax
            mov rax, [rdi + {log}]
            cmp rax, ",
            $end,
            "
            mov rax, [rdi + {saved}]
            jne 2f
            ret
            2:
            "
        )
    };
}

/// A reading of cycles and simulations, whose cycles it excludes: `$end` tells where the log ends, `$store` and `$load` are
/// as for [`preserving_on_own_stack`]. The counter is read once before all that a
/// simulation does, what saves registers too, and once after it: neither waits for what is being executed, since a program
/// that had to wait at each of its calls would seem to take longer than it does.
macro_rules! simulating_off_the_clock {
    ($end:literal, $store:expr, $load:expr) => {
        preserving!(
            concat!(
                "mov [rdi + {saved}], rax
                mov [rdi + {saved} + 8], rdx
                rdtsc
                shl rdx, 32
                or rax, rdx
                sub rax, [rdi + {off}]
                mov rdx, [rdi + {log}]
                cmp rdx, ",
                $end,
                "
                jne 2f
                mov [rdi + {metrics}], rax
                mov rdx, [rdi + {saved} + 8]
                mov rax, [rdi + {saved}]
                ret
                2:
                ",
                $store,
                "
                mov rdx, [rdi + {metrics}]
                mov [rdi + {before}], rdx
                mov [rdi + {metrics}], rax
                mov rdx, [rdi + {saved} + 8]
                mov rax, [rdi + {saved}]
                mov [rdi + {saved}], rsp
                mov rsp, [rdi + {own_stack}]
                push rax
                push rdx
                call 3f
                rdtsc
                shl rdx, 32
                or rax, rdx
                sub rax, [rdi + {metrics}]
                mov [rdi + {off}], rax
                pop rdx
                pop rax
                mov rsp, [rdi + {saved}]
                ",
                $load,
                "
                ret
                3:"
            ),
            "call {target}",
            "",
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
    };
}

/// See `abi::read_metrics_signature`: updates all readings.
#[unsafe(naked)]
pub extern "C" fn read_metrics() {
    preserving_on_own_stack!(builtins::read_metrics, "", "")
}

/// The same where the pinned register tells where the log for simulations ends.
#[unsafe(naked)]
pub extern "C" fn read_metrics_and_pinned_log() {
    preserving_on_own_stack!(builtins::read_metrics, store_pinned!(), load_pinned!())
}

/// See `abi::read_metrics_signature`: updates the readings of simulations, where neither cycles are measured nor does the
/// system count.
#[unsafe(naked)]
pub extern "C" fn read_log() {
    preserving_on_own_stack!(builtins::simulate, return_if_empty!("[rdi + {next}]"), "")
}

/// The same where the pinned register tells where the log ends.
#[unsafe(naked)]
pub extern "C" fn read_pinned_log() {
    preserving_on_own_stack!(
        builtins::simulate,
        concat!(return_if_empty!("r15"), store_pinned!()),
        load_pinned!()
    )
}

/// See `abi::read_metrics_signature`: updates cycles, the first metric, and the readings of simulations.
#[unsafe(naked)]
pub extern "C" fn read_cycles_and_log() {
    simulating_off_the_clock!("[rdi + {next}]", "", "")
}

/// The same where the pinned register tells where the log ends.
#[unsafe(naked)]
pub extern "C" fn read_cycles_and_pinned_log() {
    simulating_off_the_clock!("r15", store_pinned!(), load_pinned!())
}

/// See `abi::read_metrics_signature`: updates cycles, the first metric.
#[unsafe(naked)]
pub extern "C" fn read_cycles() {
    naked_asm!(
        "mov [rdi + {saved}], rax",
        "mov [rdi + {saved} + 8], rdx",
        "rdtsc",
        "shl rdx, 32",
        "or rax, rdx",
        "sub rax, [rdi + {off}]",
        "mov [rdi + {metrics}], rax",
        "mov rdx, [rdi + {saved} + 8]",
        "mov rax, [rdi + {saved}]",
        "ret",
        saved = const offset_of!(VmStoreContext, saved),
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
            "test esi, esi",
            "je 2f",
            "mov rax, [rdi + {next}]",
            "mov qword ptr [rax], 0",
            "mov qword ptr [rax + 8], 0",
            "add rax, 16",
            "mov [rdi + {next}], rax",
            "2:",
            "jmp {read}",
            next = const offset_of!(VmStoreContext, simulation_next),
            read = sym read_cycles_and_log,
        )
    }
    type Read = extern "C" fn(*mut VmStoreContext, u32);
    // SAFETY: the code takes its arguments like a C function, and changes no register that it must not change.
    unsafe { std::mem::transmute::<extern "C" fn(), Read>(read)(context, has_logged.into()) }
}
