//! The imports and exports of a module, by name and type.

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
