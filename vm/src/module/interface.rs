//! What a module imports and exports, by name and type.

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
    /// The name of the module it is imported from.
    pub fn module(&self) -> &'m str {
        self.module
    }

    /// Its name there.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// What it must be.
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
    /// Its name.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// What it is.
    pub fn ty(&self) -> ExternType {
        self.source.entity_type(self.entity)
    }
}
