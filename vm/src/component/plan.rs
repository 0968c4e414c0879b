//! The plan for instantiating a component: a flat list of steps over core modules, without nested components.

use std::sync::Arc;

use super::types::FuncType;
use crate::Module;

/// A component as a list of steps.
#[derive(Debug, Default)]
pub struct Plan {
    /// All core modules, in the order of the file.
    pub modules: Vec<Module>,
    pub imports: Vec<Import>,
    pub steps: Vec<Step>,
    pub lifted: Vec<Lifted>,
    pub trampolines: Vec<Trampoline>,
    pub resources: Vec<Resource>,
    /// Number of component instances, including nested ones and the outermost: each has its own handles.
    pub instances: u32,
    pub exports: Vec<(String, Export)>,
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
}

/// A step of the instantiation.
#[derive(Debug)]
pub enum Step {
    /// Instantiates a core module as the next core instance.
    Instantiate { module: u32, imports: Vec<CoreItem> },
    /// Creates a host function.
    Trampoline(u32),
    /// Looks up the destructor of a resource.
    Destructor(u32),
}

/// An item of a core instance, or a trampoline.
#[derive(Clone, Debug)]
pub enum CoreItem {
    Export { instance: u32, name: Arc<str> },
    Trampoline(u32),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Its index in [`Plan::lifted`].
    Lifted(u32),
    /// Its index in [`Plan::imports`].
    Imported(u32),
}

/// A core function that implements a function of the component model.
#[derive(Debug)]
pub struct Lifted {
    pub func: CoreItem,
    pub ty: Arc<FuncType>,
    pub options: Options,
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
}

/// An export of the component.
#[derive(Clone, Debug)]
pub enum Export {
    Func(Target, Arc<FuncType>),
    Instance(Vec<(String, Export)>),
}
