//! Names for the functions of two profiles of which one or both lack names.

use std::collections::HashMap;

use super::matching::pairs;
use crate::{Callee, Profile};

/// Gives functions that lack a name the one of their partner in the other profile, so that calling contexts and sampled
/// time, which are compared by name, fit together. Where both lack it, both get the number of the first one; a function
/// without a partner gets a number that no other function has.
pub fn share_names(before: &mut Profile, after: &mut Profile) {
    let is_one_module = before.module_hash == after.module_hash;
    let known = |profile: &Profile| if is_one_module { named(profile) } else { HashMap::new() };
    let (mut ours, mut theirs) = (known(after), known(before));
    let mut partners = HashMap::new();
    for pair in pairs(before, after) {
        let (Some(old), Some(new)) = (pair.before, pair.after) else { continue };
        partners.insert(new.index, old.index);
        match (&old.name, &new.name) {
            (None, Some(name)) => drop(ours.insert(old.index, name.clone())),
            (Some(name), None) => drop(theirs.insert(new.index, name.clone())),
            _ => {}
        }
    }
    before.rename(|index, name| ours.get(&index).filter(|_| name.is_none()).cloned());
    let numbered = |index| match partners.get(&index) {
        Some(partner) => format!("wasm-function[{partner}]"),
        None => format!("wasm-function[{index}] (after)"),
    };
    let other = |index| (!is_one_module).then(|| numbered(index));
    after.rename(|index, name| match name {
        None => theirs.get(&index).cloned().or_else(|| other(index)),
        Some(_) => None,
    });
    if !is_one_module {
        before.rename(|index, name| name.is_none().then(|| format!("wasm-function[{index}]")));
    }
}

/// Returns the names of functions by index.
fn named(profile: &Profile) -> HashMap<u32, String> {
    let functions = profile.functions.iter().map(|function| (function.index, &function.name));
    let routines = profile.contexts.iter().flat_map(|tree| &tree.routines).map(|routine| &routine.callee);
    let sampled = profile.time.iter().flat_map(|time| &time.callees);
    let called = routines.chain(sampled).filter_map(|callee| match callee {
        Callee::Function { index, name } => Some((*index, name)),
        _ => None,
    });
    functions.chain(called).filter_map(|(index, name)| Some((index, name.clone()?))).collect()
}
