//! The entries of machine code into the runtime, in assembly: they save registers, check the stack, and call Rust
//! code. Also the entry into wasm code on another stack. One file per architecture.

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod aarch64;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
pub use aarch64::*;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::*;
