//! User-defined Rust types: structs as records, enums as variants and enums, sets of flags.
//!
//! The macro only expands the types and loops over their fields and cases; this module implements each step.

use super::compound::{flat_case as any_flat_case, loaded_case as any_loaded_case};
use super::unfit;
pub use super::{CoreValues, Flat};
pub use crate::component::lift::Lift as Lifting;
pub use crate::component::lower::Lower as Lowering;
use crate::component::resource::ResourceType;
use crate::component::types::{Type, TypeKind};
use crate::{Error, Result};

/// Defines Rust types that represent records, variants, enums and flags of the component model, for the parameters and
/// results of host functions and [`TypedFunc`](crate::component::TypedFunc)s.
///
/// A `struct` is a record, with fields in the record's order. An `enum` is a variant or an enum; a case has at most one
/// payload type. `flags` are a set of at most 32 names. Names are the component's without its hyphens: `line-to` is the
/// case `LineTo`, `remote-address` the field `remote_address`. Instantiation of a component, or the look-up of a
/// function, checks that the names match.
///
/// ```
/// wprof::component_types! {
///     /// Where something is.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct Point {
///         pub x: i32,
///         pub y: Option<u8>,
///     }
///
///     #[derive(Clone, Debug, PartialEq)]
///     pub enum Shape {
///         Dot,
///         LineTo(Point),
///     }
///
///     pub flags Marks {
///         BOLD,
///         UNDERLINED,
///     }
/// }
///
/// let marks = Marks::BOLD | Marks::UNDERLINED;
/// assert!(marks.contains(Marks::BOLD) && marks == Marks::all());
/// assert_eq!(Shape::LineTo(Point { x: 1, y: None }), Shape::LineTo(Point { x: 1, y: None }));
/// ```
#[macro_export]
macro_rules! component_types {
    () => {};
    (@bind $ty:ty, $held:ident) => { $held };
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])* $vis struct $name { $($(#[$field_meta])* $field_vis $field: $ty,)* }

        impl $crate::component::ComponentType for $name {
            fn check(
                ty: &$crate::component::Type,
                resources: &[$crate::component::ResourceType],
            ) -> $crate::Result<()> {
                use $crate::component::{ComponentType, custom};
                custom::check_fields(ty, resources, &[$((stringify!($field), <$ty as ComponentType>::check)),*])
            }
        }

        impl $crate::component::Lift for $name {
            fn flat(
                lift: &mut $crate::component::custom::Lifting<'_>,
                ty: &$crate::component::Type,
                values: &mut $crate::component::custom::Flat<'_>,
            ) -> $crate::Result<Self> {
                let mut fields = $crate::component::custom::fields(ty);
                Ok($name { $($field: <$ty as $crate::component::Lift>::flat(lift, $crate::component::custom::next(&mut fields)?.1, values)?,)* })
            }

            fn load(
                lift: &mut $crate::component::custom::Lifting<'_>,
                ty: &$crate::component::Type,
                at: u64,
            ) -> $crate::Result<Self> {
                let mut fields = $crate::component::custom::fields(ty);
                Ok($name {
                    $($field: {
                        let (offset, ty) = $crate::component::custom::next(&mut fields)?;
                        <$ty as $crate::component::Lift>::load(lift, ty, at + u64::from(offset))?
                    },)*
                })
            }
        }

        impl $crate::component::Lower for $name {
            fn flat<T: 'static>(
                self,
                lower: &mut $crate::component::custom::Lowering<'_, '_, T>,
                ty: &$crate::component::Type,
                to: &mut $crate::component::custom::CoreValues,
            ) -> $crate::Result<()> {
                let mut fields = $crate::component::custom::fields(ty);
                $($crate::component::Lower::flat(self.$field, lower, $crate::component::custom::next(&mut fields)?.1, to)?;)*
                Ok(())
            }

            fn store<T: 'static>(
                self,
                lower: &mut $crate::component::custom::Lowering<'_, '_, T>,
                ty: &$crate::component::Type,
                at: u32,
            ) -> $crate::Result<()> {
                let mut fields = $crate::component::custom::fields(ty);
                $({
                    let (offset, ty) = $crate::component::custom::next(&mut fields)?;
                    $crate::component::Lower::store(self.$field, lower, ty, at + offset)?;
                })*
                Ok(())
            }
        }

        $crate::component_types! { $($rest)* }
    };
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[$case_meta:meta])* $case:ident $(($ty:ty))?),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])* $vis enum $name { $($(#[$case_meta])* $case $(($ty))?,)* }

        impl $crate::component::ComponentType for $name {
            fn check(
                ty: &$crate::component::Type,
                resources: &[$crate::component::ResourceType],
            ) -> $crate::Result<()> {
                use $crate::component::custom;
                custom::check_cases(ty, resources, &[$((
                    stringify!($case),
                    custom::only([$(<$ty as $crate::component::ComponentType>::check)?]),
                )),*])
            }
        }

        impl $crate::component::Lift for $name {
            fn flat(
                lift: &mut $crate::component::custom::Lifting<'_>,
                ty: &$crate::component::Type,
                values: &mut $crate::component::custom::Flat<'_>,
            ) -> $crate::Result<Self> {
                // An enum may have no case with a payload.
                let _ = &lift;
                let (number, _held, mut _values) = $crate::component::custom::flat_case(ty, values)?;
                let mut numbers = 0..;
                $(if numbers.next() == Some(number) {
                    return Ok($name::$case $((
                        <$ty as $crate::component::Lift>::flat_case(lift, _held, &mut _values)?
                    ))?);
                })*
                Err($crate::component::custom::no_case(ty))
            }

            fn load(
                lift: &mut $crate::component::custom::Lifting<'_>,
                ty: &$crate::component::Type,
                at: u64,
            ) -> $crate::Result<Self> {
                let (number, _held, _at) = $crate::component::custom::loaded_case(lift, ty, at)?;
                let mut numbers = 0..;
                $(if numbers.next() == Some(number) {
                    return Ok($name::$case $((
                        <$ty as $crate::component::Lift>::load_case(lift, _held, _at)?
                    ))?);
                })*
                Err($crate::component::custom::no_case(ty))
            }
        }

        #[allow(irrefutable_let_patterns, reason = "there may be one case")]
        impl $crate::component::Lower for $name {
            fn flat<T: 'static>(
                self,
                lower: &mut $crate::component::custom::Lowering<'_, '_, T>,
                ty: &$crate::component::Type,
                to: &mut $crate::component::custom::CoreValues,
            ) -> $crate::Result<()> {
                let _ = &lower;
                let end = to.len() + $crate::component::custom::flat_count(ty);
                let mut numbers = 0_u32..;
                $({
                    let number = numbers.next().unwrap_or_default();
                    if let $name::$case { .. } = self {
                        to.push(u64::from(number));
                        let _held = $crate::component::custom::held(ty, number);
                        $(if let $name::$case($crate::component_types!(@bind $ty, value)) = self {
                            <$ty as $crate::component::Lower>::flat_case(value, lower, _held, to)?;
                        })?
                        to.resize(end, 0);
                        return Ok(());
                    }
                })*
                Err($crate::component::custom::no_case(ty))
            }

            fn store<T: 'static>(
                self,
                lower: &mut $crate::component::custom::Lowering<'_, '_, T>,
                ty: &$crate::component::Type,
                at: u32,
            ) -> $crate::Result<()> {
                let mut numbers = 0_u32..;
                $({
                    let number = numbers.next().unwrap_or_default();
                    if let $name::$case { .. } = self {
                        let _at = $crate::component::custom::store_case(lower, ty, (number, at))?;
                        let _held = $crate::component::custom::held(ty, number);
                        $(if let $name::$case($crate::component_types!(@bind $ty, value)) = self {
                            <$ty as $crate::component::Lower>::store_case(value, lower, _held, _at)?;
                        })?
                        return Ok(());
                    }
                })*
                Err($crate::component::custom::no_case(ty))
            }
        }

        $crate::component_types! { $($rest)* }
    };
    (
        $(#[$meta:meta])* $vis:vis flags $name:ident {
            $($(#[$flag_meta:meta])* $flag:ident),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name(u32);

        impl $name {
            const NAMES: &[&str] = &[$(stringify!($flag)),*];
            $crate::component_types! { @flags 0, $($(#[$flag_meta])* $flag,)* }

            /// Returns all flags.
            #[allow(dead_code)]
            $vis const fn all() -> Self {
                Self(((1_u64 << Self::NAMES.len()) - 1) as u32)
            }

            /// Returns no flags.
            #[allow(dead_code)]
            $vis const fn empty() -> Self {
                Self(0)
            }

            /// Reports whether all of `some` are set.
            #[allow(dead_code)]
            $vis const fn contains(self, some: Self) -> bool {
                self.0 & some.0 == some.0
            }
        }

        impl ::std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl $crate::component::ComponentType for $name {
            fn check(
                ty: &$crate::component::Type,
                _: &[$crate::component::ResourceType],
            ) -> $crate::Result<()> {
                $crate::component::custom::check_flags(ty, Self::NAMES)
            }
        }

        impl $crate::component::Lift for $name {
            fn flat(
                _: &mut $crate::component::custom::Lifting<'_>,
                _: &$crate::component::Type,
                values: &mut $crate::component::custom::Flat<'_>,
            ) -> $crate::Result<Self> {
                Ok(Self(values.next().unwrap_or_default() as u32 & Self::all().0))
            }

            fn load(
                lift: &mut $crate::component::custom::Lifting<'_>,
                ty: &$crate::component::Type,
                at: u64,
            ) -> $crate::Result<Self> {
                Ok(Self($crate::component::custom::load_bits(lift, ty, at)? & Self::all().0))
            }
        }

        impl $crate::component::Lower for $name {
            fn flat<T: 'static>(
                self,
                _: &mut $crate::component::custom::Lowering<'_, '_, T>,
                _: &$crate::component::Type,
                to: &mut $crate::component::custom::CoreValues,
            ) -> $crate::Result<()> {
                to.push(u64::from(self.0));
                Ok(())
            }

            fn store<T: 'static>(
                self,
                lower: &mut $crate::component::custom::Lowering<'_, '_, T>,
                ty: &$crate::component::Type,
                at: u32,
            ) -> $crate::Result<()> {
                $crate::component::custom::store_bits(lower, ty, (self.0, at))
            }
        }

        $crate::component_types! { $($rest)* }
    };
    (@flags $number:expr, $(#[$meta:meta])* $flag:ident, $($rest:tt)*) => {
        $(#[$meta])*
        #[allow(missing_docs, dead_code, reason = "it is the flag of that name")]
        pub const $flag: Self = Self(1 << ($number));
        $crate::component_types! { @flags $number + 1, $($rest)* }
    };
    (@flags $number:expr,) => {};
}

/// Checks that a Rust type represents a type.
type Check = fn(&Type, &[ResourceType]) -> Result<()>;

/// # Errors
/// Fails if the type is not a record with these fields.
pub fn check_fields(ty: &Type, resources: &[ResourceType], ours: &[(&str, Check)]) -> Result<()> {
    let TypeKind::Record(theirs) = ty.kind() else { return Err(unfit(ty)) };
    if theirs.len() != ours.len() {
        return Err(unfit(ty));
    }
    theirs.iter().zip(ours).try_for_each(|((name, ty), (our_name, check))| match is_same(name, our_name) {
        true => check(ty, resources).map_err(|error| error.context(format_args!("field `{name}`"))),
        false => Err(unfit(format_args!("field `{name}`"))),
    })
}

/// # Errors
/// Fails if the type is not a variant or enum with these cases.
pub fn check_cases(ty: &Type, resources: &[ResourceType], ours: &[(&str, Option<Check>)]) -> Result<()> {
    let names: Vec<&String> = match ty.kind() {
        TypeKind::Variant(cases) => cases.iter().map(|(name, _)| name).collect(),
        TypeKind::Enum(names) => names.iter().collect(),
        _ => return Err(unfit(ty)),
    };
    if names.len() != ours.len() {
        return Err(unfit(ty));
    }
    let mut cases = names.into_iter().zip(ty.cases()).zip(ours);
    cases.try_for_each(|((name, held), (our_name, check))| match (held, check) {
        _ if !is_same(name, our_name) => Err(unfit(format_args!("case `{name}`"))),
        (None, None) => Ok(()),
        (Some(held), Some(check)) => {
            check(held, resources).map_err(|error| error.context(format_args!("case `{name}`")))
        }
        _ => Err(unfit(format_args!("case `{name}` with or without a value"))),
    })
}

/// # Errors
/// Fails if the type is not a flags type with these names.
pub fn check_flags(ty: &Type, ours: &[&str]) -> Result<()> {
    match ty.kind() {
        TypeKind::Flags(theirs)
            if theirs.len() == ours.len()
                && theirs.iter().zip(ours).all(|(theirs, ours)| is_same(theirs, ours)) =>
        {
            Ok(())
        }
        _ => Err(unfit(ty)),
    }
}

/// Returns the check for the payload of a case, if it has one.
pub fn only<const N: usize>(checks: [Check; N]) -> Option<Check> {
    checks.first().copied()
}

/// Reports whether a component's name matches a Rust name: they may differ in hyphens, underscores and capitals.
fn is_same(name: &str, rust: &str) -> bool {
    let rust = rust.strip_prefix("r#").unwrap_or(rust);
    let letters = |name: &str| {
        let kept = name.chars().filter(|c| !matches!(c, '-' | '_'));
        kept.map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    letters(name) == letters(rust)
}

/// Returns the offsets and types of a record's fields.
pub fn fields(ty: &Type) -> impl Iterator<Item = (u32, &Type)> {
    ty.fields()
}

/// # Errors
/// Fails if there is no further field, which checks exclude.
pub fn next<'t>(fields: &mut impl Iterator<Item = (u32, &'t Type)>) -> Result<(u32, &'t Type)> {
    fields.next().ok_or_else(|| unfit("fewer fields"))
}

/// Returns the case of core values, its payload type, and the values of the payload.
///
/// # Errors
/// Fails if there is no such case.
pub fn flat_case<'t, 'v>(ty: &'t Type, values: &mut Flat<'v>) -> Result<(u32, Option<&'t Type>, Flat<'v>)> {
    let ((number, held), values) = any_flat_case(ty, values)?;
    Ok((number, held, values))
}

/// Returns the case in memory, its payload type, and the address of the payload.
///
/// # Errors
/// Fails if there is no such case.
pub fn loaded_case<'t>(
    lift: &mut Lifting<'_>,
    ty: &'t Type,
    at: u64,
) -> Result<(u32, Option<&'t Type>, u64)> {
    let ((number, held), at) = any_loaded_case(lift, ty, at)?;
    Ok((number, held, at))
}

/// Returns the payload type of a case.
pub fn held(ty: &Type, number: u32) -> Option<&Type> {
    ty.cases().get(number as usize).and_then(Option::as_ref)
}

/// Returns the number of core values of a type.
pub fn flat_count(ty: &Type) -> usize {
    ty.flat().len()
}

/// Writes the case number of a value; returns the address for its payload.
///
/// # Errors
/// Fails if the case is out of bounds.
pub fn store_case<T: 'static>(
    lower: &mut Lowering<'_, '_, T>,
    ty: &Type,
    (number, at): (u32, u32),
) -> Result<u32> {
    let (size, held_at) = ty.case_layout();
    lower.write(at, &number.to_le_bytes()[..size as usize])?;
    Ok(at + held_at)
}

/// Returns the bits of flags in memory.
///
/// # Errors
/// Fails if they are out of bounds.
pub fn load_bits(lift: &Lifting<'_>, ty: &Type, at: u64) -> Result<u32> {
    Ok(lift.integer(at, ty.size())? as u32)
}

/// # Errors
/// Fails if the flags are out of bounds.
pub fn store_bits<T: 'static>(
    lower: &mut Lowering<'_, '_, T>,
    ty: &Type,
    (bits, at): (u32, u32),
) -> Result<()> {
    lower.write(at, &bits.to_le_bytes()[..ty.size() as usize])
}

/// Creates the error for a number without a Rust case, which checks exclude.
pub fn no_case(ty: &Type) -> Error {
    unfit(ty)
}
