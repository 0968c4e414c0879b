//! The profile of a component.
//!
//! Input: a component that ran in a store. Output: one profile of all its core modules.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use wprof_profiler::{Joining, Profile};

use super::component::Component;
use super::core_modules::CoreModule;
use crate::module::demangle;
use crate::profile::{self, Instances};
use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{AsContext, Result};

impl Component {
    /// Returns the modules that a [`profile`](Component::profile) covers: its core modules, each once, and behind them those
    /// of [`adapters`](Component::adapters).
    pub fn core_modules(&self) -> &[CoreModule] {
        self.placed()
    }

    /// Returns the hash by which profiles identify the component: if it has one core module, that of the module, or else one
    /// of those of all core modules.
    pub fn hash(&self) -> [u8; 32] {
        match self.core_modules() {
            [only] => only.module.hash(),
            all => {
                let add = |hasher: Sha256, core: &CoreModule| {
                    hasher.chain_update(core.module.hash()).chain_update(core.first_offset.to_le_bytes())
                };
                all.iter().fold(Sha256::new_with_prefix(b"component"), add).finalize().into()
            }
        }
    }

    /// Returns the profile of all its core modules in a store; `None` if it has no instance there. If there are several
    /// core modules, it says where each has its functions ([`Profile::parts`](Profile)), and functions are named
    /// `module::function`. Contexts name functions of the newest instance of each module as their own, and those of others
    /// with the number of the instance.
    ///
    /// # Errors
    /// Returns an error as [`Instance::profile`](crate::Instance::profile) does.
    pub fn profile(&self, store: impl AsContext) -> Option<Result<Profile>> {
        match self.core_modules() {
            [only] => only.module.profile(store),
            _ => self.joined(&store.as_context().0.opaque, true).transpose(),
        }
    }

    /// Returns the profile so far of a program that runs, without calling contexts.
    pub(crate) fn profile_so_far(&self, store: &StoreOpaque) -> Option<Profile> {
        match self.core_modules() {
            [only] => profile::so_far(store, &only.module.loaded()),
            _ => self.joined(store, false).ok().flatten(),
        }
    }

    fn joined(&self, store: &StoreOpaque, has_contexts: bool) -> Result<Option<Profile>> {
        let all = self.core_modules();
        let modules: Vec<Arc<dyn LoadedModule>> = all.iter().map(|core| core.module.loaded()).collect();
        let instances = Instances::new(store, &modules);
        let profiles = instances.profiles(has_contexts)?;
        if profiles.is_empty() {
            return Ok(None);
        }
        let place = |instance| instances.place(instance);
        let demangle = |symbol: &str| demangle(symbol).to_string();
        let by = Joining { place: &place, demangle: &demangle };
        let parts = all.iter().map(CoreModule::part).collect();
        Ok(Some(Profile::join(self.hash(), parts, profiles, &by)))
    }
}
