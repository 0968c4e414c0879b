//! Instances, as the embedder sees them.
#![allow(unsafe_code, reason = "functions in wasm are pointers into the store")]

mod profile;

use wprof_jit::module::Entity;

use crate::func::{WasmParams, WasmResults, on_fiber};
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::instantiate::{Imports, entity_index, instantiate};
use crate::runtime::instances::loaded;
use crate::runtime::instances::store::{StoreOpaque, Stored};
use crate::store::{StoreContext, StoreContextMut, StoreInner};
use crate::{
    AsContext, AsContextMut, Caller, Error, ErrorKind, Extern, Func, Global, Memory, Module, Result, Table,
    Tag, TypedFunc,
};
use crate::{imports, limiter};

/// An instance of a module in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance(pub(crate) Stored);

/// An export of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Export<'i> {
    name: &'i str,
    item: Extern,
}

impl<'i> Export<'i> {
    /// Its name.
    pub fn name(&self) -> &'i str {
        self.name
    }

    /// What it is.
    pub fn into_extern(self) -> Extern {
        self.item
    }
}

impl Instance {
    /// Instantiates `module` with `imports`, in the order in which the module names them, and runs its start
    /// function. [`Linker`](crate::Linker) finds imports by name.
    ///
    /// # Errors
    /// If the imports do not fit, a limit is reached, a segment does not fit, or the start function fails.
    ///
    /// # Panics
    /// If the module is of another engine than the store, or an import of another store.
    pub fn new(mut store: impl AsContextMut, module: &Module, imports: &[Extern]) -> Result<Instance> {
        let context = store.as_context_mut();
        check_engine(&context, module);
        let imports = imports::check(&context.0.opaque, module, imports)?;
        Instance::with_imports(context.0, module, imports, false)
    }

    /// The same as a future, in which the start function may wait: see [`TypedFunc::call_async`].
    ///
    /// # Errors
    /// As [`Instance::new`], and if the system has no memory for a stack.
    ///
    /// # Panics
    /// As [`Instance::new`], when it is polled.
    pub fn new_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        store: S,
        module: &'a Module,
        imports: &'a [Extern],
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S> {
        on_fiber(store.into().0, move |store| {
            check_engine(&StoreContextMut(store), module);
            let imports = imports::check(&store.opaque, module, imports)?;
            Instance::with_imports(store, module, imports, true)
        })
    }

    /// The same, with imports that were checked. If it may wait, this is all that is on the fiber.
    pub(crate) fn with_imports<T: 'static>(
        store: &mut StoreInner<T>,
        module: &Module,
        imports: Imports,
        may_wait: bool,
    ) -> Result<Instance> {
        let context = StoreContextMut(store);
        check_engine(&context, module);
        limiter::admit_instance(context.0, module)?;
        let index = instantiate(&mut context.0.opaque, &module.loaded(), Box::new(module.clone()), imports)?;
        let instance = Instance(context.0.opaque.handle(index));
        if let Some(start) = module.info().start {
            instance.func(&context.0.opaque, start).call_in(context.0, &[], &mut [], may_wait)?;
        }
        Ok(instance)
    }

    /// The newest instance of `module` in a store: also one whose start function runs or has failed, so that its profile
    /// is not lost; but none that could not be made before that.
    pub fn newest_of(store: impl AsContext, module: &Module) -> Option<Instance> {
        let opaque = &store.as_context().0.opaque;
        let module = module.loaded();
        let of_module = |i: &InstanceData| i.is_ready && loaded::same(&i.module, &module);
        let index = opaque.instances.iter().rposition(of_module)?;
        Some(Instance(opaque.handle(index as u32)))
    }

    /// What it is an instance of.
    pub fn module<'a, T: 'static>(&self, store: impl Into<StoreContext<'a, T>>) -> &'a Module {
        let opaque = &store.into().0.opaque;
        let handle = &opaque.instances[opaque.index(self.0) as usize].handle;
        handle.downcast_ref().expect("instances are made of modules")
    }

    /// What it exports as `name`.
    pub fn get_export(&self, mut store: impl AsContextMut, name: &str) -> Option<Extern> {
        let opaque = &store.as_context_mut().0.opaque;
        let entity = opaque.instances[opaque.index(self.0) as usize].export(name)?;
        Some(self.entity(opaque, entity))
    }

    /// The function that it exports as `name`.
    pub fn get_func(&self, store: impl AsContextMut, name: &str) -> Option<Func> {
        self.get_export(store, name)?.into_func()
    }

    /// The function that it exports as `name`, with its type known.
    ///
    /// # Errors
    /// If there is none, or its type is another.
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

    /// The memory that it exports as `name`.
    pub fn get_memory(&self, store: impl AsContextMut, name: &str) -> Option<Memory> {
        self.get_export(store, name)?.into_memory()
    }

    /// The table that it exports as `name`.
    pub fn get_table(&self, store: impl AsContextMut, name: &str) -> Option<Table> {
        self.get_export(store, name)?.into_table()
    }

    /// The global that it exports as `name`.
    pub fn get_global(&self, store: impl AsContextMut, name: &str) -> Option<Global> {
        self.get_export(store, name)?.into_global()
    }

    /// The tag that it exports as `name`.
    pub fn get_tag(&self, store: impl AsContextMut, name: &str) -> Option<Tag> {
        self.get_export(store, name)?.into_tag()
    }

    /// All that it exports, in the module's order.
    pub fn exports<'a, T: 'static>(
        &self,
        store: impl Into<StoreContext<'a, T>>,
    ) -> impl ExactSizeIterator<Item = Export<'a>> {
        let opaque = &store.into().0.opaque;
        let instance = *self;
        let exports = &opaque.instances[opaque.index(self.0) as usize].module.info().exports;
        exports.iter().map(move |(name, entity)| Export { name, item: instance.entity(opaque, *entity) })
    }

    /// Its function number `index`, which is imported or used as a value somewhere.
    fn func(&self, store: &StoreOpaque, index: u32) -> Func {
        let pointer = store.instances[store.index(self.0) as usize].func_ref(index);
        // SAFETY: it comes from an instance of this store.
        Func(unsafe { store.func_handle(pointer) })
    }

    fn entity(&self, store: &StoreOpaque, entity: Entity) -> Extern {
        let instance = &store.instances[store.index(self.0) as usize];
        let handle = || store.handle(entity_index(instance, entity));
        match entity {
            Entity::Func(f) => Extern::Func(self.func(store, f)),
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
    /// The instance that called; none if the host itself did.
    pub fn instance(&self) -> Option<Instance> {
        self.instance_index().map(|index| Instance(self.as_context().0.opaque.handle(index)))
    }

    /// What the calling instance exports as `name`.
    pub fn get_export(&mut self, name: &str) -> Option<Extern> {
        self.instance()?.get_export(self, name)
    }
}
