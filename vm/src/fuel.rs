//! Fuel: the remaining work that wasm code may do, under the name that other engines use.

use std::num::NonZeroU64;

use crate::config::FUEL;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{AsContext, AsContextMut, Caller, Error, ErrorKind, Result, Store, StoreContextMut};

impl<T: 'static> Store<T> {
    /// Sets the fuel of wasm code of this store, replacing the previous amount. A store starts with none. When all of it
    /// is consumed the program ends at the next function entry, which costs 1 itself, or loop header with
    /// [`Trap::OutOfFuel`](crate::Trap::OutOfFuel), unless [`Store::on_out_of_budget`] gives more; the same program
    /// with the same input always ends at the same place, as in Wasmtime. So no function runs with 0 or 1 unit, and what
    /// follows the last entry and loop header may consume more than there is.
    ///
    /// # Errors
    /// Fails if the engine's code consumes no fuel: see [`Config::consume_fuel`](crate::Config::consume_fuel).
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        set(&mut self.as_context_mut().0.opaque, fuel)
    }

    /// Returns the remaining fuel; 0 if more was consumed than available, as may happen between two checks.
    ///
    /// # Errors
    /// Fails as [`Store::set_fuel`] does.
    pub fn get_fuel(&self) -> Result<u64> {
        left(&self.as_context().0.opaque)
    }

    /// Makes awaited calls ([`TypedFunc::call_async`](crate::TypedFunc::call_async)) yield their thread to the executor
    /// each time that they have consumed this much fuel (default: `None`, never), at the next function entry or loop
    /// header. The fuel that programs consume, and where they end without fuel, do not change. Other calls continue at
    /// once.
    ///
    /// # Errors
    /// Fails if the interval is 0, and as [`Store::set_fuel`] does.
    pub fn fuel_async_yield_interval(&mut self, interval: Option<u64>) -> Result<()> {
        let none = || Error::new(ErrorKind::Type, "an interval of 0 units of fuel: give at least 1, or None");
        let interval = interval.map(|fuel| NonZeroU64::new(fuel).ok_or_else(none)).transpose()?;
        let store = &mut self.as_context_mut().0.opaque;
        let kind = kind(store)?;
        store.observed.events.yield_each(kind, interval);
        Ok(())
    }
}

impl<T: 'static> Caller<'_, T> {
    /// Sets the fuel: see [`Store::set_fuel`].
    ///
    /// # Errors
    /// Fails as [`Store::set_fuel`] does.
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        set(&mut self.as_context_mut().0.opaque, fuel)
    }

    /// Returns the remaining fuel of the calling program: exact up to the call.
    ///
    /// # Errors
    /// Fails as [`Store::set_fuel`] does.
    pub fn get_fuel(&self) -> Result<u64> {
        left(&self.as_context().0.opaque)
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// Sets the fuel: see [`Store::set_fuel`].
    ///
    /// # Errors
    /// Fails as [`Store::set_fuel`] does.
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        set(&mut self.0.opaque, fuel)
    }

    /// Returns the remaining fuel: see [`Store::get_fuel`].
    ///
    /// # Errors
    /// Fails as [`Store::get_fuel`] does.
    pub fn get_fuel(&self) -> Result<u64> {
        left(&self.0.opaque)
    }
}

fn set(store: &mut StoreOpaque, fuel: u64) -> Result<()> {
    let kind = kind(store)?;
    store.observed.events.set_budget(kind, fuel);
    Ok(())
}

fn left(store: &StoreOpaque) -> Result<u64> {
    Ok(store.observed.events.budget_left(kind(store)?).max(0).unsigned_abs())
}

fn kind(store: &StoreOpaque) -> Result<u32> {
    let collection = store.engine().collection();
    let is_fuel = |&kind: &u32| collection.events[kind as usize].name == FUEL;
    let none = || Error::new(ErrorKind::Type, "wasm code consumes no fuel: see Config::consume_fuel");
    collection.metered.filter(is_fuel).ok_or_else(none)
}
