//! Rust types as types of the component model, for the parameters and results of statically typed functions.
//!
//! Values pass between Rust and a component's memory without an intermediate [`Val`]; bytes are copied at once. `Val`
//! itself represents any type.

mod borrowed;
mod compound;
pub mod custom;
mod function;
mod pairs;
mod scalar;

pub use function::{Args, Params, Results, Returns, check, check_call};

use smallvec::SmallVec;

use super::lift::Lift as Lifting;
use super::lower::Lower as Lowering;
use super::resource::ResourceType;
use super::types::{Type, TypeKind};
use super::val::Val;
use crate::{Error, ErrorKind, Result};

/// Core values of a call, as bits; most calls have few.
pub type CoreValues = SmallVec<[u64; 16]>;

/// Core values of a call that are still to be lifted.
#[derive(Clone, Copy)]
pub struct Flat<'a>(pub &'a [u64]);

impl Flat<'_> {
    /// Splits off the first values.
    pub fn first(&mut self, count: usize) -> Self {
        let (first, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        Flat(first)
    }
}

impl Iterator for Flat<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}

/// A Rust type that represents types of the component model: integers, floats, `bool`, `char`, `String`, `Vec`,
/// `Option`, `Result`, tuples, [`Resource`](super::Resource), [`ResourceAny`](super::ResourceAny), the types that
/// [`component_types!`](crate::component_types) defines, and [`Val`] for any type. `()` represents the absent payload
/// of a `result` case. `Box` and `Arc` represent what they hold, also `str` and slices; the host passes `&str`, `&[T]` and
/// `&T` as well.
///
/// With the feature `bindgen` it is derived, like [`Lift`] (components pass values to the host) and [`Lower`] (the host
/// passes values to components), as for Wasmtime. A struct is a record, an enum is a variant or an enum; fields and cases
/// have the component's order. Their names are compared by letters, as [`component_types!`](crate::component_types) does,
/// unless `name` gives another one. `#[component(record)]`, `variant` and `enum` may be left out.
///
/// ```
/// # #[cfg(feature = "bindgen")] {
/// use wprof::component::{ComponentType, Lift, Lower};
///
/// #[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq)]
/// #[component(record)]
/// struct Entry<T> {
///     key: String,
///     #[component(name = "the-value")]
///     value: T,
/// }
///
/// #[derive(ComponentType, Lift, Lower, Debug)]
/// #[component(variant)]
/// enum Change {
///     Clear,
///     Put(Entry<Vec<u8>>),
/// }
/// # fn passes<T: Lift + Lower>() {}
/// # passes::<Change>();
/// # }
/// ```
pub trait ComponentType: Sized {
    /// # Errors
    /// Fails if the Rust type does not represent this type.
    #[doc(hidden)]
    fn check(ty: &Type, resources: &[ResourceType]) -> Result<()>;

    /// Checks the payload of a `result` case, if any.
    ///
    /// # Errors
    /// Fails if the Rust type does not represent the payload.
    #[doc(hidden)]
    fn check_case(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()> {
        ty.map_or_else(|| Err(unfit("nothing")), |ty| Self::check(ty, resources))
    }
}

/// A type whose values components pass to the host.
pub trait Lift: ComponentType {
    /// Lifts a value from core values.
    ///
    /// # Errors
    /// Fails if they represent no value.
    #[doc(hidden)]
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self>;

    /// Lifts a value from memory.
    ///
    /// # Errors
    /// Fails if the memory contents represent no value.
    #[doc(hidden)]
    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self>;

    /// Lifts a list of values.
    ///
    /// # Errors
    /// Fails as [`Self::load`] does.
    #[doc(hidden)]
    fn list(lift: &mut Lifting<'_>, element: &Type, at: u32, length: u32) -> Result<Vec<Self>> {
        lift.elements(element, at, length, size_of::<Self>(), Self::load)
    }

    /// Lifts the payload of a `result` case from core values.
    ///
    /// # Errors
    /// Fails as [`Self::flat`] does.
    #[doc(hidden)]
    fn flat_case(lift: &mut Lifting<'_>, ty: Option<&Type>, values: &mut Flat<'_>) -> Result<Self> {
        ty.map_or_else(|| Err(unfit("nothing")), |ty| Self::flat(lift, ty, values))
    }

    /// Lifts the payload of a `result` case from memory.
    ///
    /// # Errors
    /// Fails as [`Self::load`] does.
    #[doc(hidden)]
    fn load_case(lift: &mut Lifting<'_>, ty: Option<&Type>, at: u64) -> Result<Self> {
        ty.map_or_else(|| Err(unfit("nothing")), |ty| Self::load(lift, ty, at))
    }
}

/// A type whose values the host passes to components.
pub trait Lower: ComponentType {
    /// Lowers the value to core values.
    ///
    /// # Errors
    /// Fails if the component has no room for the part that is passed in memory.
    #[doc(hidden)]
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()>;

    /// Lowers the value to memory.
    ///
    /// # Errors
    /// Fails if the component has no room for the part that is passed by a pointer.
    #[doc(hidden)]
    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()>;

    /// Lowers a list of values.
    ///
    /// # Errors
    /// Fails as [`Self::store`] does.
    #[doc(hidden)]
    fn list<T: 'static>(
        list: Vec<Self>,
        lower: &mut Lowering<'_, '_, T>,
        element: &Type,
    ) -> Result<(u32, u32)> {
        let length = list.len();
        let at = lower.reserve(element.align(), u64::from(element.size()) * length as u64)?;
        for (index, value) in (0..).zip(list) {
            lower.count()?;
            value.store(lower, element, at + index * element.size())?;
        }
        Ok((at, length as u32))
    }

    /// Lowers a list of values that stay the caller's.
    ///
    /// # Errors
    /// Fails as [`Self::store`] does.
    #[doc(hidden)]
    fn slice<T: 'static>(
        slice: &[Self],
        lower: &mut Lowering<'_, '_, T>,
        element: &Type,
    ) -> Result<(u32, u32)>
    where
        Self: Clone,
    {
        let at = lower.reserve(element.align(), u64::from(element.size()) * slice.len() as u64)?;
        for (index, value) in (0..).zip(slice) {
            lower.count()?;
            value.clone().store(lower, element, at + index * element.size())?;
        }
        Ok((at, slice.len() as u32))
    }

    /// Lowers the payload of a `result` case to core values.
    ///
    /// # Errors
    /// Fails as [`Self::flat`] does.
    #[doc(hidden)]
    fn flat_case<T: 'static>(
        self,
        lower: &mut Lowering<'_, '_, T>,
        ty: Option<&Type>,
        to: &mut CoreValues,
    ) -> Result<()> {
        ty.map_or_else(|| Err(unfit("nothing")), |ty| self.flat(lower, ty, to))
    }

    /// Lowers the payload of a `result` case to memory.
    ///
    /// # Errors
    /// Fails as [`Self::store`] does.
    #[doc(hidden)]
    fn store_case<T: 'static>(
        self,
        lower: &mut Lowering<'_, '_, T>,
        ty: Option<&Type>,
        at: u32,
    ) -> Result<()> {
        ty.map_or_else(|| Err(unfit("nothing")), |ty| self.store(lower, ty, at))
    }
}

impl ComponentType for Val {
    fn check(_: &Type, _: &[ResourceType]) -> Result<()> {
        Ok(())
    }
}

impl Lift for Val {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Val> {
        lift.flat(ty, values)
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Val> {
        lift.load(ty, at)
    }
}

impl Lower for Val {
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()> {
        of_host(&self, ty)?;
        lower.flat(ty, &self, to)
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()> {
        of_host(&self, ty)?;
        lower.store(ty, &self, at)
    }
}

/// Checks the result of a host function.
///
/// # Errors
/// Fails if the value does not have the type.
pub fn of_host(value: &Val, ty: &Type) -> Result<()> {
    value.check(ty).map_err(|error| Error::new(ErrorKind::Type, format_args!("host function: {error}")))
}

/// Creates the error for a host type that does not match.
fn unfit(ty: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Link, format_args!("the component has {ty}"))
}

/// Fails unless the type has the expected kind.
fn fits(ty: &Type, is_it: impl FnOnce(&TypeKind) -> bool) -> Result<()> {
    if is_it(ty.kind()) { Ok(()) } else { Err(unfit(ty)) }
}
