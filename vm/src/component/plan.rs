//! What is to be done to instantiate a component: a flat list over core modules, as nested components are gone.

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
    /// How many instances of components there are, nested ones and this itself: each has its own handles.
    pub instances: u32,
    pub exports: Vec<(String, Export)>,
}

/// What the host must have.
#[derive(Debug)]
pub struct Import {
    /// Names of instances around it, and its own.
    pub path: Vec<String>,
    pub item: Imported,
}

#[derive(Debug)]
pub enum Imported {
    Func(Arc<FuncType>),
    /// The resource with this number.
    Resource(u32),
}

/// One thing to do.
#[derive(Debug)]
pub enum Step {
    /// Instantiates a core module: the next core instance.
    Instantiate { module: u32, imports: Vec<CoreItem> },
    /// Makes a function of the host's.
    Trampoline(u32),
    /// Finds the destructor of a resource.
    Destructor(u32),
}

/// Something in a core instance, or a function that we make.
#[derive(Clone, Debug)]
pub enum CoreItem {
    Export { instance: u32, name: Arc<str> },
    Trampoline(u32),
}

/// A core function that we make.
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
    /// By its number in [`Plan::lifted`].
    Lifted(u32),
    /// By its number in [`Plan::imports`].
    Imported(u32),
}

/// A core function that is one of the component model's.
#[derive(Debug)]
pub struct Lifted {
    pub func: CoreItem,
    pub ty: Arc<FuncType>,
    pub options: Options,
}

/// How values are passed.
#[derive(Clone, Debug)]
pub struct Options {
    /// The instance of a component that it belongs to.
    pub instance: u32,
    pub encoding: Encoding,
    pub memory: Option<CoreItem>,
    pub realloc: Option<CoreItem>,
    pub post_return: Option<CoreItem>,
}

/// How strings are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    /// Latin-1, or UTF-16 if a bit of the length says so.
    Latin1OrUtf16,
}

#[derive(Debug)]
pub struct Resource {
    /// The instance of a component that defines it; none if the host does.
    pub owner: Option<u32>,
    pub destructor: Option<CoreItem>,
}

/// What the component exports.
#[derive(Clone, Debug)]
pub enum Export {
    Func(Target, Arc<FuncType>),
    Instance(Vec<(String, Export)>),
}
