//! Globals, tables and memories.

use std::mem::MaybeUninit;
use std::ptr;

use wprof::{Global, Memory, Ref, Result, Table, ValType};

use crate::error::{Message, report, wrong};
use crate::reference::{Reference, What};
use crate::store::StoreRef;
use crate::types::{ExternType, Kind};
use crate::value::{Val, given, to_ref};
use crate::vector::Owned;

/// Returns the current type of an import or export.
pub fn extern_type(reference: &Reference) -> Option<ExternType> {
    let item = reference.item()?;
    Some(reference.store.with(|context| ExternType::new(&item.ty(context))))
}

fn table(reference: &Reference) -> Option<Table> {
    if let What::Table(table) = reference.what { Some(table) } else { None }
}

fn memory(reference: &Reference) -> Option<Memory> {
    if let What::Memory(memory) = reference.what { Some(memory) } else { None }
}

/// Returns an element for a table.
fn element(reference: &Reference, table: Table, element: Option<&Reference>) -> Result<Ref> {
    let ty = reference.store.with(|context| table.ty(context).element);
    match element {
        None => Ok(Ref::null(&ty)),
        Some(_) => to_ref(element, Kind::new(&ValType::Ref(ty))),
    }
}

fn unnamed() -> wprof::Error {
    wrong("the type is none that this function can make")
}

fn new_global(store: &StoreRef, ty: &ExternType, value: &Val) -> Result<Box<Reference>> {
    let (ty, value) = (ty.global().ok_or_else(unnamed)?, value.value()?);
    let global = store.with(|context| Global::new(context, ty, value))?;
    Ok(Box::new(Reference::new(store, What::Global(global))))
}

fn set_global(reference: &Reference, value: &Val) -> Result<()> {
    let What::Global(global) = reference.what else { return Err(wrong("it is no global")) };
    let value = value.value()?;
    reference.store.with(|context| global.set(context, value))
}

fn new_table(store: &StoreRef, ty: &ExternType, init: Option<&Reference>) -> Result<Box<Reference>> {
    let ty = ty.table().ok_or_else(unnamed)?;
    let init = to_ref(init, Kind::new(&ValType::Ref(ty.element.clone())))?;
    let table = store.with(|context| Table::new(context, ty, init))?;
    Ok(Box::new(Reference::new(store, What::Table(table))))
}

fn set_element(reference: &Reference, index: u32, value: Option<&Reference>) -> Result<()> {
    let table = table(reference).ok_or_else(|| wrong("it is no table"))?;
    let value = element(reference, table, value)?;
    reference.store.with(|context| table.set(context, index.into(), value))
}

fn grow_table(reference: &Reference, delta: u32, init: Option<&Reference>) -> Result<u64> {
    let table = table(reference).ok_or_else(|| wrong("it is no table"))?;
    let init = element(reference, table, init)?;
    reference.store.with(|context| table.grow(context, delta.into(), init))
}

fn new_memory(store: &StoreRef, ty: &ExternType) -> Result<Box<Reference>> {
    let ty = ty.memory().ok_or_else(unnamed)?;
    let memory = store.with(|context| Memory::new(context, ty))?;
    Ok(Box::new(Reference::new(store, What::Memory(memory))))
}

fn grow_memory(reference: &Reference, delta: u32) -> Result<u64> {
    let memory = memory(reference).ok_or_else(|| wrong("it is no memory"))?;
    reference.store.with(|context| memory.grow(context, delta.into()))
}

export! {
    ["wasm_global_new"] fn(store: &StoreRef, ty: &ExternType, value: &Val) -> Owned<Reference> {
        new_global(store, ty, value).ok()
    }
    ["wprof_global_new"] fn(
        store: &StoreRef,
        ty: &ExternType,
        value: &Val,
        error: Message<'_>,
    ) -> Owned<Reference> {
        report(new_global(store, ty, value), error)
    }
    ["wasm_global_type"] fn(global: &Reference) -> Owned<ExternType> {
        extern_type(global).map(Box::new)
    }
    ["wasm_global_get"] fn(global: &Reference, out: &mut MaybeUninit<Val>) {
        out.write(match global.what {
            What::Global(it) => Val::new(&global.store, &global.store.with(|context| it.get(context))),
            _ => Val::default(),
        });
    }
    ["wasm_global_set"] fn(global: &Reference, value: &Val) {
        // The API cannot report that the global is immutable or of another type, so the global keeps its value.
        let _ = set_global(global, value);
    }
    ["wprof_global_set"] fn(global: &Reference, value: &Val, error: Message<'_>) -> bool {
        report(set_global(global, value), error).is_some()
    }

    ["wasm_table_new"] fn(store: &StoreRef, ty: &ExternType, init: Option<&Reference>) -> Owned<Reference> {
        new_table(store, ty, init).ok()
    }
    ["wprof_table_new"] fn(
        store: &StoreRef,
        ty: &ExternType,
        init: Option<&Reference>,
        error: Message<'_>,
    ) -> Owned<Reference> {
        report(new_table(store, ty, init), error)
    }
    ["wasm_table_type"] fn(table: &Reference) -> Owned<ExternType> {
        extern_type(table).map(Box::new)
    }
    ["wasm_table_get"] fn(reference: &Reference, index: u32) -> Owned<Reference> {
        let table = table(reference)?;
        let value = reference.store.with(|context| table.get(context, index.into()))?;
        given(Reference::to_value(&reference.store, &value))
    }
    ["wasm_table_set"] fn(reference: &Reference, index: u32, value: Option<&Reference>) -> bool {
        set_element(reference, index, value).is_ok()
    }
    ["wprof_table_set"] fn(
        reference: &Reference,
        index: u32,
        value: Option<&Reference>,
        error: Message<'_>,
    ) -> bool {
        report(set_element(reference, index, value), error).is_some()
    }
    ["wasm_table_size"] fn(reference: &Reference) -> u32 {
        let size = table(reference).map_or(0, |table| reference.store.with(|context| table.size(context)));
        u32::try_from(size).unwrap_or(u32::MAX)
    }
    ["wasm_table_grow"] fn(reference: &Reference, delta: u32, init: Option<&Reference>) -> bool {
        grow_table(reference, delta, init).is_ok()
    }
    ["wprof_table_grow"] fn(
        reference: &Reference,
        delta: u32,
        init: Option<&Reference>,
        error: Message<'_>,
    ) -> bool {
        report(grow_table(reference, delta, init), error).is_some()
    }

    ["wasm_memory_new"] fn(store: &StoreRef, ty: &ExternType) -> Owned<Reference> {
        new_memory(store, ty).ok()
    }
    ["wprof_memory_new"] fn(store: &StoreRef, ty: &ExternType, error: Message<'_>) -> Owned<Reference> {
        report(new_memory(store, ty), error)
    }
    ["wasm_memory_type"] fn(memory: &Reference) -> Owned<ExternType> {
        extern_type(memory).map(Box::new)
    }
    ["wasm_memory_data"] fn(reference: &Reference) -> *mut u8 {
        let Some(memory) = memory(reference) else { return ptr::null_mut() };
        reference.store.with(|mut context| match memory.shared(&context) {
            // Other threads may use a shared memory, so it has no bytes of its own to point to.
            Some(_) => ptr::null_mut(),
            None => memory.data_mut(&mut context).as_mut_ptr(),
        })
    }
    ["wasm_memory_data_size"] fn(reference: &Reference) -> usize {
        memory(reference).map_or(0, |memory| reference.store.with(|context| memory.data_size(context)))
    }
    ["wasm_memory_size"] fn(reference: &Reference) -> u32 {
        let size = memory(reference).map_or(0, |memory| reference.store.with(|context| memory.size(context)));
        u32::try_from(size).unwrap_or(u32::MAX)
    }
    ["wasm_memory_grow"] fn(reference: &Reference, delta: u32) -> bool {
        grow_memory(reference, delta).is_ok()
    }
    ["wprof_memory_grow"] fn(reference: &Reference, delta: u32, error: Message<'_>) -> bool {
        report(grow_memory(reference, delta), error).is_some()
    }

    ["wasm_extern_kind"] fn(reference: &Reference) -> u8 {
        reference.kind().unwrap_or(crate::types::OTHER)
    }
    ["wasm_extern_type"] fn(reference: &Reference) -> Owned<ExternType> {
        extern_type(reference).map(Box::new)
    }
}
