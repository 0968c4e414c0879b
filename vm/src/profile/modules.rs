//! Profiles of modules: the sums of those of their instances in a store.

use std::sync::Arc;

use wprof_profiler::Profile;

use super::{of_instance, skipped, time, timeline, with_timeline};
use crate::module::ModuleInner;
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Error, Result};

/// Returns the sum of the profiles of all instances of a module in a store; `None` if there are none.
pub fn of_module(store: &StoreOpaque, module: &Arc<dyn LoadedModule>) -> Option<Result<Profile>> {
    let (newest, others) = instances_of(store, module)?;
    Some(with_timeline(store, newest, true).and_then(|profile| with_instances(profile, store, &others)))
}

/// The instances of several modules in a store.
pub struct Instances<'s> {
    store: &'s StoreOpaque,
    modules: &'s [Arc<dyn LoadedModule>],
    /// Of each module the number of the newest instance, and those of the others; `None` if it has none.
    all: Vec<Option<(u32, Vec<u32>)>>,
}

impl<'s> Instances<'s> {
    /// Finds the instances of modules.
    pub fn new(store: &'s StoreOpaque, modules: &'s [Arc<dyn LoadedModule>]) -> Self {
        let all = modules.iter().map(|module| instances_of(store, module)).collect();
        Self { store, modules, all }
    }

    /// Returns the sums of the profiles of all instances of each module, by number; without those that have none. What belongs
    /// to the whole store (calling contexts, if they are wanted, and sampled time) is in the first one, as its newest
    /// instance sees it; if contexts have paths, each profile has the tree with its own.
    ///
    /// # Errors
    /// Fails if nothing is counted.
    pub fn profiles(&self, has_contexts: bool) -> Result<Vec<(usize, Profile)>> {
        let (store, mut all) = (self.store, Vec::new());
        for (number, (module, instances)) in self.modules.iter().zip(&self.all).enumerate() {
            let Some((newest, others)) = instances else { continue };
            let inner = ModuleInner::from_loaded(module);
            let has_tree = has_contexts && (all.is_empty() || store.observed.has_flow());
            let mut profile = of_instance(store, *newest, inner.hash(), has_tree)?;
            profile.time = time::of_instance(store, *newest);
            profile.skipped = skipped::of_instance(store, *newest, &profile);
            profile.time = profile.time.filter(|_| all.is_empty());
            profile.timeline = timeline::of_store(store, inner);
            profile.normalize();
            all.push((number, with_instances(profile, store, others)?));
        }
        Ok(all)
    }

    /// Returns the number of the module that an instance is of, and whether it is the newest one of that; `None` if its module
    /// is another one.
    pub fn place(&self, instance: u32) -> Option<(usize, bool)> {
        let of = self.store.items.instances().get(instance as usize)?;
        let number = self.modules.iter().position(|module| loaded::same(&of.module, module))?;
        let (newest, _) = self.all[number].as_ref()?;
        Some((number, *newest == instance))
    }
}

/// Returns the number of a module's newest instance, and those of the others, ascending; `None` if there are none.
fn instances_of(store: &StoreOpaque, module: &Arc<dyn LoadedModule>) -> Option<(u32, Vec<u32>)> {
    let is_of = |(instance, index): (&InstanceData, u32)| {
        (instance.is_ready && loaded::same(&instance.module, module)).then_some(index)
    };
    let mut all: Vec<u32> = store.items.instances().iter().zip(0..).filter_map(is_of).collect();
    Some((all.pop()?, all))
}

/// Adds the counts of other instances of the same module to a profile.
fn with_instances(mut profile: Profile, store: &StoreOpaque, others: &[u32]) -> Result<Profile> {
    for &index in others {
        let other = of_instance(store, index, profile.module_hash, false)?;
        profile.add_instance(&other).map_err(Error::msg)?;
    }
    Ok(profile)
}
