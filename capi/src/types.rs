//! Types of values, and of imports and exports.

use std::mem::MaybeUninit;

use wprof::{FuncType, GlobalType, HeapType, MemoryType, RefType, TableType, ValType};

use crate::vector::{Bytes, Owned, Vector, vector};

/// The C type `wasm_valtype_t`: a kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    pub const I32: Kind = Kind(0);
    pub const I64: Kind = Kind(1);
    pub const F32: Kind = Kind(2);
    pub const F64: Kind = Kind(3);
    pub const EXTERNREF: Kind = Kind(128);
    pub const FUNCREF: Kind = Kind(129);
    /// `WPROF_OTHER`: a kind that the API does not name.
    pub const OTHER: Kind = Kind(255);

    /// Returns the kind of a type.
    pub fn new(ty: &ValType) -> Kind {
        match ty {
            ValType::I32 => Kind::I32,
            ValType::I64 => Kind::I64,
            ValType::F32 => Kind::F32,
            ValType::F64 => Kind::F64,
            ValType::V128 => Kind::OTHER,
            ValType::Ref(ty) => match ty.heap_type().top() {
                HeapType::Func => Kind::FUNCREF,
                HeapType::Extern => Kind::EXTERNREF,
                _ => Kind::OTHER,
            },
        }
    }

    /// Returns the type of a kind; `None` if the API does not name the type, or there is no such kind.
    pub fn ty(self) -> Option<ValType> {
        Some(match self {
            Kind::I32 => ValType::I32,
            Kind::I64 => ValType::I64,
            Kind::F32 => ValType::F32,
            Kind::F64 => ValType::F64,
            Kind::EXTERNREF => ValType::EXTERNREF,
            Kind::FUNCREF => ValType::FUNCREF,
            _ => return None,
        })
    }
}

/// The C type `wasm_limits_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    min: u32,
    max: u32,
}

impl Limits {
    /// The value that stands for no maximum.
    const NONE: u32 = u32::MAX;

    fn new(minimum: u64, maximum: Option<u64>) -> Limits {
        let short = |size: u64| u32::try_from(size).unwrap_or(Limits::NONE);
        Limits { min: short(minimum), max: maximum.map_or(Limits::NONE, short) }
    }

    fn max(self) -> Option<u32> {
        (self.max != Limits::NONE).then_some(self.max)
    }
}

/// The C type `wasm_externtype_t`, and so `wasm_functype_t` and the others.
#[derive(Clone)]
pub enum ExternType {
    Func {
        params: Vector<Owned<Kind>>,
        results: Vector<Owned<Kind>>,
    },
    Global {
        content: Box<Kind>,
        is_mutable: bool,
    },
    Table {
        element: Box<Kind>,
        limits: Limits,
    },
    Memory {
        limits: Limits,
    },
    /// A type that the API does not name.
    Other,
}

/// The values of `wasm_externkind_t`.
mod kinds {
    pub const FUNC: u8 = 0;
    pub const GLOBAL: u8 = 1;
    pub const TABLE: u8 = 2;
    pub const MEMORY: u8 = 3;
    /// The C constant `WPROF_EXTERN_OTHER`.
    pub const OTHER: u8 = 255;
}
pub use kinds::{FUNC, GLOBAL, MEMORY, OTHER, TABLE};

impl Drop for ExternType {
    fn drop(&mut self) {
        if let ExternType::Func { params, results } = self {
            drop((params.take(), results.take()));
        }
    }
}

impl ExternType {
    /// Converts the type of an import or export.
    pub fn new(ty: &wprof::ExternType) -> ExternType {
        match ty {
            wprof::ExternType::Func(ty) => ExternType::of_func(ty),
            wprof::ExternType::Global(ty) => {
                ExternType::Global { content: Box::new(Kind::new(&ty.content)), is_mutable: ty.mutable }
            }
            wprof::ExternType::Table(ty) => ExternType::Table {
                element: Box::new(Kind::new(&ValType::Ref(ty.element.clone()))),
                limits: Limits::new(ty.minimum, ty.maximum),
            },
            wprof::ExternType::Memory(ty) => {
                ExternType::Memory { limits: Limits::new(ty.minimum, ty.maximum) }
            }
            wprof::ExternType::Tag(_) => ExternType::Other,
        }
    }

    /// Converts the type of a function.
    pub fn of_func(ty: &FuncType) -> ExternType {
        let kinds = |types: &mut dyn Iterator<Item = ValType>| {
            Vector::new(types.map(|ty| Some(Box::new(Kind::new(&ty)))).collect())
        };
        ExternType::Func { params: kinds(&mut ty.params()), results: kinds(&mut ty.results()) }
    }

    pub fn kind(&self) -> u8 {
        match self {
            ExternType::Func { .. } => FUNC,
            ExternType::Global { .. } => GLOBAL,
            ExternType::Table { .. } => TABLE,
            ExternType::Memory { .. } => MEMORY,
            ExternType::Other => OTHER,
        }
    }

    /// Returns the function type, if this is one and the API names the types of all its values.
    pub fn func(&self) -> Option<FuncType> {
        let ExternType::Func { params, results } = self else { return None };
        let types = |kinds: &Vector<Owned<Kind>>| -> Option<Vec<ValType>> {
            kinds.as_slice().iter().map(|kind| kind.as_deref()?.ty()).collect()
        };
        Some(FuncType::new(types(params)?, types(results)?))
    }

    /// Returns the global type, if this is one.
    pub fn global(&self) -> Option<GlobalType> {
        let ExternType::Global { content, is_mutable } = self else { return None };
        Some(GlobalType::new(content.ty()?, *is_mutable))
    }

    /// Returns the table type, if this is one.
    pub fn table(&self) -> Option<TableType> {
        let ExternType::Table { element, limits } = self else { return None };
        let element = match **element {
            Kind::FUNCREF => RefType::FUNCREF,
            Kind::EXTERNREF => RefType::EXTERNREF,
            _ => return None,
        };
        Some(TableType::new(element, limits.min, limits.max()))
    }

    /// Returns the memory type, if this is one.
    pub fn memory(&self) -> Option<MemoryType> {
        let ExternType::Memory { limits } = self else { return None };
        Some(MemoryType::new(limits.min, limits.max()))
    }
}

/// The C type `wasm_importtype_t`.
pub struct ImportType {
    module: Bytes,
    name: Bytes,
    ty: Box<ExternType>,
}

/// The C type `wasm_exporttype_t`.
pub struct ExportType {
    name: Bytes,
    ty: Box<ExternType>,
}

impl ImportType {
    pub fn new(import: &wprof::ImportType<'_>) -> ImportType {
        let name = |name: &str| Vector::new(name.as_bytes().to_vec());
        ImportType {
            module: name(import.module()),
            name: name(import.name()),
            ty: Box::new(ExternType::new(&import.ty())),
        }
    }
}

impl ExportType {
    pub fn new(export: &wprof::ExportType<'_>) -> ExportType {
        let name = Vector::new(export.name().as_bytes().to_vec());
        ExportType { name, ty: Box::new(ExternType::new(&export.ty())) }
    }
}

impl Clone for ImportType {
    fn clone(&self) -> Self {
        ImportType { module: self.module.clone(), name: self.name.clone(), ty: self.ty.clone() }
    }
}

impl Clone for ExportType {
    fn clone(&self) -> Self {
        ExportType { name: self.name.clone(), ty: self.ty.clone() }
    }
}

impl Drop for ImportType {
    fn drop(&mut self) {
        drop((self.module.take(), self.name.take()));
    }
}

impl Drop for ExportType {
    fn drop(&mut self) {
        drop(self.name.take());
    }
}

vector!("valtype", Owned<Kind>);
vector!("functype", Owned<ExternType>);
vector!("globaltype", Owned<ExternType>);
vector!("tabletype", Owned<ExternType>);
vector!("memorytype", Owned<ExternType>);
vector!("externtype", Owned<ExternType>);
vector!("importtype", Owned<ImportType>);
vector!("exporttype", Owned<ExportType>);

/// Defines the functions that copy and delete types.
macro_rules! owned {
    ($($name:literal $ty:ty;)*) => {
        $(export! {
            ["wasm_", $name, "_delete"] fn(ty: Owned<$ty>) {
                drop(ty);
            }
            ["wasm_", $name, "_copy"] fn(ty: &$ty) -> Box<$ty> {
                Box::new(ty.clone())
            }
        })*
    };
}

owned! {
    "valtype" Kind;
    "functype" ExternType;
    "globaltype" ExternType;
    "tabletype" ExternType;
    "memorytype" ExternType;
    "externtype" ExternType;
    "importtype" ImportType;
    "exporttype" ExportType;
}

/// Defines the casts of one kind of type.
macro_rules! casts {
    ($($name:literal $kind:ident;)*) => {
        $(export! {
            ["wasm_", $name, "_as_externtype"] fn(ty: Option<&mut ExternType>) -> Option<&mut ExternType> {
                ty
            }
            ["wasm_", $name, "_as_externtype_const"] fn(ty: Option<&ExternType>) -> Option<&ExternType> {
                ty
            }
            ["wasm_externtype_as_", $name] fn(ty: Option<&mut ExternType>) -> Option<&mut ExternType> {
                ty.filter(|ty| ty.kind() == $kind)
            }
            ["wasm_externtype_as_", $name, "_const"] fn(ty: Option<&ExternType>) -> Option<&ExternType> {
                ty.filter(|ty| ty.kind() == $kind)
            }
        })*
    };
}

casts! {
    "functype" FUNC;
    "globaltype" GLOBAL;
    "tabletype" TABLE;
    "memorytype" MEMORY;
}

export! {
    ["wasm_valtype_new"] fn(kind: u8) -> Box<Kind> {
        Box::new(Kind(kind))
    }
    ["wasm_valtype_kind"] fn(ty: &Kind) -> u8 {
        ty.0
    }
    ["wasm_functype_new"] fn(
        params: Option<&mut Vector<Owned<Kind>>>,
        results: Option<&mut Vector<Owned<Kind>>>,
    ) -> Box<ExternType> {
        let take = |kinds: Option<&mut Vector<_>>| Vector::new(kinds.map(Vector::take).unwrap_or_default());
        Box::new(ExternType::Func { params: take(params), results: take(results) })
    }
    ["wasm_functype_params"] fn(ty: &ExternType) -> Option<&Vector<Owned<Kind>>> {
        if let ExternType::Func { params, .. } = ty { Some(params) } else { None }
    }
    ["wasm_functype_results"] fn(ty: &ExternType) -> Option<&Vector<Owned<Kind>>> {
        if let ExternType::Func { results, .. } = ty { Some(results) } else { None }
    }
    ["wasm_globaltype_new"] fn(content: Box<Kind>, mutability: u8) -> Box<ExternType> {
        Box::new(ExternType::Global { content, is_mutable: mutability != 0 })
    }
    ["wasm_globaltype_content"] fn(ty: &ExternType) -> Option<&Kind> {
        if let ExternType::Global { content, .. } = ty { Some(content) } else { None }
    }
    ["wasm_globaltype_mutability"] fn(ty: &ExternType) -> u8 {
        u8::from(matches!(ty, ExternType::Global { is_mutable: true, .. }))
    }
    ["wasm_tabletype_new"] fn(element: Box<Kind>, limits: &Limits) -> Box<ExternType> {
        Box::new(ExternType::Table { element, limits: *limits })
    }
    ["wasm_tabletype_element"] fn(ty: &ExternType) -> Option<&Kind> {
        if let ExternType::Table { element, .. } = ty { Some(element) } else { None }
    }
    ["wasm_tabletype_limits"] fn(ty: &ExternType) -> Option<&Limits> {
        if let ExternType::Table { limits, .. } = ty { Some(limits) } else { None }
    }
    ["wasm_memorytype_new"] fn(limits: &Limits) -> Box<ExternType> {
        Box::new(ExternType::Memory { limits: *limits })
    }
    ["wasm_memorytype_limits"] fn(ty: &ExternType) -> Option<&Limits> {
        if let ExternType::Memory { limits } = ty { Some(limits) } else { None }
    }
    ["wasm_externtype_kind"] fn(ty: &ExternType) -> u8 {
        ty.kind()
    }
    ["wasm_importtype_new"] fn(
        module: Option<&mut Bytes>,
        name: Option<&mut Bytes>,
        ty: Box<ExternType>,
    ) -> Box<ImportType> {
        Box::new(ImportType { module: taken(module), name: taken(name), ty })
    }
    ["wasm_importtype_module"] fn(ty: &ImportType) -> &Bytes {
        &ty.module
    }
    ["wasm_importtype_name"] fn(ty: &ImportType) -> &Bytes {
        &ty.name
    }
    ["wasm_importtype_type"] fn(ty: &ImportType) -> &ExternType {
        &ty.ty
    }
    ["wasm_exporttype_new"] fn(name: Option<&mut Bytes>, ty: Box<ExternType>) -> Box<ExportType> {
        Box::new(ExportType { name: taken(name), ty })
    }
    ["wasm_exporttype_name"] fn(ty: &ExportType) -> &Bytes {
        &ty.name
    }
    ["wasm_exporttype_type"] fn(ty: &ExportType) -> &ExternType {
        &ty.ty
    }
}

fn taken(name: Option<&mut Bytes>) -> Bytes {
    Vector::new(name.map(Vector::take).unwrap_or_default())
}

/// Writes the types of imports or exports for C.
pub fn write_all<T>(out: &mut MaybeUninit<Vector<Owned<T>>>, types: impl Iterator<Item = T>) {
    out.write(Vector::new(types.map(|ty| Some(Box::new(ty))).collect()));
}
