//! The plan for instantiating a component: a flat list of steps over core modules, without nested components.

use std::sync::Arc;

use super::resource::ResourceType;
use super::types::{self, FuncType};
use super::versions::highest;
use crate::{ExternType, Module};

/// A component as a list of steps.
#[derive(Debug, Default)]
pub struct Plan {
    /// All core modules, in the order of the file.
    pub modules: Vec<Module>,
    pub imports: Vec<Import>,
    /// The sources of the core instances, in order of creation.
    pub core_instances: Vec<ModuleSource>,
    pub steps: Vec<Step>,
    pub adapters: Vec<Adapters>,
    pub lifted: Vec<Lifted>,
    pub trampolines: Vec<Trampoline>,
    pub resources: Vec<Resource>,
    /// The component instances, the outermost first, with the instance around each: all have their own handles.
    pub instances: Vec<Option<u32>>,
    /// The instance without code through which the host calls imports that the component exports.
    pub bridge: Option<u32>,
    pub exports: Vec<(String, Export)>,
    /// What it imports and exports, as the embedder sees it.
    pub ty: types::Component,
}

impl Plan {
    /// Returns an export: `name`, or `instance#name` if an exported instance contains it. Names with another, but
    /// compatible version also match, the highest of them.
    pub fn export(&self, name: &str) -> Option<&Export> {
        let (instances, name) = match name.rsplit_once('#') {
            Some((instances, name)) => (Some(instances), name),
            None => (None, name),
        };
        let mut exports = &*self.exports;
        for instance in instances.into_iter().flat_map(|path| path.split('#')) {
            match find(exports, instance)? {
                Export::Instance(inner) => exports = inner,
                Export::Func(..) | Export::Module(_) => return None,
            }
        }
        find(exports, name)
    }

    /// Returns an instance and those around it, from the inside to the outside.
    fn outward(&self, instance: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(instance), |instance| self.instances[*instance as usize])
    }

    /// Reports whether an instance is the other one, or contains it.
    pub fn is_around(&self, outer: u32, inner: u32) -> bool {
        self.outward(inner).any(|instance| instance == outer)
    }

    /// Reports whether neither of two instances is or contains the other.
    pub fn are_apart(&self, one: u32, other: u32) -> bool {
        !self.is_around(one, other) && !self.is_around(other, one)
    }

    /// Returns the instances that a call enters: the callee's and those around it, but for those in which the caller
    /// is already.
    pub fn entered(&self, callee: u32, caller: Option<u32>) -> impl Iterator<Item = u32> {
        let is_inside = move |instance: &u32| caller.is_some_and(|caller| self.is_around(*instance, caller));
        self.outward(callee).take_while(move |instance| !is_inside(instance))
    }
}

/// Returns the item with a name, or else that with the highest compatible version.
pub fn find<'p, I>(exports: &'p [(String, I)], name: &str) -> Option<&'p I> {
    let exact = |name: &str| exports.iter().find(|(exported, _)| exported == name);
    let compatible = || exact(highest(name, exports.iter().map(|(exported, _)| &**exported))?);
    exact(name).or_else(compatible).map(|(_, export)| export)
}

/// An item that the host must provide.
#[derive(Debug)]
pub struct Import {
    /// The names of the instances around it, and its own name.
    pub path: Vec<String>,
    pub item: Imported,
}

#[derive(Debug)]
pub enum Imported {
    Func(Arc<FuncType>),
    /// The number of the resource.
    Resource(u32),
    Module(ModuleType),
}

/// What a component expects of a core module that it imports.
#[derive(Debug, Default)]
pub struct ModuleType {
    /// What it may import, by the names of the module and of the item.
    pub imports: Vec<(String, String, ExternType)>,
    /// What it must export, in the order of the names.
    pub exports: Vec<(String, ExternType)>,
}

impl ModuleType {
    /// Returns the type of an export.
    pub fn export(&self, name: &str) -> Option<&ExternType> {
        let found = self.exports.binary_search_by(|(exported, _)| (**exported).cmp(name)).ok()?;
        Some(&self.exports[found].1)
    }

    /// Returns the number of an import.
    pub fn import(&self, module: &str, name: &str) -> Option<usize> {
        self.imports.iter().position(|(of, known, _)| (&**of, &**known) == (module, name))
    }
}

/// Where a core module comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleSource {
    /// Its index in [`Plan::modules`].
    Own(u32),
    /// Its index in [`Plan::imports`].
    Imported(u32),
}

/// A step of the instantiation.
#[derive(Debug)]
pub enum Step {
    /// Instantiates a core module as the next core instance.
    Instantiate { module: u32, imports: Vec<CoreItem> },
    /// Instantiates an imported core module as the next core instance. The items are those that its type imports, in
    /// the same order.
    InstantiateImported { import: u32, items: Vec<CoreItem> },
    /// Creates the memory of the bridge.
    Bridge,
    /// Creates a host function.
    Trampoline(u32),
    /// Instantiates adapters, in place of host functions.
    Adapters(u32),
    /// Looks up the destructor of a resource.
    Destructor(u32),
}

/// A core module of ours that calls functions of components for others: see `fuse`.
#[derive(Debug)]
pub struct Adapters {
    pub module: Module,
    /// What it imports, in order.
    pub imports: Vec<AdapterImport>,
    /// The trampolines that its functions stand for. Each is exported by its number here.
    pub trampolines: Vec<u32>,
}

/// What adapters import.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AdapterImport {
    /// The function that traps.
    Fail,
    /// The function that traps unless text in a memory is UTF-8.
    CheckText(CoreItem),
    /// A function or memory of a core instance.
    Item(CoreItem),
    /// The flags of a component instance.
    Flags(u32),
}

/// An item of a core instance, or a trampoline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CoreItem {
    Export { instance: u32, name: Arc<str> },
    Trampoline(u32),
    BridgeMemory,
    BridgeRealloc,
}

/// A core function that the host creates.
#[derive(Debug)]
pub enum Trampoline {
    Lower { func: Target, ty: Arc<FuncType>, options: Options },
    ResourceNew { resource: u32, instance: u32 },
    ResourceDrop { resource: u32, instance: u32 },
    ResourceRep { resource: u32, instance: u32 },
}

/// A function of the component model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Its index in [`Plan::lifted`].
    Lifted(u32),
    /// Its index in [`Plan::imports`].
    Imported(u32),
}

/// A core function that implements a function of the component model.
#[derive(Debug)]
pub struct Lifted {
    /// The name by which another component or the host knows it, if any does: `name`, or `instance#name`.
    pub name: Option<String>,
    pub func: CoreItem,
    pub ty: Arc<FuncType>,
    pub options: Options,
}

impl Lifted {
    /// Returns the name, or the number if there is none.
    pub fn shown(&self, index: u32) -> String {
        self.name.clone().unwrap_or_else(|| format!("function {index}"))
    }
}

/// The options of the canonical ABI.
#[derive(Clone, Debug)]
pub struct Options {
    /// The component instance that they belong to.
    pub instance: u32,
    pub encoding: Encoding,
    pub memory: Option<CoreItem>,
    pub realloc: Option<CoreItem>,
    pub post_return: Option<CoreItem>,
}

/// The encoding of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    /// Latin-1, or UTF-16 if the tag bit of the length is set.
    Latin1OrUtf16,
}

#[derive(Debug)]
pub struct Resource {
    /// The component instance that defines it; `None` if the host does.
    pub owner: Option<u32>,
    pub destructor: Option<CoreItem>,
    /// What stands for it in the component's type: each instance has a type of its own.
    pub ty: ResourceType,
}

/// An export of the component.
#[derive(Clone, Debug)]
pub enum Export {
    /// The index of a function in [`Plan::lifted`].
    Func(u32, Arc<FuncType>),
    Module(ModuleSource),
    Instance(Vec<(String, Export)>),
}
