//! The reason why a program ended: its message and its place.

use std::fmt;
use std::sync::{Arc, Mutex};

use wprof::{Instance, WasmCoreDump};

use crate::attached::Attached;

/// The reason why a program ended.
pub struct TrapData {
    pub message: String,
    pub frames: Vec<Place>,
    /// The C value `wprof_trap_code`.
    pub code: i32,
    /// The exit code, if the program ended itself.
    pub exit: Option<i32>,
    /// What a core dump is made of, if the trap came up in WebAssembly code.
    pub core: Option<WasmCoreDump>,
    pub info: Mutex<Attached>,
}

/// The place of a frame.
#[derive(Clone, Copy)]
pub struct Place {
    pub instance: Option<Instance>,
    pub func: u32,
    pub func_offset: usize,
    pub module_offset: usize,
}

/// The error that carries a trap of C through WebAssembly code.
#[derive(Clone)]
pub struct Raised(pub Arc<TrapData>);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Raised {}

/// The code of a trap that WebAssembly code did not raise.
pub const OTHER: i32 = -1;

impl TrapData {
    pub fn new(message: String, frames: Vec<Place>, code: i32, exit: Option<i32>) -> TrapData {
        TrapData { message, frames, code, exit, core: None, info: Mutex::default() }
    }
}
