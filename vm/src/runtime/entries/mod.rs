//! Where machine code enters the runtime, in assembly: what it calls saves registers, checks that there is stack, and
//! calls what is in Rust. And the way in, on another stack. One file per architecture.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::*;
