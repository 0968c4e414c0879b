//! Stores: what instances and everything in them live in, together with data of the embedder's.

use std::time::Instant;

use crate::interrupt::InterruptHandle;
use crate::limits::ResourceLimiter;
use crate::profile::look_for_hot_code;
use crate::runtime::control::hooks::CallHook;
use crate::runtime::instances::store::{StoreOpaque, StoreWith};
use crate::runtime::interruption::deadline::UpdateDeadline;
use crate::{Engine, GcStatistics, Result, StoreLimits};

/// A store with data of type `T`, which host functions can reach.
///
/// Handles (`Func`, `Memory`, `Instance`, …) are small values that belong to one store; using one with another store
/// panics. Nothing is freed before the store is dropped.
///
/// A store may be sent to another thread, and be shared by threads to be read, if its data may:
///
/// ```
/// fn may_be_shared<T: Send + Sync>() {}
/// may_be_shared::<wprof::Store<Vec<String>>>();
/// ```
/// ```compile_fail,E0277
/// fn may_be_shared<T: Sync>() {}
/// may_be_shared::<wprof::Store<std::cell::Cell<i32>>>();
/// ```
/// ```compile_fail,E0277
/// fn may_be_sent<T: Send>() {}
/// may_be_sent::<wprof::Store<std::rc::Rc<i32>>>();
/// ```
///
/// In a child process made by `fork` its copy goes on as in the parent, without threads of the parent's: nothing is
/// compiled in the background there, and a trace that the parent records ends.
pub struct Store<T: 'static> {
    inner: Box<StoreInner<T>>,
}

/// What a store's context types refer to.
pub(crate) type StoreInner<T> = StoreWith<Embedded<T>>;

/// What a store has that the runtime knows nothing of.
pub struct Embedded<T: 'static> {
    pub(crate) engine: Engine,
    pub(crate) data: T,
    /// Gives more of the budget when it is used up: gets the data and how much is left.
    pub(crate) on_out_of_budget: Option<Box<AskEmbedder<T>>>,
    pub(crate) hooks: Hooks<T>,
}

/// What the embedder wants to be told or asked.
pub(crate) struct Hooks<T: 'static> {
    /// Finds who says how much the store may take.
    pub(crate) limiter: Option<Box<FindLimiter<T>>>,
    /// See [`Store::call_hook`].
    pub(crate) on_call: Option<Box<OnCall<T>>>,
    /// See [`Store::deadline_callback`].
    pub(crate) on_deadline: Option<Box<OnDeadline<T>>>,
}

type FindLimiter<T> = dyn (FnMut(&mut T) -> &mut dyn ResourceLimiter) + Send + Sync;
type OnCall<T> = dyn FnMut(StoreContextMut<'_, T>, CallHook) -> Result<()> + Send + Sync;
type OnDeadline<T> = dyn FnMut(&mut T) -> Result<UpdateDeadline> + Send + Sync;

/// See [`Store::on_out_of_budget`].
pub(crate) type AskEmbedder<T> = dyn FnMut(&mut T, i64) -> Option<u64> + Send + Sync;

impl<T: 'static> Store<T> {
    /// An empty store.
    ///
    /// # Panics
    /// If the system has no memory for it; see [`Store::try_new`].
    pub fn new(engine: &Engine, data: T) -> Store<T> {
        Store::try_new(engine, data).expect("memory for a store")
    }

    /// An empty store.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn try_new(engine: &Engine, data: T) -> Result<Store<T>> {
        let opaque = StoreOpaque::new(engine.core(), look_for_hot_code)?;
        let hooks = Hooks { limiter: None, on_call: None, on_deadline: None };
        let above = Embedded { engine: engine.clone(), data, on_out_of_budget: None, hooks };
        Ok(Store { inner: Box::new(StoreWith { opaque, above }) })
    }

    /// The embedder's data.
    pub fn data(&self) -> &T {
        &self.inner.above.data
    }

    /// The embedder's data.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.inner.above.data
    }

    /// Drops the store and returns the embedder's data.
    pub fn into_data(self) -> T {
        self.inner.above.data
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.above.engine
    }

    /// Sets the limits for what is made from now on. What grows keeps the limit that it was made with.
    pub fn set_limits(&mut self, limits: StoreLimits) {
        self.inner.opaque.limits = limits;
    }

    /// The limits.
    pub fn limits(&self) -> StoreLimits {
        self.inner.opaque.limits
    }

    /// Stops wasm code of this store with [`Trap::Deadline`](crate::Trap::Deadline) soon after an instant, as an
    /// [`InterruptHandle`] would; a host function that waits in the system then is woken. With `None` there is no
    /// deadline any more. One that has stopped a call is over. [`Store::deadline_callback`] lets the embedder decide then.
    ///
    /// # Errors
    /// If the system has no thread for a timer.
    pub fn set_deadline(&mut self, at: Option<Instant>) -> Result<()> {
        self.inner.opaque.set_deadline(at)
    }

    /// A handle with which other threads, and signal handlers, can stop wasm code of this store.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(self.inner.opaque.watched_interrupt().clone())
    }

    pub(crate) fn opaque(&self) -> &StoreOpaque {
        &self.inner.opaque
    }

    pub(crate) fn inner_mut(&mut self) -> &mut StoreInner<T> {
        &mut self.inner
    }

    pub(crate) fn opaque_mut(&mut self) -> &mut StoreOpaque {
        &mut self.inner.opaque
    }

    /// Frees objects, externrefs and exceptions that nothing refers to. Happens by itself from time to time.
    pub fn gc(&mut self) {
        self.inner.opaque.collect(&[]);
    }

    /// Allocations and collections so far; none if there are no types of objects.
    pub fn gc_statistics(&mut self) -> Option<&GcStatistics> {
        self.inner.opaque.count_objects()
    }

    /// How many externrefs are held for wasm code, garbage included.
    pub fn externref_count(&self) -> usize {
        self.inner.opaque.externs.len()
    }

    /// How many exceptions are held for wasm code, garbage included.
    pub fn exnref_count(&self) -> usize {
        self.inner.opaque.exceptions.len()
    }
}

impl<T: std::fmt::Debug + 'static> std::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("data", self.data()).finish_non_exhaustive()
    }
}

/// Shared access to a store, for a while.
pub struct StoreContext<'a, T: 'static>(pub(crate) &'a StoreInner<T>);

/// Exclusive access to a store, for a while.
pub struct StoreContextMut<'a, T: 'static>(pub(crate) &'a mut StoreInner<T>);

impl<T: 'static> Clone for StoreContext<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for StoreContext<'_, T> {}

impl<'a, T: 'static> StoreContext<'a, T> {
    /// The embedder's data.
    pub fn data(&self) -> &'a T {
        &self.0.above.data
    }

    /// The engine.
    pub fn engine(&self) -> &'a Engine {
        &self.0.above.engine
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// The embedder's data.
    pub fn data(&self) -> &T {
        &self.0.above.data
    }

    /// The embedder's data.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.0.above.data
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.0.above.engine
    }

    /// A handle with which others can stop wasm code of this store.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(self.0.opaque.watched_interrupt().clone())
    }

    /// See [`Store::set_limits`].
    pub fn set_limits(&mut self, limits: StoreLimits) {
        self.0.opaque.limits = limits;
    }

    /// See [`Store::limits`].
    pub fn limits(&self) -> StoreLimits {
        self.0.opaque.limits
    }

    /// See [`Store::set_deadline`].
    ///
    /// # Errors
    /// As there.
    pub fn set_deadline(&mut self, at: Option<Instant>) -> Result<()> {
        self.0.opaque.set_deadline(at)
    }

    /// See [`Store::gc`].
    pub fn gc(&mut self) {
        self.0.opaque.collect(&[]);
    }
}

/// What gives shared access to a store: [`Store`], [`Caller`](crate::Caller), the contexts, and references to them.
pub trait AsContext {
    /// The type of the store's data.
    type Data: 'static;

    /// Shared access.
    fn as_context(&self) -> StoreContext<'_, Self::Data>;
}

/// What gives exclusive access to a store.
pub trait AsContextMut: AsContext {
    /// Exclusive access.
    fn as_context_mut(&mut self) -> StoreContextMut<'_, Self::Data>;
}

impl<T: 'static> AsContext for Store<T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(&self.inner)
    }
}

impl<T: 'static> AsContextMut for Store<T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        StoreContextMut(&mut self.inner)
    }
}

impl<T: 'static> AsContext for StoreContext<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        *self
    }
}

impl<T: 'static> AsContext for StoreContextMut<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(self.0)
    }
}

impl<T: 'static> AsContextMut for StoreContextMut<'_, T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        StoreContextMut(self.0)
    }
}

impl<C: AsContext> AsContext for &C {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        (**self).as_context()
    }
}

impl<C: AsContext> AsContext for &mut C {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        (**self).as_context()
    }
}

impl<C: AsContextMut> AsContextMut for &mut C {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, C::Data> {
        (**self).as_context_mut()
    }
}

impl<'a, C: AsContext> From<&'a C> for StoreContext<'a, C::Data> {
    fn from(c: &'a C) -> Self {
        c.as_context()
    }
}

impl<'a, T: 'static> From<&'a mut Store<T>> for StoreContext<'a, T> {
    fn from(store: &'a mut Store<T>) -> Self {
        StoreContext(&store.inner)
    }
}

impl<'a, C: AsContextMut> From<&'a mut C> for StoreContextMut<'a, C::Data> {
    fn from(c: &'a mut C) -> Self {
        c.as_context_mut()
    }
}
