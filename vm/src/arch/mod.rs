//! Code that depends on the processor and on nothing else of the runtime: registers, signal contexts, small
//! pieces of machine code. One folder per architecture; `runtime::entries` holds the assembly that knows the
//! runtime.

mod frame_state;
pub use frame_state::FrameState;

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod aarch64;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
pub use aarch64::*;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::*;

#[cfg(not(all(any(target_arch = "aarch64", target_arch = "x86_64"), target_os = "linux")))]
compile_error!(
    "wprof runs on x86-64 and AArch64 Linux only so far: add a folder to vm/src/arch and a file to vm/src/runtime/entries for this target"
);
