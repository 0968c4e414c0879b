//! The allocators of a module: functions with the name and type of an allocator.

use hashbrown::HashMap;
use wprof_jit::module::{Allocator, AllocatorKind, Entity, ModuleInfo};

use super::names::{Names, demangle};

/// Finds the allocators among the functions with a usual or a given name, in the form of the module or of the source,
/// and returns their roles by function. Exported names count as well as those in the name section.
pub fn find(info: &ModuleInfo, also: &[(String, AllocatorKind)]) -> HashMap<u32, Allocator> {
    let names = Names::read(info, || None, HashMap::default);
    let exported = info.exports.iter().filter_map(|(name, entity)| match entity {
        Entity::Func(func) => Some((*func, name.as_str())),
        _ => None,
    });
    let given = |name: &str| {
        let long = if also.is_empty() { String::new() } else { demangle(name) };
        // C++ names end with their parameters.
        let short = long.split_once('(').map_or(long.as_str(), |(before, _)| before);
        let is_it = |(wanted, _): &&(String, AllocatorKind)| [name, &long, short].contains(&wanted.as_str());
        also.iter().find(is_it).map(|(_, kind)| *kind)
    };
    let all = names.funcs().chain(exported).filter(|(func, _)| !info.is_imported_func(*func));
    let found = all.filter_map(|(func, name)| {
        let kind = given(name).or_else(|| AllocatorKind::usual(name))?;
        Some((func, Allocator::new(kind, info.func_type(func))?))
    });
    found.collect()
}
