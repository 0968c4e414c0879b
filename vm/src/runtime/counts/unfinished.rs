//! Frames that ended, or currently are, in the middle of a block: the profile would not add up without them.
//!
//! Source: Ball & Larus 1994, section 3.2, early termination. Such a frame gets a pseudo edge from its block to
//! the exit.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use wprof_jit::compile::Origin;

use super::metrics::Measured;
use crate::ProfilingConfig;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::activation::TrapRecord;
use crate::runtime::stacks::frames::{self, Frame};
use crate::runtime::stacks::many_frames::ManyFrames;
use crate::runtime::stacks::raw_frame::RawFrame;
use crate::runtime::stacks::walk;

/// The position at which a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// The instruction at which it ended.
    pub origin: Origin,
    /// Its path register, if paths are counted and the register had been set.
    pub path: Option<u64>,
    /// The address of its call record, if paths are counted there and the record had been found.
    pub record: Option<u64>,
}

/// The frames that ended in the same way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopped {
    /// Number of frames.
    pub count: u64,
    /// The sum of what they had measured along their paths.
    pub measured: Measured,
}

impl Stopped {
    /// Adds other frames.
    pub fn add(&mut self, other: Stopped) {
        self.count += other.count;
        self.measured.iter_mut().zip(other.measured).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
}

/// The frames that ended, by the way in which they ended.
pub type Unfinished = HashMap<Stop, Stopped>;

impl StoreOpaque {
    /// Counts the frames that a trap has ended; a frame that did not fit on the stack is counted in the call
    /// record `unborn`.
    pub fn count_unfinished(&mut self, record: &TrapRecord, unborn: Option<u64>) {
        if !matches!(self.engine().config().profiling, ProfilingConfig::Exact(_)) {
            return;
        }
        if let Some(frame) = frames::of_fault(record.top.pc) {
            let index = self.items.instance_of_trap(&frame, record);
            let is_unborn = frames::is_unborn(record);
            let stop = match is_unborn {
                true => Stop { origin: frame.origin, path: self.path_of_unborn(&frame), record: unborn },
                false => self.stop(frame.origin, record.top),
            };
            let measured = self.observed.metrics.measured_at_trap(record);
            let stopped = Stopped { count: 1, measured };
            self.items.add_unfinished(index, stop, stopped);
            if is_unborn {
                self.items.add_overflowed(index, &frame);
            }
        }
        for (raw, count) in record.callers.tally() {
            if let Some(frame) = frames::of_return(raw.pc) {
                let stop = self.stop(frame.origin, raw);
                let index = self.items.instance_of(&frame, raw);
                self.items.add_unfinished(index, stop, stopped(raw, count));
            }
        }
    }

    /// Returns the frames of instance `index` that are live now, while the host runs.
    pub fn live_unfinished(&self, index: u32) -> Unfinished {
        let mut all = ManyFrames::default();
        // SAFETY: only host code holds a reference to a store.
        unsafe {
            walk::live(|frame, _| {
                all.push(frame);
                ControlFlow::Continue(())
            });
        }
        let mut live = Unfinished::default();
        for (raw, count) in all.tally() {
            if let Some(frame) = frames::of_return(raw.pc)
                && self.items.instance_of(&frame, raw) == Some(index)
            {
                let stop = self.stop(frame.origin, raw);
                live.entry(stop).or_default().add(stopped(raw, count));
            }
        }
        live
    }

    /// Describes a frame that stopped at `origin`.
    fn stop(&self, origin: Origin, frame: RawFrame) -> Stop {
        let path = origin.path.map(i64::cast_unsigned).or(frame.path);
        Stop { origin, path, record: frame.record.filter(|_| self.observed.has_flow()) }
    }

    /// Returns the path register of a frame that did not fit on the stack when it continued in another version of
    /// its function, at a loop; a function that has only been called has none yet.
    fn path_of_unborn(&self, frame: &Frame) -> Option<u64> {
        // SAFETY: the context lives as long as the store, and no wasm code runs.
        (frame.origin.block != 0).then(|| unsafe { (*self.context().as_ptr()).path })
    }
}

impl Items {
    fn add_unfinished(&mut self, index: Option<u32>, stop: Stop, stopped: Stopped) {
        if let Some(index) = index {
            self.instance_mut(index).unfinished.entry(stop).or_default().add(stopped);
        }
    }

    /// Records that a frame did not fit on the stack and so has not reached the counter at its entry, if there is
    /// one.
    fn add_overflowed(&mut self, index: Option<u32>, frame: &Frame) {
        if let Some(index) = index {
            *self.instance_mut(index).overflowed.entry(frame.origin).or_default() += 1;
        }
    }

    /// Returns the instance in which a frame runs; `None` if the frame does not tell, or it belongs to another
    /// store.
    fn instance_of(&self, frame: &Frame, raw: RawFrame) -> Option<u32> {
        // SAFETY: a live frame holds its own vmctx, which belongs to this store or to one whose wasm code is on
        // the stack. The same holds for the vmctx of a frame that has just ended.
        let index = unsafe { raw.vmctx.as_ref() }?.instance;
        let instance = self.instances().get(index)?;
        let is_ours = std::ptr::eq(instance.vmctx.head().as_ptr(), raw.vmctx);
        (is_ours && loaded::same(&instance.module, &frame.module)).then_some(index as u32)
    }

    /// Returns the instance in which the frame of a trap ran.
    pub fn instance_of_trap(&self, frame: &Frame, record: &TrapRecord) -> Option<u32> {
        let of_top = self.instance_of(frame, record.top);
        of_top.or_else(|| self.instance_below(frame, &record.callers))
    }

    /// Returns the instance of a frame that did not fit on the stack: that of its nearest caller in the same
    /// module, which is right for recursion, or else the newest instance.
    fn instance_below(&self, frame: &Frame, callers: &ManyFrames) -> Option<u32> {
        let newest = || self.instances().iter().rposition(|i| loaded::same(&i.module, &frame.module));
        let below = callers.iter().find_map(|caller| self.instance_of(frame, caller));
        below.or_else(|| newest().map(|index| index as u32))
    }
}

/// Describes `count` frames that are in a call, and so do not measure.
fn stopped(frame: RawFrame, count: u64) -> Stopped {
    Stopped { count, measured: frame.sums.map(|sum| sum.cast_unsigned().wrapping_mul(count)) }
}
