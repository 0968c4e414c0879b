//! The state of a component instance in a store: the results of its steps, and what the canonical ABI remembers
//! between calls.
//!
//! Handles, and which instances run, are in the store (`runtime/values/handles.rs`), so that calls take no lock.
//!
//! Invariant: the lock is never held while code of the component or of the host runs.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hashbrown::HashMap;

use super::bridge::Bridge;
use super::component::Component;
use super::faults::Fault;
use super::plan::{self, CoreItem, Encoding, ModuleSource};
use super::resource::ResourceType;
use super::trap;
use super::types::FuncType;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::Stored;
use crate::runtime::values::budget::Budget;
use crate::runtime::values::handles::{ComponentInstance, ENTERED, Handles, STAYS};
use crate::store::StoreContextMut;
use crate::{Error, ErrorKind, Extern, Func, Global, Instance, Memory, Module, Result, Val};

pub struct State {
    pub component: Component,
    /// Where the store has the instances of the file's components.
    instances: Stored,
    /// The destructors of resources, by their numbers in the plan.
    destructors: Vec<OnceLock<Func>>,
    /// The resource types, by their numbers in the plan.
    pub resources: Vec<ResourceType>,
    /// The modules that the host provides, by the numbers of the imports.
    modules: HashMap<u32, Module>,
    lifted: Vec<OnceLock<Lifted>>,
    bridge: OnceLock<Bridge>,
    inner: Mutex<Inner>,
}

struct Inner {
    core_instances: Vec<Instance>,
    trampolines: Vec<Option<Func>>,
}

/// A lifted core function, resolved in the store.
#[derive(Clone)]
pub struct Lifted {
    pub func: Func,
    pub ty: Arc<FuncType>,
    pub options: Options,
}

/// The options of the canonical ABI, resolved in the store.
#[derive(Clone, Copy)]
pub struct Options {
    pub instance: u32,
    pub encoding: Encoding,
    pub memory: Option<Memory>,
    pub realloc: Option<Func>,
    pub post_return: Option<Func>,
}

impl State {
    /// Creates the state of an instance that the store is about to have.
    pub fn new(
        store: &mut StoreOpaque,
        component: &Component,
        resources: Vec<ResourceType>,
        modules: HashMap<u32, Module>,
    ) -> Arc<State> {
        let plan = component.plan();
        let instances = store.items.add_component(plan.instances.len());
        let destructors = plan.resources.iter().map(|_| OnceLock::new()).collect();
        let inner = Inner { core_instances: Vec::new(), trampolines: vec![None; plan.trampolines.len()] };
        let lifted = plan.lifted.iter().map(|_| OnceLock::new()).collect();
        let (component, bridge, inner) = (component.clone(), OnceLock::new(), Mutex::new(inner));
        Arc::new(State { component, instances, destructors, resources, modules, lifted, bridge, inner })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add_core_instance(&self, instance: Instance) {
        self.lock().core_instances.push(instance);
    }

    pub fn core_instances(&self) -> Vec<Instance> {
        self.lock().core_instances.clone()
    }

    pub fn set_trampoline(&self, index: u32, func: Func) {
        self.lock().trampolines[index as usize] = Some(func);
    }

    pub fn set_destructor(&self, resource: u32, func: Func) {
        let is_first = self.destructors[resource as usize].set(func).is_ok();
        debug_assert!(is_first, "a resource has one destructor");
    }

    /// Returns a core module.
    pub fn module(&self, source: ModuleSource) -> Option<&Module> {
        match source {
            ModuleSource::Own(index) => self.component.plan().modules.get(index as usize),
            ModuleSource::Imported(import) => self.modules.get(&import),
        }
    }

    /// Sets the bridge, once.
    pub fn set_bridge(&self, bridge: Bridge) {
        let is_first = self.bridge.set(bridge).is_ok();
        debug_assert!(is_first, "a plan has one such step");
    }

    /// Returns the bridge, if an instance is that of the bridge.
    pub fn bridge_of(&self, instance: u32) -> Option<&Bridge> {
        self.bridge.get().filter(|_| self.component.plan().bridge == Some(instance))
    }

    /// Resolves an item of the plan in the store.
    pub fn find<T: 'static>(&self, store: &mut StoreContextMut<'_, T>, item: &CoreItem) -> Result<Extern> {
        let missing = |name: &str| Error::new(ErrorKind::Link, format_args!("the component lacks `{name}`"));
        match item {
            CoreItem::Trampoline(index) => {
                let func = self.lock().trampolines[*index as usize];
                func.map(Extern::Func).ok_or_else(|| missing("a function of the host's"))
            }
            CoreItem::BridgeMemory => self.bridge.get().map(Bridge::memory).ok_or_else(|| missing("memory")),
            CoreItem::BridgeRealloc => {
                self.bridge.get().map(Bridge::realloc).ok_or_else(|| missing("realloc"))
            }
            CoreItem::Export { instance, name } => {
                let instance = self.lock().core_instances.get(*instance as usize).copied();
                instance.and_then(|instance| instance.get_export(store, name)).ok_or_else(|| missing(name))
            }
        }
    }

    pub fn find_func<T: 'static>(&self, store: &mut StoreContextMut<'_, T>, item: &CoreItem) -> Result<Func> {
        let wrong = || Error::new(ErrorKind::Link, "the component uses something else as a function");
        self.find(store, item)?.into_func().ok_or_else(wrong)
    }

    pub fn options<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        options: &plan::Options,
    ) -> Result<Options> {
        let mut func = |item: &Option<CoreItem>| item.as_ref().map(|i| self.find_func(store, i)).transpose();
        let (realloc, post_return) = (func(&options.realloc)?, func(&options.post_return)?);
        let memory = options.memory.as_ref().map(|item| self.find(store, item)).transpose()?;
        let memory = memory.and_then(Extern::into_memory);
        Ok(Options { instance: options.instance, encoding: options.encoding, memory, realloc, post_return })
    }

    /// Returns a lifted function, which is resolved at its first call.
    pub fn lifted<T: 'static>(&self, store: &mut StoreContextMut<'_, T>, index: u32) -> Result<&Lifted> {
        let ready = &self.lifted[index as usize];
        if let Some(lifted) = ready.get() {
            return Ok(lifted);
        }
        let lifted = &self.component.plan().lifted[index as usize];
        let func = self.find_func(store, &lifted.func)?;
        let options = self.options(store, &lifted.options)?;
        Ok(ready.get_or_init(|| Lifted { func, ty: lifted.ty.clone(), options }))
    }

    /// Begins a call of a function of an instance by another one, or by the host.
    pub fn enter(&self, store: &mut StoreOpaque, instance: u32, caller: Option<u32>) -> Result<()> {
        let plan = self.component.plan();
        let all = self.instances(store);
        if plan.entered(instance, caller).any(|instance| all[instance as usize].has(ENTERED)) {
            return Err(Fault::CannotEnter.error());
        }
        for instance in plan.entered(instance, caller) {
            all[instance as usize].set(ENTERED, true);
            all[instance as usize].borrowed = 0;
        }
        Ok(())
    }

    /// Ends a call that [`State::enter`] began.
    pub fn leave(&self, store: &mut StoreOpaque, instance: u32, caller: Option<u32>) {
        let all = self.instances(store);
        let entered = self.component.plan().entered(instance, caller);
        entered.for_each(|instance| _ = all[instance as usize].set(ENTERED, false));
    }

    /// Fails if one of two different instances contains the other: as in Wasmtime, they do not call each other.
    pub fn check_apart(&self, one: u32, other: u32) -> Result<()> {
        match self.component.plan().are_apart(one, other) {
            true => Ok(()),
            false => Err(Fault::CannotEnter.error()),
        }
    }

    /// Checks that all handles lent to the call in an instance have been dropped.
    pub fn check_returned(&self, store: &mut StoreOpaque, instance: u32) -> Result<()> {
        match self.instances(store)[instance as usize].borrowed {
            0 => Ok(()),
            _ => Err(trap("borrow handles still remain at the end of the call")),
        }
    }

    pub fn check_may_leave(&self, store: &mut StoreOpaque, instance: u32) -> Result<()> {
        match self.instances(store)[instance as usize].has(STAYS) {
            true => Err(Fault::CannotLeave.error()),
            false => Ok(()),
        }
    }

    /// Does something with the store during which an instance must not call out.
    pub fn staying<T: 'static, R>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        instance: u32,
        what: impl FnOnce(&mut StoreContextMut<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let before = self.instances(&mut store.0.opaque)[instance as usize].set(STAYS, true);
        let result = what(store)?;
        self.instances(&mut store.0.opaque)[instance as usize].set(STAYS, before);
        Ok(result)
    }

    /// Returns the flags of an instance, for adapters.
    ///
    /// # Panics
    /// Panics if the component is in another store.
    pub fn flags(&self, store: &mut StoreOpaque, instance: u32) -> Global {
        Global(store.items.add_flags(self.instances, instance))
    }

    /// Returns the instances of the file's components, by their numbers in the plan.
    ///
    /// # Panics
    /// Panics if the component is in another store.
    fn instances<'s>(&self, store: &'s mut StoreOpaque) -> &'s mut [ComponentInstance] {
        store.items.component_mut(self.instances)
    }

    /// Returns the contents of a memory, the handles of an instance, and the budget for values.
    ///
    /// # Panics
    /// Panics if the component is in another store.
    pub fn lifted_from<'s>(
        &self,
        items: &'s mut Items,
        options: &Options,
    ) -> (&'s [u8], &'s mut Handles, &'s Budget) {
        let memory = options.memory.map(|memory| memory.0);
        let (memory, instances, budget) = items.memory_and_component(memory, self.instances);
        (memory, &mut instances[options.instance as usize].handles, budget)
    }

    /// Returns the handles of an instance.
    ///
    /// # Panics
    /// Panics if the component is in another store.
    pub fn handles<'s>(&self, store: &'s mut StoreOpaque, instance: u32) -> &'s mut Handles {
        &mut self.instances(store)[instance as usize].handles
    }

    /// Returns the handle for a resource that is lent to the call in an instance. The instance that defines the
    /// resource gets its representation instead.
    pub fn lend_to(&self, store: &mut StoreOpaque, instance: u32, resource: u32, rep: u32) -> Result<u32> {
        if self.component.plan().resources[resource as usize].owner == Some(instance) {
            return Ok(rep);
        }
        let entered = &mut self.instances(store)[instance as usize];
        let handle = entered.handles.add(resource, rep, false)?;
        entered.borrowed += 1;
        Ok(handle)
    }

    /// Drops a handle of an instance.
    pub fn drop_handle<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        instance: u32,
        (handle, resource): (u32, u32),
    ) -> Result<()> {
        let entered = &mut self.instances(&mut store.0.opaque)[instance as usize];
        let removed = entered.handles.remove(handle, resource)?;
        if !removed.is_owned {
            entered.borrowed = entered.borrowed.saturating_sub(1);
        }
        match removed.is_owned {
            true => self.destroy(store, resource, removed.rep, Some(instance)),
            false => Ok(()),
        }
    }

    /// Runs the destructor of a resource that an instance or the host drops.
    pub fn destroy<T: 'static>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        resource: u32,
        rep: u32,
        by: Option<u32>,
    ) -> Result<()> {
        let owner = self.component.plan().resources[resource as usize].owner;
        let Some(destructor) = self.destructors[resource as usize].get() else { return Ok(()) };
        owner.map_or(Ok(()), |instance| self.enter(&mut store.0.opaque, instance, by))?;
        destructor.call(&mut *store, &[Val::I32(rep as i32)], &mut [])?;
        if let Some(instance) = owner {
            self.leave(&mut store.0.opaque, instance, by);
        }
        Ok(())
    }
}
