//! Linear memories, as the embedder sees them.
#![allow(unsafe_code, reason = "the runtime knows stores without their type only")]

use std::ops::Range;
use std::ptr::NonNull;

use crate::limiter;
use crate::runtime::instances::stored::Stored;
use crate::runtime::linear_memory::growth;
use crate::runtime::linear_memory::pages::WASM_PAGE;
use crate::shared_memory::{MemoryAccessError, SharedMemory};
use crate::store::{StoreContext, StoreContextMut, StoreInner};
use crate::waiting::on_fiber;
use crate::{AsContext, AsContextMut, Engine, Error, ErrorKind, MemoryType, Result};

/// A linear memory in a store: a small value, valid as long as the store, which may be sent to other threads; access needs
/// the store. Reads and writes check their range once and copy; [`Memory::data`] copies nothing. Growing moves no bytes,
/// unless the memory is not reserved whole ([`Config::memory_reservation`](crate::Config::memory_reservation)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory(pub(crate) Stored);

/// The error message for a request of a slice of a shared memory.
const NO_SLICE: &str =
    "a shared memory has no slice, as other threads may write to it: use Memory::read and write";

impl Memory {
    /// Creates a zeroed memory. Its pages take memory when they are first touched.
    ///
    /// # Errors
    /// Fails if its minimum exceeds the limits, or the system has no address space for it.
    pub fn new(mut store: impl AsContextMut, ty: MemoryType) -> Result<Memory> {
        Memory::new_in(store.as_context_mut().0, ty, false)
    }

    /// Creates a zeroed memory as a future, in which the limiter of [`Store::limiter_async`](crate::Store::limiter_async)
    /// may wait.
    ///
    /// # Errors
    /// Fails as [`Memory::new`] does, or if the system has no memory for a stack.
    pub fn new_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        store: S,
        ty: MemoryType,
    ) -> impl Future<Output = Result<Memory>> + Send + use<'a, T, S> {
        on_fiber(store.into().0, move |store| Memory::new_in(store, ty, true))
    }

    fn new_in<T: 'static>(inner: &mut StoreInner<T>, ty: MemoryType, may_wait: bool) -> Result<Memory> {
        limiter::admit_memory(inner, ty, may_wait)?;
        let opaque = &mut inner.opaque;
        let index = opaque.add_memory(ty, None, None)?;
        Ok(Memory(opaque.items.handle(index)))
    }

    /// Returns the memory's type, with the current size as the minimum.
    pub fn ty(&self, store: impl AsContext) -> MemoryType {
        let items = &store.as_context().0.opaque.items;
        let memory = items.memory(items.index(self.0));
        MemoryType { minimum: memory.pages(), ..memory.ty() }
    }

    /// Adds a shared memory to a store, whose instances can then import it.
    ///
    /// # Errors
    /// Fails if it belongs to another engine than the store, or the store may hold no more memories.
    pub fn from_shared(mut store: impl AsContextMut, memory: &SharedMemory) -> Result<Memory> {
        let context = store.as_context_mut();
        if !Engine::same(context.engine(), memory.engine()) {
            let message = "a shared memory is for stores of its engine only: make it with the store's";
            return Err(Error::new(ErrorKind::Link, message));
        }
        limiter::admit_shared(context.0, memory.data())?;
        let items = &mut context.0.opaque.items;
        let index = items.share_memory(memory.data())?;
        Ok(Memory(items.handle(index)))
    }

    /// Returns the shared memory, if other stores can have it, too.
    pub fn shared(&self, store: impl AsContext) -> Option<SharedMemory> {
        let context = store.as_context();
        let items = &context.0.opaque.items;
        let data = items.memory(items.index(self.0)).shared()?;
        Some(SharedMemory::of_data(context.engine(), data.clone()))
    }

    /// Returns the contents. For a module from a large file, this may read megabytes of data that nothing has accessed
    /// yet. If the file has been written to meanwhile, which is not allowed, these bytes are zeros, and the store's
    /// code does not continue.
    ///
    /// # Panics
    /// Panics if the memory is shared: other threads may change its contents at any time. See [`Memory::read`].
    pub fn data<'a, T: 'static>(&self, store: impl Into<StoreContext<'a, T>>) -> &'a [u8] {
        let items = &store.into().0.opaque.items;
        items.memory(items.index(self.0)).own().expect(NO_SLICE).data()
    }

    /// Returns the contents mutably, as [`Memory::data`] does.
    ///
    /// # Panics
    /// Panics as [`Memory::data`] does.
    pub fn data_mut<'a, T: 'static>(&self, store: impl Into<StoreContextMut<'a, T>>) -> &'a mut [u8] {
        self.data_and_store_mut(store).0
    }

    /// Returns the contents and the embedder's data, both at once.
    ///
    /// # Panics
    /// Panics as [`Memory::data`] does.
    pub fn data_and_store_mut<'a, T: 'static>(
        &self,
        store: impl Into<StoreContextMut<'a, T>>,
    ) -> (&'a mut [u8], &'a mut T) {
        let store = store.into();
        // If bytes are lost, the error appears where the store's code is to continue.
        let _ = self.fill(&store, 0, u64::MAX);
        self.data_on_demand_and_store_mut(store)
    }

    /// Returns the contents and the embedder's data on behalf of wasm code that has called the host: some of the
    /// contents are read on first access, and must be read before they are passed to the system.
    pub(crate) fn data_on_demand_and_store_mut<'a, T: 'static>(
        &self,
        store: impl Into<StoreContextMut<'a, T>>,
    ) -> (&'a mut [u8], &'a mut T) {
        let inner = store.into().0;
        let index = inner.opaque.items.index(self.0);
        (
            inner.opaque.items.memory_mut(index).own_mut().expect(NO_SLICE).data_on_demand(),
            &mut inner.above.data,
        )
    }

    /// Reads bytes that are still in the file, as far as the range lies in the memory.
    ///
    /// # Errors
    /// Fails if the bytes cannot be read.
    pub(crate) fn fill(&self, store: impl AsContext, start: u64, len: u64) -> Result<()> {
        let items = &store.as_context().0.opaque.items;
        let Some(memory) = items.memory(items.index(self.0)).own() else { return Ok(()) };
        let end = start.saturating_add(len).min(memory.len());
        memory.fill(&(start.min(end) as usize..end as usize));
        items.check_data()
    }

    /// Returns the size in bytes.
    pub fn data_size(&self, store: impl AsContext) -> usize {
        let items = &store.as_context().0.opaque.items;
        items.memory(items.index(self.0)).len() as usize
    }

    /// Returns the size in pages of 64 KiB.
    pub fn size(&self, store: impl AsContext) -> u64 {
        self.data_size(store) as u64 / WASM_PAGE
    }

    /// Grows the memory by `delta` pages and returns the old size.
    ///
    /// # Errors
    /// Fails if the new size exceeds the maximum or a limit, or if a limiter denies it.
    pub fn grow(&self, mut store: impl AsContextMut, delta: u64) -> Result<u64> {
        self.grow_in(store.as_context_mut().0, delta, false)
    }

    /// Grows the memory as a future, in which the limiter of [`Store::limiter_async`](crate::Store::limiter_async) may
    /// wait.
    ///
    /// # Errors
    /// Fails as [`Memory::grow`] does, or if the system has no memory for a stack.
    pub fn grow_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        delta: u64,
    ) -> impl Future<Output = Result<u64>> + Send + use<'a, T, S> {
        let memory = *self;
        on_fiber(store.into().0, move |store| memory.grow_in(store, delta, true))
    }

    fn grow_in<T: 'static>(&self, inner: &mut StoreInner<T>, delta: u64, may_wait: bool) -> Result<u64> {
        let index = inner.opaque.items.index(self.0);
        // SAFETY: the store is whole, and this function borrows it exclusively. What may wait is alone on its fiber.
        let old = unsafe { growth::memory(NonNull::from(inner).cast(), index, delta, may_wait)? };
        old.ok_or_else(|| {
            let message = format!("memory cannot grow by {delta} pages: it has a maximum, or a limit");
            Error::new(ErrorKind::Limit, message)
        })
    }

    /// Copies bytes out of the memory.
    ///
    /// # Errors
    /// Fails if the range is not entirely in the memory.
    pub fn read(&self, store: impl AsContext, offset: usize, to: &mut [u8]) -> Result<(), MemoryAccessError> {
        let bytes = self.range(&store, offset, to.len())?;
        let items = &store.as_context().0.opaque.items;
        items.memory(items.index(self.0)).read(bytes.start, to);
        Ok(())
    }

    /// Copies bytes into the memory.
    ///
    /// # Errors
    /// Fails if the range is not entirely in the memory.
    pub fn write(
        &self,
        mut store: impl AsContextMut,
        offset: usize,
        from: &[u8],
    ) -> Result<(), MemoryAccessError> {
        let bytes = self.range(&store, offset, from.len())?;
        let items = &mut store.as_context_mut().0.opaque.items;
        let index = items.index(self.0);
        items.memory_mut(index).write(bytes.start, from);
        Ok(())
    }

    fn range(
        &self,
        store: impl AsContext,
        offset: usize,
        len: usize,
    ) -> Result<Range<usize>, MemoryAccessError> {
        let end = offset.checked_add(len).filter(|&end| end <= self.data_size(store));
        Ok(offset..end.ok_or(MemoryAccessError)?)
    }
}
