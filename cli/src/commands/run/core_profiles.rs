//! The profile of a program, which may have run in several stores.

use anyhow::Result;
use wprof::component::Component;
use wprof::wasi::WasiCtx;
use wprof::{Module, Store};
use wprof_profiler::Profile;

use crate::modules::failure;

/// Returns what was counted in a store, for a module or for all core modules of a component; `None` if there is no instance
/// of them.
///
/// # Errors
/// Returns an error if nothing was counted.
pub fn read(
    store: &Store<WasiCtx>,
    module: &Module,
    component: Option<&Component>,
) -> Result<Option<Profile>> {
    let profile = match component {
        Some(component) => component.profile(store),
        None => module.profile(store),
    };
    profile.transpose().map_err(failure)
}

/// Adds what another store counted.
///
/// # Errors
/// Returns an error if the profiles are not of the same kind, of which no case is known.
pub fn add(sum: &mut Option<Profile>, other: Option<Profile>) -> Result<()> {
    match (sum.as_mut(), other) {
        (Some(sum), Some(other)) => sum.merge(&other)?,
        (None, other) => *sum = other,
        (Some(_), None) => {}
    }
    Ok(())
}
