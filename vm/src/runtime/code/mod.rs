//! Machine code in memory: its location, the metadata of each pc, and the slots by which functions are called.

pub mod arena;
pub mod lazy_stubs;
pub mod libcalls;
pub mod registry;
pub mod reservation;
pub mod slots;
pub mod unwind_info;

pub use arena::{CodeArena, CodeSpace, CodeUse};
pub use lazy_stubs::Stubs;
pub use slots::{CodeSlots, TrapStubs};

use crate::Error;

/// Returns the error for missing memory for code.
pub fn no_code_memory(e: std::io::Error) -> Error {
    Error::system("no memory for machine code", e)
}
