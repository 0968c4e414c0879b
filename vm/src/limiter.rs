//! The store's limiter, which asks the embedder before a store takes more.
#![allow(unsafe_code, reason = "the runtime knows stores without their type only")]

use std::ptr::NonNull;
use std::sync::Arc;

use crate::limits::{ResourceLimiter, ResourceLimiterAsync};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::linear_memory::growth::{Grows, Growth};
use crate::runtime::linear_memory::pages::WASM_PAGE;
use crate::runtime::linear_memory::shared_data::SharedData;
use crate::runtime::linear_memory::store_memory::StoreMemory;
use crate::store::{Limiter, StoreInner};
use crate::waiting::Wait;
use crate::{Error, ErrorKind, MemoryType, Module, Result, Store, TableType};

impl<T: 'static> Store<T> {
    /// Sets a limiter, found in the store's data, which is asked before a memory or table is created or grows,
    /// and how many instances, memories and tables the store may have. The limits of [`Store::set_limits`] hold
    /// in addition. For a shared memory the limiter is asked when code of this store creates or grows it, not
    /// when others do.
    ///
    /// The thread that runs wasm code or creates the item calls the limiter as it does a host function: the
    /// limiter may call wasm code of other stores. If it panics, the panic continues from the call of the
    /// program.
    ///
    /// ```
    /// use wprof::{Engine, Store, StoreLimits, StoreLimitsBuilder};
    ///
    /// struct Data {
    ///     limits: StoreLimits,
    /// }
    /// let limits = StoreLimitsBuilder::new().memory_size(1 << 20).instances(2).build();
    /// let mut store = Store::new(&Engine::default(), Data { limits });
    /// store.limiter(|data| &mut data.limits);
    /// ```
    pub fn limiter(
        &mut self,
        limiter: impl (FnMut(&mut T) -> &mut dyn ResourceLimiter) + Send + Sync + 'static,
    ) {
        self.set_limiter(Limiter::Prompt(Box::new(limiter)));
    }

    /// Sets a limiter as [`Store::limiter`] does, in place of any before, which may wait before it answers.
    ///
    /// It waits where wasm code of an awaited call asks for more
    /// ([`TypedFunc::call_async`](crate::TypedFunc::call_async)), and in [`Instance::new_async`](crate::Instance::new_async),
    /// [`Memory::new_async`](crate::Memory::new_async), [`Memory::grow_async`](crate::Memory::grow_async),
    /// [`Table::new_async`](crate::Table::new_async) and [`Table::grow_async`](crate::Table::grow_async). What the host
    /// does otherwise, and calls that are not awaited, fail where the limiter would have to be asked. If the future of
    /// the call is dropped meanwhile, the limiter's is, and nothing grows.
    ///
    /// ```
    /// use wprof::{Engine, ResourceLimiterAsync, Result, Store};
    ///
    /// struct Budget(usize);
    /// impl ResourceLimiterAsync for Budget {
    ///     fn memory_growing(
    ///         &mut self,
    ///         current: usize,
    ///         desired: usize,
    ///         _: Option<usize>,
    ///     ) -> Box<dyn Future<Output = Result<bool>> + Send + '_> {
    ///         Box::new(async move {
    ///             // Others could be waited for here.
    ///             let rest = self.0.checked_sub(desired - current);
    ///             self.0 = rest.unwrap_or(self.0);
    ///             Ok(rest.is_some())
    ///         })
    ///     }
    ///
    ///     fn table_growing(
    ///         &mut self,
    ///         _: usize,
    ///         _: usize,
    ///         _: Option<usize>,
    ///     ) -> Box<dyn Future<Output = Result<bool>> + Send + '_> {
    ///         Box::new(async { Ok(true) })
    ///     }
    /// }
    /// let mut store = Store::new(&Engine::default(), Budget(1 << 20));
    /// store.limiter_async(|budget| budget);
    /// ```
    pub fn limiter_async(
        &mut self,
        limiter: impl (FnMut(&mut T) -> &mut dyn ResourceLimiterAsync) + Send + Sync + 'static,
    ) {
        self.set_limiter(Limiter::Awaited(Box::new(limiter)));
    }

    fn set_limiter(&mut self, limiter: Limiter<T>) {
        let inner = self.inner_mut();
        inner.above.hooks.limiter = Some(limiter);
        inner.opaque.control.hooks.on_growth = Some(ask_limiter::<T>);
    }
}

/// Asks whether an instance of `module` may be created, with all that it defines.
///
/// # Errors
/// Returns an error if the limiter refuses.
pub(crate) fn admit_instance<T: 'static>(
    store: &mut StoreInner<T>,
    module: &Module,
    may_wait: bool,
) -> Result<()> {
    if store.above.hooks.limiter.is_none() {
        return Ok(());
    }
    let info = module.info();
    let memories = &info.memories[info.imported_memories as usize..];
    let tables = &info.tables[info.imported_tables as usize..];
    admit_counts(store, 1, memories.len(), tables.len())?;
    for ty in memories {
        admit_size_of_memory(store, MemoryType::from_parser(ty), may_wait)?;
    }
    for ty in tables {
        admit_size_of_table(store, &TableType::from_parser(ty, module.types()), may_wait)?;
    }
    Ok(())
}

/// Asks whether a memory may be created.
///
/// # Errors
/// Returns an error if the limiter refuses.
pub(crate) fn admit_memory<T: 'static>(
    store: &mut StoreInner<T>,
    ty: MemoryType,
    may_wait: bool,
) -> Result<()> {
    admit_counts(store, 0, 1, 0)?;
    admit_size_of_memory(store, ty, may_wait)
}

/// Asks whether a store may have one more memory, unless it has this one already. Others may have grown the
/// memory.
///
/// # Errors
/// Returns an error if the limiter refuses.
pub(crate) fn admit_shared<T: 'static>(store: &mut StoreInner<T>, memory: &Arc<SharedData>) -> Result<()> {
    let is_it = |known: &StoreMemory| known.shared().is_some_and(|known| Arc::ptr_eq(known, memory));
    let is_known = store.opaque.items.memories().iter().any(is_it);
    if is_known { Ok(()) } else { admit_counts(store, 0, 1, 0) }
}

/// Asks whether a table may be created.
///
/// # Errors
/// Returns an error if the limiter refuses.
pub(crate) fn admit_table<T: 'static>(
    store: &mut StoreInner<T>,
    ty: &TableType,
    may_wait: bool,
) -> Result<()> {
    admit_counts(store, 0, 0, 1)?;
    admit_size_of_table(store, ty, may_wait)
}

fn admit_counts<T: 'static>(
    store: &mut StoreInner<T>,
    instances: usize,
    memories: usize,
    tables: usize,
) -> Result<()> {
    let items = &store.opaque.items;
    let (have_memories, have_tables) = (items.memories().len(), items.tables().len());
    let have_instances = items.counted_instances();
    let data = &mut store.above.data;
    let limits = match &mut store.above.hooks.limiter {
        None => return Ok(()),
        Some(Limiter::Prompt(find)) => {
            let limiter = find(data);
            [limiter.instances(), limiter.memories(), limiter.tables()]
        }
        Some(Limiter::Awaited(find)) => {
            let limiter = find(data);
            [limiter.instances(), limiter.memories(), limiter.tables()]
        }
    };
    let all = [
        ("instances", have_instances, instances, limits[0]),
        ("memories", have_memories, memories, limits[1]),
        ("tables", have_tables, tables, limits[2]),
    ];
    let beyond = all.into_iter().find(|&(_, have, more, limit)| more > 0 && have + more > limit);
    beyond.map_or(Ok(()), |(what, have, more, limit)| {
        let message = format!("{more} more {what} beside {have}: the store's limiter allows {limit}");
        Err(Error::new(ErrorKind::Limit, message))
    })
}

fn admit_size_of_memory<T: 'static>(store: &mut StoreInner<T>, ty: MemoryType, may_wait: bool) -> Result<()> {
    let bytes = |pages: u64| pages.saturating_mul(WASM_PAGE);
    let (desired, maximum) = (bytes(ty.minimum), ty.maximum.map(bytes));
    admit(store, Growth { what: Grows::Memory, current: 0, desired, maximum, has_failed: false, may_wait })
}

fn admit_size_of_table<T: 'static>(store: &mut StoreInner<T>, ty: &TableType, may_wait: bool) -> Result<()> {
    let (desired, maximum) = (ty.minimum, ty.maximum);
    admit(store, Growth { what: Grows::Table, current: 0, desired, maximum, has_failed: false, may_wait })
}

fn admit<T: 'static>(store: &mut StoreInner<T>, growth: Growth) -> Result<()> {
    if ask(store, growth)? {
        return Ok(());
    }
    let (what, unit) = match growth.what {
        Grows::Memory => ("memory", "bytes"),
        Grows::Table => ("table", "elements"),
    };
    let message = format!("a {what} of {} {unit}: the store's limiter refuses it", growth.desired);
    Err(Error::new(ErrorKind::Limit, message))
}

fn ask<T: 'static>(store: &mut StoreInner<T>, growth: Growth) -> Result<bool> {
    let data = &mut store.above.data;
    match &mut store.above.hooks.limiter {
        None => Ok(true),
        Some(Limiter::Prompt(find)) => ask_prompt(find(data), growth),
        Some(Limiter::Awaited(find)) => ask_awaited(&mut store.opaque, find(data), growth),
    }
}

fn ask_prompt(limiter: &mut dyn ResourceLimiter, growth: Growth) -> Result<bool> {
    let [current, desired] = [growth.current, growth.desired].map(size);
    let maximum = growth.maximum.map(size);
    match growth.what {
        Grows::Memory if growth.has_failed => limiter.memory_grow_failed(failed(growth)).map(|()| false),
        Grows::Table if growth.has_failed => limiter.table_grow_failed(failed(growth)).map(|()| false),
        Grows::Memory => limiter.memory_growing(current, desired, maximum),
        Grows::Table => limiter.table_growing(current, desired, maximum),
    }
}

/// Asks a limiter, and waits for its answer.
///
/// # Errors
/// Fails if the call is not awaited, if its future is dropped meanwhile, or if the limiter fails.
fn ask_awaited(
    store: &mut StoreOpaque,
    limiter: &mut dyn ResourceLimiterAsync,
    growth: Growth,
) -> Result<bool> {
    let [current, desired] = [growth.current, growth.desired].map(size);
    let maximum = growth.maximum.map(size);
    match growth.what {
        Grows::Memory if growth.has_failed => {
            return limiter.memory_grow_failed(failed(growth)).map(|()| false);
        }
        Grows::Table if growth.has_failed => {
            return limiter.table_grow_failed(failed(growth)).map(|()| false);
        }
        // Values of the host that may not be sent could lie on the stack.
        _ if !growth.may_wait => {
            let message =
                "an async limiter cannot be asked by host code that is not awaited: use the async function";
            return Err(Error::new(ErrorKind::Host, message));
        }
        _ => {}
    }
    // SAFETY: `may_wait` is set only by wasm code and by functions that are awaited; both run on the fiber of their call, on
    // which the host has nothing here that may not be sent.
    let wait = unsafe { Wait::begin(store, "an async limiter")? };
    let answer = wait.until(match growth.what {
        Grows::Memory => limiter.memory_growing(current, desired, maximum),
        Grows::Table => limiter.table_growing(current, desired, maximum),
    });
    wait.end(store);
    answer?
}

/// Returns a size as the host counts, or the largest if that is too small for it.
fn size(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

fn failed(Growth { current, desired, .. }: Growth) -> Error {
    let message = format!("cannot grow from {current} to {desired}: it has a maximum, or there is no memory");
    Error::new(ErrorKind::Limit, message)
}

/// Asks the limiter of a store that has one.
///
/// # Safety
/// The caller guarantees that `store` was derived from an exclusive reference to a whole `StoreInner<T>`, which
/// nothing else uses meanwhile.
unsafe fn ask_limiter<T: 'static>(store: NonNull<StoreOpaque>, growth: Growth) -> Result<bool> {
    // SAFETY: the caller guarantees it; a `StoreInner` begins with its `StoreOpaque`.
    ask(unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() }, growth)
}
