//! What single bursts saw of each function, from which the accuracy of the sample is predicted.
//!
//! Input: the instructions that burst code has counted in call records, whenever a burst begins. Output: see
//! [`wprof_profiler::BurstSpread`]. A burst has what was counted until the next one began, since frames count to their
//! end what a burst has begun.
//! Invariant: reading takes no more than some ten records for each burst, on average: of large trees some bursts are
//! left out.

use wprof_profiler::{Accuracy, BurstSpread, Rate};

use crate::runtime::counts::call_records::{CallRecords, Called};

/// Number of records from which on bursts are left out: one more for each so many records.
const RECORDS: u64 = 32;

/// The reader of single bursts.
#[derive(Debug, Default)]
pub struct SpreadReader {
    spread: BurstSpread,
    /// The instructions by routine when the burst began that is being read.
    before: Vec<u64>,
    now: Vec<u64>,
    /// Whether a burst is being read.
    is_open: bool,
    /// Number of bursts to leave out.
    left_out: u64,
}

impl SpreadReader {
    /// Reads what the last burst saw, and begins to read the next one, unless it is to be left out.
    pub fn begin(&mut self, contexts: &CallRecords) {
        if self.left_out > 0 {
            self.left_out -= 1;
            return;
        }
        contexts.ops_by_routine(&mut self.now);
        if self.is_open {
            self.before.resize(self.now.len(), 0);
            let seen = self.before.iter_mut().zip(&self.now);
            seen.for_each(|(before, now)| *before = now.wrapping_sub(*before));
            self.spread.add(&self.before);
        }
        std::mem::swap(&mut self.before, &mut self.now);
        self.left_out = if self.is_open { contexts.record_count() as u64 / RECORDS } else { 0 };
        self.is_open = self.left_out == 0;
    }

    /// Predicts the accuracy of what `bursts` bursts, which saw this share of the run, have counted in the functions of
    /// an instance; `None` if they saw too little, or functions of other instances, too.
    pub fn accuracy(
        &self,
        contexts: &CallRecords,
        instance: u32,
        (bursts, rate): (u64, Rate),
    ) -> Option<Accuracy> {
        let is_other = |called: &Called| matches!(called, Called::Wasm(of, _) if *of != instance);
        if contexts.routines().iter().any(is_other) {
            return None;
        }
        let mut totals = Vec::new();
        contexts.ops_by_routine(&mut totals);
        self.spread.accuracy(&totals, bursts, rate)
    }
}
