//! The entries of machine code into the runtime, in assembly: they save registers, check the stack, and call Rust
//! code. Also the entry into wasm code on another stack. One file per architecture.

/// Hands the builtins that first check for stack to a macro: each with its function, what it returns where too little stack
/// is left, and whose time it takes.
macro_rules! guarded_builtins {
    ($define:ident) => {
        $define! {
            memory_grow = builtins::memory_grow, -1, FOR_PROGRAM;
            memory_copy = builtins::memory_copy, 1, FOR_PROGRAM;
            memory_fill = builtins::memory_fill, 1, FOR_PROGRAM;
            memory_init = builtins::memory_init, 1, FOR_PROGRAM;
            table_grow = builtins::table_grow, -1, FOR_PROGRAM;
            table_copy = builtins::table_copy, 1, FOR_PROGRAM;
            table_fill = builtins::table_fill, 1, FOR_PROGRAM;
            table_init = builtins::table_init, 1, FOR_PROGRAM;
            promote = builtins::promote, 0, FOR_ENGINE;
            count_path = builtins::count_path, 1, FOR_ENGINE;
            take_row = builtins::take_row, 1, FOR_ENGINE;
            count_target = builtins::count_target, 1, FOR_ENGINE;
            cut_path = builtins::cut_path, 0, FOR_ENGINE;
            record_burst = builtins::record_burst, 1, FOR_ENGINE;
            record_access = builtins::record_access, 1, FOR_ENGINE;
            enter_allocator = allocation_reports::enter_allocator, 1, FOR_ENGINE;
            leave_allocator = allocation_reports::leave_allocator, 1, FOR_ENGINE;
            count_object = allocation_reports::count_object, 1, FOR_ENGINE;
            begin_trial = builtins::begin_trial, 1, FOR_ENGINE;
            end_trial = builtins::end_trial, 0, FOR_ENGINE;
            make_exception = throw::make_exception, 0, FOR_PROGRAM;
            memory_wait = builtins::memory_wait, 3, FOR_PROGRAM;
            memory_notify = builtins::memory_notify, -1, FOR_PROGRAM;
            allocate = builtins::allocate, 0, FOR_PROGRAM;
            array_new_data = builtins::array_new_data, 0, FOR_PROGRAM;
            array_new_elem = builtins::array_new_elem, 0, FOR_PROGRAM;
            array_fill = builtins::array_fill, 1, FOR_PROGRAM;
            array_copy = builtins::array_copy, 1, FOR_PROGRAM;
            array_init_data = builtins::array_init_data, 1, FOR_PROGRAM;
            array_init_elem = builtins::array_init_elem, 1, FOR_PROGRAM;
        }
    };
}

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod aarch64;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
pub use aarch64::*;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::*;

use crate::runtime::instances::abi::VmStoreContext;

/// Updates cycles as machine code does.
///
/// # Safety
/// The context belongs to a live store.
pub unsafe fn read_cycles_of(context: *mut VmStoreContext) {
    // SAFETY: the code takes the context where a C function takes its first argument, and changes no register that a C
    // function must not change.
    unsafe {
        std::mem::transmute::<extern "C" fn(), extern "C" fn(*mut VmStoreContext)>(read_cycles)(context)
    }
}
