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
            (Val::Flags(names), TypeKind::Flags(_)) => {
                let unknown = names.iter().find(|name| ty.number_of(name).is_none());
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
            (Val::Variant(name, held), TypeKind::Variant(_)) => {
                ty.number_of(name).map(|number| (number, held.as_deref()))
            }
            (Val::Enum(name), TypeKind::Enum(_)) => ty.number_of(name).map(|number| (number, None)),
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
        let boxed = || allocated(size_of::<Val>());
        match ty.kind() {
            TypeKind::Record(fields) => {
                let names: usize = fields.iter().map(|(name, _)| allocated(name.len())).sum();
                allocated(fields.len() * size_of::<(String, Val)>()) + names
            }
            TypeKind::Tuple(types) => allocated(types.len() * size_of::<Val>()),
            TypeKind::Variant(cases) => allocated(cases[number].0.len()) + boxed(),
            TypeKind::Enum(names) => allocated(names[number].len()),
            TypeKind::Option(_) | TypeKind::Result { .. } => boxed(),
            TypeKind::Flags(names) => {
                let all: usize = names.iter().map(|name| allocated(name.len())).sum();
                allocated(names.len() * size_of::<String>()) + all
            }
            TypeKind::Own(_) | TypeKind::Borrow(_) => allocated(ResourceAny::BYTES),
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

    /// Returns the bits of flags of a type.
    pub(super) fn bits(names: &[String], ty: &Type) -> u32 {
        let numbers = names.iter().filter_map(|name| ty.number_of(name));
        numbers.filter(|&number| number < 32).fold(0, |bits, number| bits | 1 << number)
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

/// Returns the bytes that an allocation of so many takes: allocators round up, and keep a word of their own.
pub fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + size_of::<usize>()).next_multiple_of(16).max(32) }
}

pub fn mismatch(found: &str, ty: &Type) -> Error {
    Error::new(ErrorKind::Type, format_args!("expected a value of type {ty}, got {found}"))
}
