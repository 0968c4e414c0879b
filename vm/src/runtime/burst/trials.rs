//! Calls that are timed, to find out which of two versions of their function is the faster.
//!
//! Invariant: one call is timed at a time. What it calls of the same function is of the same version: so its time is
//! that of one version only. A call that takes long gives way to one within it: all that are made within it cost more
//! than usual, and a program that is one long call would never have done with them.

use wprof_jit::abi::trial;
use wprof_profiler::Side;

use crate::arch;
use crate::runtime::instances::store::StoreOpaque;

/// How many cycles a call may take that others within it wait for.
const LONG: u64 = 100_000;

/// A call that is timed.
#[derive(Debug)]
pub struct TimedCall {
    instance: u32,
    func: u32,
    side: Side,
    /// By the time-stamp counter.
    began: u64,
}

impl StoreOpaque {
    /// Which version of a function a call gets, and whether it is timed: bits of [`trial`].
    pub fn begin_trial(&mut self, instance: u32, func: u32) -> u32 {
        let now = arch::cycles();
        if let Some(around) = self.timed.as_ref().filter(|around| now.wrapping_sub(around.began) < LONG) {
            let is_same = (around.instance, around.func) == (instance, func);
            return bits(if is_same { around.side } else { Side::After });
        }
        let module = &self.instances[instance as usize].module;
        let Some(side) = module.next_in_trial(func) else { return trial::AFTER };
        self.timed = Some(TimedCall { instance, func, side, began: now });
        bits(side) | trial::TIMED
    }

    /// A timed call has returned. There is none any more if it has given way to another, or if a trap has ended what
    /// was called within it.
    pub fn end_trial(&mut self, ended: u64) {
        let Some(TimedCall { instance, func, side, began }) = self.timed.take() else { return };
        let module = &self.instances[instance as usize].module;
        module.add_to_trial(func, side, ended.wrapping_sub(began));
    }

    /// A trap has ended wasm frames, maybe those of the timed call.
    pub fn drop_timed_call(&mut self) {
        self.timed = None;
    }
}

fn bits(side: Side) -> u32 {
    match side {
        Side::Before => 0,
        Side::After => trial::AFTER,
    }
}
