//! Timed calls, which show which of two versions of a function is faster.
//!
//! Invariant: one call is timed at a time. Its nested calls of the same function get the same version, so its
//! time is that of one version only. A call that takes long gives way to a nested one: all calls within it cost
//! more than usual, and the trial would never finish in a program that is one long call.

use wprof_jit::abi::trial;
use wprof_profiler::Side;

use crate::arch;
use crate::runtime::instances::items::Items;

/// Number of cycles after which a timed call gives way to nested calls.
const LONG: u64 = 100_000;

/// A timed call.
#[derive(Debug)]
struct TimedCall {
    instance: u32,
    func: u32,
    side: Side,
    /// The time-stamp counter at its start.
    began: u64,
}

/// The trials of a store.
#[derive(Debug, Default)]
pub struct Trials {
    timed: Option<TimedCall>,
}

impl Trials {
    /// Returns the version that a call gets, and whether the call is timed: bits of [`trial`].
    pub fn begin(&mut self, items: &Items, instance: u32, func: u32) -> u32 {
        let now = arch::cycles();
        if let Some(around) = self.timed.as_ref().filter(|around| now.wrapping_sub(around.began) < LONG) {
            let is_same = (around.instance, around.func) == (instance, func);
            return bits(if is_same { around.side } else { Side::After });
        }
        let Some(side) = items.instance(instance).module.next_in_trial(func) else { return trial::AFTER };
        self.timed = Some(TimedCall { instance, func, side, began: now });
        bits(side) | trial::TIMED
    }

    /// Ends a timed call that has returned. There is none if it gave way to another, or if a trap ended a nested
    /// one.
    pub fn end(&mut self, items: &Items, ended: u64) {
        let Some(TimedCall { instance, func, side, began }) = self.timed.take() else { return };
        items.instance(instance).module.add_to_trial(func, side, ended.wrapping_sub(began));
    }

    /// Drops the timed call, because a trap has ended wasm frames that may include it, or it waits.
    pub fn drop_call(&mut self) {
        self.timed = None;
    }
}

fn bits(side: Side) -> u32 {
    match side {
        Side::Before => 0,
        Side::After => trial::AFTER,
    }
}
