//! Parameters and results of functions.

use super::{ComponentType, CoreValues, Flat, Lift, Lower, unfit};
use crate::Result;
use crate::component::lift::Lift as Lifting;
use crate::component::lower::Lower as Lowering;
use crate::component::resource::ResourceType;
use crate::component::types::{FuncType, MAX_FLAT_PARAMS, MAX_FLAT_RESULTS, Type};

/// Parameters of a function: a tuple of values that components pass.
pub trait Params: Lift + 'static {}

impl<P: Lift + 'static> Params for P {}

/// Results of a function: `()` or `(R,)`.
pub trait Results: 'static {
    /// # Errors
    /// Fails if the function has another result.
    #[doc(hidden)]
    fn check(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()>;

    /// Passes the result to the component: as its core value, or at the given address.
    ///
    /// # Errors
    /// Fails if the component has no room for it.
    #[doc(hidden)]
    fn lower<T: 'static>(
        self,
        lower: &mut Lowering<'_, '_, T>,
        ty: &FuncType,
        at: u32,
    ) -> Result<Option<u64>>;
}

impl Results for () {
    fn check(ty: Option<&Type>, _: &[ResourceType]) -> Result<()> {
        ty.map_or(Ok(()), |ty| Err(unfit(ty)))
    }

    fn lower<T: 'static>(self, _: &mut Lowering<'_, '_, T>, _: &FuncType, _: u32) -> Result<Option<u64>> {
        Ok(None)
    }
}

impl<R: Lower + 'static> Results for (R,) {
    fn check(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()> {
        R::check(ty.ok_or_else(|| unfit("no result"))?, resources)
    }

    fn lower<T: 'static>(
        self,
        lower: &mut Lowering<'_, '_, T>,
        ty: &FuncType,
        at: u32,
    ) -> Result<Option<u64>> {
        let Some(ty) = &ty.result else { return Ok(None) };
        if ty.flat().len() > MAX_FLAT_RESULTS {
            lower.check_room(ty, at)?;
            return self.0.store(lower, ty, at).map(|()| None);
        }
        let mut flat = CoreValues::new();
        self.0.flat(lower, ty, &mut flat)?;
        Ok(flat.first().copied())
    }
}

/// Arguments of a call of a component's function: a tuple of values that the host passes.
pub trait Args: Lower {
    /// # Errors
    /// Fails if the component has no room for the arguments.
    #[doc(hidden)]
    fn lower<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &FuncType) -> Result<CoreValues> {
        if ty.flat_params().len() > MAX_FLAT_PARAMS {
            let at = lower.reserve(ty.tuple.align(), u64::from(ty.tuple.size()))?;
            self.store(lower, &ty.tuple, at)?;
            return Ok(CoreValues::from_slice(&[u64::from(at)]));
        }
        let mut flat = CoreValues::new();
        self.flat(lower, &ty.tuple, &mut flat)?;
        Ok(flat)
    }
}

impl<A: Lower> Args for A {}

/// Result of a component's function: `()` or `(R,)`.
pub trait Returns: Sized + 'static {
    /// # Errors
    /// Fails if the function has another result.
    #[doc(hidden)]
    fn check(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()>;

    /// # Errors
    /// Fails if the component's result represents no value.
    #[doc(hidden)]
    fn lift(lift: &mut Lifting<'_>, ty: &FuncType, flat: &[u64]) -> Result<Self>;
}

impl Returns for () {
    fn check(ty: Option<&Type>, _: &[ResourceType]) -> Result<()> {
        ty.map_or(Ok(()), |ty| Err(unfit(ty)))
    }

    fn lift(_: &mut Lifting<'_>, _: &FuncType, _: &[u64]) -> Result<()> {
        Ok(())
    }
}

impl<R: Lift + 'static> Returns for (R,) {
    fn check(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()> {
        R::check(ty.ok_or_else(|| unfit("no result"))?, resources)
    }

    fn lift(lift: &mut Lifting<'_>, ty: &FuncType, flat: &[u64]) -> Result<(R,)> {
        let ty = ty.result.as_ref().ok_or_else(|| unfit("no result"))?;
        if ty.flat().len() > MAX_FLAT_RESULTS {
            let at = flat.first().copied().unwrap_or_default() as u32;
            lift.check_place(ty, at)?;
            return Ok((R::load(lift, ty, u64::from(at))?,));
        }
        Ok((R::flat(lift, ty, &mut Flat(flat))?,))
    }
}

/// Checks that a component's function has these parameters and results.
///
/// # Errors
/// Fails if it does not; the error says why.
pub fn check_call<A: ComponentType, R: Returns>(ty: &FuncType, resources: &[ResourceType]) -> Result<()> {
    A::check(&ty.tuple, resources).map_err(|error| error.context("parameters"))?;
    R::check(ty.result.as_ref(), resources).map_err(|error| error.context("result"))
}

/// Checks that a host function with these parameters and results can be a component's import.
///
/// # Errors
/// Fails if it cannot; the error says why.
pub fn check<P: ComponentType, R: Results>(ty: &FuncType, resources: &[ResourceType]) -> Result<()> {
    P::check(&ty.tuple, resources).map_err(|error| error.context("parameters"))?;
    R::check(ty.result.as_ref(), resources).map_err(|error| error.context("result"))
}
