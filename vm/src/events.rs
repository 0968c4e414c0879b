//! Event counts, exact at every moment at which the host runs, and event budgets.

use std::ptr::NonNull;
use std::sync::Arc;

use wasmparser::ValType;
use wprof_jit::plan::Collection;

use crate::module::ModuleInner;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::store::{StoreContextMut, StoreInner};
use crate::{AsContext, AsContextMut, Engine, Error, ErrorKind, Instance, Result, Store};

impl<T: 'static> Store<T> {
    /// Returns the number of events of `kind` in wasm code of this store. The count is exact, also while a host
    /// function runs, after a trap and after an exit.
    ///
    /// # Errors
    /// Fails if the engine does not count them: see [`Config::count_events`](crate::Config::count_events).
    pub fn event_count(&self, kind: &str) -> Result<u64> {
        event_count(self, kind)
    }

    /// Returns all counts, in the order of the configuration.
    ///
    /// # Errors
    /// Fails if a function on the stack cannot be planned again.
    pub fn event_counts(&self) -> Result<Vec<(String, u64)>> {
        event_counts(self)
    }

    /// Allows `more` events of `kind` from now on. The program stops at the first function entry or loop
    /// header at which more have happened, with [`Trap::OutOfBudget`](crate::Trap::OutOfBudget); the same program
    /// with the same input always stops at the same place.
    ///
    /// # Errors
    /// Fails if this kind has no budget: see [`Config::budget`](crate::Config::budget).
    pub fn set_budget(&mut self, kind: &str, more: u64) -> Result<()> {
        self.as_context_mut().set_budget(kind, more)
    }

    /// Returns the rest of the budget of `kind`; negative by the overdraft.
    ///
    /// # Errors
    /// Fails as [`Store::set_budget`] does.
    pub fn budget_left(&self, kind: &str) -> Result<i64> {
        let kind = metered(self.engine(), kind)?;
        Ok(self.as_context().0.opaque.observed.events.budget_left(kind))
    }

    /// Sets the callback for an exhausted budget: `ask` returns a new budget, and the program continues, or `None`, and
    /// the program stops. It runs like a host function: with as much stack, and it may run wasm code of other stores.
    /// If that much stack is not left, the program ends with [`Trap::StackOverflow`](crate::Trap::StackOverflow). A
    /// panic propagates out of the call of the program.
    pub fn on_out_of_budget(&mut self, ask: impl FnMut(&mut T, i64) -> Option<u64> + Send + Sync + 'static) {
        let inner = self.as_context_mut().0;
        inner.above.on_out_of_budget = Some(Box::new(ask));
        inner.opaque.observed.events.ask_when_out_of_budget(ask_embedder::<T>);
    }
}

/// The instruction at which a program stopped that checks its budget at each, or before one: see
/// [`Counting::PerInstruction`] and [`Counting::Before`].
///
/// [`Counting::PerInstruction`]: crate::Counting::PerInstruction
/// [`Counting::Before`]: crate::Counting::Before
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stop {
    /// Index of the function.
    pub func: u32,
    /// Byte offset of the instruction in the module.
    pub offset: u32,
    /// The locals, parameters first, before the instruction.
    pub locals: Vec<StoppedValue>,
    /// The operand stack, bottom first.
    pub operands: Vec<StoppedValue>,
}

/// A value of a stopped frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StoppedValue {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// The bits of an f32.
    F32(u32),
    /// The bits of an f64.
    F64(u64),
    /// A v128.
    V128(u128),
    /// A reference.
    Ref {
        /// Whether it is null.
        is_null: bool,
    },
    /// A value that was not kept, because the frame has too many.
    Lost,
}

impl StoppedValue {
    fn new(ty: ValType, value: Option<&VmValue>) -> StoppedValue {
        let Some(value) = value else { return StoppedValue::Lost };
        match ty {
            ValType::I32 => StoppedValue::I32(value.u32() as i32),
            ValType::I64 => StoppedValue::I64(value.u64() as i64),
            ValType::F32 => StoppedValue::F32(value.u32()),
            ValType::F64 => StoppedValue::F64(value.u64()),
            ValType::V128 => StoppedValue::V128(value.u128()),
            ValType::Ref(_) => StoppedValue::Ref { is_null: value.u64() == 0 },
        }
    }
}

impl<T: 'static> Store<T> {
    /// Returns where the program stopped when its budget was exhausted, if each instruction checks it, or one does.
    ///
    /// # Errors
    /// Fails if the function cannot be read again.
    pub fn stop(&self) -> Result<Option<Stop>> {
        Ok(stop(&self.as_context().0.opaque)?.map(|(_, stop)| stop))
    }
}

/// Returns where the program stopped, as [`Store::stop`] does, and the module.
///
/// # Errors
/// Fails if the function cannot be read again.
pub(crate) fn stop(store: &StoreOpaque) -> Result<Option<(&Arc<dyn LoadedModule>, Stop)>> {
    let Some(stop) = store.observed.events.stop() else { return Ok(None) };
    let (info, origin) = (stop.frame.module.info(), stop.frame.origin);
    let cfg = wprof_jit::cfg::build(info, origin.func)?;
    let types = wprof_jit::cfg::operand_types(info, origin.func, origin.offset)?;
    let mut values = stop.values.iter();
    let mut take = |&ty: &ValType| StoppedValue::new(ty, values.next());
    let locals = cfg.locals.iter().map(&mut take).collect();
    let operands = types.iter().map(&mut take).collect();
    Ok(Some((&stop.frame.module, Stop { func: origin.func, offset: origin.offset, locals, operands })))
}

/// Returns the number of events of `kind`; for host functions, which have a [`Caller`](crate::Caller).
///
/// # Errors
/// Fails as [`Store::event_count`] does.
pub fn event_count(store: impl AsContext, kind: &str) -> Result<u64> {
    let store = &store.as_context().0.opaque;
    store.event_count(index(store.engine().collection(), kind)?)
}

/// Returns all counts, as [`Store::event_counts`] does.
///
/// # Errors
/// Fails as [`Store::event_counts`] does.
pub fn event_counts(store: impl AsContext) -> Result<Vec<(String, u64)>> {
    let store = &store.as_context().0.opaque;
    let kinds = (0..).zip(&store.engine().collection().events);
    kinds.map(|(kind, model)| Ok((model.name.clone(), store.event_count(kind)?))).collect()
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// Allows so many more events of `kind`: see [`Store::set_budget`].
    ///
    /// # Errors
    /// Fails as [`Store::set_budget`] does.
    pub fn set_budget(&mut self, kind: &str, more: u64) -> Result<()> {
        let kind = metered(self.engine(), kind)?;
        self.0.opaque.observed.events.set_budget(kind, more);
        Ok(())
    }
}

impl Instance {
    /// Returns what a frame at the instruction at byte `offset` of the module, in function `func`, adds to the
    /// counter of each kind: exact count = counter + corrections of all frames. Modulo 2^64.
    ///
    /// # Errors
    /// Fails if there is no such instruction, or the engine counts no events.
    pub fn query(&self, store: impl AsContext, func: u32, offset: u32) -> Result<Vec<i64>> {
        let items = &store.as_context().0.opaque.items;
        let module = ModuleInner::from_loaded(&items.instance(items.index(self.0)).module);
        let info = module.info();
        if func < info.imported_funcs || func as usize >= info.funcs.len() {
            return Err(Error::new(ErrorKind::Type, format_args!("the module defines no function {func}")));
        }
        module.event_corrections_at(func, offset)
    }
}

fn index(collection: &Collection, kind: &str) -> Result<u32> {
    let kinds = &collection.events;
    let position = kinds.iter().position(|model| model.name == kind);
    position.map(|index| index as u32).ok_or_else(|| {
        let message = format!("events called `{kind}` are not counted: name them in Config::count_events");
        Error::new(ErrorKind::Type, message)
    })
}

fn metered(engine: &Engine, kind: &str) -> Result<u32> {
    let kind_index = index(engine.collection(), kind)?;
    if engine.collection().metered == Some(kind_index) {
        return Ok(kind_index);
    }
    Err(Error::new(
        ErrorKind::Type,
        format_args!("there is no budget of `{kind}`: name it in Config::budget"),
    ))
}

/// Calls the store's closure, if it has one.
///
/// # Safety
/// The caller derives `store` from an exclusive reference to a whole `StoreInner<T>`, which nothing else uses
/// meanwhile.
#[expect(unsafe_code, reason = "the runtime knows stores without their type only")]
unsafe fn ask_embedder<T: 'static>(store: NonNull<StoreOpaque>) -> Option<u64> {
    // SAFETY: the caller guarantees a whole, exclusively borrowed store; a store begins with its `StoreOpaque`.
    let store = unsafe { &mut *store.cast::<StoreInner<T>>().as_ptr() };
    let left = store
        .opaque
        .engine()
        .collection()
        .metered
        .map_or(0, |kind| store.opaque.observed.events.budget_left(kind));
    let mut ask = store.above.on_out_of_budget.take()?;
    let more = ask(&mut store.above.data, left);
    store.above.on_out_of_budget = Some(ask);
    more
}
