//! Host functions of the component model, and the values that a call passes.

use std::sync::Arc;

use super::lift::{Lift, Loans};
use super::lower::Lower;
use super::resource::ResourceType;
use super::state::{Options, State};
use super::typed::{self, Flat, Params, Results};
use super::types::{FuncType, MAX_FLAT_PARAMS};
use super::val::Val;
use crate::runtime::values::budget::Charge;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Result};

/// A call with its arguments; returns the core value of the result, if the result is a single core value.
type Call<T> = dyn Fn(&mut Passed<'_, '_, T>) -> Result<Option<u64>> + Send + Sync;
/// Checks that a function has the type with which it is imported.
pub type Check = fn(&FuncType, &[ResourceType]) -> Result<()>;

/// A host function. It is cheap to clone.
pub struct HostFunc<T: 'static> {
    call: Arc<Call<T>>,
    check: Check,
}

impl<T: 'static> Clone for HostFunc<T> {
    fn clone(&self) -> Self {
        HostFunc { call: self.call.clone(), check: self.check }
    }
}

impl<T: 'static> HostFunc<T> {
    /// Creates a host function of any type, which writes its result to the given slice.
    pub fn dynamic(
        func: impl Fn(StoreContextMut<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> HostFunc<T> {
        let call = move |passed: &mut Passed<'_, '_, T>| {
            let args = passed.vals()?;
            let mut result = [Val::Bool(false)];
            let has_result = passed.ty.result.is_some();
            func(passed.store.as_context_mut(), &args, &mut result[..usize::from(has_result)])?;
            let [result] = result;
            if has_result { passed.result((result,)) } else { Ok(None) }
        };
        HostFunc { call: Arc::new(call), check: |_, _| Ok(()) }
    }

    /// Creates a host function of a static type.
    pub fn typed<P: Params, R: Results>(
        func: impl Fn(StoreContextMut<'_, T>, P) -> Result<R> + Send + Sync + 'static,
    ) -> HostFunc<T> {
        let call = move |passed: &mut Passed<'_, '_, T>| {
            let params = passed.params::<P>()?;
            let result = func(passed.store.as_context_mut(), params)?;
            passed.result(result)
        };
        HostFunc { call: Arc::new(call), check: typed::check::<P, R> }
    }

    /// Creates a host function, with the check of its type.
    pub fn new(
        call: impl Fn(&mut Passed<'_, '_, T>) -> Result<Option<u64>> + Send + Sync + 'static,
        check: Check,
    ) -> HostFunc<T> {
        HostFunc { call: Arc::new(call), check }
    }

    /// # Errors
    /// Returns an error if the function has another type.
    pub fn check(&self, ty: &FuncType, resources: &[ResourceType]) -> Result<()> {
        (self.check)(ty, resources)
    }

    /// # Errors
    /// Returns an error if the function fails, or the arguments violate the canonical ABI.
    pub fn call(&self, passed: &mut Passed<'_, '_, T>) -> Result<Option<u64>> {
        (self.call)(passed)
    }
}

/// The context of a call that a component makes.
pub struct Passed<'a, 's, T: 'static> {
    pub store: &'a mut StoreContextMut<'s, T>,
    pub state: &'a Arc<State>,
    ty: &'a FuncType,
    options: &'a Options,
    flat: &'a [u64],
    loans: Loans,
}

impl<'a, 's, T: 'static> Passed<'a, 's, T> {
    pub fn new(
        store: &'a mut StoreContextMut<'s, T>,
        state: &'a Arc<State>,
        (ty, options): (&'a FuncType, &'a Options),
        flat: &'a [u64],
    ) -> Self {
        Passed { store, state, ty, options, flat, loans: Loans::default() }
    }

    /// Returns the instance that calls.
    pub fn caller(&self) -> u32 {
        self.options.instance
    }

    /// Reports whether the function has a result.
    pub fn has_result(&self) -> bool {
        self.ty.result.is_some()
    }

    /// Returns the arguments.
    pub fn params<P: typed::Lift>(&mut self) -> Result<P> {
        let mut lift = Lift::new(self.store, self.options, self.state, &mut self.loans);
        let tuple = &self.ty.tuple;
        if self.ty.flat_params().len() <= MAX_FLAT_PARAMS {
            return P::flat(&mut lift, tuple, &mut Flat(self.flat));
        }
        let at = self.flat.first().copied().unwrap_or_default() as u32;
        lift.check_place(tuple, at)?;
        P::load(&mut lift, tuple, u64::from(at))
    }

    /// Returns the arguments as values of any type.
    pub fn vals(&mut self) -> Result<Vec<Val>> {
        match self.params()? {
            Val::Tuple(args) => Ok(args),
            _ => unreachable!("parameters are a tuple"),
        }
    }

    /// Lowers the result; returns its core value, if it is a single one.
    pub fn result<R: Results>(&mut self, result: R) -> Result<Option<u64>> {
        let at = self.flat.last().copied().unwrap_or_default() as u32;
        // A result cannot contain borrowed resources.
        let lent = &mut Vec::new();
        let (store, options, state, ty) = (&mut *self.store, self.options, self.state, self.ty);
        state.staying(store, options.instance, |store| {
            result.lower(&mut Lower::new(store, options, state, lent), ty, at)
        })
    }

    /// Returns what the arguments take, for who drops them before the call ends.
    pub fn taken(&mut self) -> Charge {
        std::mem::take(&mut self.loans.taken)
    }

    /// Ends the loans of the call.
    pub fn end(self) {
        self.loans.end(self.store, self.state, self.options.instance);
    }
}
