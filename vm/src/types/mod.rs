//! The types of wasm values, functions and everything that can be imported or exported.

mod composite;
pub(crate) mod defined;
mod fields;
mod reference;

use std::fmt;

use wasmparser as wp;

pub use composite::{ArrayType, FuncType, StructType};
use defined::Others;
pub use fields::{FieldType, Finality, Mutability, StorageType};
pub(crate) use reference::Resolve;
pub use reference::{HeapType, RefType};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValType {
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 32-bit float.
    F32,
    /// A 64-bit float.
    F64,
    /// A 128-bit vector.
    V128,
    /// A reference.
    Ref(RefType),
}

impl ValType {
    /// `funcref`.
    pub const FUNCREF: ValType = ValType::Ref(RefType::FUNCREF);
    /// `externref`.
    pub const EXTERNREF: ValType = ValType::Ref(RefType::EXTERNREF);
    /// `exnref`.
    pub const EXNREF: ValType = ValType::Ref(RefType::EXNREF);
    /// `anyref`.
    pub const ANYREF: ValType = ValType::Ref(RefType::ANYREF);
    /// `eqref`.
    pub const EQREF: ValType = ValType::Ref(RefType::EQREF);
    /// `i31ref`.
    pub const I31REF: ValType = ValType::Ref(RefType::I31REF);
    /// `structref`.
    pub const STRUCTREF: ValType = ValType::Ref(RefType::STRUCTREF);
    /// `arrayref`.
    pub const ARRAYREF: ValType = ValType::Ref(RefType::ARRAYREF);

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &ValType) -> bool {
        match (self, other) {
            (ValType::Ref(own), ValType::Ref(other)) => own.matches(other),
            _ => self == other,
        }
    }

    pub(crate) fn from_parser(ty: wp::ValType, types: &(impl Resolve + ?Sized)) -> ValType {
        match ty {
            wp::ValType::I32 => ValType::I32,
            wp::ValType::I64 => ValType::I64,
            wp::ValType::F32 => ValType::F32,
            wp::ValType::F64 => ValType::F64,
            wp::ValType::V128 => ValType::V128,
            wp::ValType::Ref(r) => ValType::Ref(RefType::from_parser(r, types)),
        }
    }

    pub(crate) fn to_parser(&self, others: &mut Others) -> wp::ValType {
        match self {
            ValType::I32 => wp::ValType::I32,
            ValType::I64 => wp::ValType::I64,
            ValType::F32 => wp::ValType::F32,
            ValType::F64 => wp::ValType::F64,
            ValType::V128 => wp::ValType::V128,
            ValType::Ref(r) => wp::ValType::Ref(r.to_parser(others)),
        }
    }
}

impl fmt::Display for ValType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValType::I32 => f.write_str("i32"),
            ValType::I64 => f.write_str("i64"),
            ValType::F32 => f.write_str("f32"),
            ValType::F64 => f.write_str("f64"),
            ValType::V128 => f.write_str("v128"),
            ValType::Ref(r) => r.fmt(f),
        }
    }
}

/// The type of a global.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalType {
    /// The type of its value.
    pub content: ValType,
    /// Whether wasm code may change it.
    pub mutable: bool,
}

impl GlobalType {
    /// Creates the type of globals that hold `content`.
    pub fn new(content: ValType, mutable: bool) -> GlobalType {
        GlobalType { content, mutable }
    }

    pub(crate) fn from_parser(ty: &wp::GlobalType, types: &(impl Resolve + ?Sized)) -> GlobalType {
        GlobalType { content: ValType::from_parser(ty.content_type, types), mutable: ty.mutable }
    }
}

/// The type of a linear memory. Sizes are in pages of 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryType {
    /// Minimum size, in pages.
    pub minimum: u64,
    /// Maximum size, in pages.
    pub maximum: Option<u64>,
    /// Whether its addresses are i64.
    pub is_64: bool,
    /// Whether several threads may share it.
    pub is_shared: bool,
}

impl MemoryType {
    /// Creates the type of a memory with i32 addresses.
    pub fn new(minimum: u32, maximum: Option<u32>) -> MemoryType {
        MemoryType {
            minimum: minimum.into(),
            maximum: maximum.map(Into::into),
            is_64: false,
            is_shared: false,
        }
    }

    /// Creates the type of a memory with i32 addresses that several threads may share: see
    /// [`SharedMemory`](crate::SharedMemory).
    pub fn shared(minimum: u32, maximum: u32) -> MemoryType {
        MemoryType { is_shared: true, ..MemoryType::new(minimum, Some(maximum)) }
    }

    /// Creates the type of a memory with i64 addresses.
    pub fn new64(minimum: u64, maximum: Option<u64>) -> MemoryType {
        MemoryType { minimum, maximum, is_64: true, is_shared: false }
    }

    pub(crate) fn from_parser(ty: &wp::MemoryType) -> MemoryType {
        MemoryType { minimum: ty.initial, maximum: ty.maximum, is_64: ty.memory64, is_shared: ty.shared }
    }
}

/// The type of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableType {
    /// The type of its elements.
    pub element: RefType,
    /// Minimum number of elements.
    pub minimum: u64,
    /// Maximum number of elements.
    pub maximum: Option<u64>,
    /// Whether its indices are i64.
    pub is_64: bool,
}

impl TableType {
    /// Creates the type of a table with i32 indices.
    pub fn new(element: RefType, minimum: u32, maximum: Option<u32>) -> TableType {
        TableType { element, minimum: minimum.into(), maximum: maximum.map(Into::into), is_64: false }
    }

    pub(crate) fn from_parser(ty: &wp::TableType, types: &(impl Resolve + ?Sized)) -> TableType {
        let element = RefType::from_parser(ty.element_type, types);
        TableType { element, minimum: ty.initial, maximum: ty.maximum, is_64: ty.table64 }
    }
}

/// The type of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagType(FuncType);

impl TagType {
    /// Creates the type of exceptions that carry the parameters of `ty`, a function type without results.
    pub fn new(ty: FuncType) -> TagType {
        TagType(ty)
    }

    /// Returns the function type whose parameters its exceptions carry.
    pub fn ty(&self) -> &FuncType {
        &self.0
    }
}

/// The type of something that can be imported or exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternType {
    /// A function.
    Func(FuncType),
    /// A global.
    Global(GlobalType),
    /// A table.
    Table(TableType),
    /// A linear memory.
    Memory(MemoryType),
    /// A tag.
    Tag(TagType),
}

fn limits(f: &mut fmt::Formatter<'_>, is_64: bool, minimum: u64, maximum: Option<u64>) -> fmt::Result {
    write!(f, "{}{minimum}", if is_64 { "i64 " } else { "" })?;
    maximum.map_or(Ok(()), |m| write!(f, " {m}"))
}

impl fmt::Display for ExternType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExternType::Func(ty) => write!(f, "function {ty}"),
            ExternType::Global(g) if g.mutable => write!(f, "global (mut {})", g.content),
            ExternType::Global(g) => write!(f, "global {}", g.content),
            ExternType::Table(t) => {
                f.write_str("table ")?;
                limits(f, t.is_64, t.minimum, t.maximum)?;
                write!(f, " {}", t.element)
            }
            ExternType::Tag(tag) => write!(f, "tag {}", tag.0),
            ExternType::Memory(m) => {
                f.write_str("memory ")?;
                limits(f, m.is_64, m.minimum, m.maximum)?;
                f.write_str(if m.is_shared { " shared" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_like_wasm_text() {
        let ty = FuncType::new([ValType::I32, ValType::FUNCREF], [ValType::F64]);
        assert_eq!(ExternType::Func(ty).to_string(), "function (i32, funcref) -> (f64)");
        let table = TableType::new(RefType::EXTERNREF, 1, Some(2));
        assert_eq!(ExternType::Table(table).to_string(), "table 1 2 externref");
        let concrete = RefType::new(true, HeapType::ConcreteFunc(FuncType::new([], [])));
        let types = [concrete, RefType::new(false, HeapType::Func), RefType::NULLEXNREF, RefType::NULLREF];
        let texts = types.map(|ty| ty.to_string());
        assert_eq!(texts, ["(ref null concrete func)", "(ref func)", "nullexnref", "nullref"]);
    }

    #[test]
    fn a_reference_matches_what_is_above_it() {
        let ty = FuncType::new([ValType::I32], []);
        let of = |is_nullable, heap_type: &HeapType| RefType::new(is_nullable, heap_type.clone());
        let (concrete, other) = (HeapType::ConcreteFunc(ty), HeapType::ConcreteFunc(FuncType::new([], [])));
        let is = |a: RefType, b: RefType| a.matches(&b);
        assert!(
            is(of(false, &concrete), of(true, &concrete)) && !is(of(true, &concrete), of(false, &concrete))
        );
        assert!(is(of(false, &concrete), RefType::FUNCREF) && !is(RefType::FUNCREF, of(true, &concrete)));
        assert!(
            is(RefType::NULLFUNCREF, of(true, &concrete)) && !is(RefType::NULLFUNCREF, of(false, &concrete))
        );
        assert!(
            !is(of(false, &concrete), of(false, &other)) && !is(RefType::NULLFUNCREF, RefType::EXTERNREF)
        );
        assert!(
            is(of(true, &HeapType::I31), of(true, &HeapType::Eq)) && is(RefType::NULLREF, RefType::ANYREF)
        );
    }
}
