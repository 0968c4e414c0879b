//! Transfer of control between the host and machine code: calls, traps, throws, on-stack replacement.

pub mod allocation_reports;
pub mod builtins;
pub mod call_hooks;
pub mod enter;
pub mod host_calls;
pub mod lazy;
pub mod osr_buffer;
pub mod raise;
pub mod resume;
pub mod store_control;
pub mod throw;
