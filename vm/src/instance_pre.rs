//! Modules whose imports are resolved and checked once, for many instantiations.

use std::fmt;

use crate::imports::{add, check_type};
use crate::linker::{Definition, place};
use crate::runtime::instances::instantiate::Imports;
use crate::store::{StoreContextMut, StoreInner};
use crate::waiting::on_fiber;
use crate::{AsContextMut, Caller, Error, ErrorKind, ExternType, FuncType, Instance, Linker, Module, Result};

/// A module with all its imports, ready to be instantiated: see [`Linker::instantiate_pre`]. Cheap to clone; threads
/// may share it, and each instantiates it in its own stores.
pub struct InstancePre<T: 'static> {
    module: Module,
    imports: Vec<Definition<T>>,
}

impl<T: 'static> Clone for InstancePre<T> {
    fn clone(&self) -> Self {
        InstancePre { module: self.module.clone(), imports: self.imports.clone() }
    }
}

impl<T: 'static> fmt::Debug for InstancePre<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstancePre").field("module", &self.module.name()).finish_non_exhaustive()
    }
}

impl<T: 'static> InstancePre<T> {
    /// Returns the module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Creates an instance, and runs its start function, without further look-ups or type checks.
    ///
    /// # Errors
    /// Fails if a limit is reached, a segment does not fit, or the start function fails.
    ///
    /// # Panics
    /// Panics if the store belongs to another engine, or is not the store of the items that the linker received from
    /// [`Linker::define`] or [`Linker::instance`].
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>) -> Result<Instance> {
        self.instantiate_in(store.as_context_mut().0, false)
    }

    /// Creates an instance as a future, in which the start function may wait: see
    /// [`TypedFunc::call_async`](crate::TypedFunc::call_async).
    ///
    /// # Errors
    /// Fails as [`InstancePre::instantiate`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`InstancePre::instantiate`] does, when it is polled.
    pub fn instantiate_async<'a, S: Into<StoreContextMut<'a, T>>>(
        &'a self,
        store: S,
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S>
    where
        T: Send,
    {
        on_fiber(store.into().0, move |store| self.instantiate_in(store, true))
    }

    fn instantiate_in(&self, store: &mut StoreInner<T>, may_wait: bool) -> Result<Instance> {
        let mut context = StoreContextMut(store);
        let mut imports = Imports::default();
        for (definition, import) in self.imports.iter().zip(&self.module.info().imports) {
            let item = place(&mut context, definition, &import.module, &import.name)?;
            add(&context.0.opaque, &item, &mut imports);
        }
        Instance::with_imports(context.0, &self.module, imports, may_wait)
    }
}

impl<T: 'static> Linker<T> {
    /// Finds the imports of `module` by name and checks their types once, for many instantiations. Later definitions do
    /// not affect the result.
    ///
    /// # Errors
    /// Fails if imports are missing (the error lists all of them), or have another type than the module expects.
    pub fn instantiate_pre(&self, module: &Module) -> Result<InstancePre<T>> {
        self.check_defined(module)?;
        let mut found = Vec::new();
        for (import, raw) in module.imports().zip(&module.info().imports) {
            let definition = self.find(import.module(), import.name()).expect("none is missing");
            check_type(raw, &import.ty(), &definition.ty())?;
            found.push(definition.clone());
        }
        Ok(InstancePre { module: module.clone(), imports: found })
    }

    /// Instantiates `module` and names its exports.
    ///
    /// A *command*, which exports a function `_start` without parameters and results, lives for one call only: each
    /// call of one of its functions creates a new instance, which stays until the store is dropped; only its functions
    /// are defined. Any other module is instantiated at once in `store`, and its function `_initialize` is called if it
    /// exports one; the linker can then be used with that store only.
    ///
    /// # Errors
    /// Fails if imports do not fit, a name is taken, or the instance cannot be created.
    pub fn module(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        name: &str,
        module: &Module,
    ) -> Result<&mut Self> {
        if is_procedure(module, "_start") {
            return self.command(name, module);
        }
        let instance = self.instantiate(&mut store, module)?;
        if is_procedure(module, "_initialize") {
            instance.get_typed_func::<(), ()>(&mut store, "_initialize")?.call(&mut store, ())?;
        }
        self.instance(store, name, instance)
    }

    fn command(&mut self, name: &str, module: &Module) -> Result<&mut Self> {
        let pre = self.instantiate_pre(module)?;
        for export in module.exports() {
            let ExternType::Func(ty) = export.ty() else { continue };
            let (pre, func) = (pre.clone(), export.name().to_owned());
            self.func_new(name, export.name(), ty, move |mut caller: Caller<'_, T>, params, results| {
                let instance = pre.instantiate(&mut caller)?;
                let func = instance.get_func(&mut caller, &func).ok_or_else(|| {
                    Error::new(ErrorKind::Link, format_args!("no function is exported as `{func}`"))
                })?;
                func.call(&mut caller, params, results)
            })?;
        }
        Ok(self)
    }
}

/// Reports whether a module exports a function without parameters and results.
fn is_procedure(module: &Module, name: &str) -> bool {
    module.get_export(name) == Some(ExternType::Func(FuncType::new([], [])))
}
