//! Checks of whether imports match a module.

use wprof_jit::module::Import;

use crate::runtime::instances::instantiate::Imports;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Error, ErrorKind, Extern, ExternType, MemoryType, Module, Result, TableType, TagType};

/// Sorts the imports of `module` by kind.
///
/// # Errors
/// Returns an error if the number of imports is wrong, or one does not have the type that the module expects.
///
/// # Panics
/// Panics if an import belongs to another store.
pub(crate) fn check(store: &StoreOpaque, module: &Module, given: &[Extern]) -> Result<Imports> {
    let wanted = &module.info().imports;
    if wanted.len() != given.len() {
        let message = format!("the module has {} imports, {} were given", wanted.len(), given.len());
        return Err(Error::new(ErrorKind::Link, message));
    }
    let mut imports = Imports::default();
    for (import, item) in wanted.iter().zip(given) {
        check_type(import, &module.entity_type(import.entity), &type_of(store, item))?;
        add(store, item, &mut imports);
    }
    Ok(imports)
}

/// Adds the next import.
///
/// # Panics
/// Panics if it belongs to another store.
pub(crate) fn add(store: &StoreOpaque, item: &Extern, imports: &mut Imports) {
    match item {
        Extern::Func(f) => imports.funcs.push(f.0),
        Extern::Table(t) => imports.tables.push(store.items.index(t.0)),
        Extern::Memory(m) => imports.memories.push(store.items.index(m.0)),
        Extern::Global(g) => imports.globals.push(store.items.index(g.0)),
        Extern::Tag(t) => imports.tags.push(store.items.index(t.0)),
    }
}

/// Checks that an import has the type that the module expects.
///
/// # Errors
/// Returns an error if it has another type.
pub(crate) fn check_type(import: &Import, expected: &ExternType, found: &ExternType) -> Result<()> {
    if fits(expected, found) { Ok(()) } else { Err(incompatible(import, expected, found)) }
}

fn type_of(store: &StoreOpaque, item: &Extern) -> ExternType {
    match item {
        Extern::Func(f) => ExternType::Func(store.items.func_type(f.0).func_type()),
        Extern::Global(g) => ExternType::Global(store.items.global(store.items.index(g.0)).ty().clone()),
        Extern::Tag(t) => ExternType::Tag(TagType::new(store.items.tag(store.items.index(t.0)).ty.clone())),
        Extern::Table(t) => {
            let table = store.items.table(store.items.index(t.0));
            ExternType::Table(TableType { minimum: table.len(), ..table.ty().clone() })
        }
        Extern::Memory(m) => {
            let memory = store.items.memory(store.items.index(m.0));
            ExternType::Memory(MemoryType { minimum: memory.pages(), ..memory.ty() })
        }
    }
}

/// Reports whether an item of one type may be imported where another one is expected.
pub(crate) fn fits(expected: &ExternType, found: &ExternType) -> bool {
    match (expected, found) {
        (ExternType::Table(e), ExternType::Table(f)) => {
            // Both sides may write to the table, so the types must be equal.
            e.element == f.element
                && e.is_64 == f.is_64
                && limits_fit((e.minimum, e.maximum), (f.minimum, f.maximum))
        }
        (ExternType::Memory(e), ExternType::Memory(f)) => {
            (e.is_64, e.is_shared) == (f.is_64, f.is_shared)
                && limits_fit((e.minimum, e.maximum), (f.minimum, f.maximum))
        }
        (ExternType::Func(e), ExternType::Func(f)) => f.matches(e),
        (ExternType::Global(e), ExternType::Global(f)) if !e.mutable && !f.mutable => {
            f.content.matches(&e.content)
        }
        _ => expected == found,
    }
}

/// Returns whether the found limits are at least as large as expected, and never exceed the maximum.
fn limits_fit(expected: (u64, Option<u64>), found: (u64, Option<u64>)) -> bool {
    found.0 >= expected.0 && expected.1.is_none_or(|max| found.1.is_some_and(|m| m <= max))
}

fn incompatible(import: &Import, expected: &ExternType, found: &ExternType) -> Error {
    let Import { module, name, .. } = import;
    let message =
        format!("incompatible import type for `{module}::{name}`: expected {expected}, found {found}");
    Error::new(ErrorKind::Link, message)
}
