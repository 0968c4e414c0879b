//! Instantiation, up to but not including the start function.
//!
//! Source: the specification, "Instantiation". Allocated items stay in the store even if a segment does not fit, since
//! earlier writes may refer to them.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use hashbrown::HashMap;
use wprof_jit::abi::{Builtin, vmctx as head};
use wprof_jit::module::{ElementItems, Entity, SegmentMode};

use super::abi::{VmContext, VmFuncImport, VmFuncRef, VmMemory, VmTable, VmValue};
use super::engine_core::EngineCore;
use super::instance::InstanceData;
use super::items::Items;
use super::loaded::LoadedModule;
use super::store_opaque::StoreOpaque;
use super::stored::FuncPtr;
use super::vmctx::VmCtx;
use crate::limits::check_count;
use crate::runtime::burst::call_targets::TargetTable;
use crate::runtime::counts::path_table::PathTable;
use crate::runtime::counts::unfinished::Unfinished;
use crate::runtime::entries;
use crate::runtime::linear_memory::bulk::{self, InitError};
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::values::const_eval::eval;
use crate::runtime::values::elements;
use crate::{Error, GlobalType, MemoryType, Result, TableType};

/// The imports of an instance: items of the same store, of the right types, in the order of the module's imports of
/// each kind.
#[derive(Debug, Default)]
pub struct Imports {
    /// Functions.
    pub funcs: Vec<FuncPtr>,
    /// Store indices of tables.
    pub tables: Vec<u32>,
    /// Store indices of memories.
    pub memories: Vec<u32>,
    /// Store indices of globals.
    pub globals: Vec<u32>,
    /// Store indices of tags.
    pub tags: Vec<u32>,
}

/// Creates an instance of a module that the layer above knows by a handle, and returns its index.
///
/// # Errors
/// Fails if a limit is reached, or an active segment does not fit.
pub fn instantiate(
    store: &mut StoreOpaque,
    module: &Arc<dyn LoadedModule>,
    handle: Box<dyn Any + Send + Sync>,
    imports: Imports,
) -> Result<u32> {
    check_count("instances", store.items.counted_instances(), store.items.limits().instances)?;
    if let Some(trace) = &store.observed.trace {
        trace.check_instance(module, store.items.instances())?;
    }
    let index = store.items.instances().len() as u32;
    let vmctx = VmCtx::new(module.layout(), module.counter_capacity(), store.engine().pool())
        .map_err(|e| Error::system("no memory for an instance", e))?;
    let segments = module.info().data.len().max(module.info().elements.len());
    let dropped: Box<[AtomicU8]> = (0..2 * segments).map(|_| AtomicU8::new(0)).collect();
    fill_head(store, &vmctx, index, &dropped);
    fill_imports(&store.items, &**module, &vmctx, &imports);
    fill_func_refs(&**module, &vmctx);
    let Imports { tables, memories, globals, tags, .. } = imports;
    let instance = InstanceData {
        module: module.clone(),
        handle,
        is_ready: false,
        vmctx,
        memories,
        tables,
        globals,
        tags,
        dropped,
        elements: HashMap::new(),
        unfinished: Unfinished::default(),
        cut: HashMap::default(),
        overflowed: HashMap::new(),
        paths: PathTable::new(store.engine().has_bursts().then_some(store.engine().config().paths.table)),
        extended: store.engine().config().extended_paths(),
        targets: TargetTable::default(),
        advice: None,
    };
    // The store owns the instance from here on, since the items defined in its vmctx refer to it.
    store.items.add_instance(instance);
    let limit = store.items.limits().heap_bytes;
    store.collected.objects.add_types(module.types(), limit)?;
    add_definitions(store, index)?;
    apply_elements(store, index)?;
    apply_data(store, index)?;
    store.items.instance_mut(index).is_ready = true;
    Ok(index)
}

/// The builtin table that every vmctx points to, in the order of `Builtin::ALL`.
static BUILTINS: [unsafe extern "C" fn(); 35] = [
    entries::memory_grow,
    entries::memory_copy,
    entries::memory_fill,
    entries::memory_init,
    entries::data_drop,
    entries::table_grow,
    entries::table_copy,
    entries::table_fill,
    entries::table_init,
    entries::elem_drop,
    entries::promote,
    entries::count_path,
    entries::take_row,
    entries::count_target,
    entries::cut_path,
    entries::record_burst,
    entries::record_access,
    entries::enter_allocator,
    entries::leave_allocator,
    entries::count_object,
    entries::begin_trial,
    entries::end_trial,
    entries::make_exception,
    entries::throw,
    entries::memory_wait,
    entries::memory_notify,
    entries::allocate,
    entries::array_new_data,
    entries::array_new_elem,
    entries::array_fill,
    entries::array_copy,
    entries::array_init_data,
    entries::array_init_elem,
    entries::raise,
    entries::poll,
];
const _: () = assert!(BUILTINS.len() == Builtin::ALL.len());

fn fill_head(store: &StoreOpaque, vmctx: &VmCtx, index: u32, dropped: &[AtomicU8]) {
    let content = VmContext {
        magic: head::MAGIC_INSTANCE,
        store: store.context().as_ptr(),
        builtins: BUILTINS.as_ptr().cast(),
        poll: store.control.interrupt().address(),
        instance: index as usize,
        dropped: dropped.as_ptr() as *mut u8,
    };
    // SAFETY: this is the head of a fresh vmctx, which nothing else refers to.
    unsafe { vmctx.head().write(content) };
}

fn fill_imports(items: &Items, module: &dyn LoadedModule, vmctx: &VmCtx, imports: &Imports) {
    let layout = module.layout();
    for (i, &func) in (0..).zip(&imports.funcs) {
        let VmFuncRef { slots, vmctx: callee, .. } = items.func_ref(func);
        let import =
            VmFuncImport { slots, vmctx: callee, func_ref: items.func_word(Some(func)) as *mut VmFuncRef };
        // SAFETY: the layout reserves this place in a fresh vmctx; likewise below.
        unsafe { vmctx.at(layout.func_import(i)).write(import) };
    }
    for (i, &table) in (0..).zip(&imports.tables) {
        // SAFETY: as above.
        unsafe { vmctx.at(layout.table_import(i)).write(items.table(table).definition()) };
    }
    for (i, &memory) in (0..).zip(&imports.memories) {
        // SAFETY: as above.
        unsafe { vmctx.at(layout.memory_import(i)).write(items.memory(memory).definition()) };
    }
    for (i, &global) in (0..).zip(&imports.globals) {
        // SAFETY: as above.
        unsafe { vmctx.at(layout.global_import(i)).write(items.global(global).cell()) };
    }
}

fn fill_func_refs(module: &dyn LoadedModule, vmctx: &VmCtx) {
    for (i, &func) in (0..).zip(&module.info().escaped_funcs) {
        let slots = ptr::from_ref(module.slots().row(func));
        let callee = vmctx.head().as_ptr().cast::<c_void>();
        let ty = &module.types()[module.info().funcs[func as usize] as usize];
        let func_ref = VmFuncRef {
            slots,
            vmctx: callee,
            ty: ty.id,
            trace_token: func.reverse_bits(),
            display: ty.display(),
        };
        // SAFETY: the layout reserves this place in a fresh vmctx.
        unsafe { vmctx.at(module.layout().func_ref(i)).write(func_ref) };
    }
}

fn add_definitions(store: &mut StoreOpaque, index: u32) -> Result<()> {
    let module = store.items.instance(index).module.clone();
    let (info, layout, images) = (module.info(), module.layout(), images(store.engine(), &*module));
    for (n, (ty, init)) in
        (0..).zip(info.tables[info.imported_tables as usize..].iter().zip(&info.table_inits))
    {
        let definition: NonNull<VmTable> = store.items.instance(index).vmctx.at(layout.table(n));
        let init = init.as_ref().map_or(Ok(0), |init| eval(store, index, init).map(|value| value.u64()))?;
        let (ty, pool) = (TableType::from_parser(ty, module.types()), store.engine().pool().cloned());
        let table = store.items.add_table(ty, init, Some(definition), pool)?;
        store.items.instance_mut(index).tables.push(table);
    }
    for (n, ty) in (0..).zip(&info.memories[info.imported_memories as usize..]) {
        let definition: NonNull<VmMemory> = store.items.instance(index).vmctx.at(layout.memory(n));
        let image = images.and_then(|images| images.get(n as usize)).cloned();
        let memory = store.add_memory(MemoryType::from_parser(ty), Some(definition), image)?;
        if ty.shared {
            let place: NonNull<NonNull<VmMemory>> = store.items.instance(index).vmctx.at(layout.memory(n));
            // SAFETY: the layout reserves this place in a fresh vmctx.
            unsafe { place.write(store.items.memory(memory).definition()) };
        }
        store.items.instance_mut(index).memories.push(memory);
    }
    for (n, global) in (0..).zip(&info.globals[info.imported_globals as usize..]) {
        let cell: NonNull<VmValue> = store.items.instance(index).vmctx.at(layout.global(n));
        let init = global.init.as_ref().expect("defined globals have an initial value");
        let value = eval(store, index, init)?;
        let global =
            store.items.add_global(GlobalType::from_parser(&global.ty, module.types()), value, Some(cell));
        store.items.instance_mut(index).globals.push(global);
    }
    add_tags(&mut store.items, &*module, index);
    elements::make(store, index)?;
    Ok(())
}

/// Returns the initial images of the module's memories, if instances share them.
fn images<'m>(engine: &EngineCore, module: &'m dyn LoadedModule) -> Option<&'m [Arc<MemoryImage>]> {
    let style = engine.compiler().options().memory;
    let is_shared = style.is_static() && engine.config().shares_data;
    engine.pool().filter(|_| is_shared).and_then(|_| module.memory_images())
}

/// Adds the tags that a module defines, and passes all tags to its code.
fn add_tags(items: &mut Items, module: &dyn LoadedModule, instance: u32) {
    let (info, layout) = (module.info(), module.layout());
    for tag in info.imported_tags..info.tags.len() as u32 {
        let ty = module.types()[info.tags[tag as usize] as usize].func_type();
        let index = items.add_tag(ty, info.tag_name(tag));
        items.instance_mut(instance).tags.push(index);
    }
    let instance = items.instance(instance);
    for (n, &tag) in (0..).zip(&instance.tags) {
        let number = items.tag(tag).number;
        // SAFETY: the layout reserves this place in the vmctx, and no code of the instance has run.
        unsafe { instance.vmctx.at(layout.tag(n)).write(number) };
    }
}

fn apply_elements(store: &mut StoreOpaque, index: u32) -> Result<()> {
    let module = store.items.instance(index).module.clone();
    for (segment, elements) in (0..).zip(&module.info().elements) {
        match &elements.mode {
            SegmentMode::Passive => continue,
            SegmentMode::Declared => {}
            SegmentMode::Active { target, offset } => {
                let len = match &elements.items {
                    ElementItems::Funcs(funcs) => funcs.len(),
                    ElementItems::Exprs(exprs) => exprs.len(),
                };
                let at = offset_value(store, index, offset, module.info().tables[*target as usize].table64)?;
                bulk::table_init(store, index, *target, segment, at, 0, len as u32)?;
            }
        }
        store.items.instance(index).drop_elem(segment);
    }
    Ok(())
}

fn apply_data(store: &mut StoreOpaque, index: u32) -> Result<()> {
    let module = store.items.instance(index).module.clone();
    let is_there = images(store.engine(), &*module).is_some();
    for (segment, data) in (0..).zip(&module.info().data) {
        if let SegmentMode::Active { target, offset } = &data.mode {
            if is_there {
                store.items.instance(index).drop_data(segment);
                continue;
            }
            let at = offset_value(store, index, offset, module.info().memories[*target as usize].memory64)?;
            let len = data.bytes.len() as u32;
            bulk::memory_init(store, index, *target, segment, at, 0, len).map_err(|error| match error {
                InitError::Trap(trap) => Error::from(trap),
                InitError::File(error) => Error::system("cannot read the module's data", error),
            })?;
            store.items.instance(index).drop_data(segment);
        }
    }
    Ok(())
}

fn offset_value(
    store: &mut StoreOpaque,
    index: u32,
    offset: &wprof_jit::module::ConstExpr,
    is_64: bool,
) -> Result<u64> {
    let value = eval(store, index, offset)?;
    Ok(if is_64 { value.u64() } else { u64::from(value.u32()) })
}

/// Returns the store-wide index, as public handles hold it, of an item of an instance.
pub fn entity_index(instance: &InstanceData, entity: Entity) -> u32 {
    match entity {
        Entity::Func(f) => f,
        Entity::Table(t) => instance.tables[t as usize],
        Entity::Memory(m) => instance.memories[m as usize],
        Entity::Global(g) => instance.globals[g as usize],
        Entity::Tag(t) => instance.tags[t as usize],
    }
}
