//! Types whose values contain others.

use super::{ComponentType, CoreValues, Flat, Lift, Lower, fits, unfit};
use crate::Result;
use crate::component::lift::{Lift as Lifting, case};
use crate::component::lower::Lower as Lowering;
use crate::component::resource::ResourceType;
use crate::component::types::{Type, TypeKind};
use crate::func::each_tuple;

impl ComponentType for String {
    fn check(ty: &Type, _: &[ResourceType]) -> Result<()> {
        fits(ty, |kind| matches!(kind, TypeKind::String))
    }
}

impl Lift for String {
    fn flat(lift: &mut Lifting<'_>, _: &Type, values: &mut Flat<'_>) -> Result<String> {
        let [at, length] = pair(values);
        lift.text(at, length)
    }

    fn load(lift: &mut Lifting<'_>, _: &Type, at: u64) -> Result<String> {
        let (at, length) = lift.pair(at)?;
        lift.text(at, length)
    }
}

fn pair(values: &mut Flat<'_>) -> [u32; 2] {
    [(); 2].map(|()| values.next().unwrap_or_default() as u32)
}

pub fn element(ty: &Type) -> Result<&Type> {
    if let TypeKind::List(element) = ty.kind() { Ok(element) } else { Err(unfit(ty)) }
}

impl<E: ComponentType> ComponentType for Vec<E> {
    fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
        E::check(element(ty)?, resources)
    }
}

impl<E: Lift> Lift for Vec<E> {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Vec<E>> {
        let [at, length] = pair(values);
        E::list(lift, element(ty)?, at, length)
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Vec<E>> {
        let (at, length) = lift.pair(at)?;
        E::list(lift, element(ty)?, at, length)
    }
}

impl<E: ComponentType> ComponentType for Option<E> {
    fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
        if let TypeKind::Option(held) = ty.kind() { E::check(held, resources) } else { Err(unfit(ty)) }
    }
}

impl<E: Lift> Lift for Option<E> {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
        let (held, mut values) = flat_case(ty, values)?;
        held.1.map(|ty| E::flat(lift, ty, &mut values)).transpose()
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
        let (held, at) = loaded_case(lift, ty, at)?;
        held.1.map(|ty| E::load(lift, ty, at)).transpose()
    }
}

impl<E: Lower> Lower for Option<E> {
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()> {
        let end = to.len() + ty.flat().len();
        to.push(u64::from(self.is_some()));
        if let (Some(value), Some(Some(ty))) = (self, ty.cases().get(1)) {
            value.flat(lower, ty, to)?;
        }
        to.resize(end, 0);
        Ok(())
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()> {
        lower.write(at, &[u8::from(self.is_some())])?;
        match (self, ty.cases().get(1)) {
            (Some(value), Some(Some(held))) => value.store(lower, held, at + ty.case_layout().1),
            _ => Ok(()),
        }
    }
}

impl<A: ComponentType, B: ComponentType> ComponentType for Result<A, B> {
    fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
        let TypeKind::Result { ok, err } = ty.kind() else { return Err(unfit(ty)) };
        A::check_case(ok.as_ref(), resources)?;
        B::check_case(err.as_ref(), resources)
    }
}

impl<A: Lift, B: Lift> Lift for Result<A, B> {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
        match flat_case(ty, values)? {
            ((0, ty), mut values) => A::flat_case(lift, ty, &mut values).map(Ok),
            ((_, ty), mut values) => B::flat_case(lift, ty, &mut values).map(Err),
        }
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
        match loaded_case(lift, ty, at)? {
            ((0, ty), at) => A::load_case(lift, ty, at).map(Ok),
            ((_, ty), at) => B::load_case(lift, ty, at).map(Err),
        }
    }
}

impl<A: Lower, B: Lower> Lower for Result<A, B> {
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()> {
        let end = to.len() + ty.flat().len();
        to.push(u64::from(self.is_err()));
        let [ok, err] = cases(ty);
        match self {
            Ok(value) => value.flat_case(lower, ok, to)?,
            Err(value) => value.flat_case(lower, err, to)?,
        }
        to.resize(end, 0);
        Ok(())
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()> {
        lower.write(at, &[u8::from(self.is_err())])?;
        let ([ok, err], at) = (cases(ty), at + ty.case_layout().1);
        match self {
            Ok(value) => value.store_case(lower, ok, at),
            Err(value) => value.store_case(lower, err, at),
        }
    }
}

fn cases(ty: &Type) -> [Option<&Type>; 2] {
    [0, 1].map(|case| ty.cases().get(case).and_then(Option::as_ref))
}

/// A case: its number, and its payload type.
pub type Case<'t> = (u32, Option<&'t Type>);

/// Returns the case of core values, and those of its payload. All cases have as many core values as the largest.
pub fn flat_case<'t, 'v>(ty: &'t Type, values: &mut Flat<'v>) -> Result<(Case<'t>, Flat<'v>)> {
    let number = values.next().unwrap_or_default() as u32;
    let held = case(ty, number)?;
    Ok(((number, held), values.first(ty.flat().len() - 1)))
}

/// Returns the case in memory, and the address of its payload.
pub fn loaded_case<'t>(lift: &mut Lifting<'_>, ty: &'t Type, at: u64) -> Result<(Case<'t>, u64)> {
    let (size, held_at) = ty.case_layout();
    let number = lift.integer(at, size)? as u32;
    Ok(((number, case(ty, number)?), at + u64::from(held_at)))
}

/// Represents the absent payload of a `result` case, and a tuple without fields.
impl ComponentType for () {
    fn check(ty: &Type, _: &[ResourceType]) -> Result<()> {
        fits(ty, |kind| matches!(kind, TypeKind::Tuple(types) if types.is_empty()))
    }

    fn check_case(ty: Option<&Type>, _: &[ResourceType]) -> Result<()> {
        ty.map_or(Ok(()), |ty| Err(unfit(ty)))
    }
}

impl Lift for () {
    fn flat(_: &mut Lifting<'_>, _: &Type, _: &mut Flat<'_>) -> Result<()> {
        Ok(())
    }

    fn load(_: &mut Lifting<'_>, _: &Type, _: u64) -> Result<()> {
        Ok(())
    }

    fn flat_case(_: &mut Lifting<'_>, _: Option<&Type>, _: &mut Flat<'_>) -> Result<()> {
        Ok(())
    }

    fn load_case(_: &mut Lifting<'_>, _: Option<&Type>, _: u64) -> Result<()> {
        Ok(())
    }
}

impl Lower for () {
    fn flat<T: 'static>(self, _: &mut Lowering<'_, '_, T>, _: &Type, _: &mut CoreValues) -> Result<()> {
        Ok(())
    }

    fn store<T: 'static>(self, _: &mut Lowering<'_, '_, T>, _: &Type, _: u32) -> Result<()> {
        Ok(())
    }

    fn flat_case<T: 'static>(
        self,
        _: &mut Lowering<'_, '_, T>,
        _: Option<&Type>,
        _: &mut CoreValues,
    ) -> Result<()> {
        Ok(())
    }

    fn store_case<T: 'static>(self, _: &mut Lowering<'_, '_, T>, _: Option<&Type>, _: u32) -> Result<()> {
        Ok(())
    }
}

/// Implements the traits for tuples, given a type parameter and an index for each field.
macro_rules! tuples {
    ($(($($field:ident $index:tt),+))*) => {
        $(
            impl<$($field: ComponentType),+> ComponentType for ($($field,)+) {
                fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
                    const LEN: usize = [$($index),+].len();
                    match ty.kind() {
                        TypeKind::Tuple(types) if types.len() == LEN => {
                            $($field::check(&types[$index], resources)?;)+
                            Ok(())
                        }
                        _ => Err(unfit(ty)),
                    }
                }
            }

            impl<$($field: Lift),+> Lift for ($($field,)+) {
                fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
                    let TypeKind::Tuple(types) = ty.kind() else { return Err(unfit(ty)) };
                    Ok(($($field::flat(lift, &types[$index], values)?,)+))
                }

                fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
                    let mut fields = ty.fields();
                    Ok(($({
                        let (offset, ty) = fields.next().ok_or_else(|| unfit(ty))?;
                        $field::load(lift, ty, at + u64::from(offset))?
                    },)+))
                }
            }

            impl<$($field: Lower),+> Lower for ($($field,)+) {
                fn flat<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    to: &mut CoreValues,
                ) -> Result<()> {
                    let mut fields = ty.fields();
                    $({
                        let (_, ty) = fields.next().ok_or_else(|| unfit(ty))?;
                        self.$index.flat(lower, ty, to)?;
                    })+
                    Ok(())
                }

                fn store<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    at: u32,
                ) -> Result<()> {
                    let mut fields = ty.fields();
                    $({
                        let (offset, ty) = fields.next().ok_or_else(|| unfit(ty))?;
                        self.$index.store(lower, ty, at + offset)?;
                    })+
                    Ok(())
                }
            }
        )*
    };
}

each_tuple!(tuples);
