//! Bursts of a store: what is done when a check fires.
//!
//! Invariant: `VmStoreContext` has the counts while machine code runs, and is changed here only while it waits for us.
//! Source: algorithms.md, section 10; the decisions are `wprof_profiler::Bursts`.

use wprof_jit::abi::{NO_TRANSFER, check};
use wprof_profiler::{Bursts, Rate, Version};

use super::store::{Pending, StoreOpaque};
use crate::{ProfilingConfig, Trap};

/// A frame that has come to a check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The instance, by index.
    pub instance: u32,
    /// The function.
    pub func: u32,
    /// Its entry, or a loop header; or [`NO_TRANSFER`].
    pub block: u32,
    /// Whether it is in code for bursts.
    pub in_bursts: bool,
}

impl StoreOpaque {
    /// The first phase, if there are to be bursts.
    pub fn start_bursts(&mut self) {
        if let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling {
            self.bursts = Some(Bursts::new(adaptive.lengths));
            self.write_bursts();
        }
    }

    /// The share of checks that were in bursts so far.
    pub fn burst_rate(&self) -> Option<Rate> {
        self.bursts.as_ref().map(Bursts::rate)
    }

    /// Decides where a frame goes on whose check has fired: see `abi::check_signature`.
    pub fn check_fired(&mut self, at: Check) -> i64 {
        if self.interrupt().take() {
            self.pending = Some(Pending::Error(Trap::Interrupt.into()));
            return check::TRAP;
        }
        self.read_bursts(at.in_bursts);
        let version = self.decide(at);
        if version.is_some() {
            self.forgive_check(!at.in_bursts);
        }
        self.write_bursts();
        version.map_or(check::STAY, |address| address as i64)
    }

    /// The version in which the frame goes on, unless it stays.
    fn decide(&mut self, at: Check) -> Option<usize> {
        let module = self.instances[at.instance as usize].module.inner().clone();
        let bursts = self.bursts.as_mut()?;
        let begun = bursts.begun;
        let version = if at.in_bursts { bursts.check_in_burst() } else { bursts.fired() };
        match (at.in_bursts, version) {
            (false, Version::Checking) | (true, Version::Instrumented) => None,
            (false, Version::Instrumented) => {
                let code = (at.block != NO_TRANSFER).then(|| module.burst_code(at.func, at.block)).flatten();
                // In a burst that goes on the next check asks again.
                if code.is_none() && bursts.begun > begun {
                    bursts.lose();
                }
                code
            }
            (true, Version::Checking) => {
                let code =
                    (at.block != NO_TRANSFER).then(|| module.checking_code(at.func, at.block)).flatten();
                if code.is_none() {
                    bursts.extend();
                }
                code
            }
        }
    }

    /// The version in which the frame goes on comes to the same check, which has been counted.
    fn forgive_check(&mut self, in_bursts: bool) {
        let Some(bursts) = &mut self.bursts else { return };
        let count = if in_bursts { &mut bursts.instrumented } else { &mut bursts.checking };
        *count = count.saturating_add(1);
    }

    /// Takes the counts from machine code, which has counted the check.
    fn read_bursts(&mut self, in_bursts: bool) {
        let context = self.context().as_ptr();
        let Some(bursts) = &mut self.bursts else { return };
        // SAFETY: the context lives as long as the store, and machine code waits for us.
        (bursts.checking, bursts.instrumented) = unsafe { ((*context).checks, (*context).burst) };
        if in_bursts {
            bursts.instrumented += 1;
        }
    }

    fn write_bursts(&mut self) {
        let context = self.context().as_ptr();
        let Some(bursts) = &self.bursts else { return };
        // SAFETY: as above.
        unsafe { ((*context).checks, (*context).burst) = (bursts.checking, bursts.instrumented) };
    }
}
