//! Instances of core modules that components import.

use std::sync::Arc;

use crate::component::plan::{Imported, ModuleSource};
use crate::component::state::State;
use crate::store::StoreContextMut;
use crate::{Error, ErrorKind, Extern, ImportType, Instance, Result};

/// Instantiates an imported module with the items that its type imports. If it may wait, this call must be alone on its
/// fiber.
///
/// # Errors
/// Fails as the instantiation of a module does.
pub fn instantiate<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    (import, items): (u32, &[Extern]),
    may_wait: bool,
) -> Result<Instance> {
    let missing = || Error::new(ErrorKind::Link, "an imported core module is not defined");
    let module = state.module(ModuleSource::Imported(import)).ok_or_else(missing)?;
    let Imported::Module(ty) = &state.component.plan().imports[import as usize].item else {
        return Err(missing());
    };
    let item = |import: ImportType<'_>| {
        let item = ty.import(import.module(), import.name()).and_then(|number| items.get(number).copied());
        item.ok_or_else(missing)
    };
    let imports = module.imports().map(item).collect::<Result<Vec<_>>>()?;
    Instance::new_in(store.0, module, &imports, may_wait)
}
