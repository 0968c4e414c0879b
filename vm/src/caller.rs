//! The caller of a host function.

use crate::runtime::stacks::frames;
use crate::store::{StoreContext, StoreContextMut, StoreInner};
use crate::{AsContext, AsContextMut, Engine, WasmBacktrace};

/// The store and the instance from which a host function was called.
///
/// It borrows the store for the time of the call, on the thread that made it: nothing else can use the store meanwhile. To make
/// one costs nothing beyond the call. It cannot be sent to another thread or kept; what should outlive the call is an
/// [`InterruptHandle`](crate::InterruptHandle), or in the store's data.
pub struct Caller<'a, T: 'static> {
    store: &'a mut StoreInner<T>,
    instance: Option<u32>,
}

impl<'a, T: 'static> Caller<'a, T> {
    pub(crate) fn new(store: &'a mut StoreInner<T>, instance: Option<u32>) -> Caller<'a, T> {
        Caller { store, instance }
    }

    /// Returns the same caller with a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> Caller<'_, T> {
        Caller { store: self.store, instance: self.instance }
    }

    /// Returns the index of the calling instance; `None` if the host itself called.
    pub(crate) fn instance_index(&self) -> Option<u32> {
        self.instance
    }

    /// Returns the embedder's data.
    pub fn data(&self) -> &T {
        &self.store.above.data
    }

    /// Returns the embedder's data, mutably.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.store.above.data
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.store.above.engine
    }

    /// Returns the wasm frames that led to this host call.
    pub fn backtrace(&self) -> WasmBacktrace {
        WasmBacktrace::new(frames::live())
    }
}

impl<T: 'static> AsContext for Caller<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(self.store)
    }
}

impl<T: 'static> AsContextMut for Caller<'_, T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        StoreContextMut(self.store)
    }
}

impl<'a, T: 'static> From<&'a mut Caller<'_, T>> for StoreContext<'a, T> {
    fn from(caller: &'a mut Caller<'_, T>) -> Self {
        let shared: &'a Caller<'_, T> = caller;
        shared.as_context()
    }
}
