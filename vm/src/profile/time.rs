//! The time profile of a store, as seen from one of its instances.

use std::sync::Arc;

use wprof_profiler::{Callee, TimeLog, TimeProfile, Timed};

use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::samples::{Place, TimedNode, TimedStacks};

/// Returns the time profile of a store, if it is sampled. Functions of instance number `index` are the profile's
/// own.
pub fn of_instance(store: &StoreOpaque, index: u32) -> Option<TimeProfile> {
    let stacks = store.observed.samples.stacks()?;
    let mut log = TimeLog::new(store.engine().config().sampled_rate().unwrap_or(0));
    (log.lost, log.squares) = (stacks.lost, stacks.squares);
    // By node of the samples, its node in the log and the instance in which it runs.
    let mut known: Vec<(Option<u32>, u32)> = Vec::with_capacity(stacks.nodes.len());
    for node in &stacks.nodes {
        let (caller, instance) = match node.caller {
            Some(caller) => known[caller as usize],
            None => (None, entered(node)),
        };
        let (instance, callee) = callee(store, index, &stacks, (node.place, instance));
        let (offset, is_inlined) = match node.place {
            Place::Wasm { offset, is_inlined, .. } => (offset, is_inlined),
            Place::Host(_) | Place::Engine | Place::Collector | Place::Unknown => (0, false),
        };
        let own = Timed { time_ns: node.own.time_ns, samples: node.own.samples };
        known.push((Some(log.add(caller, (&callee, offset, is_inlined), own)), instance));
    }
    Some(log.tree())
}

/// Returns the instance that the host has entered.
fn entered(node: &TimedNode) -> u32 {
    match node.place {
        Place::Wasm { entered, .. } => entered,
        Place::Host(_) | Place::Engine | Place::Collector | Place::Unknown => 0,
    }
}

/// Returns the instance and the callee that run at a place, called from the instance `caller`.
fn callee(
    store: &StoreOpaque,
    seen_from: u32,
    stacks: &TimedStacks,
    (place, caller): (Place, u32),
) -> (u32, Callee) {
    match place {
        Place::Wasm { module, offset, .. } => {
            let module = &stacks.modules[module as usize];
            let instance = instance_like(&store.items, caller, module);
            let func = module.info().func_at(offset as usize);
            let found = func.map(|func| store.items.callee(seen_from, instance, func));
            (instance, found.unwrap_or(Callee::Beyond))
        }
        Place::Host(number) => {
            let head = store.items.hosts().get(number as usize).map(|host| host.head());
            let (module, name) = head.and_then(|head| head.name.clone()).unwrap_or_default();
            (caller, Callee::Host { module, name })
        }
        Place::Engine => (caller, Callee::Engine),
        Place::Collector => (caller, Callee::Collector),
        Place::Unknown => (caller, Callee::Beyond),
    }
}

/// Returns the instance of `module` in which a frame runs whose caller runs in `caller`. A call stays in its
/// instance, unless the callee belongs to another module; of several instances of that module the first is
/// assumed.
fn instance_like(items: &Items, caller: u32, module: &Arc<dyn LoadedModule>) -> u32 {
    let is_of = |index: &u32| {
        let instance = items.instances().get(*index as usize);
        instance.is_some_and(|instance| loaded::same(&instance.module, module))
    };
    let all = 0..items.instances().len() as u32;
    std::iter::once(caller).chain(all).find(is_of).unwrap_or(caller)
}
