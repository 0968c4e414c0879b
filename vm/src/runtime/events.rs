//! Counters of events, and what the frames that stand, or ended, in the middle of a function have to correct.
//!
//! Machine code adds to the counters in the store's context. A counter alone is exact when no wasm code of the store is
//! on the stack. Otherwise each frame has a correction, which its place alone determines, so that a query costs the
//! code that does not ask nothing. Where events are metered, the correction of a frame in a call is zero.
//! Source: Ball 1994, sections 3.2 and 4; algorithms.md section 4.

use std::ptr::NonNull;

use hashbrown::HashMap;
use wprof_jit::abi::store_context;
use wprof_jit::plan::Counting;

use super::abi::VmValue;
use super::activation::TrapRecord;
use super::frames::{self, Frame};
use super::store::{Pending, StoreOpaque};
use super::walk;
use crate::{Error, OutOfBudget, Result, Trap};

/// What the host does when a budget is used up: how much it adds to it, or `None` to end the program.
pub type OnOutOfBudget = unsafe fn(NonNull<StoreOpaque>) -> Option<u64>;

/// Events of a store beside what machine code counts.
#[derive(Debug, Default)]
pub struct Events {
    /// What a counter's zero stands for: the budget, for a metered kind.
    bias: [u64; store_context::EVENT_KINDS as usize],
    /// Where the program was stopped, if each instruction checks the budget.
    pub stop: Option<RawStop>,
    /// Asks the embedder, if it wants to be asked.
    pub on_out_of_budget: Option<OnOutOfBudget>,
}

/// A frame that was stopped in mid-function.
#[derive(Debug)]
pub struct RawStop {
    /// Where.
    pub frame: Frame,
    /// Its locals and operands, as many as fit into the transfer buffer.
    pub values: Vec<VmValue>,
}

/// A metered counter without a budget starts so far below zero.
const UNLIMITED: u64 = i64::MAX as u64;

impl StoreOpaque {
    /// Prepares the counter of the metered kind: no budget is set yet.
    pub fn start_metering(&mut self) {
        if let Some(kind) = self.engine().collection().metered {
            self.set_event_limit(kind, UNLIMITED);
        }
    }

    /// The exact number of events of `kind`, while the host runs.
    ///
    /// # Errors
    /// If a function on the stack cannot be planned again.
    pub fn event_count(&self, kind: u32) -> Result<u64> {
        let counted = self.raw_events(kind);
        if self.depth == 0 || self.engine().collection().metered.is_some() {
            return Ok(counted);
        }
        let mut frames: HashMap<usize, u64> = HashMap::new();
        // SAFETY: a reference to a store is only held by host code.
        unsafe {
            walk::live(usize::MAX, |frame, context| {
                if std::ptr::eq(context, self.context().as_ptr()) {
                    *frames.entry(frame.pc).or_default() += 1;
                }
            });
        }
        let mut total = counted;
        for (pc, count) in frames {
            if let Some(frame) = frames::of_return(pc) {
                let correction = corrections(&frame)?[kind as usize];
                total = total.wrapping_add((correction as u64).wrapping_mul(count));
            }
        }
        Ok(total)
    }

    /// Adds what the frames that a trap has ended have not counted.
    ///
    /// # Errors
    /// As [`StoreOpaque::event_count`].
    pub fn settle_events(&mut self, record: &TrapRecord) -> Result<()> {
        let collection = self.engine().collection();
        if collection.events.is_empty() {
            return Ok(());
        }
        let is_metered = collection.metered.is_some();
        let mut sums = vec![0_u64; collection.events.len()];
        let mut add = |frame: &Frame, count: u64| -> Result<()> {
            for (sum, correction) in sums.iter_mut().zip(corrections(frame)?) {
                *sum = sum.wrapping_add((correction as u64).wrapping_mul(count));
            }
            Ok(())
        };
        // A frame that did not fit on the stack has not counted its entry either, and is none.
        if let Some(frame) = frames::of_fault(record.top.pc).filter(|_| !frames::is_unborn(record)) {
            add(&frame, 1)?;
        }
        let mut callers: HashMap<usize, u64> = HashMap::new();
        for caller in record.callers.iter().filter(|_| !is_metered) {
            *callers.entry(caller.pc).or_default() += 1;
        }
        for (pc, count) in callers {
            if let Some(frame) = frames::of_return(pc) {
                add(&frame, count)?;
            }
        }
        if collection.counting == Counting::PerInstruction {
            self.events.stop = frames::of_fault(record.top.pc).map(|frame| self.raw_stop(frame));
        }
        for (kind, sum) in (0..).zip(sums) {
            self.set_raw_events(kind, self.raw_events(kind).wrapping_add(sum));
        }
        Ok(())
    }

    /// Lets `more` events of the metered `kind` happen from now on.
    pub fn set_budget(&mut self, kind: u32, more: u64) {
        self.set_event_limit(kind, self.raw_events(kind).saturating_add(more));
    }

    /// How many events of the metered `kind` are left of the budget; negative by the overdraft.
    pub fn budget_left(&self, kind: u32) -> i64 {
        self.context_events(kind).wrapping_neg()
    }

    /// Wasm is called: what calls nothing does not check the budget itself.
    ///
    /// # Errors
    /// If the budget is used up, and the embedder gives no more.
    pub fn ask_for_budget(&mut self) -> Result<()> {
        let is_over = |kind| self.context_events(kind) > 0;
        if !self.engine().collection().metered.is_some_and(is_over) || self.out_of_budget() {
            return Ok(());
        }
        match self.pending.take() {
            Some(Pending::Error(error)) => Err(error),
            _ => Err(Trap::OutOfBudget.into()),
        }
    }

    /// A check has found the budget used up: asks the embedder, and leaves the reason to trap if there is no more.
    /// Returns whether the program goes on.
    pub fn out_of_budget(&mut self) -> bool {
        let Some(kind) = self.engine().collection().metered else { return true };
        if let Some(ask) = self.events.on_out_of_budget {
            // SAFETY: the store is lent to wasm, which waits for us; it is not used while the embedder is asked.
            if let Some(more) = unsafe { ask(NonNull::from(&mut *self)) } {
                self.set_budget(kind, more);
                return self.context_events(kind) <= 0 || self.out_of_budget();
            }
        }
        let overdraft = self.context_events(kind).unsigned_abs();
        let kind = self.engine().collection().events[kind as usize].name.clone();
        self.pending =
            Some(Pending::Error(Error::from(Trap::OutOfBudget).context(OutOfBudget { kind, overdraft })));
        false
    }

    fn raw_stop(&self, frame: Frame) -> RawStop {
        // SAFETY: the buffer lives as long as the store; no machine code of it runs at the same time.
        let values = unsafe {
            let buffer = (*self.context().as_ptr()).transfer;
            std::slice::from_raw_parts(buffer, store_context::TRANSFER_VALUES as usize)
        };
        RawStop { frame, values: values.to_vec() }
    }

    fn raw_events(&self, kind: u32) -> u64 {
        (self.context_events(kind) as u64).wrapping_add(self.events.bias[kind as usize])
    }

    fn set_raw_events(&mut self, kind: u32, count: u64) {
        let relative = count.wrapping_sub(self.events.bias[kind as usize]);
        // SAFETY: the context lives as long as the store; no machine code of it runs at the same time.
        unsafe { (&raw mut (*self.context().as_ptr()).events[kind as usize]).write(relative as i64) };
    }

    fn context_events(&self, kind: u32) -> i64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.context().as_ptr()).events[kind as usize]).read() }
    }

    /// Makes `limit` events of `kind` in all the zero of its counter. So far away that the difference fits.
    fn set_event_limit(&mut self, kind: u32, limit: u64) {
        let count = self.raw_events(kind);
        self.events.bias[kind as usize] = limit.min(count.saturating_add(UNLIMITED));
        self.set_raw_events(kind, count);
    }
}

/// By kind, what a frame has to correct.
fn corrections(frame: &Frame) -> Result<Vec<i64>> {
    let Frame { module, origin } = frame;
    module.event_corrections(origin)
}
