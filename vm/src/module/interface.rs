//! The imports and exports of a module, by name and type, and what its instances need.

use wprof_jit::module::Entity;

use crate::{ExternType, Module};

/// An import of a module.
#[derive(Clone, Copy, Debug)]
pub struct ImportType<'m> {
    pub(crate) module: &'m str,
    pub(crate) name: &'m str,
    pub(crate) source: &'m Module,
    pub(crate) entity: Entity,
}

impl<'m> ImportType<'m> {
    /// Returns the name of the module from which it is imported.
    pub fn module(&self) -> &'m str {
        self.module
    }

    /// Returns the name of the imported item in that module.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// Returns the type that the import must have.
    pub fn ty(&self) -> ExternType {
        self.source.entity_type(self.entity)
    }
}

/// An export of a module.
#[derive(Clone, Copy, Debug)]
pub struct ExportType<'m> {
    pub(crate) name: &'m str,
    pub(crate) source: &'m Module,
    pub(crate) entity: Entity,
}

impl<'m> ExportType<'m> {
    /// Returns the name of the export.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// Returns the type of the export.
    pub fn ty(&self) -> ExternType {
        self.source.entity_type(self.entity)
    }
}

/// The memories and tables that an instance of a module needs, in addition to what it imports: see
/// [`Module::resources_required`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourcesRequired {
    /// Number of memories.
    pub num_memories: u32,
    /// Size, in pages, of the memory that begins with most; `None` without memories.
    pub max_initial_memory_size: Option<u64>,
    /// Number of tables.
    pub num_tables: u32,
    /// Number of elements of the table that begins with most; `None` without tables.
    pub max_initial_table_size: Option<u64>,
}

impl Module {
    /// Returns what each instance needs, so that a host can refuse a module, or choose the size of a pool, before it makes an
    /// instance. What is imported is not counted.
    pub fn resources_required(&self) -> ResourcesRequired {
        let info = self.info();
        let memories = &info.memories[info.imported_memories as usize..];
        let tables = &info.tables[info.imported_tables as usize..];
        ResourcesRequired {
            num_memories: memories.len() as u32,
            max_initial_memory_size: memories.iter().map(|memory| memory.initial).max(),
            num_tables: tables.len() as u32,
            max_initial_table_size: tables.iter().map(|table| table.initial).max(),
        }
    }
}
