//! What functions take and give.

use super::{ComponentType, Lift, Lower, unfit};
use crate::Result;
use crate::component::lower::Lower as Lowering;
use crate::component::resource::ResourceType;
use crate::component::types::{FuncType, MAX_FLAT_RESULTS, Type};

/// Parameters of a function: a tuple of what components pass.
pub trait Params: Lift + 'static {}

impl<P: Lift + 'static> Params for P {}

/// Results of a function: `()` or `(R,)`.
pub trait Results: 'static {
    /// # Errors
    /// If the function gives something else.
    #[doc(hidden)]
    fn check(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()>;

    /// Passes it to the component: as the core value that it is, or to the address that is given.
    ///
    /// # Errors
    /// If the component has no room for it.
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
        let mut flat = Vec::with_capacity(1);
        self.0.flat(lower, ty, &mut flat)?;
        Ok(flat.first().copied())
    }
}

/// Whether a host function with these parameters and results can be a component's import.
///
/// # Errors
/// If it cannot; the error says why.
pub fn check<P: ComponentType, R: Results>(ty: &FuncType, resources: &[ResourceType]) -> Result<()> {
    P::check(&ty.tuple, resources).map_err(|error| error.context("parameters"))?;
    R::check(ty.result.as_ref(), resources).map_err(|error| error.context("result"))
}
