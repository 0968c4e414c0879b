//! The items of a store: what its handles refer to.
//!
//! Invariant: nothing is removed before the store is dropped, so an index, and the address of a function, stay valid.

use std::ptr::NonNull;
use std::sync::Arc;

use super::abi::{VmFuncRef, VmMemory, VmTable, VmValue};
use super::engine_core::EngineCore;
use super::instance::InstanceData;
use super::pool::Pool;
use super::stored::{FuncPtr, StoreId, Stored};
use crate::limits::check_count;
use crate::runtime::control::host_calls::AnyHostContext;
use crate::runtime::linear_memory::demand::DemandList;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::linear_memory::private_memory::{LinearMemory, Pooled};
use crate::runtime::linear_memory::shared_data::SharedData;
use crate::runtime::linear_memory::store_memory::StoreMemory;
use crate::runtime::values::budget::Budget;
use crate::runtime::values::exceptions::TagData;
use crate::runtime::values::global_data::GlobalData;
use crate::runtime::values::handles::ComponentInstance;
use crate::runtime::values::table_data::TableData;
use crate::runtime::values::type_ids::TypeEntry;
use crate::{Error, FuncType, GlobalType, MemoryType, Result, StoreLimits, TableType, ValType};

/// The items of a store, by kind.
pub struct Items {
    id: StoreId,
    limits: StoreLimits,
    /// Dropped before the items defined in their vmctxs, none of which follows its definition then.
    instances: Vec<InstanceData>,
    /// The number of instances that the engine has added of its own accord.
    left_out: usize,
    memories: Vec<StoreMemory>,
    tables: Vec<TableData>,
    globals: Vec<GlobalData>,
    tags: Vec<Arc<TagData>>,
    /// Host functions; funcrefs point into them.
    hosts: Vec<AnyHostContext>,
    /// For each component, the instances of its file's components.
    components: Vec<Vec<ComponentInstance>>,
    /// What values of components may still take of the host's memory: a list of a gigabyte of booleans would take dozens.
    values: Budget,
    /// The demand-paged ranges of the memories. The signal handler finds them through the context.
    demand: Arc<DemandList>,
}

impl Items {
    /// Creates the items of a new store: none.
    pub fn new(limits: StoreLimits) -> Items {
        let values = Budget::new(limits.component_values);
        Items {
            id: StoreId::fresh(),
            limits,
            instances: Vec::new(),
            left_out: 0,
            memories: Vec::new(),
            tables: Vec::new(),
            globals: Vec::new(),
            tags: Vec::new(),
            hosts: Vec::new(),
            components: Vec::new(),
            values,
            demand: Arc::default(),
        }
    }

    /// Returns the store's identity.
    pub fn id(&self) -> StoreId {
        self.id
    }

    /// Returns the limits for new items.
    pub fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    /// Sets the limits for new items.
    ///
    /// Calls of components that are active have already taken values, which count for the former limit.
    pub fn set_limits(&mut self, limits: StoreLimits) {
        if limits.component_values != self.limits.component_values {
            self.values = Budget::new(limits.component_values);
        }
        self.limits = limits;
    }

    /// Returns a handle for item number `index` of its kind.
    pub fn handle(&self, index: u32) -> Stored {
        self.id.handle(index)
    }

    /// Returns the index of a handle.
    ///
    /// # Panics
    /// Panics if the handle belongs to another store.
    pub fn index(&self, handle: Stored) -> u32 {
        self.id.index(handle)
    }

    /// Adds the words of all tables, globals and element segments that keep values alive.
    pub fn add_roots_to(&self, live: &mut Vec<u64>) {
        let tables = self.tables.iter().filter(|t| t.ty().element.is_collected());
        live.extend(tables.flat_map(|t| t.elements()));
        let is_collected = |ty: &GlobalType| matches!(&ty.content, ValType::Ref(ty) if ty.is_collected());
        let globals = self.globals.iter().filter(|global| is_collected(global.ty()));
        live.extend(globals.map(|global| global.get().u64()));
        for instance in &self.instances {
            let segments =
                instance.elements.iter().filter(|&(&segment, _)| !instance.is_elem_dropped(segment));
            live.extend(segments.flat_map(|(_, words)| words));
        }
    }
}

/// Functions.
impl Items {
    /// Returns a handle for a function of this store.
    ///
    /// # Safety
    /// `pointer` comes from a vmctx or host context of this store.
    pub unsafe fn func_handle(&self, pointer: NonNull<VmFuncRef>) -> FuncPtr {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.id.func(pointer) }
    }

    /// Returns the target of a function handle.
    ///
    /// # Panics
    /// Panics if the handle belongs to another store.
    #[inline]
    pub fn func_ref(&self, func: FuncPtr) -> VmFuncRef {
        // SAFETY: the function belongs to this store (`func_handle`), which keeps it and does not change it.
        unsafe { self.id.pointer(func).read() }
    }

    /// Returns the type of a function.
    ///
    /// # Panics
    /// Panics if the function belongs to another store.
    #[inline]
    pub fn func_type(&self, func: FuncPtr) -> &TypeEntry {
        let display = self.func_ref(func).display;
        // SAFETY: the function belongs to this store, of which an instance's module or a host function holds the entry.
        unsafe { TypeEntry::of_display(display) }
    }

    /// Returns a function as a word in tables and globals.
    ///
    /// # Panics
    /// Panics if the function belongs to another store.
    pub fn func_word(&self, func: Option<FuncPtr>) -> u64 {
        func.map_or(0, |f| self.id.pointer(f).as_ptr() as u64)
    }

    /// Returns the function of a word that wasm code of this store stored as a funcref.
    ///
    /// # Safety
    /// The word was a funcref of this store.
    pub unsafe fn func_of_word(&self, word: u64) -> Option<FuncPtr> {
        // SAFETY: the caller upholds this function's safety contract.
        NonNull::new(word as *mut VmFuncRef).map(|pointer| unsafe { self.id.func(pointer) })
    }

    /// Returns the host functions, in the order of their numbers.
    pub fn hosts(&self) -> &[AnyHostContext] {
        &self.hosts
    }

    /// Adds a host function.
    pub fn add_host(&mut self, host: AnyHostContext) {
        self.hosts.push(host);
    }
}

/// Instances, of modules and of components.
impl Items {
    /// Returns all instances.
    pub fn instances(&self) -> &[InstanceData] {
        &self.instances
    }

    /// Returns all instances.
    pub fn instances_mut(&mut self) -> &mut [InstanceData] {
        &mut self.instances
    }

    /// Returns the number of instances for which there are limits.
    pub fn counted_instances(&self) -> usize {
        self.instances.len().saturating_sub(self.left_out)
    }

    /// Sets that the next instance does not count, or, where it could not be added, that this was not to be.
    pub fn leave_out_next(&mut self, is_left_out: bool) {
        self.left_out = if is_left_out { self.left_out + 1 } else { self.left_out - 1 };
    }

    /// Returns instance number `index`.
    #[inline]
    pub fn instance(&self, index: u32) -> &InstanceData {
        &self.instances[index as usize]
    }

    /// Returns instance number `index`.
    #[inline]
    pub fn instance_mut(&mut self, index: u32) -> &mut InstanceData {
        &mut self.instances[index as usize]
    }

    /// Adds an instance.
    pub fn add_instance(&mut self, instance: InstanceData) {
        self.instances.push(instance);
    }

    /// Adds the instances of a component, of which there are so many.
    pub fn add_component(&mut self, instances: usize) -> Stored {
        let most = self.limits.component_handles;
        self.components.push((0..instances).map(|_| ComponentInstance::new(most)).collect());
        self.handle(self.components.len() as u32 - 1)
    }

    /// Returns the instances of a component.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    #[inline]
    pub fn component_mut(&mut self, component: Stored) -> &mut [ComponentInstance] {
        let index = self.index(component);
        &mut self.components[index as usize]
    }

    /// Adds a global that holds the flags of an instance of a component; returns its handle.
    ///
    /// # Panics
    /// Panics if the component belongs to another store.
    pub fn add_flags(&mut self, component: Stored, instance: u32) -> Stored {
        let of = &self.component_mut(component)[instance as usize];
        let (cell, flags) = (of.cell(), of.flags());
        let index = self.add_global(ComponentInstance::flags_type(), flags, Some(cell));
        self.handle(index)
    }

    /// Returns the contents of a memory, which is not shared, the instances of a component, and the budget for values.
    ///
    /// # Panics
    /// Panics if one of them belongs to another store.
    #[inline]
    pub fn memory_and_component(
        &mut self,
        memory: Option<Stored>,
        component: Stored,
    ) -> (&[u8], &mut [ComponentInstance], &Budget) {
        let (memory, component) = (memory.map(|memory| self.index(memory)), self.index(component));
        let memory = memory.and_then(|index| self.memories[index as usize].own());
        let memory = memory.map_or(&[][..], |memory| memory.data());
        (memory, &mut self.components[component as usize], &self.values)
    }
}

/// Memories.
impl Items {
    /// Adds a memory with the contents of the image, if there is one.
    ///
    /// # Errors
    /// Fails as [`LinearMemory::new`] does, or if there are too many.
    pub fn add_memory(
        &mut self,
        engine: &EngineCore,
        ty: MemoryType,
        definition: Option<NonNull<VmMemory>>,
        image: Option<Arc<MemoryImage>>,
    ) -> Result<u32> {
        check_count("memories", self.memories.len(), self.limits.memories)?;
        let style = engine.compiler().options().memory;
        self.memories.push(match ty.is_shared {
            true => StoreMemory::Shared(Arc::new(SharedData::new(ty, style, &self.limits)?)),
            false => {
                let demand = self.demand.clone();
                let pooled = engine.pool().map(|pool| Pooled { pool: pool.clone(), image });
                StoreMemory::Own(LinearMemory::new(ty, style, &self.limits, definition, demand, pooled)?)
            }
        });
        Ok(self.memories.len() as u32 - 1)
    }

    /// Returns the index of a memory that other stores share; adds it if it is not in this store yet.
    ///
    /// # Errors
    /// Fails if there are too many.
    pub fn share_memory(&mut self, memory: &Arc<SharedData>) -> Result<u32> {
        let is_it = |known: &StoreMemory| known.shared().is_some_and(|known| Arc::ptr_eq(known, memory));
        if let Some(index) = self.memories.iter().position(is_it) {
            return Ok(index as u32);
        }
        check_count("memories", self.memories.len(), self.limits.memories)?;
        self.memories.push(StoreMemory::Shared(memory.clone()));
        Ok(self.memories.len() as u32 - 1)
    }

    /// Returns all memories.
    pub fn memories(&self) -> &[StoreMemory] {
        &self.memories
    }

    /// Returns memory number `index`.
    pub fn memory(&self, index: u32) -> &StoreMemory {
        &self.memories[index as usize]
    }

    /// Returns memory number `index`.
    pub fn memory_mut(&mut self, index: u32) -> &mut StoreMemory {
        &mut self.memories[index as usize]
    }

    /// Returns two different memories.
    pub fn two_memories(&mut self, a: u32, b: u32) -> (&mut StoreMemory, &mut StoreMemory) {
        let [a, b] = self.memories.get_disjoint_mut([a as usize, b as usize]).expect("different and present");
        (a, b)
    }

    /// Returns the list of demand-paged ranges, for the signal handler.
    pub fn demand(&self) -> &Arc<DemandList> {
        &self.demand
    }

    /// Reports whether some data may have been read on demand.
    #[inline]
    pub fn has_demand(&self) -> bool {
        !self.demand.is_empty()
    }

    /// Checks that all accessed data of the memories could be read from the files of their modules; if not, no code of
    /// this store may continue.
    ///
    /// # Errors
    /// Fails if some could not be read.
    #[inline]
    pub fn check_data(&self) -> Result<()> {
        if self.has_demand() { self.check_demand() } else { Ok(()) }
    }

    fn check_demand(&self) -> Result<()> {
        let checked = self.memories.iter().try_for_each(StoreMemory::check);
        checked.map_err(|e| Error::system("cannot read the module's data", e))
    }
}

/// Tables, globals and tags.
impl Items {
    /// Adds a table filled with `init`.
    ///
    /// # Errors
    /// Fails as [`TableData::new`] does, or if there are too many.
    pub fn add_table(
        &mut self,
        ty: TableType,
        init: u64,
        definition: Option<NonNull<VmTable>>,
        pool: Option<Arc<Pool>>,
    ) -> Result<u32> {
        check_count("tables", self.tables.len(), self.limits.tables)?;
        self.tables.push(TableData::new(ty, init, &self.limits, definition, pool)?);
        Ok(self.tables.len() as u32 - 1)
    }

    /// Returns all tables.
    pub fn tables(&self) -> &[TableData] {
        &self.tables
    }

    /// Returns table number `index`.
    pub fn table(&self, index: u32) -> &TableData {
        &self.tables[index as usize]
    }

    /// Returns table number `index`.
    pub fn table_mut(&mut self, index: u32) -> &mut TableData {
        &mut self.tables[index as usize]
    }

    /// Returns two different tables.
    pub fn two_tables(&mut self, a: u32, b: u32) -> (&mut TableData, &mut TableData) {
        let [a, b] = self.tables.get_disjoint_mut([a as usize, b as usize]).expect("different and present");
        (a, b)
    }

    /// Adds a global with the given cell in a vmctx of this store, or else with its own cell.
    pub fn add_global(&mut self, ty: GlobalType, value: VmValue, cell: Option<NonNull<VmValue>>) -> u32 {
        self.globals.push(GlobalData::new(ty, value, cell));
        self.globals.len() as u32 - 1
    }

    /// Returns all globals.
    pub fn globals(&self) -> &[GlobalData] {
        &self.globals
    }

    /// Returns global number `index`.
    pub fn global(&self, index: u32) -> &GlobalData {
        &self.globals[index as usize]
    }

    /// Returns global number `index`.
    pub fn global_mut(&mut self, index: u32) -> &mut GlobalData {
        &mut self.globals[index as usize]
    }

    /// Adds a tag, and returns its index.
    pub fn add_tag(&mut self, ty: FuncType, name: String) -> u32 {
        let index = self.tags.len() as u32;
        let tag = TagData { handle: self.handle(index), number: 1 + u64::from(index), ty, name };
        self.tags.push(Arc::new(tag));
        index
    }

    /// Returns tag number `index`.
    pub fn tag(&self, index: u32) -> &Arc<TagData> {
        &self.tags[index as usize]
    }
}
