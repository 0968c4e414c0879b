//! Callees of an instance's indirect calls: the cells that machine code updates, and the table of the rest.
//!
//! Invariant: a cell holds the function reference of the last callee, or 0, followed by the number of calls since
//! that callee was stored; all other calls are in the table. Source: `wprof_jit::plan::FunctionTargets`.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use wprof_jit::plan::{CELLS_PER_SITE, FunctionPlan};
use wprof_profiler::{CallTarget, Callee, FigureKind, HOST_CALLEE};

use crate::runtime::control::host_calls;
use crate::runtime::instances::abi::{VmContext, VmFuncRef, VmHostContext};
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::items::Items;

/// Number of calls, by the first cell of the call site and the function reference.
pub type TargetTable = BTreeMap<(u32, u64), u64>;

impl InstanceData {
    /// Records that the call site with this first cell calls another function than the last time.
    pub fn count_target(&mut self, cell: u32, reference: u64) {
        let (callee, calls) = self.last_target(cell);
        if calls > 0 {
            *self.targets.entry((cell, callee)).or_default() += calls;
        }
        let layout = self.module.layout();
        self.vmctx.set_counter(layout.counter(cell), reference);
        self.vmctx.set_counter(layout.counter(cell + 1), 1);
    }

    /// Returns the last callee of the call site with this first cell, and its number of calls since it was
    /// stored.
    fn last_target(&self, cell: u32) -> (u64, u64) {
        let layout = self.module.layout();
        (self.vmctx.counter(layout.counter(cell)), self.vmctx.counter(layout.counter(cell + 1)))
    }

    /// Returns all callees of the call site, with their numbers of calls.
    fn targets_of(&self, cell: u32) -> BTreeMap<u64, u64> {
        let rest = self.targets.range((cell, 0)..=(cell, u64::MAX));
        let mut all: BTreeMap<u64, u64> = rest.map(|(&(_, callee), &calls)| (callee, calls)).collect();
        let (callee, calls) = self.last_target(cell);
        if calls > 0 {
            *all.entry(callee).or_default() += calls;
        }
        all
    }
}

impl Items {
    /// Returns the callees of the indirect calls of a function of instance `index`, in no particular order. The
    /// counts have kind `kind`.
    pub fn call_targets(&self, index: u32, plan: &FunctionPlan, kind: FigureKind) -> Vec<CallTarget> {
        let instance = self.instance(index);
        let sites = plan.targets.iter().flat_map(|targets| &targets.sites).map(|site| site.offset);
        let cells = (plan.first_target_cell()..).step_by(CELLS_PER_SITE as usize);
        let calls = sites.zip(cells).flat_map(|(site, cell)| {
            instance.targets_of(cell).into_iter().map(move |(callee, count)| (site, callee, count))
        });
        let target = |(site, callee, count)| CallTarget {
            caller: plan.cfg.func,
            site,
            callee: self.referred_to(index, callee),
            count,
            kind,
        };
        calls.map(target).collect()
    }

    /// Returns the callee that a function reference refers to, as seen from an instance.
    fn referred_to(&self, seen_from: u32, reference: u64) -> Callee {
        // SAFETY: machine code has called it, so it is a function reference of this store, which keeps it alive.
        let func = unsafe { *(reference as *const VmFuncRef) };
        if func.trace_token == HOST_CALLEE {
            let context = func.vmctx.cast::<VmHostContext>();
            let context = NonNull::new(context).expect("a function of the host has a context");
            // SAFETY: only references to host functions have this token.
            let name = unsafe { host_calls::head(context) }.name.clone();
            let (module, name) = name.unwrap_or_default();
            return Callee::Host { module, name };
        }
        // SAFETY: all other references belong to instances of this store, and hold their vmctx.
        let instance = unsafe { (*func.vmctx.cast::<VmContext>()).instance };
        self.callee(seen_from, instance as u32, func.trace_token.reverse_bits())
    }
}
