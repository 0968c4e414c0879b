//! Frames that ended, or are, in the middle of a block: without counting them the profile would not add up.
//!
//! Source: algorithms.md section 1, early termination. Such a frame gets a pseudo edge from its block to the exit.
//! A frame's instance is not recorded in the frame: where a store has several instances of one module, the
//! newest one is charged.

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::compile::Origin;

use super::activation::TrapRecord;
use super::frames::{self, Frame};
use super::store::StoreOpaque;
use super::walk;
use crate::ProfilingConfig;

/// How many frames ended at each instruction.
pub type Unfinished = HashMap<Origin, u64>;

impl StoreOpaque {
    /// Counts the frames that a trap has ended.
    pub fn count_unfinished(&mut self, record: &TrapRecord) {
        if self.engine().config().profiling == ProfilingConfig::Off {
            return;
        }
        if let Some(frame) = frames::of_fault(record.pc) {
            self.add_unfinished(&frame, 1);
        }
        for (pc, count) in tally(record.returns.iter().copied()) {
            if let Some(frame) = frames::of_return(pc) {
                self.add_unfinished(&frame, count);
            }
        }
    }

    /// The frames of instance `index` that are live right now, while the host runs.
    pub fn live_unfinished(&self, index: u32) -> Unfinished {
        let mut pcs = Vec::new();
        // SAFETY: a reference to a store is only held by host code.
        unsafe { walk::live(usize::MAX, |pc| pcs.push(pc)) };
        let mut live = Unfinished::default();
        for (pc, count) in tally(pcs.into_iter()) {
            if let Some(frame) = frames::of_return(pc)
                && self.instance_of(&frame) == Some(index)
            {
                *live.entry(frame.origin).or_default() += count;
            }
        }
        live
    }

    fn add_unfinished(&mut self, frame: &Frame, count: u64) {
        if let Some(index) = self.instance_of(frame) {
            *self.instances[index as usize].unfinished.entry(frame.origin).or_default() += count;
        }
    }

    fn instance_of(&self, frame: &Frame) -> Option<u32> {
        self.instances.iter().rposition(|i| Arc::ptr_eq(i.module.inner(), &frame.module)).map(|i| i as u32)
    }
}

fn tally(pcs: impl Iterator<Item = usize>) -> HashMap<usize, u64> {
    let mut counts = HashMap::new();
    for pc in pcs {
        *counts.entry(pc).or_default() += 1;
    }
    counts
}
