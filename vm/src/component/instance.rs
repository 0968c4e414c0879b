//! Instances of components, as the embedder sees them.

use std::fmt;
use std::sync::Arc;

use super::component::Component;
use super::export_index::{ComponentExportIndex, ExportLookup, Found};
use super::func::Func;
use super::resource::ResourceType;
use super::state::State;
use super::typed::{Args, Returns};
use super::typed_func::TypedFunc;
use super::types::ComponentItem;
use crate::{Error, ErrorKind, Module, Result};

/// An instance of a component in a store. Cheap to clone.
#[derive(Clone)]
pub struct Instance(pub(super) Arc<State>);

impl Instance {
    /// Returns an exported function: by its `name`, or as `instance#name` if an exported instance contains it. A name
    /// with a version, `pkg:name/interface@0.2.5`, also matches compatible versions, the highest of them.
    pub fn get_func(&self, name: impl ExportLookup) -> Option<Func> {
        match name.find(&self.0.component)? {
            Found::Func(index, ty) => Some(Func { state: self.0.clone(), index, ty }),
            Found::Module(_) | Found::Other => None,
        }
    }

    /// Returns an exported core module, named as for [`Instance::get_func`].
    pub fn get_module(&self, name: impl ExportLookup) -> Option<Module> {
        match name.find(&self.0.component)? {
            Found::Module(source) => self.0.module(source).cloned(),
            Found::Func(..) | Found::Other => None,
        }
    }

    /// Returns an exported resource type of this instance, named as for [`Instance::get_func`].
    pub fn get_resource(&self, name: impl ExportLookup) -> Option<ResourceType> {
        match self.get_export(None, name)?.0 {
            ComponentItem::Resource(ty) => Some(ty),
            _ => None,
        }
    }

    /// Returns an export with its type: of an exported instance, if one is given, or outside of any. See
    /// [`Component::get_export`]; resources are those of this instance.
    pub fn get_export(
        &self,
        instance: Option<&ComponentExportIndex>,
        name: impl ExportLookup,
    ) -> Option<(ComponentItem, ComponentExportIndex)> {
        let (item, index) = self.0.component.get_export(instance, name)?;
        let resources = &self.0.component.plan().resources;
        let own = |ty: &ResourceType| {
            let number = resources.iter().position(|resource| resource.ty == *ty)?;
            self.0.resources.get(number).cloned()
        };
        Some((item.with(&own), index))
    }

    /// Returns an export without its type: see [`Component::get_export_index`].
    pub fn get_export_index(
        &self,
        instance: Option<&ComponentExportIndex>,
        name: impl ExportLookup,
    ) -> Option<ComponentExportIndex> {
        self.0.component.get_export_index(instance, name)
    }

    /// Returns an exported function with Rust types for its parameters and result.
    ///
    /// # Errors
    /// Fails if there is no such function, or if these types do not represent its own.
    pub fn get_typed_func<A: Args, R: Returns>(&self, name: impl ExportLookup) -> Result<TypedFunc<A, R>> {
        let path = name.path().to_owned();
        let missing = || Error::new(ErrorKind::Link, format_args!("no function is exported as `{path}`"));
        let func = self.get_func(name).ok_or_else(missing)?;
        func.typed().map_err(|error| error.context(format_args!("export `{path}`")))
    }

    /// Returns the instance's component.
    pub fn component(&self) -> &Component {
        &self.0.component
    }

    /// Returns the instances of its core modules, in order of creation.
    pub fn core_instances(&self) -> Vec<crate::Instance> {
        self.0.core_instances()
    }

    /// Returns the component's resource types, its own and imported ones, by the numbers that its types use.
    pub fn resource_types(&self) -> &[ResourceType] {
        &self.0.resources
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("component", &self.0.component).finish_non_exhaustive()
    }
}
