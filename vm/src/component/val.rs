//! Values of the component model.

use super::resource::ResourceAny;
use super::types::{Type, TypeKind};
use crate::{Error, ErrorKind, Result};

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is a value of the type of that name")]
pub enum Val {
    Bool(bool),
    S8(i8),
    U8(u8),
    S16(i16),
    U16(u16),
    S32(i32),
    U32(u32),
    S64(i64),
    U64(u64),
    Float32(f32),
    Float64(f64),
    Char(char),
    String(String),
    List(Vec<Val>),
    /// The fields, in the type's order.
    Record(Vec<(String, Val)>),
    Tuple(Vec<Val>),
    Variant(String, Option<Box<Val>>),
    Enum(String),
    Option(Option<Box<Val>>),
    Result(Result<Option<Box<Val>>, Option<Box<Val>>>),
    /// The names that are set.
    Flags(Vec<String>),
    Resource(ResourceAny),
}

impl Val {
    /// Checks that the value is of type `ty`. The type of a resource is checked when the resource is passed.
    pub(super) fn check(&self, ty: &Type) -> Result<()> {
        match (self, ty.kind()) {
            (Val::Bool(_), TypeKind::Bool)
            | (Val::S8(_), TypeKind::S8)
            | (Val::U8(_), TypeKind::U8)
            | (Val::S16(_), TypeKind::S16)
            | (Val::U16(_), TypeKind::U16)
            | (Val::S32(_), TypeKind::S32)
            | (Val::U32(_), TypeKind::U32)
            | (Val::S64(_), TypeKind::S64)
            | (Val::U64(_), TypeKind::U64)
            | (Val::Float32(_), TypeKind::Float32)
            | (Val::Float64(_), TypeKind::Float64)
            | (Val::Char(_), TypeKind::Char)
            | (Val::String(_), TypeKind::String)
            | (Val::Resource(_), TypeKind::Own(_) | TypeKind::Borrow(_)) => Ok(()),
            (Val::List(values), TypeKind::List(ty)) => values.iter().try_for_each(|value| value.check(ty)),
            (Val::Record(values), TypeKind::Record(fields)) if values.len() == fields.len() => {
                values.iter().zip(fields).try_for_each(|((name, value), (wanted, ty))| {
                    if name == wanted {
                        value.check(ty)
                    } else {
                        Err(mismatch(&format!("field `{name}`"), ty))
                    }
                })
            }
            (Val::Tuple(values), TypeKind::Tuple(types)) if values.len() == types.len() => {
                values.iter().zip(types).try_for_each(|(value, ty)| value.check(ty))
            }
            (Val::Flags(names), TypeKind::Flags(all)) => {
                let unknown = names.iter().find(|name| !all.contains(name));
                unknown.map_or(Ok(()), |name| Err(mismatch(&format!("flag `{name}`"), ty)))
            }
            (
                Val::Variant(..) | Val::Enum(_) | Val::Option(_) | Val::Result(_),
                TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. },
            ) => {
                let (number, held) = self.case(ty)?;
                match (held, &ty.cases()[number]) {
                    (Some(value), Some(ty)) => value.check(ty),
                    (None, None) => Ok(()),
                    _ => Err(mismatch("a case with or without a value", ty)),
                }
            }
            _ => Err(mismatch(self.name(), ty)),
        }
    }

    /// Returns the number of the value's case in the type, and its payload.
    pub(super) fn case(&self, ty: &Type) -> Result<(usize, Option<&Val>)> {
        let found = match (self, ty.kind()) {
            (Val::Variant(name, held), TypeKind::Variant(cases)) => {
                let number = cases.iter().position(|(case, _)| case == name);
                number.map(|number| (number, held.as_deref()))
            }
            (Val::Enum(name), TypeKind::Enum(names)) => {
                names.iter().position(|case| case == name).map(|number| (number, None))
            }
            (Val::Option(held), TypeKind::Option(_)) => Some((usize::from(held.is_some()), held.as_deref())),
            (Val::Result(Ok(held)), TypeKind::Result { .. }) => Some((0, held.as_deref())),
            (Val::Result(Err(held)), TypeKind::Result { .. }) => Some((1, held.as_deref())),
            _ => None,
        };
        found.ok_or_else(|| mismatch(self.name(), ty))
    }

    /// Returns the bytes of host memory that a value of a type takes beside its own [`Val`] and what its parts hold:
    /// names, boxes and lists of parts. `number` is that of the case, if the type has cases.
    pub(super) fn bytes_beside(ty: &Type, number: usize) -> usize {
        match ty.kind() {
            TypeKind::Record(fields) => {
                fields.iter().map(|(name, _)| size_of::<(String, Val)>() + name.len()).sum()
            }
            TypeKind::Tuple(types) => types.len() * size_of::<Val>(),
            TypeKind::Variant(cases) => size_of::<Val>() + cases[number].0.len(),
            TypeKind::Enum(names) => names[number].len(),
            TypeKind::Option(_) | TypeKind::Result { .. } => size_of::<Val>(),
            TypeKind::Flags(names) => names.iter().map(|name| size_of::<String>() + name.len()).sum(),
            TypeKind::Own(_) | TypeKind::Borrow(_) => ResourceAny::BYTES,
            _ => 0,
        }
    }

    /// Returns the value of a type for a case and its payload.
    pub(super) fn of_case(ty: &Type, number: usize, held: Option<Val>) -> Val {
        let held = held.map(Box::new);
        match ty.kind() {
            TypeKind::Variant(cases) => Val::Variant(cases[number].0.clone(), held),
            TypeKind::Enum(names) => Val::Enum(names[number].clone()),
            TypeKind::Option(_) => Val::Option(held),
            TypeKind::Result { .. } if number == 0 => Val::Result(Ok(held)),
            _ => Val::Result(Err(held)),
        }
    }

    /// Returns the value of a record or tuple type with these fields.
    pub(super) fn of_fields(ty: &Type, values: Vec<Val>) -> Val {
        match ty.kind() {
            TypeKind::Record(fields) => {
                Val::Record(fields.iter().map(|(name, _)| name.clone()).zip(values).collect())
            }
            _ => Val::Tuple(values),
        }
    }

    /// Returns the bits of flags.
    pub(super) fn bits(names: &[String], all: &[String]) -> u32 {
        let is_set = |name: &String| names.contains(name);
        (0..32).zip(all).filter(|(_, name)| is_set(name)).fold(0, |bits, (bit, _)| bits | 1 << bit)
    }

    /// Returns the flags that bits stand for; unknown bits are ignored.
    pub(super) fn of_bits(bits: u32, all: &[String]) -> Val {
        let set = (0..32).zip(all).filter(|(bit, _)| bits & (1 << bit) != 0);
        Val::Flags(set.map(|(_, name)| name.clone()).collect())
    }

    fn name(&self) -> &'static str {
        match self {
            Val::Bool(_) => "a bool",
            Val::S8(_) => "an s8",
            Val::U8(_) => "a u8",
            Val::S16(_) => "an s16",
            Val::U16(_) => "a u16",
            Val::S32(_) => "an s32",
            Val::U32(_) => "a u32",
            Val::S64(_) => "an s64",
            Val::U64(_) => "a u64",
            Val::Float32(_) => "an f32",
            Val::Float64(_) => "an f64",
            Val::Char(_) => "a char",
            Val::String(_) => "a string",
            Val::List(_) => "a list",
            Val::Record(_) => "another record",
            Val::Tuple(_) => "another tuple",
            Val::Variant(..) => "another variant",
            Val::Enum(_) => "another enum",
            Val::Option(_) => "an option",
            Val::Result(_) => "a result",
            Val::Flags(_) => "flags",
            Val::Resource(_) => "a resource",
        }
    }
}

pub fn mismatch(found: &str, ty: &Type) -> Error {
    Error::new(ErrorKind::Type, format_args!("expected a value of type {ty}, got {found}"))
}
