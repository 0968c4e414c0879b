//! Linkers: find imports by name.

use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::caller::Caller;
use crate::func::{self, HostFunc, IntoFunc};
use crate::runtime::control::host;
use crate::store::StoreContextMut;
use crate::{AsContext, AsContextMut, Engine, Error, ErrorKind, Extern, ExternType, Func, FuncType};
use crate::{Instance, Memory, Module, Result, SharedMemory, Trap, Val, WasmResults, WasmRet};

/// Names for things to be imported. Host functions defined here belong to no store: they are put into a store when
/// an instance there imports them.
pub struct Linker<T: 'static> {
    engine: Engine,
    shadowing: bool,
    modules: HashMap<String, HashMap<String, Definition<T>>>,
}

/// What a name stands for.
pub(crate) enum Definition<T: 'static> {
    /// Something in a store, of this type when it was named. It can only grow.
    Extern(Extern, ExternType),
    Host(Arc<HostFunc<T>>),
    Shared(SharedMemory),
}

impl<T: 'static> Definition<T> {
    /// Its type.
    pub(crate) fn ty(&self) -> ExternType {
        match self {
            Definition::Extern(_, ty) => ty.clone(),
            Definition::Host(func) => ExternType::Func(func.ty.clone()),
            Definition::Shared(memory) => ExternType::Memory(memory.ty()),
        }
    }
}

impl<T> Clone for Definition<T> {
    fn clone(&self) -> Self {
        match self {
            Definition::Extern(e, ty) => Definition::Extern(*e, ty.clone()),
            Definition::Host(f) => Definition::Host(f.clone()),
            Definition::Shared(memory) => Definition::Shared(memory.clone()),
        }
    }
}

impl<T: 'static> Clone for Linker<T> {
    fn clone(&self) -> Self {
        Linker { engine: self.engine.clone(), shadowing: self.shadowing, modules: self.modules.clone() }
    }
}

impl<T: 'static> std::fmt::Debug for Linker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linker").field("modules", &self.modules.keys()).finish_non_exhaustive()
    }
}

impl<T: 'static> Linker<T> {
    /// A linker without names.
    pub fn new(engine: &Engine) -> Linker<T> {
        Linker { engine: engine.clone(), shadowing: false, modules: HashMap::new() }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether a name may be defined again (default: no).
    pub fn allow_shadowing(&mut self, allow: bool) -> &mut Self {
        self.shadowing = allow;
        self
    }

    /// Names something that is in a store; the linker can then be used with that store only.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn define(
        &mut self,
        store: impl AsContext<Data = T>,
        module: &str,
        name: &str,
        item: impl Into<Extern>,
    ) -> Result<&mut Self> {
        let item = item.into();
        self.insert(module, name, Definition::Extern(item, item.ty(store)))
    }

    /// Names a memory that is shared: each store in which an instance imports it has it then.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn define_shared_memory(
        &mut self,
        module: &str,
        name: &str,
        memory: &SharedMemory,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Shared(memory.clone()))
    }

    /// Names a host function whose type follows from the closure's.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn func_wrap<P, R>(
        &mut self,
        module: &str,
        name: &str,
        func: impl IntoFunc<T, P, R>,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func.into_func())))
    }

    /// Names a host function of type `ty`, which passes the same values as the closure's type but says more about them.
    ///
    /// # Errors
    /// If the name is taken.
    pub(crate) fn wrap_as<P, R>(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl IntoFunc<T, P, R>,
    ) -> Result<&mut Self> {
        let func = HostFunc { ty, ..func.into_func() };
        self.insert(module, name, Definition::Host(Arc::new(func)))
    }

    /// Names a host function that is awaited, of a closure that gets the [`Caller`] and a value or tuple of arguments, and gives a boxed
    /// future. It may only be called by wasm code that runs in a [`TypedFunc::call_async`](crate::TypedFunc::call_async), with
    /// no call in between that is not async; else it is an error.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn func_wrap_async<P: WasmResults, R: WasmRet + 'static>(
        &mut self,
        module: &str,
        name: &str,
        func: impl for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a> + Send + Sync + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::awaited(Box::new(func)))))
    }

    /// Names a host function of type `ty`.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn func_new(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::dynamic(ty, func))))
    }

    /// Names a host function of type `ty` that is awaited: as [`Linker::func_wrap_async`], of a closure that gets the arguments
    /// and must leave results of these types.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn func_new_async(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl for<'a> Fn(
            Caller<'a, T>,
            &'a [Val],
            &'a mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>
        + Send
        + Sync
        + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::dynamic_awaited(ty, Box::new(func)))))
    }

    /// Names all exports of an instance.
    ///
    /// # Errors
    /// If a name is taken.
    pub fn instance(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        instance: Instance,
    ) -> Result<&mut Self> {
        let context = store.as_context_mut();
        let exports: Vec<_> =
            instance.exports(&context).map(|e| (e.name().to_string(), e.into_extern())).collect();
        for (name, item) in exports {
            let ty = item.ty(&context);
            self.insert(module, &name, Definition::Extern(item, ty))?;
        }
        Ok(self)
    }

    /// Gives what is named `module.name` another name.
    ///
    /// # Errors
    /// If the old name is not defined, or the new one is taken.
    pub fn alias(&mut self, module: &str, name: &str, as_module: &str, as_name: &str) -> Result<&mut Self> {
        let unknown = || Error::new(ErrorKind::Link, format_args!("`{module}::{name}` is not defined"));
        let definition = self.find(module, name).cloned().ok_or_else(unknown)?;
        self.insert(as_module, as_name, definition)
    }

    /// Defines each import of `module` that has no definition as a function that traps.
    ///
    /// # Errors
    /// If an import without a definition is no function.
    pub fn define_unknown_imports_as_traps(&mut self, module: &Module) -> Result<()> {
        for import in module.imports() {
            if self.find(import.module(), import.name()).is_some() {
                continue;
            }
            let ExternType::Func(ty) = import.ty() else {
                return Err(unknown(&[describe(&import)]));
            };
            let name = describe(&import);
            self.func_new(import.module(), import.name(), ty, move |_, _, _| {
                Err(Error::from(Trap::UnreachableCodeReached)
                    .context(format_args!("unknown import {name} called")))
            })?;
        }
        Ok(())
    }

    /// What is named `module.name`.
    pub fn get(&self, mut store: impl AsContextMut<Data = T>, module: &str, name: &str) -> Option<Extern> {
        let definition = self.find(module, name)?;
        place(&mut store.as_context_mut(), definition, module, name).ok()
    }

    /// Instantiates `module` with imports by name, and runs its start function.
    ///
    /// # Errors
    /// If imports are missing (all of them are listed), and as [`Instance::new`].
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>, module: &Module) -> Result<Instance> {
        let mut context = store.as_context_mut();
        let imports = self.imports_of(module, &mut context)?;
        Instance::new(context, module, &imports)
    }

    /// The same as a future, in which the start function may wait: see
    /// [`TypedFunc::call_async`](crate::TypedFunc::call_async).
    ///
    /// # Errors
    /// As [`Linker::instantiate`], and if the system has no memory for a stack.
    pub fn instantiate_async<'a, S: Into<StoreContextMut<'a, T>>>(
        &'a self,
        store: S,
        module: &'a Module,
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S>
    where
        T: Send,
    {
        let mut context = store.into();
        let imports = self.imports_of(module, &mut context);
        async move {
            let imports = imports?;
            Instance::new_async(context, module, &imports).await
        }
    }

    /// What a module imports, in a store.
    fn imports_of(&self, module: &Module, context: &mut StoreContextMut<'_, T>) -> Result<Vec<Extern>> {
        self.check_defined(module)?;
        module
            .imports()
            .map(|i| {
                let definition = self.find(i.module(), i.name()).expect("none is missing");
                place(context, definition, i.module(), i.name())
            })
            .collect()
    }

    /// All that is named, with module and name, in no particular order.
    ///
    /// # Panics
    /// If the system has no memory for a host function in the store.
    pub fn iter<'a>(
        &'a self,
        mut store: impl AsContextMut<Data = T> + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a str, Extern)> + 'a {
        let names = self.modules.iter().flat_map(|(module, names)| names.iter().map(move |n| (module, n)));
        names.map(move |(module, (name, definition))| {
            let item = place(&mut store.as_context_mut(), definition, module, name);
            (module.as_str(), name.as_str(), item.expect("memory for a stub"))
        })
    }

    /// Checks that all imports of a module are defined.
    ///
    /// # Errors
    /// If some are not: it lists them.
    pub(crate) fn check_defined(&self, module: &Module) -> Result<()> {
        let missing: Vec<String> = module
            .imports()
            .filter(|i| self.find(i.module(), i.name()).is_none())
            .map(|import| describe(&import))
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(unknown(&missing)) }
    }

    /// What is named so.
    pub(crate) fn find(&self, module: &str, name: &str) -> Option<&Definition<T>> {
        self.modules.get(module)?.get(name)
    }

    fn insert(&mut self, module: &str, name: &str, definition: Definition<T>) -> Result<&mut Self> {
        match self.modules.entry_ref(module).or_default().entry(name.to_string()) {
            Entry::Occupied(_) if !self.shadowing => {
                let message = format!("`{module}::{name}` is defined already: see Linker::allow_shadowing");
                return Err(Error::new(ErrorKind::Link, message));
            }
            entry => entry.insert(definition),
        };
        Ok(self)
    }
}

/// Puts a definition into a store, if it is not there yet.
pub(crate) fn place<T: 'static>(
    context: &mut StoreContextMut<'_, T>,
    definition: &Definition<T>,
    module: &str,
    name: &str,
) -> Result<Extern> {
    match definition {
        Definition::Extern(item, _) => Ok(*item),
        Definition::Shared(memory) => Memory::from_shared(context, memory).map(Extern::Memory),
        Definition::Host(func) => {
            let func = host::add(context.0, func, Some((module.to_string(), name.to_string())))?;
            Ok(Extern::Func(Func(func)))
        }
    }
}

fn describe(import: &crate::ImportType<'_>) -> String {
    format!("`{}::{}` ({})", import.module(), import.name(), import.ty())
}

fn unknown(imports: &[String]) -> Error {
    let plural = if imports.len() == 1 { "" } else { "s" };
    let list = imports.join(", ");
    Error::new(
        ErrorKind::Link,
        format_args!("unknown import{plural}: {list} not defined: define it in the linker"),
    )
}
