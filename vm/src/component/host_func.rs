//! Functions of the host's, and what a call of one passes.

use std::sync::Arc;

use super::lift::{Lift, Loans, check_aligned};
use super::lower::Lower;
use super::resource::ResourceType;
use super::state::{Options, State};
use super::typed::{self, Flat, Params, Results};
use super::types::{FuncType, MAX_FLAT_PARAMS};
use super::val::Val;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Result};

/// A call: with arguments, gives the core value that the result is, if it is one.
type Call<T> = dyn Fn(&mut Passed<'_, '_, T>) -> Result<Option<u64>> + Send + Sync;
/// Whether a function has the type with which it is imported.
type Check = fn(&FuncType, &[ResourceType]) -> Result<()>;

/// A function of the host's. Cheap to clone.
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
    /// One of any type, which leaves a result where there is room for one.
    pub fn dynamic(
        func: impl Fn(StoreContextMut<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> HostFunc<T> {
        let call = move |passed: &mut Passed<'_, '_, T>| {
            let args = passed.vals()?;
            let mut results = vec![Val::Bool(false); usize::from(passed.ty.result.is_some())];
            func(passed.store.as_context_mut(), &args, &mut results)?;
            results.pop().map_or(Ok(None), |result| passed.result((result,)))
        };
        HostFunc { call: Arc::new(call), check: |_, _| Ok(()) }
    }

    /// One of a static type.
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

    /// # Errors
    /// If it is of another type.
    pub fn check(&self, ty: &FuncType, resources: &[ResourceType]) -> Result<()> {
        (self.check)(ty, resources)
    }

    /// # Errors
    /// If it fails, or what is passed is not as the canonical ABI prescribes.
    pub fn call(&self, passed: &mut Passed<'_, '_, T>) -> Result<Option<u64>> {
        (self.call)(passed)
    }
}

/// What a component passes in a call.
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

    /// The arguments.
    pub fn params<P: typed::Lift>(&mut self) -> Result<P> {
        let mut lift = Lift::new(&*self.store, self.options, self.state, &mut self.loans);
        let tuple = &self.ty.tuple;
        if self.ty.flat_params().len() <= MAX_FLAT_PARAMS {
            return P::flat(&mut lift, tuple, &mut Flat(self.flat));
        }
        let at = self.flat.first().copied().unwrap_or_default() as u32;
        check_aligned(tuple, at)?;
        P::load(&mut lift, tuple, u64::from(at))
    }

    /// The arguments as values of any type.
    pub fn vals(&mut self) -> Result<Vec<Val>> {
        match self.params()? {
            Val::Tuple(args) => Ok(args),
            _ => unreachable!("parameters are a tuple"),
        }
    }

    /// Passes the result back: the core value that it is, if it is one.
    pub fn result<R: Results>(&mut self, result: R) -> Result<Option<u64>> {
        let at = self.flat.last().copied().unwrap_or_default() as u32;
        // A result cannot be lent.
        let lent = &mut Vec::new();
        let (store, options, state, ty) = (&mut *self.store, self.options, self.state, self.ty);
        state.staying(options.instance, || result.lower(&mut Lower::new(store, options, state, lent), ty, at))
    }

    /// What was lent comes back.
    pub fn end(self) {
        self.loans.end(self.state, self.options.instance);
    }
}
