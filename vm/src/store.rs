//! Stores: the owners of instances and everything in them, together with data of the embedder.

use std::time::Instant;

use crate::interrupt::InterruptHandle;
use crate::limits::{ResourceLimiter, ResourceLimiterAsync};
use crate::profile::look_for_hot_code;
use crate::runtime::control::call_hooks::CallHook;
use crate::runtime::instances::store_opaque::{StoreOpaque, StoreWith};
use crate::runtime::interruption::deadline::UpdateDeadline;
use crate::{Engine, GcStatistics, Result, StoreLimits};

/// A store with data of type `T`, which host functions can reach.
///
/// Handles (`Func`, `Memory`, `Instance`, …) are small values that belong to one store; using one with another store
/// panics. Nothing is freed before the store is dropped.
///
/// Calls and changes need exclusive access, so one thread at a time runs wasm code of a store; threads with stores of their own
/// run at the same time. Creating a store takes a few system calls, unless
/// [`Config::pooling`](crate::Config::pooling) keeps what it needs.
///
/// A store may be sent to another thread, and threads may share it for reading, if its data allows it:
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
/// In a child process created by `fork` its copy continues as in the parent, without the parent's threads: nothing is
/// compiled in the background there, and a trace that the parent records ends.
pub struct Store<T: 'static> {
    inner: Box<StoreInner<T>>,
}

/// The target of a store's context types.
pub(crate) type StoreInner<T> = StoreWith<Embedded<T>>;

/// The part of a store that the runtime does not know.
pub struct Embedded<T: 'static> {
    pub(crate) engine: Engine,
    pub(crate) data: T,
    /// The callback for an exhausted budget: takes the data and the rest of the budget.
    pub(crate) on_out_of_budget: Option<Box<AskEmbedder<T>>>,
    pub(crate) hooks: Hooks<T>,
}

/// The embedder's callbacks.
pub(crate) struct Hooks<T: 'static> {
    /// Finds the limiter of the store's resources.
    pub(crate) limiter: Option<Limiter<T>>,
    /// See [`Store::call_hook`].
    pub(crate) on_call: Option<OnCall<T>>,
    /// See [`Store::epoch_deadline_callback`].
    pub(crate) on_deadline: Option<Box<OnDeadline<T>>>,
}

/// A way to find the limiter in the store's data.
pub(crate) enum Limiter<T: 'static> {
    /// It answers at once.
    Prompt(Box<FindLimiter<T>>),
    /// It may wait before it answers.
    Awaited(Box<FindLimiterAsync<T>>),
}

type FindLimiter<T> = dyn (FnMut(&mut T) -> &mut dyn ResourceLimiter) + Send + Sync;
type FindLimiterAsync<T> = dyn (FnMut(&mut T) -> &mut dyn ResourceLimiterAsync) + Send + Sync;

/// A call hook that may wait: see [`Store::call_hook_async`].
pub trait CallHookHandler<T: 'static>: Send + Sync {
    /// Is called each time control passes between the host and wasm code. The program goes on when the future is ready.
    ///
    /// # Errors
    /// An error ends the program, unless the program has already ended by another error.
    fn handle_call_event<'a>(
        &'a self,
        store: StoreContextMut<'a, T>,
        passage: CallHook,
    ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>;
}

/// The hook of a store's passages.
pub(crate) enum OnCall<T: 'static> {
    /// It answers at once.
    Prompt(Box<PromptHook<T>>),
    /// It may wait before it answers.
    Awaited(Box<dyn CallHookHandler<T>>),
}

/// The callback of deadlines.
pub(crate) type OnDeadline<T> = dyn FnMut(DeadlineContext<'_, T>) -> Result<UpdateDeadline> + Send + Sync;

type PromptHook<T> = dyn FnMut(StoreContextMut<'_, T>, CallHook) -> Result<()> + Send + Sync;

/// What a deadline callback sees of its store: see [`Store::epoch_deadline_callback`].
///
/// The program may wait in the middle of a loop, and its code keeps bounds and addresses of memories in registers. So
/// there is no access to what wasm code reads and writes; a host function has that.
pub struct DeadlineContext<'a, T: 'static> {
    pub(crate) data: &'a mut T,
    pub(crate) engine: &'a Engine,
    pub(crate) store: &'a StoreOpaque,
}

/// See [`Store::on_out_of_budget`].
pub(crate) type AskEmbedder<T> = dyn FnMut(&mut T, i64) -> Option<u64> + Send + Sync;

impl<T: 'static> Store<T> {
    /// Creates an empty store.
    ///
    /// # Panics
    /// Panics if the system has no memory for it; see [`Store::try_new`].
    pub fn new(engine: &Engine, data: T) -> Store<T> {
        Store::try_new(engine, data).expect("memory for a store")
    }

    /// Creates an empty store.
    ///
    /// # Errors
    /// Fails if the system has no memory for it.
    pub fn try_new(engine: &Engine, data: T) -> Result<Store<T>> {
        let opaque = StoreOpaque::new(engine.core(), look_for_hot_code)?;
        let hooks = Hooks { limiter: None, on_call: None, on_deadline: None };
        let above = Embedded { engine: engine.clone(), data, on_out_of_budget: None, hooks };
        Ok(Store { inner: Box::new(StoreWith { opaque, above }) })
    }

    /// Returns the embedder's data.
    pub fn data(&self) -> &T {
        &self.inner.above.data
    }

    /// Returns the embedder's data.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.inner.above.data
    }

    /// Drops the store and returns the embedder's data.
    pub fn into_data(self) -> T {
        self.inner.above.data
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.above.engine
    }

    /// Sets the limits for items created from now on. Existing items keep the limits of their creation.
    pub fn set_limits(&mut self, limits: StoreLimits) {
        self.inner.opaque.items.set_limits(limits);
    }

    /// Returns the limits.
    pub fn limits(&self) -> StoreLimits {
        *self.inner.opaque.items.limits()
    }

    /// Stops wasm code of this store with [`Trap::Deadline`](crate::Trap::Deadline) soon after an instant, as an
    /// [`InterruptHandle`] would, and wakes a host function that waits in the system then. `None` removes the deadline.
    /// A deadline that has stopped a call is removed. [`Store::deadline_callback`] lets the embedder decide instead.
    ///
    /// # Errors
    /// Fails if the system has no thread for a timer, or if nothing in wasm code would notice the deadline: it needs
    /// [`Config::interruptible`](crate::Config::interruptible), or a profile of edges, paths or blocks, by bursts or exact.
    pub fn set_deadline(&mut self, at: Option<Instant>) -> Result<()> {
        self.inner.opaque.stop_at(at)
    }

    /// Stops wasm code of this store with [`Trap::Deadline`](crate::Trap::Deadline) when the engine's epoch has been
    /// incremented so many times ([`Engine::increment_epoch`]), at its next poll: see
    /// [`Config::epoch_interruption`](crate::Config::epoch_interruption). With 0 that is so at once. It replaces an earlier
    /// one, and is removed when it has stopped a call; [`Store::deadline_callback`] lets the embedder decide instead, and
    /// go on until a later epoch or a time.
    ///
    /// # Errors
    /// Fails if nothing in wasm code would notice the deadline: see [`Store::set_deadline`].
    pub fn set_epoch_deadline(&mut self, epochs: u64) -> Result<()> {
        self.inner.opaque.stop_in(epochs)
    }

    /// Returns a handle by which other threads, and signal handlers, can stop wasm code of this store; they wake what
    /// waits, and stop the program at its next call of the host, with any settings, and elsewhere with
    /// [`Config::interruptible`](crate::Config::interruptible).
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

    /// Frees unreferenced objects, externrefs and exceptions. Also runs automatically from time to time.
    pub fn gc(&mut self) {
        self.inner.opaque.collect(&[]);
    }

    /// Returns the statistics of allocations and collections so far; `None` if there are no object types.
    pub fn gc_statistics(&mut self) -> Option<&GcStatistics> {
        self.inner.opaque.collected.objects.statistics()
    }

    /// Returns the number of externrefs held for wasm code, including garbage.
    pub fn externref_count(&self) -> usize {
        self.inner.opaque.collected.externs.len()
    }

    /// Returns the number of exceptions held for wasm code, including garbage.
    pub fn exnref_count(&self) -> usize {
        self.inner.opaque.collected.exceptions.len()
    }
}

impl<T: std::fmt::Debug + 'static> std::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("data", self.data()).finish_non_exhaustive()
    }
}

/// Temporary shared access to a store.
pub struct StoreContext<'a, T: 'static>(pub(crate) &'a StoreInner<T>);

/// Temporary exclusive access to a store.
pub struct StoreContextMut<'a, T: 'static>(pub(crate) &'a mut StoreInner<T>);

impl<T: 'static> Clone for StoreContext<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for StoreContext<'_, T> {}

impl<'a, T: 'static> StoreContext<'a, T> {
    /// Returns the embedder's data.
    pub fn data(&self) -> &'a T {
        &self.0.above.data
    }

    /// Returns the engine.
    pub fn engine(&self) -> &'a Engine {
        &self.0.above.engine
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// Returns the embedder's data.
    pub fn data(&self) -> &T {
        &self.0.above.data
    }

    /// Returns the embedder's data.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.0.above.data
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.0.above.engine
    }

    /// Returns a handle by which others can stop wasm code of this store.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(self.0.opaque.watched_interrupt().clone())
    }

    /// Sets the limits: see [`Store::set_limits`].
    pub fn set_limits(&mut self, limits: StoreLimits) {
        self.0.opaque.items.set_limits(limits);
    }

    /// Returns the limits: see [`Store::limits`].
    pub fn limits(&self) -> StoreLimits {
        *self.0.opaque.items.limits()
    }

    /// Sets the deadline: see [`Store::set_deadline`].
    ///
    /// # Errors
    /// Fails as [`Store::set_deadline`] does.
    pub fn set_deadline(&mut self, at: Option<Instant>) -> Result<()> {
        self.0.opaque.stop_at(at)
    }

    /// Sets the epoch at which wasm code stops: see [`Store::set_epoch_deadline`].
    ///
    /// # Errors
    /// Fails as [`Store::set_epoch_deadline`] does.
    pub fn set_epoch_deadline(&mut self, epochs: u64) -> Result<()> {
        self.0.opaque.stop_in(epochs)
    }

    /// Frees garbage: see [`Store::gc`].
    pub fn gc(&mut self) {
        self.0.opaque.collect(&[]);
    }
}

/// A type that gives shared access to a store: [`Store`], [`Caller`](crate::Caller), the contexts, and references to
/// them.
pub trait AsContext {
    /// The type of the store's data.
    type Data: 'static;

    /// Returns shared access to the store.
    fn as_context(&self) -> StoreContext<'_, Self::Data>;
}

/// A type that gives exclusive access to a store.
pub trait AsContextMut: AsContext {
    /// Returns exclusive access to the store.
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
