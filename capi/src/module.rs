//! Modules.

use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

use wprof::{Engine, Module, Result};

use crate::error::{Message, report};
use crate::reference::{ModuleData, Reference, What};
use crate::store::StoreRef;
use crate::types::{ExportType, ImportType, write_all};
use crate::vector::{Bytes, Owned, Vector};

/// The C type `wasm_shared_module_t`.
pub struct SharedModule(Module);

fn engine(store: &StoreRef) -> Engine {
    store.with(|context| context.engine().clone())
}

fn reference(store: &StoreRef, module: Module) -> Box<Reference> {
    let data = ModuleData { module, info: Mutex::default() };
    Box::new(Reference::new(store, What::Module(Arc::new(data))))
}

/// Returns the module that a reference refers to.
pub fn module(reference: &Reference) -> Option<&Module> {
    if let What::Module(data) = &reference.what { Some(&data.module) } else { None }
}

fn new(store: &StoreRef, bytes: &Bytes) -> Result<Box<Reference>> {
    Module::new(&engine(store), bytes.as_slice()).map(|module| reference(store, module))
}

fn deserialize(store: &StoreRef, bytes: &Bytes) -> Result<Box<Reference>> {
    // SAFETY: the C caller guarantees that `wasm_module_serialize` returned the bytes.
    let module = unsafe { Module::deserialize(&engine(store), bytes.as_slice()) };
    module.map(|module| reference(store, module))
}

export! {
    ["wasm_module_new"] fn(store: &StoreRef, bytes: &Bytes) -> Owned<Reference> {
        new(store, bytes).ok()
    }
    ["wprof_module_new"] fn(store: &StoreRef, bytes: &Bytes, error: Message<'_>) -> Owned<Reference> {
        report(new(store, bytes), error)
    }
    ["wasm_module_validate"] fn(store: &StoreRef, bytes: &Bytes) -> bool {
        Module::validate(&engine(store), bytes.as_slice()).is_ok()
    }
    ["wasm_module_imports"] fn(reference: &Reference, out: &mut MaybeUninit<Vector<Owned<ImportType>>>) {
        let imports = module(reference).into_iter().flat_map(Module::imports);
        write_all(out, imports.map(|import| ImportType::new(&import)));
    }
    ["wasm_module_exports"] fn(reference: &Reference, out: &mut MaybeUninit<Vector<Owned<ExportType>>>) {
        let exports = module(reference).into_iter().flat_map(Module::exports);
        write_all(out, exports.map(|export| ExportType::new(&export)));
    }
    ["wasm_module_serialize"] fn(reference: &Reference, out: &mut MaybeUninit<Bytes>) {
        let bytes = module(reference).and_then(|module| module.serialize().ok());
        out.write(Vector::new(bytes.unwrap_or_default()));
    }
    ["wasm_module_deserialize"] fn(store: &StoreRef, bytes: &Bytes) -> Owned<Reference> {
        deserialize(store, bytes).ok()
    }
    ["wprof_module_deserialize"] fn(store: &StoreRef, bytes: &Bytes, error: Message<'_>) -> Owned<Reference> {
        report(deserialize(store, bytes), error)
    }
    ["wasm_module_share"] fn(reference: &Reference) -> Owned<SharedModule> {
        module(reference).map(|module| Box::new(SharedModule(module.clone())))
    }
    ["wasm_module_obtain"] fn(store: &StoreRef, shared: &SharedModule) -> Owned<Reference> {
        Engine::same(&engine(store), shared.0.engine()).then(|| reference(store, shared.0.clone()))
    }
    ["wasm_shared_module_delete"] fn(shared: Owned<SharedModule>) {
        drop(shared);
    }
}
