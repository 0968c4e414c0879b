//! What has ended a program: its message, and where.

use std::fmt;
use std::sync::{Arc, Mutex};

use wprof::Instance;

use crate::identity::HostInfo;

/// What has ended a program.
pub struct TrapData {
    pub message: String,
    pub frames: Vec<Place>,
    /// `wprof_trap_code`
    pub code: i32,
    /// The code with which the program has ended itself.
    pub exit: Option<i32>,
    pub info: Mutex<HostInfo>,
}

/// Where a frame was.
#[derive(Clone, Copy)]
pub struct Place {
    pub instance: Option<Instance>,
    pub func: u32,
    pub func_offset: usize,
    pub module_offset: usize,
}

/// The error that a trap of C's is while it goes through wasm code.
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

/// No trap of wasm code's own.
pub const OTHER: i32 = -1;

impl TrapData {
    pub fn new(message: String, frames: Vec<Place>, code: i32, exit: Option<i32>) -> Arc<TrapData> {
        Arc::new(TrapData { message, frames, code, exit, info: Mutex::default() })
    }
}
