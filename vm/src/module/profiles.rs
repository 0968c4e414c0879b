//! Profiles that are given to an engine, and the modules that they are of.

use std::borrow::Cow;

use wprof_jit::module::ModuleInfo;
use wprof_profiler::Profile;

use super::hash::{self, ModuleHash};
use crate::{Engine, Error, ErrorKind, Result};

/// To what a module belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Nothing: it is a program or a library.
    None,
    /// A component, of whose modules some have advice.
    Component,
}

/// Reports whether a profile with the hash `of` is one of a module.
pub fn is_of(of: &[u8; 32], info: &ModuleInfo, hash: &ModuleHash) -> bool {
    hash.get(&info.bytes) == *of || hash::of_older_profiles(info) == *of
}

/// Checks that the profiles given to the engine describe a module, and returns the advice for it.
///
/// # Errors
/// Fails if they describe another module; advice for other modules of a component is left out.
pub fn advice(
    engine: &Engine,
    owner: Owner,
    is_of: impl Fn(&[u8; 32]) -> bool,
) -> Result<Option<Cow<'_, Profile>>> {
    let config = engine.config();
    let interesting = config.paths.interesting.as_ref().map(|interesting| &interesting.profile);
    for (profile, what) in [(config.weights.as_ref(), "weights"), (interesting, "interesting paths")] {
        if profile.is_some_and(|profile| !is_of(&profile.module_hash)) {
            return Err(of_another_module(what));
        }
    }
    match config.tiers.advice.as_deref() {
        Some(advice) if is_of(&advice.module_hash) => Ok(Some(Cow::Borrowed(advice))),
        // It is the profile of a component.
        Some(advice) if advice.parts.iter().any(|part| is_of(&part.module_hash)) => {
            Ok(advice.of_module(is_of).map(Cow::Owned))
        }
        Some(_) if owner == Owner::None => Err(of_another_module("hot paths")),
        _ => Ok(None),
    }
}

/// Returns the error of a profile that describes another module.
pub fn of_another_module(what: &str) -> Error {
    let message = format!(
        "the {what} are a profile of another module, or of another build of it: take one of this module"
    );
    Error::new(ErrorKind::Module, message)
}
