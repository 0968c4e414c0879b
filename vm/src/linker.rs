//! Linkers: find imports by name.

use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::caller::Caller;
use crate::func::{self, HostFunc, IntoFunc};
use crate::runtime::control::host_calls;
use crate::store::StoreContextMut;
use crate::{AsContext, AsContextMut, Engine, Error, ErrorKind, Extern, ExternType, Func, FuncType};
use crate::{Instance, Memory, Module, Result, SharedMemory, Trap, Val, ValRaw, WasmResults, WasmRet};

/// Names of importable items. Host functions defined here belong to no store: instantiating an importer adds them to
/// its store. Threads may share a linker; each instantiates in its own stores. Instantiating looks each import up and
/// checks its type: [`Linker::instantiate_pre`] does so once for many instances. Cloning a linker copies its names.
pub struct Linker<T: 'static> {
    engine: Engine,
    shadowing: bool,
    modules: HashMap<String, HashMap<String, Definition<T>>>,
}

/// The definition of a name.
pub(crate) enum Definition<T: 'static> {
    /// An item in a store, with its type when it was defined. The item can only grow.
    Extern(Extern, ExternType),
    Host(Arc<HostFunc<T>>),
    Shared(SharedMemory),
}

impl<T: 'static> Definition<T> {
    /// Returns the type of the definition.
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
    /// Creates a linker without definitions.
    pub fn new(engine: &Engine) -> Linker<T> {
        Linker { engine: engine.clone(), shadowing: false, modules: HashMap::new() }
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

    /// Defines a name for an item in a store; the linker can then be used with that store only.
    ///
    /// # Errors
    /// Fails if the name is taken.
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

    /// Defines a shared memory: every store in which an instance imports it then has it.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn define_shared_memory(
        &mut self,
        module: &str,
        name: &str,
        memory: &SharedMemory,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Shared(memory.clone()))
    }

    /// Defines a host function whose type follows from the closure's.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_wrap<P, R>(
        &mut self,
        module: &str,
        name: &str,
        func: impl IntoFunc<T, P, R>,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func.into_func())))
    }

    /// Defines a host function of type `ty`, which has the same representation as the closure's type but is more
    /// specific.
    ///
    /// # Errors
    /// Fails if the name is taken.
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

    /// Defines an async host function from a closure that takes the [`Caller`] and a value or tuple of arguments, and
    /// returns a boxed future. Only wasm code in a [`TypedFunc::call_async`](crate::TypedFunc::call_async) may call it,
    /// without a synchronous call in between; any other call is an error.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_wrap_async<P: WasmResults, R: WasmRet + 'static>(
        &mut self,
        module: &str,
        name: &str,
        func: impl for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a> + Send + Sync + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::awaited(Box::new(func)))))
    }

    /// Defines a host function of type `ty`.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn func_new(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::dynamic(ty, func))))
    }

    /// Defines a host function of type `ty` that gets its arguments, and stores its results, without their types: see
    /// [`Func::new_unchecked`](crate::Func::new_unchecked).
    ///
    /// # Errors
    /// Fails if the name is taken.
    ///
    /// # Safety
    /// As [`Func::new_unchecked`](crate::Func::new_unchecked).
    #[expect(unsafe_code, reason = "the caller vouches for the results")]
    pub unsafe fn func_new_unchecked(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &mut [ValRaw]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<&mut Self> {
        self.insert(module, name, Definition::Host(Arc::new(func::unchecked(ty, func))))
    }

    /// Defines an async host function of type `ty`, as [`Linker::func_wrap_async`] does, from a closure that takes
    /// arguments and must store results of these types.
    ///
    /// # Errors
    /// Fails if the name is taken.
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

    /// Defines all exports of an instance.
    ///
    /// # Errors
    /// Fails if a name is taken.
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

    /// Defines another name for the item called `module.name`.
    ///
    /// # Errors
    /// Fails if the old name is not defined, or the new one is taken.
    pub fn alias(&mut self, module: &str, name: &str, as_module: &str, as_name: &str) -> Result<&mut Self> {
        let unknown = || Error::new(ErrorKind::Link, format_args!("`{module}::{name}` is not defined"));
        let definition = self.find(module, name).cloned().ok_or_else(unknown)?;
        self.insert(as_module, as_name, definition)
    }

    /// Defines each undefined import of `module` as a function that traps.
    ///
    /// # Errors
    /// Fails if an undefined import is not a function.
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

    /// Defines each undefined import of `module` that is a function as one that returns zeros and nulls.
    ///
    /// # Errors
    /// Fails if an undefined import is not a function, or a result is a reference that is never null.
    pub fn define_unknown_imports_as_default_values(&mut self, module: &Module) -> Result<()> {
        for import in module.imports() {
            if self.find(import.module(), import.name()).is_some() {
                continue;
            }
            let ExternType::Func(ty) = import.ty() else {
                return Err(unknown(&[describe(&import)]));
            };
            let zeros: Vec<Val> = ty.results().map(|result| Val::default_for(&result)).collect();
            if zeros.iter().zip(ty.results()).any(|(zero, result)| !zero.ty().matches(&result)) {
                return Err(unknown(&[describe(&import)]));
            }
            self.func_new(import.module(), import.name(), ty, move |_, _, results| {
                results.clone_from_slice(&zeros);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the item that `import` would get: an item of its name, whatever its type.
    pub fn get_by_import(
        &self,
        store: impl AsContextMut<Data = T>,
        import: &crate::ImportType<'_>,
    ) -> Option<Extern> {
        self.get(store, import.module(), import.name())
    }

    /// Returns the item called `module.name`.
    pub fn get(&self, mut store: impl AsContextMut<Data = T>, module: &str, name: &str) -> Option<Extern> {
        let definition = self.find(module, name)?;
        place(&mut store.as_context_mut(), definition, module, name).ok()
    }

    /// Returns the default function of a module: the one with an empty name, or else with the name `_start`. If neither is
    /// defined, that is a function without parameters and results that does nothing.
    ///
    /// # Errors
    /// Fails if the name is defined as something else than a function, or if the system has no memory for a host function
    /// in the store.
    pub fn get_default(&self, mut store: impl AsContextMut<Data = T>, module: &str) -> Result<Func> {
        let mut context = store.as_context_mut();
        for name in ["", "_start"] {
            let Some(definition) = self.find(module, name) else { continue };
            let item = place(&mut context, definition, module, name)?;
            let message = format_args!("the default export `{module}::{name}` is no function");
            return item.into_func().ok_or_else(|| Error::new(ErrorKind::Link, message));
        }
        let nothing: HostFunc<T> = IntoFunc::<T, (), ()>::into_func(|| {});
        host_calls::add(context.0, &Arc::new(nothing), None).map(Func)
    }

    /// Instantiates `module` with imports by name, and runs its start function.
    ///
    /// # Errors
    /// Fails if imports are missing (the error lists all of them), and as [`Instance::new`] does.
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>, module: &Module) -> Result<Instance> {
        let mut context = store.as_context_mut();
        let imports = self.imports_of(module, &mut context)?;
        Instance::new(context, module, &imports)
    }

    /// Instantiates `module` as a future, in which the start function may wait: see
    /// [`TypedFunc::call_async`](crate::TypedFunc::call_async).
    ///
    /// # Errors
    /// Fails as [`Linker::instantiate`] does, or if the system has no memory for a stack.
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

    /// Returns the imports of a module, in a store.
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

    /// Returns all definitions, with module and name, in no particular order.
    ///
    /// # Panics
    /// Panics if the system has no memory for a host function in the store.
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
    /// Fails if some are not defined; the error lists them.
    pub(crate) fn check_defined(&self, module: &Module) -> Result<()> {
        let missing: Vec<String> = module
            .imports()
            .filter(|i| self.find(i.module(), i.name()).is_none())
            .map(|import| describe(&import))
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(unknown(&missing)) }
    }

    /// Returns the definition of a name.
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
            let func = host_calls::add(context.0, func, Some((module.to_string(), name.to_string())))?;
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
