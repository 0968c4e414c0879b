//! What components import and export, by name and type.

use std::sync::Arc;

use super::{FuncType, Type};
use crate::component::plan::{ModuleType, find};
use crate::component::resource::ResourceType;
use crate::component::versions::highest;
use crate::{Engine, ExternType};

/// Names with types, in order.
type Items = Arc<[(String, ComponentItem)]>;

/// The type of a component: what it imports and exports. It is cheap to clone. Items that the host cannot use are left
/// out: nested components, and types that are not supported.
#[derive(Clone, Debug, Default)]
pub struct Component {
    imports: Items,
    exports: Items,
}

/// The type of an instance that a component imports or exports. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct ComponentInstance(pub(in crate::component) Items);

/// The type of a function that a component imports or exports. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct ComponentFunc(pub(in crate::component) Arc<FuncType>);

/// The type of a core module that a component imports or exports. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct Module(pub(in crate::component) Arc<ModuleType>);

/// The type of an item that a component imports or exports.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ComponentItem {
    /// A function.
    ComponentFunc(ComponentFunc),
    /// A core module.
    Module(Module),
    /// An instance.
    ComponentInstance(ComponentInstance),
    /// A type.
    Type(Type),
    /// A resource. As part of a component's type it stands for the resource; each instance has one of its own:
    /// [`Instance::get_resource`](crate::component::Instance::get_resource).
    Resource(ResourceType),
}

/// An import or an export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComponentExtern {
    /// Its type.
    pub ty: ComponentItem,
}

impl Component {
    pub(in crate::component) fn new(
        imports: Vec<(String, ComponentItem)>,
        exports: Vec<(String, ComponentItem)>,
    ) -> Component {
        Component { imports: imports.into(), exports: exports.into() }
    }

    /// Returns the imports in order. The engine is not used; it gives this the shape of Wasmtime's function.
    pub fn imports<'a>(
        &'a self,
        _engine: &'a Engine,
    ) -> impl ExactSizeIterator<Item = (&'a str, ComponentExtern)> {
        list(&self.imports)
    }

    /// Returns an import, if there is one of that name.
    pub fn get_import(&self, _engine: &Engine, name: &str) -> Option<ComponentExtern> {
        get(&self.imports, name)
    }

    /// Returns the exports in order.
    pub fn exports<'a>(
        &'a self,
        _engine: &'a Engine,
    ) -> impl ExactSizeIterator<Item = (&'a str, ComponentExtern)> {
        list(&self.exports)
    }

    /// Returns an export, if there is one of that name.
    pub fn get_export(&self, _engine: &Engine, name: &str) -> Option<ComponentExtern> {
        get(&self.exports, name)
    }

    /// Returns the path and the item that a name stands for in an exported instance, or outside of any. The name may be a
    /// path itself, `instance#name`, and have a compatible version.
    pub(in crate::component) fn find(
        &self,
        instance: Option<&str>,
        name: &str,
    ) -> Option<(String, &ComponentItem)> {
        let (mut items, mut path) = (&self.exports, String::new());
        let mut found: Option<&ComponentItem> = None;
        let within = instance.into_iter().flat_map(|path| path.split('#'));
        for name in within.chain(name.split('#')) {
            if let Some(instance) = found {
                let ComponentItem::ComponentInstance(ComponentInstance(inner)) = instance else {
                    return None;
                };
                items = inner;
                path.push('#');
            }
            found = Some(find(items, name)?);
            let is_there = items.iter().any(|(known, _)| known == name);
            path += if is_there { name } else { highest(name, items.iter().map(|(known, _)| &**known))? };
        }
        found.map(|found| (path, found))
    }
}

impl ComponentInstance {
    /// Returns the exports in order. The engine is not used; it gives this the shape of Wasmtime's function.
    pub fn exports<'a>(
        &'a self,
        _engine: &'a Engine,
    ) -> impl ExactSizeIterator<Item = (&'a str, ComponentExtern)> {
        list(&self.0)
    }

    /// Returns an export, if there is one of that name.
    pub fn get_export(&self, _engine: &Engine, name: &str) -> Option<ComponentExtern> {
        get(&self.0, name)
    }
}

impl ComponentFunc {
    /// Returns whether the function is async: components with such functions are not supported yet.
    pub fn async_(&self) -> bool {
        false
    }

    /// Returns the names and types of the parameters.
    pub fn params(&self) -> impl ExactSizeIterator<Item = (&str, Type)> {
        self.0.params().map(|(name, ty)| (name, ty.clone()))
    }

    /// Returns the types of the results, of which there is at most one.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Type> {
        self.0.result().cloned().into_iter()
    }

    /// Returns the type as that of a [`Func`](crate::component::Func).
    pub fn func_type(&self) -> &FuncType {
        &self.0
    }
}

impl Module {
    /// Returns the modules, names and types of the imports.
    pub fn imports<'a>(
        &'a self,
        _engine: &'a Engine,
    ) -> impl ExactSizeIterator<Item = ((&'a str, &'a str), ExternType)> {
        self.0.imports.iter().map(|(module, name, ty)| ((&**module, &**name), ty.clone()))
    }

    /// Returns the names and types of the exports.
    pub fn exports<'a>(
        &'a self,
        _engine: &'a Engine,
    ) -> impl ExactSizeIterator<Item = (&'a str, ExternType)> {
        self.0.exports.iter().map(|(name, ty)| (&**name, ty.clone()))
    }
}

impl ComponentItem {
    /// Returns the item with other resources in place of those that stand for them. Types of values name resources by
    /// numbers, which are the same.
    pub(in crate::component) fn with(
        &self,
        resource: &impl Fn(&ResourceType) -> Option<ResourceType>,
    ) -> ComponentItem {
        match self {
            ComponentItem::Resource(ty) => {
                ComponentItem::Resource(resource(ty).unwrap_or_else(|| ty.clone()))
            }
            ComponentItem::ComponentInstance(ComponentInstance(items)) => {
                let items = items.iter().map(|(name, item)| (name.clone(), item.with(resource)));
                ComponentItem::ComponentInstance(ComponentInstance(items.collect()))
            }
            item => item.clone(),
        }
    }
}

fn list(items: &Items) -> impl ExactSizeIterator<Item = (&str, ComponentExtern)> {
    items.iter().map(|(name, ty)| (&**name, ComponentExtern { ty: ty.clone() }))
}

fn get(items: &Items, name: &str) -> Option<ComponentExtern> {
    let found = items.iter().find(|(known, _)| known == name);
    found.map(|(_, ty)| ComponentExtern { ty: ty.clone() })
}
