//! Instances.

use std::mem::MaybeUninit;

use wprof::{Error, Instance, Result};

use crate::error::wrong;
use crate::module::module;
use crate::reference::{Reference, What};
use crate::store::StoreRef;
use crate::trap;
use crate::vector::{Bytes, Owned, Vector, text};

fn new(store: &StoreRef, of: &Reference, imports: &[Owned<Reference>]) -> Result<Instance> {
    let module = module(of).ok_or_else(|| wrong("what is to be instantiated is no module"))?;
    let item = |import: &Owned<Reference>| import.as_ref().and_then(|import| import.item());
    let imports: Option<Vec<_>> = imports.iter().take(module.imports().len()).map(item).collect();
    let imports = imports.ok_or_else(|| wrong("an import is null, or nothing that can be imported"))?;
    store.with(|context| Instance::new(context, module, &imports))
}

/// Writes an error to `out` as a trap, if the C caller wants it.
fn leave(store: &StoreRef, error: &Error, out: Option<&mut MaybeUninit<Owned<Reference>>>) {
    if let Some(out) = out {
        out.write(Some(Box::new(trap::of_error(store, error))));
    }
}

export! {
    ["wasm_instance_new"] fn(
        store: &StoreRef,
        module: &Reference,
        imports: Option<&Vector<Owned<Reference>>>,
        trap: Option<&mut MaybeUninit<Owned<Reference>>>,
    ) -> Owned<Reference> {
        match new(store, module, imports.map(Vector::as_slice).unwrap_or_default()) {
            Ok(instance) => {
                if let Some(trap) = trap {
                    trap.write(None);
                }
                Some(Box::new(Reference::new(store, What::Instance(instance))))
            }
            Err(error) => {
                leave(store, &error, trap);
                None
            }
        }
    }
    ["wasm_instance_exports"] fn(reference: &Reference, out: &mut MaybeUninit<Vector<Owned<Reference>>>) {
        let store = &reference.store;
        let exports = match reference.what {
            What::Instance(instance) => store.with(|context| {
                let items: Vec<_> = instance.exports(&context).map(|export| export.into_extern()).collect();
                items
            }),
            _ => Vec::new(),
        };
        let exports = exports.into_iter().map(|item| Some(Box::new(Reference::to_extern(store, item))));
        out.write(Vector::new(exports.collect()));
    }    ["wprof_caller_export"] fn(store: &StoreRef, name: &Bytes) -> Owned<Reference> {
        store.caller_export(&text(name)).map(|item| Box::new(Reference::to_extern(store, item)))
    }
}
