//! The profiles of a component's core modules.
//!
//! A profile names its module by a hash of the code, so modules that differ in their data only have one profile, the sum
//! of theirs. Those with other names of functions, as adapters of like interfaces are, have each their own.

use anyhow::Result;
use wprof::component::Component;
use wprof::wasi::WasiCtx;
use wprof::{Module, Store};
use wprof_profiler::Profile;

use crate::modules::{self, failure};

/// The profiles of a program's modules.
#[derive(Default)]
pub struct CoreProfiles {
    /// The profile of the module, or of the main core module; `None` if no instance of it was made.
    pub main: Option<Profile>,
    /// The profiles of other core modules that ran, with the modules' numbers.
    pub others: Vec<(usize, Profile)>,
}

impl CoreProfiles {
    /// Reads what was counted in a store, for a module or for all core modules of a component.
    ///
    /// # Errors
    /// Returns an error if nothing was counted.
    pub fn read(
        store: &Store<WasiCtx>,
        main: &Module,
        component: Option<&Component>,
    ) -> Result<CoreProfiles> {
        let all = component.map(modules::of_component).unwrap_or_default();
        let is_main = |module: &Module| modules::are_alike(module, main);
        let rest = all.iter().enumerate().filter(|(_, module)| !is_main(module));
        let first =
            rest.filter(|(number, module)| !all[..*number].iter().any(|m| modules::are_alike(m, module)));
        let profile = |(number, module): (usize, &Module)| {
            let profile = sum(store, &all, module).transpose()?;
            Some(profile.map(|profile| (number, profile)))
        };
        let ran = |profile: &Result<(usize, Profile)>| {
            profile.as_ref().map_or(true, |(_, profile)| profile.code.compiled > 0)
        };
        let others = first.filter_map(profile).filter(ran).collect::<Result<_>>()?;
        Ok(CoreProfiles { main: sum(store, &all, main)?, others })
    }

    /// Adds what another store counted.
    ///
    /// # Errors
    /// Returns an error if the profiles are not of the same kind, of which no case is known.
    pub fn add(&mut self, other: CoreProfiles) -> Result<()> {
        match (self.main.as_mut(), other.main) {
            (Some(sum), Some(other)) => sum.merge(&other)?,
            (None, other) => self.main = other,
            (Some(_), None) => {}
        }
        for (number, other) in other.others {
            match self.others.iter_mut().find(|(known, _)| *known == number) {
                Some((_, sum)) => sum.merge(&other)?,
                None => self.others.push((number, other)),
            }
        }
        self.others.sort_by_key(|(number, _)| *number);
        Ok(())
    }
}

/// Returns the numbers of the core modules that nothing in a profile tells from `module`, ascending.
pub fn alike(all: &[Module], module: &Module) -> Vec<usize> {
    (0..all.len()).filter(|&number| modules::are_alike(module, &all[number])).collect()
}

/// Returns the sum of the profiles of a module and of those among `all` that nothing tells from it; `None` if there are
/// no instances of them.
fn sum(store: &Store<WasiCtx>, all: &[Module], module: &Module) -> Result<Option<Profile>> {
    let mut counted: Vec<&Module> = vec![module];
    for other in all.iter().filter(|other| modules::are_alike(module, other)) {
        // A module that the component contains twice is one, with one sum for all its instances.
        if !counted.iter().any(|known| std::ptr::eq(known.info(), other.info())) {
            counted.push(other);
        }
    }
    let mut sum: Option<Profile> = None;
    for profile in counted.into_iter().filter_map(|module| module.profile(store)) {
        let profile = profile.map_err(failure)?;
        match &mut sum {
            Some(sum) => sum.add_instance(&profile)?,
            None => sum = Some(profile),
        }
    }
    Ok(sum)
}
