//! Types of the component model, with the layout of their values in memory and as core values.
//!
//! Source: *CanonicalABI.md*, "Alignment", "Element Size", "Flattening".

mod items;

use std::fmt;
use std::sync::Arc;

use super::names::Numbers;
use crate::ValType;

pub use super::resource::ResourceType;
pub use items::{Component, ComponentExtern, ComponentFunc, ComponentInstance, ComponentItem, Module};

/// Maximum number of flat parameters of a function; more are passed in memory.
pub(super) const MAX_FLAT_PARAMS: usize = 16;
/// Maximum number of flat results of a function; more are passed in memory.
pub(super) const MAX_FLAT_RESULTS: usize = 1;

/// The type of a [`Val`](super::Val). It is cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Type(Arc<Inner>);

/// Invariant: what is known of a type beside its kind follows from that.
struct Inner {
    kind: TypeKind,
    /// The payload types of the cases of a variant, enum, option or result.
    cases: Vec<Option<Type>>,
    /// The size of the discriminant in bytes, and the offset of the payload.
    case_layout: (u32, u32),
    size: u32,
    align: u32,
    /// Its flattened core types, truncated if there are too many to be passed directly.
    flat: Vec<ValType>,
    /// The numbers of the names of cases or flags.
    numbers: Numbers,
}

impl PartialEq for Inner {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Inner {}

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeKind {
    /// A boolean.
    Bool,
    /// A signed 8-bit integer.
    S8,
    /// An unsigned 8-bit integer.
    U8,
    /// A signed 16-bit integer.
    S16,
    /// An unsigned 16-bit integer.
    U16,
    /// A signed 32-bit integer.
    S32,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 64-bit integer.
    S64,
    /// An unsigned 64-bit integer.
    U64,
    /// A 32-bit float.
    Float32,
    /// A 64-bit float.
    Float64,
    /// A Unicode scalar value.
    Char,
    /// A string.
    String,
    /// A list of values of one type.
    List(Type),
    /// Named fields.
    Record(Vec<(String, Type)>),
    /// Fields without names.
    Tuple(Vec<Type>),
    /// One of several named cases, each with or without a payload.
    Variant(Vec<(String, Option<Type>)>),
    /// One of several names.
    Enum(Vec<String>),
    /// A value or nothing.
    Option(Type),
    /// A success or a failure, each with or without a payload.
    Result {
        /// The payload of a success.
        ok: Option<Type>,
        /// The payload of a failure.
        err: Option<Type>,
    },
    /// A set of names.
    Flags(Vec<String>),
    /// An owned resource, by the number of its type in the component.
    Own(u32),
    /// A borrowed resource, by the number of its type in the component.
    Borrow(u32),
}

impl Type {
    pub(super) fn new(kind: TypeKind) -> Type {
        let cases = cases(&kind);
        let (case_layout, numbers) = (case_layout(&cases), Numbers::default());
        let mut inner = Inner { kind, cases, case_layout, size: 0, align: 1, flat: Vec::new(), numbers };
        (inner.size, inner.align) = inner.layout();
        inner.flat = inner.flatten();
        inner.flat.truncate(MAX_FLAT_PARAMS + 1);
        Type(Arc::new(inner))
    }

    /// Returns the kind.
    pub fn kind(&self) -> &TypeKind {
        &self.0.kind
    }

    /// Returns the payload types of the cases of a variant, enum, option or result, in order.
    pub(super) fn cases(&self) -> &[Option<Type>] {
        &self.0.cases
    }

    /// Returns the numbers and the payload types of the cases that have a payload, in order.
    pub(super) fn payloads(&self) -> impl Iterator<Item = (usize, &Type)> {
        // An enum may have thousands of cases, none of which has one.
        let cases = if let TypeKind::Enum(_) = self.kind() { &[] } else { self.cases() };
        cases.iter().enumerate().filter_map(|(number, ty)| Some((number, ty.as_ref()?)))
    }

    /// Returns the number of a variant's or enum's case, or of a flag.
    pub(super) fn number_of(&self, name: &str) -> Option<usize> {
        let numbers = &self.0.numbers;
        match self.kind() {
            TypeKind::Variant(cases) => numbers.find(name, cases.len(), |number| &cases[number].0),
            TypeKind::Enum(names) | TypeKind::Flags(names) => {
                numbers.find(name, names.len(), |number| &names[number])
            }
            _ => None,
        }
    }

    /// Returns the size in memory, in bytes.
    pub(super) fn size(&self) -> u32 {
        self.0.size
    }

    pub(super) fn align(&self) -> u32 {
        self.0.align
    }

    pub(super) fn flat(&self) -> &[ValType] {
        &self.0.flat
    }

    /// Returns the size of the discriminant in bytes, and the offset of the payload.
    pub(super) fn case_layout(&self) -> (u32, u32) {
        self.0.case_layout
    }

    /// Returns the offsets and types of the fields of a record or tuple, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (u32, &Type)> {
        let (records, tuples): (&[(String, Type)], &[Type]) = match &self.0.kind {
            TypeKind::Record(fields) => (fields, &[]),
            TypeKind::Tuple(types) => (&[], types),
            _ => (&[], &[]),
        };
        let mut end = 0;
        records.iter().map(|(_, ty)| ty).chain(tuples).map(move |ty| {
            let offset = align_to(end, ty.align());
            end = offset + ty.size();
            (offset, ty)
        })
    }
}

fn cases(kind: &TypeKind) -> Vec<Option<Type>> {
    match kind {
        TypeKind::Variant(cases) => cases.iter().map(|(_, ty)| ty.clone()).collect(),
        TypeKind::Enum(names) => vec![None; names.len()],
        TypeKind::Option(ty) => vec![None, Some(ty.clone())],
        TypeKind::Result { ok, err } => vec![ok.clone(), err.clone()],
        _ => Vec::new(),
    }
}

fn case_layout(cases: &[Option<Type>]) -> (u32, u32) {
    let number = match cases.len() {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    (number, align_to(number, cases.iter().flatten().map(Type::align).max().unwrap_or(1)))
}

impl Inner {
    fn layout(&self) -> (u32, u32) {
        match &self.kind {
            TypeKind::Bool | TypeKind::S8 | TypeKind::U8 => (1, 1),
            TypeKind::S16 | TypeKind::U16 => (2, 2),
            TypeKind::S32 | TypeKind::U32 | TypeKind::Float32 | TypeKind::Char => (4, 4),
            TypeKind::Own(_) | TypeKind::Borrow(_) => (4, 4),
            TypeKind::S64 | TypeKind::U64 | TypeKind::Float64 => (8, 8),
            TypeKind::String | TypeKind::List(_) => (8, 4),
            TypeKind::Record(fields) => layout_of(fields.iter().map(|(_, ty)| ty)),
            TypeKind::Tuple(types) => layout_of(types.iter()),
            TypeKind::Flags(names) => {
                let size = match names.len() {
                    0..=8 => 1,
                    9..=16 => 2,
                    _ => 4,
                };
                (size, size)
            }
            TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. } => {
                let (number, value_at) = self.case_layout;
                let held = || self.cases.iter().flatten();
                let align = held().map(Type::align).max().unwrap_or(1).max(number);
                let size = value_at + held().map(Type::size).max().unwrap_or(0);
                (align_to(size, align), align)
            }
        }
    }

    fn flatten(&self) -> Vec<ValType> {
        match &self.kind {
            TypeKind::S64 | TypeKind::U64 => vec![ValType::I64],
            TypeKind::Float32 => vec![ValType::F32],
            TypeKind::Float64 => vec![ValType::F64],
            TypeKind::String | TypeKind::List(_) => vec![ValType::I32; 2],
            TypeKind::Record(fields) => flatten_all(fields.iter().map(|(_, ty)| ty)),
            TypeKind::Tuple(types) => flatten_all(types.iter()),
            TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. } => {
                let mut joined = Vec::new();
                for ty in self.cases.iter().flatten() {
                    for (index, flat) in ty.flat().iter().enumerate() {
                        match joined.get_mut(index) {
                            Some(slot) => *slot = join(slot, flat),
                            None => joined.push(flat.clone()),
                        }
                    }
                }
                [vec![ValType::I32], joined].concat()
            }
            _ => vec![ValType::I32],
        }
    }
}

fn layout_of<'t>(types: impl Iterator<Item = &'t Type>) -> (u32, u32) {
    let (size, align) = types
        .fold((0, 1), |(size, align), ty| (align_to(size, ty.align()) + ty.size(), align.max(ty.align())));
    (align_to(size, align), align)
}

/// Returns the core types of all types, no more than needed to see that there are too many.
fn flatten_all<'t>(types: impl Iterator<Item = &'t Type>) -> Vec<ValType> {
    types.flat_map(|ty| ty.flat().iter().cloned()).take(MAX_FLAT_PARAMS + 1).collect()
}

/// Returns the core type that can hold a value of either type.
fn join(a: &ValType, b: &ValType) -> ValType {
    let is_narrow = |ty: &ValType| matches!(ty, ValType::I32 | ValType::F32);
    match a == b {
        true => a.clone(),
        false if is_narrow(a) && is_narrow(b) => ValType::I32,
        false => ValType::I64,
    }
}

fn align_to(offset: u32, align: u32) -> u32 {
    offset.next_multiple_of(align)
}

/// The type of a component function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncType {
    pub(super) params: Vec<(String, Type)>,
    pub(super) result: Option<Type>,
    /// All parameters as a tuple, the form in which they are passed in memory.
    pub(super) tuple: Type,
}

impl FuncType {
    pub(super) fn new(params: Vec<(String, Type)>, result: Option<Type>) -> FuncType {
        let tuple = Type::new(TypeKind::Tuple(params.iter().map(|(_, ty)| ty.clone()).collect()));
        FuncType { params, result, tuple }
    }

    /// Returns the names and types of the parameters.
    pub fn params(&self) -> impl ExactSizeIterator<Item = (&str, &Type)> {
        self.params.iter().map(|(name, ty)| (name.as_str(), ty))
    }

    /// Returns the type of the result, if there is one.
    pub fn result(&self) -> Option<&Type> {
        self.result.as_ref()
    }

    /// Returns the core types of the parameters, truncated if there are too many to be passed directly.
    pub(super) fn flat_params(&self) -> &[ValType] {
        self.tuple.flat()
    }

    pub(super) fn flat_results(&self) -> Vec<ValType> {
        flatten_all(self.result.iter())
    }

    /// Returns the type of the core function that an import of it becomes.
    pub(super) fn lowered(&self) -> crate::FuncType {
        let (mut params, mut results) = (self.flat_params().to_vec(), self.flat_results());
        if params.len() > MAX_FLAT_PARAMS {
            params = vec![ValType::I32];
        }
        if results.len() > MAX_FLAT_RESULTS {
            params.push(ValType::I32);
            results.clear();
        }
        crate::FuncType::new(params, results)
    }
}

impl fmt::Display for FuncType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        write!(f, "func({})", params.join(", "))?;
        self.result.as_ref().map_or(Ok(()), |ty| write!(f, " -> {ty}"))
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the type as in WIT.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), ToString::to_string);
        match self.kind() {
            TypeKind::Bool => f.write_str("bool"),
            TypeKind::S8 => f.write_str("s8"),
            TypeKind::U8 => f.write_str("u8"),
            TypeKind::S16 => f.write_str("s16"),
            TypeKind::U16 => f.write_str("u16"),
            TypeKind::S32 => f.write_str("s32"),
            TypeKind::U32 => f.write_str("u32"),
            TypeKind::S64 => f.write_str("s64"),
            TypeKind::U64 => f.write_str("u64"),
            TypeKind::Float32 => f.write_str("f32"),
            TypeKind::Float64 => f.write_str("f64"),
            TypeKind::Char => f.write_str("char"),
            TypeKind::String => f.write_str("string"),
            TypeKind::List(ty) => write!(f, "list<{ty}>"),
            TypeKind::Option(ty) => write!(f, "option<{ty}>"),
            TypeKind::Result { ok: None, err: None } => f.write_str("result"),
            TypeKind::Result { ok, err: None } => write!(f, "result<{}>", held(ok)),
            TypeKind::Result { ok, err } => write!(f, "result<{}, {}>", held(ok), held(err)),
            TypeKind::Record(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
                write!(f, "record {{ {} }}", fields.join(", "))
            }
            TypeKind::Tuple(types) => {
                let types: Vec<String> = types.iter().map(ToString::to_string).collect();
                write!(f, "tuple<{}>", types.join(", "))
            }
            TypeKind::Variant(cases) => {
                let case = |(name, ty): &(String, Option<Type>)| match ty {
                    Some(ty) => format!("{name}({ty})"),
                    None => name.clone(),
                };
                write!(f, "variant {{ {} }}", cases.iter().map(case).collect::<Vec<_>>().join(", "))
            }
            TypeKind::Enum(names) => write!(f, "enum {{ {} }}", names.join(", ")),
            TypeKind::Flags(names) => write!(f, "flags {{ {} }}", names.join(", ")),
            TypeKind::Own(resource) => write!(f, "own<resource {resource}>"),
            TypeKind::Borrow(resource) => write!(f, "borrow<resource {resource}>"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(kind: TypeKind) -> Type {
        Type::new(kind)
    }

    #[test]
    fn layouts_are_those_of_the_canonical_abi() {
        let [u8, u16, u64, f32] = [TypeKind::U8, TypeKind::U16, TypeKind::U64, TypeKind::Float32].map(wrap);
        let tuple = wrap(TypeKind::Tuple(vec![u8.clone(), u64.clone(), u16]));
        assert_eq!((tuple.size(), tuple.align()), (24, 8));
        assert_eq!(tuple.fields().map(|(offset, _)| offset).collect::<Vec<_>>(), [0, 8, 16]);
        let option = wrap(TypeKind::Option(u64.clone()));
        assert_eq!((option.size(), option.align(), option.case_layout()), (16, 8, (1, 8)));
        let result = wrap(TypeKind::Result { ok: Some(f32.clone()), err: Some(u8) });
        assert_eq!((result.size(), result.flat()), (8, &[ValType::I32, ValType::I32][..]));
        let wide = wrap(TypeKind::Result { ok: Some(f32), err: Some(u64) });
        assert_eq!(wide.flat(), [ValType::I32, ValType::I64]);
        let names = |count: u32| (0..count).map(|i| format!("n{i}")).collect::<Vec<_>>();
        assert_eq!([1, 8, 9, 16, 17, 32].map(|n| wrap(TypeKind::Flags(names(n))).size()), [1, 1, 2, 2, 4, 4]);
        assert_eq!([256, 257].map(|n| wrap(TypeKind::Enum(names(n))).size()), [1, 2]);
    }
}
