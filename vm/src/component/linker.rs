//! Linkers of components: find imports by name.

mod import_stubs;
mod modules;

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::awaited;
use super::component::Component;
use super::host_func::HostFunc;
use super::instance::Instance;
use super::instance_pre::{Destructor, Given, InstancePre};
use super::plan::{Imported, Plan};
use super::resource::ResourceType;
use super::typed::{Params, Results};
use super::val::Val;
use super::versions::highest;
use crate::store::StoreContextMut;
use crate::{AsContextMut, Engine, Error, ErrorKind, Module, Result};

/// Definitions of components' imports.
///
/// An import `pkg:name/interface@0.2.5` also matches a definition `@0.2.0`, or any version with the same first two
/// numbers: if that very version is not defined, the highest of them.
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
    pub fn instantiate(&self, store: impl AsContextMut<Data = T>, component: &Component) -> Result<Instance> {
        self.instantiate_pre(component)?.instantiate(store)
    }

    /// Instantiates a component as a future, in which start functions may wait: see
    /// [`Func::call_async`](super::Func::call_async).
    ///
    /// # Errors
    /// Fails as [`Linker::instantiate`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`Linker::instantiate`] does, when it is polled.
    pub fn instantiate_async<'a, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        component: &Component,
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S>
    where
        T: Send,
    {
        let (pre, store) = (self.instantiate_pre(component), store.into());
        async move { pre?.instantiate_async(store).await }
    }

    /// Finds the imports of a component by name and checks their types once, for many instantiations. Later definitions do
    /// not affect the result.
    ///
    /// # Errors
    /// Fails if imports are missing (the error lists all of them) or do not fit.
    pub fn instantiate_pre(&self, component: &Component) -> Result<InstancePre<T>> {
        let plan = component.plan();
        self.check_imports(plan)?;
        self.check_modules(plan)?;
        let given = plan.imports.iter().filter_map(|import| match self.find(&import.path)? {
            Definition::Func(func) => Some(Given::Func(func.clone())),
            Definition::Resource(ty, destructor) => Some(Given::Resource(ty.clone(), destructor.clone())),
            Definition::Module(module) => Some(Given::Module(module.clone())),
            Definition::Instance(_) => None,
        });
        let pre = InstancePre::new(component, given.collect());
        self.check_types(plan, &pre.resources())?;
        Ok(pre)
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
        highest(name, self.0.keys().map(String::as_str))
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

    /// Defines an async function of any type, as [`LinkerInstance::func_wrap_async`] does, from a closure that takes
    /// arguments and must store the result, if there is one.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_new_async(
        &mut self,
        name: &str,
        func: impl for<'f> Fn(
            StoreContextMut<'f, T>,
            &'f [Val],
            &'f mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'f>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        self.insert(name, Definition::Func(awaited::dynamic(Box::new(func))))
    }

    /// Defines an async function with a static type, from a closure that returns a boxed future. Only components in a call
    /// that is awaited ([`Func::call_async`](super::Func::call_async)) may call it, without a synchronous call in between;
    /// any other call is an error. For the component it is a function like others: it waits until the future is ready.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_wrap_async<P: Params + Send, R: Results>(
        &mut self,
        name: &str,
        func: impl for<'f> Fn(StoreContextMut<'f, T>, P) -> Box<dyn Future<Output = Result<R>> + Send + 'f>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        self.insert(name, Definition::Func(awaited::typed(Box::new(func))))
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
