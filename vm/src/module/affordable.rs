//! Compilations that only the profile needs, limited by the engine's [`Account`].
//!
//! Invariant: a compilation that the account cannot afford is not ordered; the caller asks again later, since the
//! account grows while the program runs. An engine without an account affords every compilation at once.

use std::sync::Arc;
use std::time::Duration;

use wprof_jit::compile::Tier;
use wprof_jit::graph::BlockGraph;
use wprof_jit::reoptimize::{Advice, Estimate};

use super::ModuleInner;
use super::code::Compiled;
use crate::background::Promotion;
use crate::runtime::counts::account::{Account, Order, Purpose};
use crate::runtime::counts::cpu_time;

/// Upper bound of the share of a function's time that a better version is expected to save, used before the
/// possible optimisations are known.
const MOST_SAVED: f64 = 0.5;

impl ModuleInner {
    /// Orders the compilation of a version that only the profile needs, if the account affords it and it was not
    /// ordered before.
    pub(super) fn order_for_profile(self: &Arc<Self>, func: u32, promotion: Promotion) {
        if self.affords(func, promotion) {
            self.order_and_promise(func, promotion);
        }
    }

    /// Orders the compilation whatever it costs, because a frame would otherwise be stuck in worse code.
    pub(super) fn order_and_promise(self: &Arc<Self>, func: u32, promotion: Promotion) {
        let is_ordered = || self.code.look(func, |compiled| compiled.requested.contains(&promotion));
        if is_ordered() != Some(false) {
            return;
        }
        self.promise(func, promotion);
        self.order_promotion(func, promotion);
        if let Some(account) = self.engine.account().filter(|_| is_ordered() == Some(false)) {
            account.settle(self.order_of(func, promotion));
        }
    }

    /// Returns whether the account now affords a version that only the profile needs.
    pub(super) fn affords(&self, func: u32, promotion: Promotion) -> bool {
        self.engine.account().is_none_or(|account| account.affords(self.expected(account, func, promotion)))
    }

    /// Counts the expected compilation time as spent.
    pub(super) fn promise(&self, func: u32, promotion: Promotion) {
        if let Some(account) = self.engine.account() {
            account.promise(self.order_of(func, promotion), self.expected(account, func, promotion));
        }
    }

    /// Books the compilation of a version, successful or not; `before` is the CPU time of this thread when it
    /// began.
    pub(super) fn book(&self, func: u32, promotion: Promotion, before: Duration) {
        let Some(account) = self.engine.account() else { return };
        let took = cpu_time::of_thread().saturating_sub(before);
        let is_for_profile = account.settle(self.order_of(func, promotion));
        let is_by_profile = matches!(promotion, Promotion::Reoptimized | Promotion::Prefetching);
        if is_for_profile || is_by_profile {
            account.spend(purpose_of(promotion), took);
        }
        if !is_by_profile {
            account.learn(self.tier_of(promotion), self.info.body(func).len(), took);
        }
    }

    /// Returns whether looking for a better version of a function may pay, by the function's share of the
    /// program's work.
    pub(super) fn may_repay(&self, func: u32, advice: &Advice) -> bool {
        let share = advice.ops_of(func) as f64 / advice.ops.max(1) as f64;
        self.engine.account().is_none_or(|account| {
            account.repays(self.expected(account, func, Promotion::Reoptimized), share * MOST_SAVED)
        })
    }

    /// Returns whether compiling a better version from `graph`, for callers and for frames, pays.
    pub(super) fn repays(&self, graph: &BlockGraph, func: u32, (by, advice): (Estimate, &Advice)) -> bool {
        let Some(account) = self.engine.account() else { return true };
        let inlined: usize = graph.inlined.iter().map(|call| call.cfg.bytes()).sum();
        let for_frames = self.code.look(func, Compiled::headers_of_frames).map_or(0, |headers| headers.len());
        let cost = account.estimate(Tier::Optimized, self.info.body(func).len() + inlined);
        let share = (by.work / advice.ops.max(1) as f64).min(1.0);
        account.repays(cost * (1 + for_frames as u32), by.saved * share)
    }

    fn expected(&self, account: &Account, func: u32, promotion: Promotion) -> Duration {
        account.estimate(self.tier_of(promotion), self.info.body(func).len())
    }

    fn tier_of(&self, promotion: Promotion) -> Tier {
        match promotion {
            Promotion::Burst(_) => self.engine.burst_tier(),
            _ => Tier::Optimized,
        }
    }

    fn order_of(&self, func: u32, promotion: Promotion) -> Order {
        let block = match promotion {
            Promotion::Entry | Promotion::Reoptimized | Promotion::Prefetching => 0,
            Promotion::Resume(block)
            | Promotion::Unrolled(block)
            | Promotion::Return(block)
            | Promotion::Burst(block) => block,
        };
        Order { func: (std::ptr::from_ref(self).addr(), func), purpose: purpose_of(promotion), block }
    }
}

/// Returns the purpose of a version that only the profile needs.
fn purpose_of(promotion: Promotion) -> Purpose {
    match promotion {
        Promotion::Burst(_) => Purpose::BurstCode,
        Promotion::Reoptimized | Promotion::Prefetching => Purpose::Reoptimization,
        Promotion::Entry | Promotion::Resume(_) | Promotion::Unrolled(_) | Promotion::Return(_) => {
            Purpose::WaysBack
        }
    }
}
