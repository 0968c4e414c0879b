//! Globals, tables and memories.

use std::mem::MaybeUninit;
use std::ptr;

use wprof::{Global, Memory, Ref, Table, ValType};

use crate::reference::{Reference, What};
use crate::store::StoreRef;
use crate::types::{ExternType, Kind};
use crate::value::{Val, given, to_ref};
use crate::vector::Owned;

/// Returns the current type of an import or export.
pub fn extern_type(reference: &Reference) -> Option<ExternType> {
    let item = reference.item()?;
    Some(reference.store.with(|context| ExternType::of(&item.ty(context))))
}

fn table(reference: &Reference) -> Option<Table> {
    if let What::Table(table) = reference.what { Some(table) } else { None }
}

fn memory(reference: &Reference) -> Option<Memory> {
    if let What::Memory(memory) = reference.what { Some(memory) } else { None }
}

/// Returns an element for a table.
fn element(reference: &Reference, table: Table, element: Option<&Reference>) -> Option<Ref> {
    let ty = reference.store.with(|context| table.ty(context).element);
    match element {
        None => Some(Ref::null(&ty)),
        Some(_) => to_ref(element, Kind::of(&ValType::Ref(ty))).ok(),
    }
}

export! {
    ["wasm_global_new"] fn(store: &StoreRef, ty: &ExternType, value: &Val) -> Owned<Reference> {
        let (ty, value) = (ty.global()?, value.value().ok()?);
        let global = store.with(|context| Global::new(context, ty, value)).ok()?;
        given(Some(Reference::new(store, What::Global(global))))
    }
    ["wasm_global_type"] fn(global: &Reference) -> Owned<ExternType> {
        extern_type(global).map(Box::new)
    }
    ["wasm_global_get"] fn(global: &Reference, out: &mut MaybeUninit<Val>) {
        out.write(match global.what {
            What::Global(it) => Val::of(&global.store, &global.store.with(|context| it.get(context))),
            _ => Val::default(),
        });
    }
    ["wasm_global_set"] fn(global: &Reference, value: &Val) {
        // The API cannot report that the global is immutable or of another type, so the global keeps its value.
        if let (What::Global(it), Ok(value)) = (&global.what, value.value()) {
            let _ = global.store.with(|context| it.set(context, value));
        }
    }

    ["wasm_table_new"] fn(store: &StoreRef, ty: &ExternType, init: Option<&Reference>) -> Owned<Reference> {
        let ty = ty.table()?;
        let init = to_ref(init, Kind::of(&ValType::Ref(ty.element.clone()))).ok()?;
        let table = store.with(|context| Table::new(context, ty, init)).ok()?;
        given(Some(Reference::new(store, What::Table(table))))
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
        let Some(table) = table(reference) else { return false };
        let Some(value) = element(reference, table, value) else { return false };
        reference.store.with(|context| table.set(context, index.into(), value)).is_ok()
    }
    ["wasm_table_size"] fn(reference: &Reference) -> u32 {
        let size = table(reference).map_or(0, |table| reference.store.with(|context| table.size(context)));
        u32::try_from(size).unwrap_or(u32::MAX)
    }
    ["wasm_table_grow"] fn(reference: &Reference, delta: u32, init: Option<&Reference>) -> bool {
        let Some(table) = table(reference) else { return false };
        let Some(init) = element(reference, table, init) else { return false };
        reference.store.with(|context| table.grow(context, delta.into(), init)).is_ok()
    }

    ["wasm_memory_new"] fn(store: &StoreRef, ty: &ExternType) -> Owned<Reference> {
        let ty = ty.memory()?;
        let memory = store.with(|context| Memory::new(context, ty)).ok()?;
        given(Some(Reference::new(store, What::Memory(memory))))
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
        let grown = |memory: Memory| reference.store.with(|context| memory.grow(context, delta.into()));
        memory(reference).is_some_and(|memory| grown(memory).is_ok())
    }

    ["wasm_extern_kind"] fn(reference: &Reference) -> u8 {
        reference.kind().unwrap_or(crate::types::OTHER)
    }
    ["wasm_extern_type"] fn(reference: &Reference) -> Owned<ExternType> {
        extern_type(reference).map(Box::new)
    }
}
