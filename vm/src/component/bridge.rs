//! The bridge: how the host calls an import that a component exports again.
//!
//! The import is a core function, lowered as for a component whose memory is the bridge's, and lifted again from there.
//! So such an export is called like any other, whatever types its host function has.
//!
//! Invariant: between calls nothing is in the memory, and there are no handles.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::lift::{Lift, Loans, too_much};
use super::lower::Lower;
use super::resource::ResourceAny;
use super::state::{Lifted, State};
use super::trampoline::OWN;
use super::typed::CoreValues;
use super::types::{MAX_FLAT_RESULTS, Type};
use crate::store::StoreContextMut;
use crate::{AsContextMut, Extern, Func, FuncType, Memory, MemoryType, Result, ValType};

const PAGE: u64 = 64 << 10;
/// Pages that addresses of 32 bits reach, but for the last: the place behind all values has an address, too.
const MAX_PAGES: u64 = 0xffff;

pub struct Bridge {
    memory: Memory,
    /// Takes memory from the top, and never gives any back.
    realloc: Func,
    /// The bytes that are in use.
    top: Arc<AtomicU32>,
    /// The number of calls that have not ended: host functions may call others.
    depth: AtomicU32,
}

impl Bridge {
    /// # Errors
    /// Fails if the store has no room for another memory.
    pub fn new<T: 'static>(store: &mut StoreContextMut<'_, T>) -> Result<Bridge> {
        let most = store.0.opaque.items.limits().component_values;
        let pages = (most as u64 / PAGE).clamp(1, MAX_PAGES);
        let memory = Memory::new(&mut *store, MemoryType::new(1, Some(pages as u32)))?;
        let top = Arc::new(AtomicU32::new(0));
        let ty = FuncType::new(vec![ValType::I32; 4], [ValType::I32]);
        let of_func = top.clone();
        let realloc = Func::named(&mut *store, (OWN, "realloc"), ty, move |mut caller, params| {
            let [align, size] = [params[2], params[3]];
            let at = u64::from(of_func.load(Ordering::Relaxed)).next_multiple_of(align.max(1));
            let room = memory.data_size(caller.as_context_mut()) as u64;
            if at + size > room {
                memory
                    .grow(caller.as_context_mut(), (at + size - room).div_ceil(PAGE))
                    .map_err(|error| too_much(most).context(error))?;
            }
            of_func.store((at + size) as u32, Ordering::Relaxed);
            Ok(Some(at))
        });
        Ok(Bridge { memory, realloc, top, depth: AtomicU32::new(0) })
    }

    pub fn memory(&self) -> Extern {
        Extern::Memory(self.memory)
    }

    pub fn realloc(&self) -> Extern {
        Extern::Func(self.realloc)
    }

    /// Calls an import.
    ///
    /// # Errors
    /// Fails if the values do not fit into the memory, or the host function fails.
    pub fn call<T: 'static, R>(
        &self,
        state: &Arc<State>,
        store: &mut StoreContextMut<'_, T>,
        (lifted, may_wait): (&Lifted, bool),
        passed: (
            impl FnOnce(&mut Lower<'_, '_, T>) -> Result<CoreValues>,
            impl FnOnce(&mut Lift<'_>, &[u64]) -> Result<R>,
        ),
        lent: &mut Vec<ResourceAny>,
    ) -> Result<R> {
        let before = self.top.load(Ordering::Relaxed);
        self.depth.fetch_add(1, Ordering::Relaxed);
        let result = bridged(state, store, (lifted, may_wait), passed, lent);
        self.top.store(before, Ordering::Relaxed);
        if self.depth.fetch_sub(1, Ordering::Relaxed) == 1 {
            // The host drops no handles of what it borrowed.
            state.handles(&mut store.0.opaque, lifted.options.instance).clear();
        }
        result
    }
}

fn bridged<T: 'static, R>(
    state: &Arc<State>,
    store: &mut StoreContextMut<'_, T>,
    (Lifted { func, options, ty }, may_wait): (&Lifted, bool),
    (args, result): (
        impl FnOnce(&mut Lower<'_, '_, T>) -> Result<CoreValues>,
        impl FnOnce(&mut Lift<'_>, &[u64]) -> Result<R>,
    ),
    lent: &mut Vec<ResourceAny>,
) -> Result<R> {
    let mut lower = Lower::new(store, options, state, lent);
    let mut flat = args(&mut lower)?;
    let is_in_memory = |ty: &&Type| ty.flat().len() > MAX_FLAT_RESULTS;
    // A lowered function stores such a result where its caller says, a lifted one says where it is.
    let place = ty.result.as_ref().filter(is_in_memory);
    let place = place.map(|ty| lower.reserve(ty.align(), ty.size().into())).transpose()?;
    flat.extend(place.map(u64::from));
    let returned = func.call_numeric_in(store, &flat, may_wait)?;
    let place = place.map(u64::from);
    let flat = place.as_ref().map_or_else(|| returned.as_slice(), std::slice::from_ref);
    // A result contains no borrowed handles.
    result(&mut Lift::new(store, options, state, &mut Loans::default()), flat)
}
