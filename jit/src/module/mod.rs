//! A parsed and validated module without its function bodies, which stay bytes until they are needed.
//!
//! Index spaces are wasm's: imports first. `imported_*` fields count the imports of each space.

mod allocators;
mod branch_hints;
mod bytes;
mod calls;
mod const_expr;
mod constant_tables;
mod parse;
mod proposals;
mod toggles;
mod types;

use std::ops::Range;

use hashbrown::HashMap;
use wasmparser::{
    BinaryReader, BinaryReaderError, FuncType, FunctionBody, GlobalType, MemoryType, TableType, ValType,
    ValidatorResources, WasmFeatures,
};

pub use allocators::{Allocator, AllocatorKind, NewBlock};
pub use branch_hints::{BRANCH_HINTS, BranchHints};
pub use bytes::ModuleBytes;
pub(crate) use calls::Calls;
pub use const_expr::{ConstArith, ConstExpr, ConstOp, Initial};
pub use constant_tables::{ConstantTables, Dispatch, Target};
pub use parse::{ModuleError, features, parse, parser};
pub use toggles::{Proposal, check_allowed};
pub use types::{Types, with_references};

/// The kind of an import or export, with its index in its index space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    /// Function index.
    Func(u32),
    /// Table index.
    Table(u32),
    /// Memory index.
    Memory(u32),
    /// Global index.
    Global(u32),
    /// Tag index.
    Tag(u32),
}

/// One import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module that provides it.
    pub module: String,
    /// Its name in that module.
    pub name: String,
    /// The entity that it defines in this module.
    pub entity: Entity,
}

/// A global: its type, and its initial value unless it is imported.
#[derive(Clone, Debug)]
pub struct Global {
    /// Type and mutability.
    pub ty: GlobalType,
    /// `None` for imports.
    pub init: Option<ConstExpr>,
}

/// The time at which a segment is applied.
#[derive(Clone, Debug)]
pub enum SegmentMode {
    /// At instantiation, to table or memory `target`.
    Active {
        /// Table or memory index.
        target: u32,
        /// First element or byte.
        offset: ConstExpr,
    },
    /// By `table.init` or `memory.init`.
    Passive,
    /// Never: it only declares functions for `ref.func`.
    Declared,
}

/// The contents of an element segment.
#[derive(Clone, Debug)]
pub enum ElementItems {
    /// Function indices.
    Funcs(Vec<u32>),
    /// One expression per element.
    Exprs(Vec<ConstExpr>),
}

/// An element segment.
#[derive(Clone, Debug)]
pub struct ElementSegment {
    /// The time at which it is applied.
    pub mode: SegmentMode,
    /// The segment's items.
    pub items: ElementItems,
}

/// A data segment.
#[derive(Clone, Debug)]
pub struct DataSegment {
    /// The time at which it is applied.
    pub mode: SegmentMode,
    /// Its bytes, as a range of the module's bytes.
    pub bytes: Range<usize>,
}

/// A module without its code.
#[derive(Clone)]
pub struct ModuleInfo {
    /// Types by type index.
    pub types: Types,
    /// Imports, in order.
    pub imports: Vec<Import>,
    /// Type index of each function.
    pub funcs: Vec<u32>,
    /// How many functions are imports.
    pub imported_funcs: u32,
    /// Byte range of each defined function's body (locals and code) in the module.
    pub bodies: Vec<Range<usize>>,
    /// Tables.
    pub tables: Vec<TableType>,
    /// Initial value of the elements of each defined table, unless null.
    pub table_inits: Vec<Option<ConstExpr>>,
    /// How many tables are imports.
    pub imported_tables: u32,
    /// Memories.
    pub memories: Vec<MemoryType>,
    /// How many memories are imports.
    pub imported_memories: u32,
    /// Globals.
    pub globals: Vec<Global>,
    /// How many globals are imports.
    pub imported_globals: u32,
    /// Type index of each exception tag.
    pub tags: Vec<u32>,
    /// How many tags are imports.
    pub imported_tags: u32,
    /// Exports, in order.
    pub exports: Vec<(String, Entity)>,
    /// Exports by name.
    pub export_index: HashMap<String, Entity>,
    /// The start function.
    pub start: Option<u32>,
    /// Element segments.
    pub elements: Vec<ElementSegment>,
    /// Data segments.
    pub data: Vec<DataSegment>,
    /// Defined functions that are reachable as values (exported, in a segment, in a global), ascending: each has a
    /// func_ref in the vmctx. Imported functions bring their own.
    pub escaped_funcs: Vec<u32>,
    /// Custom sections: name and byte range of the contents.
    pub custom_sections: Vec<(String, Range<usize>)>,
    /// Branch hints, if the module has any.
    pub branch_hints: BranchHints,
    /// Byte range of the code section's contents; DWARF addresses are relative to its start.
    pub code_section: Range<usize>,
    /// Facts about calls through tables.
    pub constant_tables: ConstantTables,
    /// The functions whose allocations and frees the runtime counts, if allocations are counted. The caller of the
    /// parser fills this map.
    pub allocators: HashMap<u32, Allocator>,
    /// The call graph.
    pub(crate) calls: Calls,
    pub(crate) resources: Option<ValidatorResources>,
    pub(crate) features: WasmFeatures,
    /// The module's bytes. The contents of data segments and custom sections that the caller of the parser keeps
    /// elsewhere are zeroed.
    pub bytes: ModuleBytes,
}

impl std::fmt::Debug for ModuleInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleInfo")
            .field("funcs", &self.funcs.len())
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

impl ModuleInfo {
    /// Returns the type of function `func`.
    pub fn func_type(&self, func: u32) -> &FuncType {
        self.types.func(self.funcs[func as usize])
    }

    /// Reports whether `func` may be called as a function of type `ty`: its own type equals `ty` or is a subtype of it.
    pub fn is_func_of(&self, func: u32, ty: u32) -> bool {
        self.types.is_subtype(self.funcs[func as usize], ty)
    }

    /// Returns the type of tag `tag`, whose parameters are the values of its exceptions.
    pub fn tag_type(&self, tag: u32) -> &FuncType {
        self.types.func(self.tags[tag as usize])
    }

    /// Returns the name of tag `tag` for people, quoted: by which it is exported, or else imported; otherwise its index.
    pub fn tag_name(&self, tag: u32) -> String {
        let exported = self.exports.iter().filter(|(_, entity)| *entity == Entity::Tag(tag));
        let imported = self.imports.iter().filter(|import| import.entity == Entity::Tag(tag));
        let names =
            exported.map(|(name, _)| name.as_str()).chain(imported.map(|import| import.name.as_str()));
        names.map(|name| format!("`{name}`")).next().unwrap_or_else(|| tag.to_string())
    }

    /// Returns the number of functions with a body in this module.
    pub fn defined_funcs(&self) -> u32 {
        self.bodies.len() as u32
    }

    /// Returns the byte range of a defined function's body.
    pub fn body(&self, func: u32) -> Range<usize> {
        self.bodies[(func - self.imported_funcs) as usize].clone()
    }

    /// Counts the locals of a defined function, including parameters.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn count_locals(&self, func: u32) -> Result<u64, BinaryReaderError> {
        let body = self.body(func);
        let reader = BinaryReader::new(&self.bytes[body.clone()], body.start as u64);
        let mut count = self.func_type(func).params().len() as u64;
        for group in FunctionBody::new(reader).get_locals_reader()? {
            count += u64::from(group?.0);
        }
        Ok(count)
    }

    /// Reports whether `func` is an import.
    pub fn is_imported_func(&self, func: u32) -> bool {
        func < self.imported_funcs
    }

    /// Returns the position of `func` in `escaped_funcs`.
    pub fn escaped_index(&self, func: u32) -> Option<u32> {
        self.escaped_funcs.binary_search(&func).ok().map(|i| i as u32)
    }

    /// Returns the type of global `global`'s value.
    pub fn global_type(&self, global: u32) -> ValType {
        self.globals[global as usize].ty.content_type
    }

    /// Returns the defined function whose body contains byte `offset` of the module.
    pub fn func_at(&self, offset: usize) -> Option<u32> {
        let i = self.bodies.partition_point(|b| b.end <= offset);
        let body = self.bodies.get(i)?;
        body.contains(&offset).then_some(i as u32 + self.imported_funcs)
    }

    /// Returns the contents of the first custom section called `name`.
    pub fn custom_section(&self, name: &str) -> Option<&[u8]> {
        self.custom_section_range(name).map(|range| &self.bytes[range])
    }

    /// Returns the byte range in the module of the contents of the first custom section called `name`.
    pub fn custom_section_range(&self, name: &str) -> Option<Range<usize>> {
        let (_, range) = self.custom_sections.iter().find(|(n, _)| n == name)?;
        Some(range.clone())
    }
}
