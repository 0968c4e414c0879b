//! The types of wasm values, functions and everything that can be imported or exported.

use std::fmt;

use wasmparser as wp;

/// The type of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefType {
    /// `funcref`: a function or null.
    Func,
    /// `externref`: a value of the host's or null.
    Extern,
    /// `exnref`: an exception or null.
    Exn,
    /// `nullexnref`: null.
    NoExn,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    pub const FUNCREF: ValType = ValType::Ref(RefType::Func);
    /// `externref`.
    pub const EXTERNREF: ValType = ValType::Ref(RefType::Extern);
    /// `exnref`.
    pub const EXNREF: ValType = ValType::Ref(RefType::Exn);

    pub(crate) fn from_parser(ty: wp::ValType) -> ValType {
        match ty {
            wp::ValType::I32 => ValType::I32,
            wp::ValType::I64 => ValType::I64,
            wp::ValType::F32 => ValType::F32,
            wp::ValType::F64 => ValType::F64,
            wp::ValType::V128 => ValType::V128,
            wp::ValType::Ref(r) => ValType::Ref(RefType::from_parser(r)),
        }
    }

    pub(crate) fn to_parser(self) -> wp::ValType {
        match self {
            ValType::I32 => wp::ValType::I32,
            ValType::I64 => wp::ValType::I64,
            ValType::F32 => wp::ValType::F32,
            ValType::F64 => wp::ValType::F64,
            ValType::V128 => wp::ValType::V128,
            ValType::Ref(r) => wp::ValType::Ref(r.to_parser()),
        }
    }
}

impl RefType {
    pub(crate) fn from_parser(ty: wp::RefType) -> RefType {
        match ty.heap_type() {
            wp::HeapType::Abstract { ty: wp::AbstractHeapType::Extern, .. } => RefType::Extern,
            wp::HeapType::Abstract { ty: wp::AbstractHeapType::Exn, .. } => RefType::Exn,
            wp::HeapType::Abstract { ty: wp::AbstractHeapType::NoExn, .. } => RefType::NoExn,
            _ => RefType::Func,
        }
    }

    /// Whether a store frees what references of this type refer to when nobody holds them any more.
    pub(crate) fn is_collected(self) -> bool {
        matches!(self, RefType::Extern | RefType::Exn)
    }

    pub(crate) fn to_parser(self) -> wp::RefType {
        match self {
            RefType::Func => wp::RefType::FUNCREF,
            RefType::Extern => wp::RefType::EXTERNREF,
            RefType::Exn => wp::RefType::EXNREF,
            RefType::NoExn => wp::RefType::NULLEXNREF,
        }
    }
}

impl fmt::Display for RefType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RefType::Func => "funcref",
            RefType::Extern => "externref",
            RefType::Exn => "exnref",
            RefType::NoExn => "nullexnref",
        })
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

/// The type of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FuncType(pub(crate) wp::FuncType);

impl FuncType {
    /// A function from `params` to `results`.
    pub fn new(
        params: impl IntoIterator<Item = ValType>,
        results: impl IntoIterator<Item = ValType>,
    ) -> FuncType {
        let parser = |types: Vec<ValType>| types.into_iter().map(ValType::to_parser).collect::<Vec<_>>();
        let params = parser(params.into_iter().collect());
        let results = parser(results.into_iter().collect());
        FuncType(wp::FuncType::new(params, results))
    }

    /// Types of the parameters.
    pub fn params(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.0.params().iter().map(|&t| ValType::from_parser(t))
    }

    /// Types of the results.
    pub fn results(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.0.results().iter().map(|&t| ValType::from_parser(t))
    }

    /// How many values a call's argument and result array must hold.
    pub(crate) fn array_len(&self) -> usize {
        self.0.params().len().max(self.0.results().len())
    }
}

impl fmt::Display for FuncType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: Vec<ValType>| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(self.params().collect()), list(self.results().collect()))
    }
}

/// The type of a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalType {
    /// Type of its value.
    pub content: ValType,
    /// Whether wasm code may change it.
    pub mutable: bool,
}

impl GlobalType {
    /// A global of type `content`.
    pub fn new(content: ValType, mutable: bool) -> GlobalType {
        GlobalType { content, mutable }
    }

    pub(crate) fn from_parser(ty: &wp::GlobalType) -> GlobalType {
        GlobalType { content: ValType::from_parser(ty.content_type), mutable: ty.mutable }
    }
}

/// The type of a linear memory. Sizes are in pages of 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryType {
    /// Least size, in pages.
    pub minimum: u64,
    /// Greatest size, in pages.
    pub maximum: Option<u64>,
    /// Whether it is indexed by i64.
    pub is_64: bool,
    /// Whether several threads may have it at once.
    pub is_shared: bool,
}

impl MemoryType {
    /// A memory indexed by i32.
    pub fn new(minimum: u32, maximum: Option<u32>) -> MemoryType {
        MemoryType {
            minimum: minimum.into(),
            maximum: maximum.map(Into::into),
            is_64: false,
            is_shared: false,
        }
    }

    /// A memory indexed by i32 that several threads may have at once: see [`SharedMemory`](crate::SharedMemory).
    pub fn shared(minimum: u32, maximum: u32) -> MemoryType {
        MemoryType { is_shared: true, ..MemoryType::new(minimum, Some(maximum)) }
    }

    /// A memory indexed by i64.
    pub fn new64(minimum: u64, maximum: Option<u64>) -> MemoryType {
        MemoryType { minimum, maximum, is_64: true, is_shared: false }
    }

    pub(crate) fn from_parser(ty: &wp::MemoryType) -> MemoryType {
        MemoryType { minimum: ty.initial, maximum: ty.maximum, is_64: ty.memory64, is_shared: ty.shared }
    }
}

/// The type of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableType {
    /// Type of its elements.
    pub element: RefType,
    /// Least number of elements.
    pub minimum: u64,
    /// Greatest number of elements.
    pub maximum: Option<u64>,
    /// Whether it is indexed by i64.
    pub is_64: bool,
}

impl TableType {
    /// A table indexed by i32.
    pub fn new(element: RefType, minimum: u32, maximum: Option<u32>) -> TableType {
        TableType { element, minimum: minimum.into(), maximum: maximum.map(Into::into), is_64: false }
    }

    pub(crate) fn from_parser(ty: &wp::TableType) -> TableType {
        let element = RefType::from_parser(ty.element_type);
        TableType { element, minimum: ty.initial, maximum: ty.maximum, is_64: ty.table64 }
    }
}

/// The type of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagType(FuncType);

impl TagType {
    /// Of exceptions that carry what functions of type `ty`, which have no results, take.
    pub fn new(ty: FuncType) -> TagType {
        TagType(ty)
    }

    /// What its exceptions carry, as the parameters of a function.
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
        let table = TableType::new(RefType::Extern, 1, Some(2));
        assert_eq!(ExternType::Table(table).to_string(), "table 1 2 externref");
    }
}
