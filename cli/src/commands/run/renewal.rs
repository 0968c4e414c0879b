//! A server's new beginning after a trap: another store with a new instance, and what the earlier ones have counted.

use std::time::Instant;

use anyhow::Result;
use wprof::component::{Component, Instance, Linker};
use wprof::wasi::WasiCtx;
use wprof::{Error, Instance as CoreInstance, Module, Store};
use wprof_profiler::Profile;

use super::args::ProgramArgs;
use super::interruption::Interruption;
use super::{component, host};
use crate::modules::failure;

/// What a new beginning takes over.
pub struct Renewal<'a> {
    pub args: &'a ProgramArgs,
    pub component: &'a Component,
    /// The core module whose profile is the component's.
    pub main: &'a Module,
    pub linker: &'a Linker<WasiCtx>,
    pub interruption: Option<&'a Interruption>,
    pub deadline: Option<Instant>,
}

/// The counts of stores that are gone.
#[derive(Default)]
pub struct Earlier {
    profile: Option<Profile>,
    /// Those of other core modules, with the modules' numbers.
    others: Vec<(usize, Profile)>,
}

impl Renewal<'_> {
    /// Replaces the store, and with it all memory of the instance that has trapped; returns the new instance. Adds what
    /// the old one has counted to `earlier`.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be opened any more, or the system has no memory. The inner error is that of
    /// the instantiation.
    pub fn renew(
        &self,
        store: &mut Store<WasiCtx>,
        is_deterministic: bool,
        earlier: Option<&mut Earlier>,
    ) -> Result<Option<Result<Instance, Error>>> {
        if let Some(earlier) = earlier {
            let profile =
                CoreInstance::newest_of(&*store, self.main).map(|instance| instance.profile(&*store));
            let others = component::others(store, self.component, self.main)?;
            earlier.add(profile.transpose().map_err(failure)?, others)?;
        }
        let wasi = host::wasi(self.args, is_deterministic)?;
        let mut next = Store::try_new(self.component.engine(), wasi).map_err(failure)?;
        next.set_deadline(self.deadline).map_err(failure)?;
        if let Some(interruption) = self.interruption {
            interruption.follow(next.interrupt_handle());
        }
        *store = next;
        Ok(Some(self.linker.instantiate(store, self.component)))
    }
}

impl Earlier {
    fn add(&mut self, profile: Option<Profile>, others: Vec<(usize, Profile)>) -> Result<()> {
        let (mut profile, mut others) = (profile, others);
        std::mem::take(self).add_to(&mut profile, &mut others)?;
        *self = Earlier { profile, others };
        Ok(())
    }

    /// Adds the counts to those of the last store.
    ///
    /// # Errors
    /// Returns an error if the profiles are not of the same kind, of which no case is known.
    pub fn add_to(self, profile: &mut Option<Profile>, others: &mut Vec<(usize, Profile)>) -> Result<()> {
        match (profile.as_mut(), self.profile) {
            (Some(sum), Some(earlier)) => sum.merge(&earlier)?,
            (None, earlier) => *profile = earlier,
            (Some(_), None) => {}
        }
        for (number, earlier) in self.others {
            match others.iter_mut().find(|(other, _)| *other == number) {
                Some((_, sum)) => sum.merge(&earlier)?,
                None => others.push((number, earlier)),
            }
        }
        others.sort_by_key(|(number, _)| *number);
        Ok(())
    }
}
