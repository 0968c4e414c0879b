//! Core modules that components import.

use super::{Definition, Linker};
use crate::component::plan::{Imported, ModuleType, Plan};
use crate::imports::fits;
use crate::{Error, ErrorKind, ExternType, Module, Result};

impl<T: 'static> Linker<T> {
    /// Checks imported modules.
    ///
    /// # Errors
    /// Fails if one does not have what the component expects of it.
    pub(super) fn check_modules(&self, plan: &Plan) -> Result<()> {
        for import in &plan.imports {
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
            }
        }
        Ok(())
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
        let name = format!("its import `{}::{}`", import.module(), import.name());
        let given =
            ty.import(import.module(), import.name()).ok_or_else(|| format!("{name} is not given to it"))?;
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
