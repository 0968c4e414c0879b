//! Types whose values are those of another one: borrowed, boxed or shared.

use std::sync::Arc;

use super::{ComponentType, CoreValues, Flat, Lift, Lower};
use crate::Result;
use crate::component::lift::Lift as Lifting;
use crate::component::lower::Lower as Lowering;
use crate::component::resource::ResourceType;
use crate::component::types::Type;

/// Implements `ComponentType` for types that represent what another one does.
macro_rules! represents {
    ($([$($of:tt)*] $rust:ty, $same:ty;)*) => {
        $(
            impl<$($of)*> ComponentType for $rust {
                fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
                    <$same>::check(ty, resources)
                }

                fn check_case(ty: Option<&Type>, resources: &[ResourceType]) -> Result<()> {
                    <$same>::check_case(ty, resources)
                }
            }
        )*
    };
}

represents! {
    [] &str, String;
    [] Box<str>, String;
    [] Arc<str>, String;
    [E: ComponentType] &[E], Vec<E>;
    [E: ComponentType] Box<[E]>, Vec<E>;
    [E: ComponentType] Arc<[E]>, Vec<E>;
    [V: ComponentType] &V, V;
    [V: ComponentType] Box<V>, V;
    [V: ComponentType] Arc<V>, V;
}

/// Implements `Lift` for types that are made of another one.
macro_rules! lifted {
    ($([$($of:tt)*] $rust:ty, $same:ty;)*) => {
        $(
            impl<$($of)*> Lift for $rust {
                fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
                    <$same as Lift>::flat(lift, ty, values).map(Self::from)
                }

                fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
                    <$same as Lift>::load(lift, ty, at).map(Self::from)
                }

                fn flat_case(
                    lift: &mut Lifting<'_>,
                    ty: Option<&Type>,
                    values: &mut Flat<'_>,
                ) -> Result<Self> {
                    <$same as Lift>::flat_case(lift, ty, values).map(Self::from)
                }

                fn load_case(lift: &mut Lifting<'_>, ty: Option<&Type>, at: u64) -> Result<Self> {
                    <$same as Lift>::load_case(lift, ty, at).map(Self::from)
                }
            }
        )*
    };
}

lifted! {
    [] Box<str>, String;
    [] Arc<str>, String;
    [E: Lift] Box<[E]>, Vec<E>;
    [E: Lift] Arc<[E]>, Vec<E>;
    [V: Lift] Box<V>, V;
    [V: Lift] Arc<V>, V;
}

/// Implements `Lower` for types that are lowered as what they refer to, given how to get it.
macro_rules! pointers {
    ($([$($of:tt)*] $rust:ty, $get:expr;)*) => {
        $(
            impl<$($of)*> Lower for $rust {
                fn flat<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    to: &mut CoreValues,
                ) -> Result<()> {
                    let get: fn(Self) -> V = $get;
                    get(self).flat(lower, ty, to)
                }

                fn store<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    at: u32,
                ) -> Result<()> {
                    let get: fn(Self) -> V = $get;
                    get(self).store(lower, ty, at)
                }

                fn flat_case<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: Option<&Type>,
                    to: &mut CoreValues,
                ) -> Result<()> {
                    let get: fn(Self) -> V = $get;
                    get(self).flat_case(lower, ty, to)
                }

                fn store_case<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: Option<&Type>,
                    at: u32,
                ) -> Result<()> {
                    let get: fn(Self) -> V = $get;
                    get(self).store_case(lower, ty, at)
                }
            }
        )*
    };
}

pointers! {
    [V: Lower + Clone] &V, V::clone;
    [V: Lower] Box<V>, |value| *value;
    [V: Lower + Clone] Arc<V>, Arc::unwrap_or_clone;
}
