//! Skipped bursts of an instance's module: where they were due, and what they would have counted.

use std::sync::Arc;

use wprof_jit::plan::{Expected, FunctionPlan};
use wprof_profiler::{SkippedBursts, SkippedIn};

use crate::runtime::burst::skipped_bursts::SkippedHere;
use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// Returns the skipped bursts of a store, by function of instance number `index`; `None` if none were skipped.
pub fn of_instance(store: &StoreOpaque, index: u32) -> Option<SkippedBursts> {
    let bursts = store.observed.bursts.as_ref()?;
    let module = &store.items.instance(index).module;
    let skipped = |(function, here): (u32, SkippedHere)| {
        let name = module.func_name(function).map(str::to_string);
        // Only functions that can be planned run.
        let per_check = module.any_plan_of(function).map_or(0.0, |plan| ops_per_check(store, module, &plan));
        let checks = here.stands_for as f64 * bursts.checks_seen_per_due();
        SkippedIn { function, name, bursts: here.bursts, ops: (checks * per_check).round() as u64 }
    };
    let mut functions: Vec<SkippedIn> = bursts.skipped().of_module(module).map(skipped).collect();
    functions.sort_by_key(|of| of.function);
    let bursts = bursts.skipped().bursts();
    (bursts > 0).then_some(SkippedBursts { bursts, functions })
}

/// Returns how many instructions of a function are expected from one check to the next.
fn ops_per_check(store: &StoreOpaque, module: &Arc<dyn LoadedModule>, plan: &FunctionPlan) -> f64 {
    let Some(checks) = &plan.checks else { return 0.0 };
    let expected = Expected::new(module.info(), store.engine().counted(), &plan.cfg);
    checks.ops_per_check(&plan.cfg, &expected.block_weights(plan.cfg.shape()))
}
