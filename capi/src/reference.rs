//! References to everything: functions, globals, tables, memories, instances, modules, traps and what C itself refers to.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use wprof::{Extern, ExternRef, Func, Global, Instance, Memory, Module, Ref, Table};

use crate::identity::{HostInfo, Identity};
use crate::raised::TrapData;
use crate::store::StoreRef;
use crate::types::{FUNC, GLOBAL, MEMORY, OTHER, TABLE};
use crate::vector::{Owned, vector};

/// `wasm_ref_t`, and so `wasm_func_t` and all the others.
#[derive(Clone)]
pub struct Reference {
    /// The store that it is in; modules and traps need none, but hold that which they were made in.
    pub store: StoreRef,
    pub what: What,
}

/// What is referred to.
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
    /// What the API has no name for.
    Other(Extern),
}

/// A module, and what C has attached to it.
pub struct ModuleData {
    pub module: Module,
    pub info: Mutex<HostInfo>,
}

/// What an `externref` is that C has made.
#[derive(Default)]
pub struct ForeignData {
    info: Mutex<HostInfo>,
}

impl Reference {
    /// A reference to something in a store.
    pub fn new(store: &StoreRef, what: What) -> Reference {
        Reference { store: store.clone(), what }
    }

    /// A new one to what C calls foreign.
    pub fn foreign(store: &StoreRef) -> Reference {
        Reference::new(store, What::Foreign(ExternRef::new(ForeignData::default())))
    }

    /// To what an instance exports.
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

    /// To a value; `None` if that is null, or has no name in the API.
    pub fn to_value(store: &StoreRef, value: &Ref) -> Option<Reference> {
        let what = match value {
            Ref::Func(func) => What::Func((*func)?),
            Ref::Extern(value) => What::Foreign(value.clone()?),
            _ => return None,
        };
        Some(Reference::new(store, what))
    }

    /// As a value of wasm code's.
    pub fn value(&self) -> Option<Ref> {
        match &self.what {
            What::Func(func) => Some(Ref::Func(Some(*func))),
            What::Foreign(value) => Some(Ref::Extern(Some(value.clone()))),
            _ => None,
        }
    }

    /// What can be imported, if it is that.
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

    /// `wasm_externkind_t`.
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

    /// Works on what is attached to it, where that is not kept by the store.
    fn own_info<R>(&self, work: impl FnOnce(&mut HostInfo) -> R) -> Option<R> {
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
            return self.own_info(|info| info.info).unwrap_or(ptr::null_mut());
        };
        self.store.0.infos.borrow().get(&identity).map_or(ptr::null_mut(), |info| info.info)
    }

    fn set_info(&self, info: HostInfo) {
        // What was there before is finalized when nothing is borrowed any more.
        let before = match self.identity() {
            Some(identity) => self.store.0.infos.borrow_mut().insert(identity, info),
            None => self.own_info(|place| std::mem::replace(place, info)),
        };
        drop(before);
    }
}

/// Defines what all references have, and for those that are no general ones, casts.
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
                reference.set_info(HostInfo { info, finalizer: None });
            }
            ["wasm_", $name, "_set_host_info_with_finalizer"] fn(
                reference: &Reference,
                info: *mut c_void,
                finalizer: Option<extern "C" fn(*mut c_void)>,
            ) {
                reference.set_info(HostInfo { info, finalizer });
            }
        })*
    };
}

/// Defines casts between general references and one kind of them.
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

/// Defines casts between what can be imported and one kind of it.
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
