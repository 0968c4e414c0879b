//! Stores. Each thing in a store keeps the store alive.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, Weak};

use wprof::wasi::WasiCtx;
use wprof::{AsContextMut, Caller, Engine, Extern, Store, StoreContextMut, StoreLimits};

use crate::attached::Attached;
use crate::identity::Identity;
use crate::vector::Owned;

/// The data that the engine keeps for this crate in a store.
pub struct Data {
    /// The store itself, so that host functions find it.
    pub shared: Weak<Shared>,
    /// The system interface of the programs in the store, if C has set one.
    pub wasi: Option<WasiCtx>,
}

/// The caller of a host function, for as long as the host function runs.
type HostCaller = Caller<'static, Data>;

/// A store and its current user.
pub struct Shared {
    /// While a host function runs, its caller: the store is lent to that caller and only used through it.
    caller: Cell<*mut HostCaller>,
    store: UnsafeCell<Store<Data>>,
    /// The data that C has attached to things in the store.
    pub infos: RefCell<HashMap<Identity, Attached>>,
}

// SAFETY: the C caller guarantees that one thread at a time uses a store and what is in it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The C type `wasm_store_t`.
#[derive(Clone)]
pub struct StoreRef(pub Arc<Shared>);

impl StoreRef {
    /// Creates an empty store, which may hold any number of instances.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the store.
    pub fn new(engine: &Engine) -> wprof::Result<StoreRef> {
        let mut made = Store::try_new(engine, Data { shared: Weak::new(), wasi: None })?;
        let any = usize::MAX >> 1;
        made.set_limits(StoreLimits { instances: any, memories: any, tables: any, ..StoreLimits::default() });
        Ok(StoreRef(Arc::new_cyclic(|shared| {
            made.data_mut().shared = shared.clone();
            Shared {
                caller: Cell::new(ptr::null_mut()),
                store: UnsafeCell::new(made),
                infos: RefCell::default(),
            }
        })))
    }

    /// Returns the store of a host function's caller.
    pub fn from_caller(caller: &Caller<'_, Data>) -> StoreRef {
        StoreRef(caller.data().shared.upgrade().expect("who calls holds the store"))
    }

    /// Calls `work` with the store.
    pub fn with<R>(&self, work: impl FnOnce(StoreContextMut<'_, Data>) -> R) -> R {
        let caller = self.0.caller.get();
        if caller.is_null() {
            // SAFETY: one thread uses the store. A use further up the stack of this thread would wait in a host
            // function, which would have set `caller`.
            return work(unsafe { &mut *self.0.store.get() }.as_context_mut());
        }
        // SAFETY: the host function that set `caller` waits for this call, and nobody else uses the caller.
        work(unsafe { &mut *caller }.as_context_mut())
    }

    /// Returns an export of the instance that called the host function that runs now; `None` if none runs, if the host
    /// called it, or if there is no such export.
    pub fn caller_export(&self, name: &str) -> Option<Extern> {
        // SAFETY: as in `with`; the pointer is null if no host function runs.
        unsafe { self.0.caller.get().as_mut() }?.get_export(name)
    }

    /// Runs the C code of a host function, which may use the store.
    pub fn lend<R>(&self, mut caller: Caller<'_, Data>, work: impl FnOnce() -> R) -> R {
        let outer = self.0.caller.replace(ptr::from_mut(&mut caller).cast());
        let result = work();
        self.0.caller.set(outer);
        result
    }
}

export! {
    ["wasm_store_new"] fn(engine: &Engine) -> Owned<StoreRef> {
        StoreRef::new(engine).ok().map(Box::new)
    }
    ["wasm_store_delete"] fn(store: Owned<StoreRef>) {
        drop(store);
    }
    ["wasm_engine_new"] fn() -> Owned<Engine> {
        Engine::new(&wprof::Config::new()).ok().map(Box::new)
    }
    ["wasm_engine_delete"] fn(engine: Owned<Engine>) {
        drop(engine);
    }
}
