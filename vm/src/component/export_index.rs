//! Exports that were looked up once, for many instances.

use std::sync::Arc;

use super::component::Component;
use super::plan::{Export, ModuleSource};
use super::types::{ComponentItem, FuncType};

/// An export of a component, found by [`Component::get_export_index`] or
/// [`Instance::get_export_index`](super::Instance::get_export_index). With it instances of the component give their exports
/// without a look-up.
#[derive(Clone, Debug)]
pub struct ComponentExportIndex {
    component: Component,
    /// The names of the instances around it, and its own name.
    path: Arc<str>,
    found: Found,
}

/// What an export is.
#[doc(hidden)]
#[derive(Clone, Debug)]
#[allow(private_interfaces, reason = "only this crate looks into it")]
pub enum Found {
    Func(u32, Arc<FuncType>),
    Module(ModuleSource),
    /// An instance or a type.
    Other,
}

impl Found {
    fn new(export: &Export) -> Found {
        match export {
            Export::Func(index, ty) => Found::Func(*index, ty.clone()),
            Export::Module(source) => Found::Module(*source),
            Export::Instance(_) => Found::Other,
        }
    }
}

/// What names an export: its name, `instance#name` if an exported instance contains it, or a [`ComponentExportIndex`].
pub trait ExportLookup {
    /// Returns the export of a component.
    #[doc(hidden)]
    fn find(&self, component: &Component) -> Option<Found>;

    /// Returns the names of the instances around it, and its own name.
    #[doc(hidden)]
    fn path(&self) -> &str;
}

impl ExportLookup for &str {
    fn find(&self, component: &Component) -> Option<Found> {
        component.plan().export(self).map(Found::new)
    }

    fn path(&self) -> &str {
        self
    }
}

impl ExportLookup for &String {
    fn find(&self, component: &Component) -> Option<Found> {
        ExportLookup::find(&self.as_str(), component)
    }

    fn path(&self) -> &str {
        self
    }
}

impl ExportLookup for &ComponentExportIndex {
    fn find(&self, component: &Component) -> Option<Found> {
        self.component.is_same(component).then(|| self.found.clone())
    }

    fn path(&self) -> &str {
        &self.path
    }
}

impl ExportLookup for ComponentExportIndex {
    fn find(&self, component: &Component) -> Option<Found> {
        ExportLookup::find(&self, component)
    }

    fn path(&self) -> &str {
        &self.path
    }
}

impl Component {
    /// Returns an export with its type: of an exported instance, if one is given, or of the component itself. A name with a
    /// version also matches compatible versions, the highest of them.
    pub fn get_export(
        &self,
        instance: Option<&ComponentExportIndex>,
        name: impl ExportLookup,
    ) -> Option<(ComponentItem, ComponentExportIndex)> {
        let instance = match instance {
            Some(instance) if !instance.component.is_same(self) => return None,
            instance => instance.map(|instance| &*instance.path),
        };
        let (path, item) = self.plan().ty.find(instance, name.path())?;
        let found = self.plan().export(&path).map_or(Found::Other, Found::new);
        let index = ComponentExportIndex { component: self.clone(), path: path.into(), found };
        Some((item.clone(), index))
    }

    /// Returns an export without its type: see [`Component::get_export`].
    pub fn get_export_index(
        &self,
        instance: Option<&ComponentExportIndex>,
        name: impl ExportLookup,
    ) -> Option<ComponentExportIndex> {
        self.get_export(instance, name).map(|(_, index)| index)
    }
}
