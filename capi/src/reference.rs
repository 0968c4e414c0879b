//! References: to functions, globals, tables, memories, instances, modules, traps and foreign objects of C.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use wprof::{Extern, ExternRef, Func, Global, Instance, Memory, Module, Ref, Table};

use crate::attached::{Attached, Finalizer};
use crate::identity::Identity;
use crate::raised::TrapData;
use crate::store::StoreRef;
use crate::types::{FUNC, GLOBAL, MEMORY, OTHER, TABLE};
use crate::vector::{Owned, vector};

/// The C type `wasm_ref_t`, and so `wasm_func_t` and all the others.
#[derive(Clone)]
pub struct Reference {
    /// The store of the referent; modules and traps need none, but keep the store alive in which they were made.
    pub store: StoreRef,
    pub what: What,
}

/// The referent.
#[derive(Clone)]
pub enum What {
    Func(Func),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Instance(Instance),
    Module(Arc<ModuleData>),
    Trap(Arc<TrapData>),
    Foreign(ExternRef),
    /// An import or export of a kind that the API does not name.
    Other(Extern),
}

/// A module and the data that C has attached to it.
pub struct ModuleData {
    pub module: Module,
    pub info: Mutex<Attached>,
}

/// The content of an `externref` that C has made.
#[derive(Default)]
pub struct ForeignData {
    info: Mutex<Attached>,
}

impl Reference {
    /// Creates a reference to something in a store.
    pub fn new(store: &StoreRef, what: What) -> Reference {
        Reference { store: store.clone(), what }
    }

    /// Creates a reference to a new foreign object.
    pub fn foreign(store: &StoreRef) -> Reference {
        Reference::new(store, What::Foreign(ExternRef::new(ForeignData::default())))
    }

    /// Creates a reference to an export of an instance.
    pub fn to_extern(store: &StoreRef, item: Extern) -> Reference {
        let what = match item {
            Extern::Func(func) => What::Func(func),
            Extern::Global(global) => What::Global(global),
            Extern::Table(table) => What::Table(table),
            Extern::Memory(memory) => What::Memory(memory),
            other => What::Other(other),
        };
        Reference::new(store, what)
    }

    /// Creates a reference to a value; `None` if the value is null or the API does not name its kind.
    pub fn to_value(store: &StoreRef, value: &Ref) -> Option<Reference> {
        let what = match value {
            Ref::Func(func) => What::Func((*func)?),
            Ref::Extern(value) => What::Foreign(value.clone()?),
            _ => return None,
        };
        Some(Reference::new(store, what))
    }

    /// Returns the reference as a WebAssembly value.
    pub fn value(&self) -> Option<Ref> {
        match &self.what {
            What::Func(func) => Some(Ref::Func(Some(*func))),
            What::Foreign(value) => Some(Ref::Extern(Some(value.clone()))),
            _ => None,
        }
    }

    /// Returns the referent as an import or export, if it is one.
    pub fn item(&self) -> Option<Extern> {
        Some(match self.what {
            What::Func(func) => func.into(),
            What::Global(global) => global.into(),
            What::Table(table) => table.into(),
            What::Memory(memory) => memory.into(),
            What::Other(other) => other,
            _ => return None,
        })
    }

    /// Returns the `wasm_externkind_t` of the referent.
    pub fn kind(&self) -> Option<u8> {
        Some(match self.what {
            What::Func(_) => FUNC,
            What::Global(_) => GLOBAL,
            What::Table(_) => TABLE,
            What::Memory(_) => MEMORY,
            What::Other(_) => OTHER,
            _ => return None,
        })
    }

    fn identity(&self) -> Option<Identity> {
        Some(match self.what {
            What::Func(func) => Identity::Func(func),
            What::Global(global) => Identity::Global(global),
            What::Table(table) => Identity::Table(table),
            What::Memory(memory) => Identity::Memory(memory),
            What::Instance(instance) => Identity::Instance(instance),
            _ => return None,
        })
    }

    fn same(&self, other: &Reference) -> bool {
        match (&self.what, &other.what) {
            (What::Module(a), What::Module(b)) => Arc::ptr_eq(a, b),
            (What::Trap(a), What::Trap(b)) => Arc::ptr_eq(a, b),
            (What::Foreign(a), What::Foreign(b)) => ExternRef::ptr_eq(a, b),
            _ => self.identity().is_some_and(|identity| other.identity() == Some(identity)),
        }
    }

    /// Calls `work` with the attached data, unless the store keeps that data.
    fn own_info<R>(&self, work: impl FnOnce(&mut Attached) -> R) -> Option<R> {
        let info = match &self.what {
            What::Module(module) => &module.info,
            What::Trap(trap) => &trap.info,
            What::Foreign(value) => &value.downcast_ref::<ForeignData>()?.info,
            _ => return None,
        };
        Some(work(&mut info.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn info(&self) -> *mut c_void {
        let Some(identity) = self.identity() else {
            return self.own_info(|info| info.pointer()).unwrap_or(ptr::null_mut());
        };
        self.store.0.infos.borrow().get(&identity).map_or(ptr::null_mut(), Attached::pointer)
    }

    fn set_info(&self, info: Attached) {
        // The previous data is finalized when nothing is borrowed any more.
        let before = match self.identity() {
            Some(identity) => self.store.0.infos.borrow_mut().insert(identity, info),
            None => self.own_info(|place| std::mem::replace(place, info)),
        };
        drop(before);
    }
}

/// Defines the functions that all references have, and casts for the specific kinds.
macro_rules! references {
    ($($name:literal)*) => {
        $(export! {
            ["wasm_", $name, "_delete"] fn(reference: Owned<Reference>) {
                drop(reference);
            }
            ["wasm_", $name, "_copy"] fn(reference: &Reference) -> Box<Reference> {
                Box::new(reference.clone())
            }
            ["wasm_", $name, "_same"] fn(a: &Reference, b: &Reference) -> bool {
                a.same(b)
            }
            ["wasm_", $name, "_get_host_info"] fn(reference: &Reference) -> *mut c_void {
                reference.info()
            }
            ["wasm_", $name, "_set_host_info"] fn(reference: &Reference, info: *mut c_void) {
                reference.set_info(Attached::new(info, None));
            }
            ["wasm_", $name, "_set_host_info_with_finalizer"] fn(
                reference: &Reference,
                info: *mut c_void,
                finalizer: Option<Finalizer>,
            ) {
                reference.set_info(Attached::new(info, finalizer));
            }
        })*
    };
}

/// Defines casts between general references and one specific kind.
macro_rules! casts {
    ($($name:literal $kind:pat,)*) => {
        $(export! {
            ["wasm_", $name, "_as_ref"] fn(reference: Option<&mut Reference>) -> Option<&mut Reference> {
                reference
            }
            ["wasm_", $name, "_as_ref_const"] fn(reference: Option<&Reference>) -> Option<&Reference> {
                reference
            }
            ["wasm_ref_as_", $name] fn(reference: Option<&mut Reference>) -> Option<&mut Reference> {
                reference.filter(|reference| matches!(reference.what, $kind))
            }
            ["wasm_ref_as_", $name, "_const"] fn(reference: Option<&Reference>) -> Option<&Reference> {
                reference.filter(|reference| matches!(reference.what, $kind))
            }
        })*
    };
}

/// Defines casts between `wasm_extern_t` and one kind of import or export.
macro_rules! externs {
    ($($name:literal $kind:pat,)*) => {
        $(export! {
            ["wasm_", $name, "_as_extern"] fn(reference: Option<&mut Reference>) -> Option<&mut Reference> {
                reference
            }
            ["wasm_", $name, "_as_extern_const"] fn(reference: Option<&Reference>) -> Option<&Reference> {
                reference
            }
            ["wasm_extern_as_", $name] fn(reference: Option<&mut Reference>) -> Option<&mut Reference> {
                reference.filter(|reference| matches!(reference.what, $kind))
            }
            ["wasm_extern_as_", $name, "_const"] fn(reference: Option<&Reference>) -> Option<&Reference> {
                reference.filter(|reference| matches!(reference.what, $kind))
            }
        })*
    };
}

references! { "ref" "func" "global" "table" "memory" "extern" "instance" "module" "trap" "foreign" }
casts! {
    "func" What::Func(_),
    "global" What::Global(_),
    "table" What::Table(_),
    "memory" What::Memory(_),
    "extern" What::Func(_) | What::Global(_) | What::Table(_) | What::Memory(_) | What::Other(_),
    "instance" What::Instance(_),
    "module" What::Module(_),
    "trap" What::Trap(_),
    "foreign" What::Foreign(_),
}
externs! {
    "func" What::Func(_),
    "global" What::Global(_),
    "table" What::Table(_),
    "memory" What::Memory(_),
}

vector!("extern", Owned<Reference>);

export! {
    ["wasm_foreign_new"] fn(store: &StoreRef) -> Box<Reference> {
        Box::new(Reference::foreign(store))
    }
}
