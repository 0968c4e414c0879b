//! A frame of wasm code, as a walk of the stack finds it.

use crate::runtime::counts::metrics::Sums;
use crate::runtime::instances::abi::VmContext;

/// A frame of wasm code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// The frame's position.
    pub pc: usize,
    /// The vmctx of its instance; null if the frame does not keep it, as in plain code.
    pub vmctx: *const VmContext,
    /// The value of its path register, if it holds one; meaningless where the value is known statically.
    pub path: Option<u64>,
    /// Its sums of metrics.
    pub sums: Sums,
    /// The address of its call record, if it has one and anything is measured or counted there; valid if any sum is
    /// nonzero, or the frame has passed its entry.
    pub record: Option<u64>,
}
