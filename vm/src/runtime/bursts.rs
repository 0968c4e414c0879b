//! Bursts of a store: what is done when a check fires.
//!
//! Invariant: `VmStoreContext` has the counts while machine code runs, and is changed here only while it waits for us.
//! Source: algorithms.md, section 10; the decisions are `wprof_profiler::Bursts`.

use std::sync::Arc;

use wprof_jit::abi::check;
use wprof_jit::compile::Origin;
use wprof_profiler::{Bursts, Rate, Version};

use super::code::registry;
use super::store::{Pending, StoreOpaque};
use crate::module::ModuleInner;
use crate::{ProfilingConfig, Trap, profile};

/// Where a frame is that has come to a check.
struct Place {
    module: Arc<ModuleInner>,
    func: u32,
    /// Its entry, 0, or a loop header.
    block: u32,
    /// Whether it is in code for bursts.
    in_bursts: bool,
}

impl Place {
    /// The check whose call returns to `pc`.
    fn of(pc: usize) -> Option<Place> {
        let object = registry::find_return(pc)?;
        let (module, _) = object.function.as_ref()?;
        let Origin { func, block, .. } = object.origin_of_return(pc)?;
        Some(Place { module: module.upgrade()?, func, block, in_bursts: object.code.in_bursts })
    }
}

/// What the stub is to leave in the pinned register if the frame goes on in another version.
const LEAVE: i64 = -1;

impl StoreOpaque {
    /// The first phase, if there are to be bursts.
    pub fn start_bursts(&mut self) {
        if let ProfilingConfig::Adaptive(adaptive) = self.engine().config().profiling {
            self.bursts = Some(Bursts::new(adaptive.lengths));
            self.next_round = self.engine().reoptimization().map_or(u64::MAX, |policy| policy.first_round);
            self.write_bursts();
        }
    }

    /// The share of checks that were in bursts so far.
    pub fn burst_rate(&self) -> Option<Rate> {
        self.bursts.as_ref().map(Bursts::rate)
    }

    /// Whether what code for bursts counts is to be counted; always without bursts.
    pub fn counts_in_burst(&self) -> bool {
        self.bursts.as_ref().is_none_or(Bursts::counts)
    }

    /// Decides where the frame goes on whose check has fired, by a call that returns to `pc`. Gives the pinned register: see
    /// `abi::check_signature`.
    pub fn check_fired(&mut self, pc: usize) -> i64 {
        if self.interrupt().take() {
            self.pending = Some(Pending::Error(Trap::Interrupt.into()));
            return self.leave_for(check::TRAP);
        }
        let at = Place::of(pc).expect("checks are in functions of live modules");
        self.read_bursts(at.in_bursts);
        let version = self.decide(&at);
        self.look_for_hot_code(&at);
        if version.is_some() {
            self.forgive_check(!at.in_bursts);
        }
        let stay = self.write_bursts();
        version.map_or(stay, |address| self.leave_for(address as i64))
    }

    fn leave_for(&mut self, go_on: i64) -> i64 {
        // SAFETY: the context lives as long as the store, and machine code waits for us.
        unsafe { (*self.context().as_ptr()).go_on = go_on };
        LEAVE
    }

    /// After twice as many bursts each time, has functions reoptimized that they have shown to be hot.
    fn look_for_hot_code(&mut self, at: &Place) {
        let begun = self.bursts.as_ref().map_or(0, |bursts| bursts.begun);
        if at.in_bursts || begun < self.next_round {
            return;
        }
        self.next_round = begun.saturating_mul(2);
        if let Some(profile) = profile::sampled(self, &at.module) {
            at.module.advise(&profile);
        }
    }

    /// The version in which the frame goes on, unless it stays.
    fn decide(&mut self, at: &Place) -> Option<usize> {
        let bursts = self.bursts.as_mut()?;
        let begun = bursts.begun;
        let version = if at.in_bursts { bursts.check_in_burst() } else { bursts.fired() };
        match (at.in_bursts, version) {
            (false, Version::Checking) | (true, Version::Instrumented) => None,
            (false, Version::Instrumented) => {
                let code = at.module.burst_code(at.func, at.block);
                // In a burst that goes on the next check asks again.
                if code.is_none() && bursts.begun > begun {
                    bursts.lose();
                }
                code
            }
            (true, Version::Checking) => {
                let code = at.module.checking_code(at.func, at.block);
                if code.is_none() {
                    bursts.wait();
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

    /// Gives the counts to machine code; that of checks, which is never negative, also to the caller.
    fn write_bursts(&mut self) -> i64 {
        let context = self.context().as_ptr();
        let Some(bursts) = &self.bursts else { return 0 };
        // SAFETY: as above.
        unsafe {
            ((*context).checks, (*context).burst) = (bursts.checking, bursts.instrumented);
            (*context).counts = bursts.counts().into();
        }
        bursts.checking
    }
}
