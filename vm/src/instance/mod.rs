//! Instances, as the embedder sees them.
#![allow(unsafe_code, reason = "functions in wasm are pointers into the store")]

mod profile;

use wprof_jit::module::Entity;

use crate::func::{WasmParams, WasmResults};
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::instantiate::{Imports, entity_index, instantiate};
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded;
use crate::runtime::instances::stored::Stored;
use crate::store::{StoreContext, StoreContextMut, StoreInner};
use crate::waiting::on_fiber;
use crate::{
    AsContext, AsContextMut, Caller, Error, ErrorKind, Extern, Func, Global, Memory, Module, Result, Table,
    Tag, TypedFunc,
};
use crate::{imports, limiter};

/// An instance of a module in a store: a small value, valid as long as the store, which may be sent to other threads; its
/// use needs the store. Finding an export takes one look-up by name. Creating an instance takes time for its data and its
/// tables, not for its code; [`Config::pooling`](crate::Config::pooling) makes it faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance(pub(crate) Stored);

/// An export of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Export<'i> {
    name: &'i str,
    item: Extern,
}

impl<'i> Export<'i> {
    /// Returns the export's name.
    pub fn name(&self) -> &'i str {
        self.name
    }

    /// Returns the exported item.
    pub fn into_extern(self) -> Extern {
        self.item
    }
}

impl Instance {
    /// Instantiates `module` with `imports`, in the order in which the module names them, and runs its start
    /// function. [`Linker`](crate::Linker) finds imports by name.
    ///
    /// # Errors
    /// Fails if the imports do not fit, a limit is reached, a segment does not fit, or the start function fails.
    ///
    /// # Panics
    /// Panics if the module belongs to another engine than the store, or an import to another store.
    pub fn new(mut store: impl AsContextMut, module: &Module, imports: &[Extern]) -> Result<Instance> {
        Instance::new_in(store.as_context_mut().0, module, imports, false)
    }

    /// Instantiates `module`. If it may wait, this call must be alone on its fiber.
    pub(crate) fn new_in<T: 'static>(
        store: &mut StoreInner<T>,
        module: &Module,
        imports: &[Extern],
        may_wait: bool,
    ) -> Result<Instance> {
        check_engine(&StoreContextMut(store), module);
        let imports = imports::check(&store.opaque, module, imports)?;
        Instance::with_imports(store, module, imports, may_wait)
    }

    /// Instantiates `module` as a future, in which the start function may wait: see [`TypedFunc::call_async`].
    ///
    /// # Errors
    /// Fails as [`Instance::new`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`Instance::new`] does, when it is polled.
    pub fn new_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        store: S,
        module: &'a Module,
        imports: &'a [Extern],
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S> {
        on_fiber(store.into().0, move |store| Instance::new_in(store, module, imports, true))
    }

    /// Instantiates `module` with checked imports. If it may wait, this call must be alone on its fiber.
    pub(crate) fn with_imports<T: 'static>(
        store: &mut StoreInner<T>,
        module: &Module,
        imports: Imports,
        may_wait: bool,
    ) -> Result<Instance> {
        let context = StoreContextMut(store);
        check_engine(&context, module);
        limiter::admit_instance(context.0, module, may_wait)?;
        let index = instantiate(&mut context.0.opaque, &module.loaded(), Box::new(module.clone()), imports)?;
        let instance = Instance(context.0.opaque.items.handle(index));
        if let Some(start) = module.info().start {
            instance.func(&context.0.opaque.items, start).call_in(context.0, &[], &mut [], may_wait)?;
        }
        Ok(instance)
    }

    /// Returns the newest instance of `module` in a store, including one whose start function is running or has failed,
    /// so that its profile is not lost, but not one whose creation failed earlier.
    pub fn newest_of(store: impl AsContext, module: &Module) -> Option<Instance> {
        let items = &store.as_context().0.opaque.items;
        let module = module.loaded();
        let of_module = |i: &InstanceData| i.is_ready && loaded::same(&i.module, &module);
        let index = items.instances().iter().rposition(of_module)?;
        Some(Instance(items.handle(index as u32)))
    }

    /// Returns the instance's module.
    pub fn module<'a, T: 'static>(&self, store: impl Into<StoreContext<'a, T>>) -> &'a Module {
        let items = &store.into().0.opaque.items;
        let handle = &items.instance(items.index(self.0)).handle;
        handle.downcast_ref().expect("instances are made of modules")
    }

    /// Returns the export called `name`.
    pub fn get_export(&self, mut store: impl AsContextMut, name: &str) -> Option<Extern> {
        let items = &store.as_context_mut().0.opaque.items;
        let entity = items.instance(items.index(self.0)).export(name)?;
        Some(self.entity(items, entity))
    }

    /// Returns the function exported as `name`.
    pub fn get_func(&self, store: impl AsContextMut, name: &str) -> Option<Func> {
        self.get_export(store, name)?.into_func()
    }

    /// Returns the function exported as `name`, with a static type.
    ///
    /// # Errors
    /// Fails if there is none, or its type is another.
    pub fn get_typed_func<P: WasmParams, R: WasmResults>(
        &self,
        mut store: impl AsContextMut,
        name: &str,
    ) -> Result<TypedFunc<P, R>> {
        let func = self.get_func(&mut store, name).ok_or_else(|| {
            Error::new(ErrorKind::Link, format_args!("no function is exported as `{name}`"))
        })?;
        func.typed(store).map_err(|e| e.context(format_args!("function `{name}`")))
    }

    /// Returns the memory exported as `name`.
    pub fn get_memory(&self, store: impl AsContextMut, name: &str) -> Option<Memory> {
        self.get_export(store, name)?.into_memory()
    }

    /// Returns the table exported as `name`.
    pub fn get_table(&self, store: impl AsContextMut, name: &str) -> Option<Table> {
        self.get_export(store, name)?.into_table()
    }

    /// Returns the global exported as `name`.
    pub fn get_global(&self, store: impl AsContextMut, name: &str) -> Option<Global> {
        self.get_export(store, name)?.into_global()
    }

    /// Returns the tag exported as `name`.
    pub fn get_tag(&self, store: impl AsContextMut, name: &str) -> Option<Tag> {
        self.get_export(store, name)?.into_tag()
    }

    /// Returns all exports, in the module's order.
    pub fn exports<'a, T: 'static>(
        &self,
        store: impl Into<StoreContext<'a, T>>,
    ) -> impl ExactSizeIterator<Item = Export<'a>> {
        let items = &store.into().0.opaque.items;
        let instance = *self;
        let exports = &items.instance(items.index(self.0)).module.info().exports;
        exports.iter().map(move |(name, entity)| Export { name, item: instance.entity(items, *entity) })
    }

    /// Returns function number `index`, which is imported or used as a value somewhere.
    fn func(&self, items: &Items, index: u32) -> Func {
        let pointer = items.instance(items.index(self.0)).func_ref(index);
        // SAFETY: the pointer comes from an instance of this store.
        Func(unsafe { items.func_handle(pointer) })
    }

    fn entity(&self, items: &Items, entity: Entity) -> Extern {
        let instance = items.instance(items.index(self.0));
        let handle = || items.handle(entity_index(instance, entity));
        match entity {
            Entity::Func(f) => Extern::Func(self.func(items, f)),
            Entity::Table(_) => Extern::Table(Table(handle())),
            Entity::Memory(_) => Extern::Memory(Memory(handle())),
            Entity::Global(_) => Extern::Global(Global(handle())),
            Entity::Tag(_) => Extern::Tag(Tag(handle())),
        }
    }
}

fn check_engine<T: 'static>(context: &StoreContextMut<'_, T>, module: &Module) {
    let same = crate::Engine::same(context.engine(), module.engine());
    assert!(same, "module and store must be of one engine");
}

impl<T: 'static> Caller<'_, T> {
    /// Returns the calling instance; `None` if the host itself called.
    pub fn instance(&self) -> Option<Instance> {
        self.instance_index().map(|index| Instance(self.as_context().0.opaque.items.handle(index)))
    }

    /// Returns the export called `name` of the calling instance.
    pub fn get_export(&mut self, name: &str) -> Option<Extern> {
        self.instance()?.get_export(self, name)
    }
}
