//! Signals, timers and requests to stop.

pub mod allocator;
pub mod deadline;
pub mod epochs;
pub mod forced_check;
pub mod fork;
pub mod generation;
pub mod interrupt_page;
pub mod parking;
pub mod rlimits;
pub mod rt_signal;
pub mod signals;
pub mod thread_wakeup;
pub mod timer_thread;
