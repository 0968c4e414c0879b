//! Core modules that components import.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{Definition, Linker};
use crate::component::plan::{Imported, ModuleSource, ModuleType, Plan};
use crate::component::state::State;
use crate::imports::fits;
use crate::store::StoreContextMut;
use crate::{Error, ErrorKind, Extern, ExternType, ImportType, Instance, Module, Result};

impl<T: 'static> Linker<T> {
    /// Returns the imported modules, by the numbers of the imports.
    ///
    /// # Errors
    /// Fails if one does not have what the component expects of it.
    pub(super) fn modules(&self, plan: &Plan) -> Result<HashMap<u32, Module>> {
        let mut all = HashMap::new();
        for (number, import) in (0..).zip(&plan.imports) {
            if let (Imported::Module(ty), Some(Definition::Module(module))) =
                (&import.item, self.find(&import.path))
            {
                check(module, ty).map_err(|why| {
                    let name = import.path.join("#");
                    Error::new(
                        ErrorKind::Link,
                        format_args!("module `{name}` does not fit its import: {why}"),
                    )
                })?;
                all.insert(number, module.clone());
            }
        }
        Ok(all)
    }
}

/// Fails unless a module exports what is expected, and imports no more than that.
fn check(module: &Module, ty: &ModuleType) -> Result<(), String> {
    for (name, expected) in &ty.exports {
        match module.get_export(name) {
            Some(found) if fits(expected, &found) => {}
            found => return Err(unfit(&format!("its export `{name}`"), expected, found)),
        }
    }
    for import in module.imports() {
        let (number, name) =
            (number(ty, &import), format!("its import `{}::{}`", import.module(), import.name()));
        let given = number.ok_or_else(|| format!("{name} is not given to it"))?;
        let given = &ty.imports[given].2;
        if !fits(&import.ty(), given) {
            return Err(unfit(&name, &import.ty(), Some(given.clone())));
        }
    }
    Ok(())
}

fn unfit(name: &str, expected: &ExternType, found: Option<ExternType>) -> String {
    let found = found.map_or_else(|| "nothing".to_owned(), |found| found.to_string());
    format!("{name} must be {expected}, found {found}")
}

/// Returns the number of an import in a type.
fn number(ty: &ModuleType, import: &ImportType<'_>) -> Option<usize> {
    ty.imports.iter().position(|(module, name, _)| (&**module, &**name) == (import.module(), import.name()))
}

/// Instantiates an imported module with the items that its type imports.
///
/// # Errors
/// Fails as the instantiation of a module does.
pub fn instantiate<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    state: &Arc<State>,
    import: u32,
    items: &[Extern],
) -> Result<Instance> {
    let missing = || Error::new(ErrorKind::Link, "an imported core module is not defined");
    let module = state.module(ModuleSource::Imported(import)).ok_or_else(missing)?;
    let Imported::Module(ty) = &state.component.plan().imports[import as usize].item else {
        return Err(missing());
    };
    let item = |import: ImportType<'_>| {
        let item = number(ty, &import).and_then(|number| items.get(number).copied());
        item.ok_or_else(missing)
    };
    let imports = module.imports().map(item).collect::<Result<Vec<_>>>()?;
    Instance::new(store, module, &imports)
}
