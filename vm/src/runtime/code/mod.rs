//! Machine code in memory: where it lies, what is known of each pc, and how functions are reached.

pub mod arena;
pub mod libcalls;
pub mod registry;
pub mod reservation;
pub mod slots;
pub mod stubs;

pub use arena::{CodeArena, CodeSpace};
pub use slots::{CodeSlots, TrapStubs};
pub use stubs::Stubs;

use crate::Error;

/// The error of whoever has no memory for code.
pub fn no_code_memory(e: std::io::Error) -> Error {
    Error::system("no memory for machine code", e)
}
