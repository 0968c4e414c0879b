//! Types whose values are a single core value.

use super::{ComponentType, CoreValues, Flat, Lift, Lower, fits, unfit};
use crate::Result;
use crate::component::lift::Lift as Lifting;
use crate::component::lower::Lower as Lowering;
use crate::component::resource::{ResourceAny, ResourceType};
use crate::component::table::Resource;
use crate::component::trap;
use crate::component::types::{Type, TypeKind};
use crate::component::val::Val;

/// Implements the traits for types, given the kind, the value of bits, and the bits of a value: small integers are
/// extended to 32 bits.
macro_rules! scalars {
    ($($rust:ty, $kind:ident, $of:expr, $bits:expr;)*) => {
        $(
            impl ComponentType for $rust {
                fn check(ty: &Type, _: &[ResourceType]) -> Result<()> {
                    fits(ty, |kind| matches!(kind, TypeKind::$kind))
                }
            }

            impl Lift for $rust {
                fn flat(_: &mut Lifting<'_>, _: &Type, values: &mut Flat<'_>) -> Result<Self> {
                    let of: fn(u64) -> Result<Self> = $of;
                    of(values.next().unwrap_or_default())
                }

                fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
                    let of: fn(u64) -> Result<Self> = $of;
                    of(lift.integer(at, ty.size())?)
                }
            }

            impl Lower for $rust {
                fn flat<T: 'static>(
                    self,
                    _: &mut Lowering<'_, '_, T>,
                    _: &Type,
                    to: &mut CoreValues,
                ) -> Result<()> {
                    let bits: fn(Self) -> u64 = $bits;
                    to.push(bits(self));
                    Ok(())
                }

                fn store<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    at: u32,
                ) -> Result<()> {
                    let bits: fn(Self) -> u64 = $bits;
                    lower.write(at, &bits(self).to_le_bytes()[..ty.size() as usize])
                }
            }
        )*
    };
}

scalars! {
    bool, Bool, |bits| Ok(bits as u32 != 0), u64::from;
    i8, S8, |bits| Ok(bits as i8), |value| u64::from(i32::from(value) as u32);
    i16, S16, |bits| Ok(bits as i16), |value| u64::from(i32::from(value) as u32);
    u16, U16, |bits| Ok(bits as u16), u64::from;
    i32, S32, |bits| Ok(bits as i32), |value| u64::from(value as u32);
    u32, U32, |bits| Ok(bits as u32), u64::from;
    i64, S64, |bits| Ok(bits as i64), |value| value as u64;
    u64, U64, Ok, |value| value;
    f32, Float32, |bits| Ok(f32::from_bits(bits as u32)), |value| u64::from(value.to_bits());
    f64, Float64, |bits| Ok(f64::from_bits(bits)), f64::to_bits;
    char, Char, character, |value| u64::from(u32::from(value));
}

fn character(bits: u64) -> Result<char> {
    char::from_u32(bits as u32).ok_or_else(|| trap(format_args!("{:#x} is not a char", bits as u32)))
}

impl ComponentType for u8 {
    fn check(ty: &Type, _: &[ResourceType]) -> Result<()> {
        fits(ty, |kind| matches!(kind, TypeKind::U8))
    }
}

impl Lift for u8 {
    fn flat(_: &mut Lifting<'_>, _: &Type, values: &mut Flat<'_>) -> Result<u8> {
        Ok(values.next().unwrap_or_default() as u8)
    }

    fn load(lift: &mut Lifting<'_>, _: &Type, at: u64) -> Result<u8> {
        lift.integer(at, 1).map(|bits| bits as u8)
    }

    fn list(lift: &mut Lifting<'_>, _: &Type, at: u32, length: u32) -> Result<Vec<u8>> {
        lift.byte_list(at, length)
    }
}

impl Lower for u8 {
    fn flat<T: 'static>(self, _: &mut Lowering<'_, '_, T>, _: &Type, to: &mut CoreValues) -> Result<()> {
        to.push(u64::from(self));
        Ok(())
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, _: &Type, at: u32) -> Result<()> {
        lower.write(at, &[self])
    }

    fn list<T: 'static>(list: Vec<u8>, lower: &mut Lowering<'_, '_, T>, _: &Type) -> Result<(u32, u32)> {
        lower.byte_list(&list)
    }

    fn slice<T: 'static>(slice: &[u8], lower: &mut Lowering<'_, '_, T>, _: &Type) -> Result<(u32, u32)> {
        lower.byte_list(slice)
    }
}

impl<R: 'static> ComponentType for Resource<R> {
    fn check(ty: &Type, resources: &[ResourceType]) -> Result<()> {
        let (TypeKind::Own(number) | TypeKind::Borrow(number)) = ty.kind() else { return Err(unfit(ty)) };
        match resources.get(*number as usize) {
            Some(found) if *found == ResourceType::host::<R>() => Ok(()),
            found => Err(unfit(found.map_or("another resource".to_owned(), |ty| format!("resource `{ty}`")))),
        }
    }
}

impl<R: 'static> Resource<R> {
    fn of_handle(lift: &mut Lifting<'_>, ty: &Type, handle: u32) -> Result<Resource<R>> {
        match ty.kind() {
            TypeKind::Own(number) => lift.own_rep(handle, *number).map(Resource::new_own),
            TypeKind::Borrow(number) => lift.borrow_rep(handle, *number).map(Resource::new_borrow),
            _ => Err(unfit(ty)),
        }
    }

    fn handle<T: 'static>(&self, lower: &mut Lowering<'_, '_, T>, ty: &Type) -> Result<u32> {
        match ty.kind() {
            TypeKind::Own(number) => lower.own_rep(*number, self.rep()),
            TypeKind::Borrow(number) => lower.lend_rep(*number, self.rep()),
            _ => Err(unfit(ty)),
        }
    }
}

impl<R: 'static> Lift for Resource<R> {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
        Resource::of_handle(lift, ty, values.next().unwrap_or_default() as u32)
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
        let handle = lift.integer(at, 4)? as u32;
        Resource::of_handle(lift, ty, handle)
    }
}

impl<R: 'static> Lower for Resource<R> {
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()> {
        to.push(u64::from(self.handle(lower, ty)?));
        Ok(())
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()> {
        let handle = self.handle(lower, ty)?;
        lower.write(at, &handle.to_le_bytes())
    }
}

/// A resource of any type, including the component's own.
impl ComponentType for ResourceAny {
    fn check(ty: &Type, _: &[ResourceType]) -> Result<()> {
        fits(ty, |kind| matches!(kind, TypeKind::Own(_) | TypeKind::Borrow(_)))
    }
}

impl ResourceAny {
    fn of_val(val: Val) -> Result<ResourceAny> {
        if let Val::Resource(resource) = val { Ok(resource) } else { Err(unfit("no resource")) }
    }
}

impl Lift for ResourceAny {
    fn flat(lift: &mut Lifting<'_>, ty: &Type, values: &mut Flat<'_>) -> Result<Self> {
        lift.flat(ty, values).and_then(ResourceAny::of_val)
    }

    fn load(lift: &mut Lifting<'_>, ty: &Type, at: u64) -> Result<Self> {
        lift.load(ty, at).and_then(ResourceAny::of_val)
    }
}

impl Lower for ResourceAny {
    fn flat<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, to: &mut CoreValues) -> Result<()> {
        lower.flat(ty, &Val::Resource(self), to)
    }

    fn store<T: 'static>(self, lower: &mut Lowering<'_, '_, T>, ty: &Type, at: u32) -> Result<()> {
        lower.store(ty, &Val::Resource(self), at)
    }
}
