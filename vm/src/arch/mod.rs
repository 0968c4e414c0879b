//! What depends on the processor: assembly, registers in signal contexts. One file per architecture.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::*;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("wprof runs on x86-64 Linux only so far: add a file to vm/src/arch for this target");
