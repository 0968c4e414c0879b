//! Instances of components, as the embedder sees them.

use std::fmt;
use std::sync::Arc;

use super::component::Component;
use super::func::Func;
use super::plan::Export;
use super::resource::ResourceType;
use super::state::State;
use super::typed::{Args, Returns};
use super::typed_func::TypedFunc;
use crate::{Error, ErrorKind, Module, Result};

/// An instance of a component in a store. Cheap to clone.
#[derive(Clone)]
pub struct Instance(pub(super) Arc<State>);

impl Instance {
    /// Returns an exported function: by its `name`, or as `instance#name` if an exported instance contains it. A name
    /// with a version, `pkg:name/interface@0.2.5`, also matches compatible versions, the highest of them.
    pub fn get_func(&self, name: &str) -> Option<Func> {
        match self.0.component.plan().export(name)? {
            Export::Func(index, ty) => Some(Func { state: self.0.clone(), index: *index, ty: ty.clone() }),
            Export::Module(_) | Export::Instance(_) => None,
        }
    }

    /// Returns an exported core module, by its `name`, or as `instance#name` if an exported instance contains it.
    pub fn get_module(&self, name: &str) -> Option<Module> {
        match self.0.component.plan().export(name)? {
            Export::Module(source) => self.0.module(*source).cloned(),
            Export::Func(..) | Export::Instance(_) => None,
        }
    }

    /// Returns an exported function with Rust types for its parameters and result.
    ///
    /// # Errors
    /// Fails if there is no such function, or if these types do not represent its own.
    pub fn get_typed_func<A: Args, R: Returns>(&self, name: &str) -> Result<TypedFunc<A, R>> {
        let missing = || Error::new(ErrorKind::Link, format_args!("no function is exported as `{name}`"));
        let func = self.get_func(name).ok_or_else(missing)?;
        func.typed().map_err(|error| error.context(format_args!("export `{name}`")))
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
