//! How much work definitions are, which a component multiplies by nested instances.

use super::{Inliner, ModuleSource};
use crate::component::parse::Definition;
use crate::component::plan::Imported;

/// The bytes of names whose copies are as much work as a definition.
const NAMES: usize = 64;

impl Inliner<'_> {
    /// Returns the work of finding what a module imports.
    pub(super) fn imports_of(&self, module: ModuleSource) -> usize {
        match module {
            ModuleSource::Own(module) => {
                work_of(self.plan.modules[module as usize].imports().map(|import| import.name()))
            }
            ModuleSource::Imported(import) => match &self.plan.imports[import as usize].item {
                Imported::Module(ty) => work_of(ty.imports.iter().map(|(_, name, _)| &**name)),
                _ => 0,
            },
        }
    }
}

/// Returns the work of a definition, without that of what it instantiates.
pub fn work(definition: &Definition<'_>) -> usize {
    match definition {
        Definition::Import(name, _)
        | Definition::Export(name, ..)
        | Definition::Alias(_, name, _)
        | Definition::CoreAlias(_, name, _) => work_of([*name]),
        Definition::CoreInstance(items) => 1 + work_of(items.iter().map(|(name, _)| *name)),
        Definition::Instance(items, _) => 1 + work_of(items.iter().map(|(name, _)| *name)),
        Definition::Instantiate(_, args, _) => 1 + args.len(),
        Definition::CoreInstantiate(_, args) => 1 + args.len(),
        _ => 1,
    }
}

/// Returns the work of visiting items with these names.
pub fn work_of<'n>(names: impl IntoIterator<Item = &'n str>) -> usize {
    names.into_iter().map(|name| 1 + name.len() / NAMES).sum()
}
