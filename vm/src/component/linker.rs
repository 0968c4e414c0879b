//! Linkers of components: find imports by name.

mod adapters;
mod modules;
mod stubs;

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::bridge::Bridge;
use super::component::Component;
use super::host_func::HostFunc;
use super::instance::Instance;
use super::plan::{Imported, Plan, Step, Target, Trampoline};
use super::resource::ResourceType;
use super::state::State;
use super::trampoline::{Callee, OWN, lowered, resource_drop, resource_new, resource_rep};
use super::typed::{Params, Results};
use super::val::Val;
use super::versions::compatible;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Engine, Error, ErrorKind, Func, Module, Result, ValType};

/// The destructor that runs when an owned host resource is dropped.
type Destructor<T> = dyn Fn(StoreContextMut<'_, T>, u32) -> Result<()> + Send + Sync + 'static;

/// Definitions of components' imports.
///
/// An import `pkg:name/interface@0.2.5` also matches a definition `@0.2.0`, or any version with the same first two
/// numbers.
pub struct Linker<T: 'static> {
    engine: Engine,
    shadowing: bool,
    root: Names<T>,
}

struct Names<T: 'static>(HashMap<String, Definition<T>>);

enum Definition<T: 'static> {
    Func(HostFunc<T>),
    Resource(ResourceType, Arc<Destructor<T>>),
    Module(Module),
    Instance(Names<T>),
}

/// The names in an imported instance, or those outside of any.
pub struct LinkerInstance<'a, T: 'static> {
    shadowing: bool,
    names: &'a mut Names<T>,
}

impl<T: 'static> Linker<T> {
    /// Creates a linker without definitions.
    pub fn new(engine: &Engine) -> Linker<T> {
        Linker { engine: engine.clone(), shadowing: false, root: Names(HashMap::new()) }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Sets whether a name may be defined again (default: no).
    pub fn allow_shadowing(&mut self, allow: bool) -> &mut Self {
        self.shadowing = allow;
        self
    }

    /// Returns the names of top-level imports.
    pub fn root(&mut self) -> LinkerInstance<'_, T> {
        LinkerInstance { shadowing: self.shadowing, names: &mut self.root }
    }

    /// Returns the names in an imported instance, such as `wasi:cli/stdout@0.2.0`. Creates it if necessary.
    ///
    /// # Errors
    /// Fails if the name belongs to another kind of item.
    pub fn instance(&mut self, name: &str) -> Result<LinkerInstance<'_, T>> {
        self.root().into_instance(name)
    }

    /// Instantiates a component and runs the start functions of its core modules.
    ///
    /// # Errors
    /// Fails if imports are missing (the error lists all of them) or do not fit, a limit is reached, or a start
    /// function fails.
    ///
    /// # Panics
    /// Panics if the component belongs to another engine than the store.
    pub fn instantiate(
        &self,
        mut store: impl AsContextMut<Data = T>,
        component: &Component,
    ) -> Result<Instance> {
        let plan = component.plan();
        self.check_imports(plan)?;
        let resources = self.resources(plan);
        self.check_types(plan, &resources)?;
        let modules = self.modules(plan)?;
        let mut store = store.as_context_mut();
        let state = State::new(&mut store.0.opaque, component, resources, modules);
        self.place_destructors(&mut store, &state, plan);
        for step in &plan.steps {
            self.carry_out(&mut store, &state, step)?;
        }
        Ok(Instance(state))
    }

    fn check_imports(&self, plan: &Plan) -> Result<()> {
        let fits = |import: &&super::plan::Import| match import.item {
            Imported::Func(_) => matches!(self.find(&import.path), Some(Definition::Func(_))),
            Imported::Resource(_) => matches!(self.find(&import.path), Some(Definition::Resource(..))),
            Imported::Module(_) => matches!(self.find(&import.path), Some(Definition::Module(_))),
        };
        let described = |import: &super::plan::Import| match &import.item {
            Imported::Func(ty) => format!("`{}` ({ty})", import.path.join("#")),
            Imported::Resource(_) => format!("`{}` (resource)", import.path.join("#")),
            Imported::Module(_) => format!("`{}` (core module)", import.path.join("#")),
        };
        let missing: Vec<String> = plan.imports.iter().filter(|i| !fits(i)).map(described).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let plural = if missing.len() == 1 { "" } else { "s" };
        let list = missing.join(", ");
        let message =
            format!("unknown import{plural}: {list} not defined: define it in the component's linker");
        Err(Error::new(ErrorKind::Link, message))
    }

    /// Fails unless statically typed host functions match the types of their imports.
    fn check_types(&self, plan: &Plan, resources: &[ResourceType]) -> Result<()> {
        for import in &plan.imports {
            if let (Imported::Func(ty), Some(Definition::Func(func))) =
                (&import.item, self.find(&import.path))
            {
                let name = || format!("import `{}` has another type", import.path.join("#"));
                func.check(ty, resources).map_err(|error| error.context(name()))?;
            }
        }
        Ok(())
    }

    /// Returns the types of the plan's resources: the host's, and new ones.
    fn resources(&self, plan: &Plan) -> Vec<ResourceType> {
        let mut all: Vec<ResourceType> = (0..plan.resources.len())
            .map(|index| ResourceType::named(&format!("resource {index}")))
            .collect();
        for import in &plan.imports {
            if let (Imported::Resource(index), Some(Definition::Resource(ty, _))) =
                (&import.item, self.find(&import.path))
            {
                all[*index as usize] = ty.clone();
            }
        }
        all
    }

    fn place_destructors(&self, store: &mut StoreContextMut<'_, T>, state: &State, plan: &Plan) {
        for import in &plan.imports {
            if let (Imported::Resource(index), Some(Definition::Resource(_, destructor))) =
                (&import.item, self.find(&import.path))
            {
                let destructor = destructor.clone();
                let ty = crate::FuncType::new([ValType::I32], []);
                let func = Func::new(&mut *store, ty, move |mut caller, params, _| {
                    destructor(caller.as_context_mut(), super::call::bits(&params[0]) as u32)
                });
                state.set_destructor(*index, func);
            }
        }
    }

    fn carry_out(&self, store: &mut StoreContextMut<'_, T>, state: &Arc<State>, step: &Step) -> Result<()> {
        let plan = state.component.plan();
        match step {
            Step::Instantiate { module, imports } => {
                let imports =
                    imports.iter().map(|item| state.find(store, item)).collect::<Result<Vec<_>>>()?;
                let module = &plan.modules[*module as usize];
                state.add_core_instance(crate::Instance::new(store, module, &imports)?);
            }
            Step::InstantiateImported { import, items } => {
                let items = items.iter().map(|item| state.find(store, item)).collect::<Result<Vec<_>>>()?;
                let instance = modules::instantiate(store, state, *import, &items)?;
                state.add_core_instance(instance);
            }
            Step::Bridge => state.set_bridge(Bridge::new(store)?),
            Step::Destructor(resource) => {
                if let Some(destructor) = &plan.resources[*resource as usize].destructor {
                    state.set_destructor(*resource, state.find_func(store, destructor)?);
                }
            }
            Step::Trampoline(index) => state.set_trampoline(*index, self.trampoline(store, state, *index)?),
            Step::Adapters(index) => Self::place_adapters(store, state, &plan.adapters[*index as usize])?,
        }
        Ok(())
    }

    /// Creates the host function of a trampoline.
    fn trampoline(&self, store: &mut StoreContextMut<'_, T>, state: &Arc<State>, index: u32) -> Result<Func> {
        let plan = state.component.plan();
        Ok(match &plan.trampolines[index as usize] {
            Trampoline::Lower { func, ty, options } => {
                let options = state.options(store, options)?;
                let (callee, name) = (self.callee(plan, *func)?, function_name(plan, *func));
                lowered(store, state, (ty.clone(), options), (callee, (name.0, &name.1)))
            }
            &Trampoline::ResourceNew { resource, instance } => {
                resource_new(store, state, (resource, instance))
            }
            &Trampoline::ResourceDrop { resource, instance } => {
                let (interface, name) = resource_name(plan, resource);
                let name = format!("[resource-drop]{name}");
                resource_drop(store, state, (resource, instance), (interface, &name))
            }
            &Trampoline::ResourceRep { resource, instance } => {
                resource_rep(store, state, (resource, instance))
            }
        })
    }

    fn callee(&self, plan: &Plan, target: Target) -> Result<Callee<T>> {
        match target {
            Target::Lifted(index) => Ok(Callee::Lifted(index)),
            Target::Imported(index) => match self.find(&plan.imports[index as usize].path) {
                Some(Definition::Func(func)) => Ok(Callee::Host(func.clone())),
                _ => Err(Error::new(ErrorKind::Link, "an import is not defined")),
            },
        }
    }

    fn find(&self, path: &[String]) -> Option<&Definition<T>> {
        let (last, instances) = path.split_last()?;
        let mut names = &self.root;
        for instance in instances {
            let Definition::Instance(inner) = names.find(instance)? else { return None };
            names = inner;
        }
        names.find(last)
    }
}

impl<T: 'static> Names<T> {
    fn find(&self, name: &str) -> Option<&Definition<T>> {
        self.0.get(name).or_else(|| self.0.get(self.known(name)?))
    }

    /// Returns the defined name that matches a name.
    fn known(&self, name: &str) -> Option<&str> {
        if let Some((known, _)) = self.0.get_key_value(name) {
            return Some(known);
        }
        let wanted = compatible(name)?;
        self.0.keys().map(String::as_str).find(|defined| compatible(defined) == Some(wanted))
    }
}

/// Returns the interface and the name of a function, for profiles.
fn function_name(plan: &Plan, target: Target) -> (&str, String) {
    match target {
        Target::Imported(index) => {
            let (interface, name) = name_of(&plan.imports[index as usize].path);
            (interface, name.to_owned())
        }
        Target::Lifted(index) => (OWN, plan.lifted[index as usize].shown(index)),
    }
}

/// Returns the interface and the name of a resource, for profiles.
fn resource_name(plan: &Plan, resource: u32) -> (&str, &str) {
    let is_it = |item: &Imported| matches!(item, Imported::Resource(index) if *index == resource);
    let import = plan.imports.iter().find(|import| is_it(&import.item));
    import.map_or((OWN, "resource"), |import| name_of(&import.path))
}

fn name_of(path: &[String]) -> (&str, &str) {
    match path {
        [.., interface, name] => (interface, name),
        [name] => (OWN, name),
        [] => (OWN, ""),
    }
}

impl<'a, T: 'static> LinkerInstance<'a, T> {
    /// Defines a function. The closure takes arguments of the imported parameter types, and must store a result of the
    /// result type, if there is one.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_new(
        &mut self,
        name: &str,
        func: impl Fn(StoreContextMut<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.insert(name, Definition::Func(HostFunc::dynamic(func)))
    }

    /// Defines a function with a static type: from a tuple of parameters to `()` or `(R,)`. Instantiation checks
    /// whether a component imports it with that type.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_wrap<P: Params, R: Results>(
        &mut self,
        name: &str,
        func: impl Fn(StoreContextMut<'_, T>, P) -> Result<R> + Send + Sync + 'static,
    ) -> Result<()> {
        self.insert(name, Definition::Func(HostFunc::typed(func)))
    }

    /// Defines a host resource. The closure takes a resource's representation number when a component drops it.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn resource(
        &mut self,
        name: &str,
        ty: ResourceType,
        destructor: impl Fn(StoreContextMut<'_, T>, u32) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.insert(name, Definition::Resource(ty, Arc::new(destructor)))
    }

    /// Defines a core module. Instantiation checks whether it has what a component expects of it.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn module(&mut self, name: &str, module: &Module) -> Result<()> {
        self.insert(name, Definition::Module(module.clone()))
    }

    /// Returns the names in an instance within this one.
    ///
    /// # Errors
    /// Fails if the name belongs to another kind of item.
    pub fn instance(&mut self, name: &str) -> Result<LinkerInstance<'_, T>> {
        LinkerInstance { shadowing: self.shadowing, names: self.names }.into_instance(name)
    }

    fn into_instance(self, name: &str) -> Result<LinkerInstance<'a, T>> {
        let new = || Definition::Instance(Names(HashMap::new()));
        match self.names.0.entry_ref(name).or_insert_with(new) {
            Definition::Instance(names) => Ok(LinkerInstance { shadowing: self.shadowing, names }),
            _ => Err(taken(name)),
        }
    }

    fn insert(&mut self, name: &str, definition: Definition<T>) -> Result<()> {
        match self.names.0.entry(name.to_owned()) {
            Entry::Occupied(_) if !self.shadowing => Err(taken(name)),
            entry => {
                entry.insert(definition);
                Ok(())
            }
        }
    }
}

fn taken(name: &str) -> Error {
    Error::new(ErrorKind::Link, format_args!("`{name}` is defined already: see Linker::allow_shadowing"))
}

impl<T: 'static> fmt::Debug for Linker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linker").field("names", &self.root.0.keys()).finish_non_exhaustive()
    }
}

impl<T: 'static> fmt::Debug for LinkerInstance<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkerInstance").field("names", &self.names.0.keys()).finish_non_exhaustive()
    }
}
