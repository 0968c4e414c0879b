//! Instances of modules in a store.

use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use hashbrown::HashMap;
use wprof_jit::abi::heat;
use wprof_jit::compile::Origin;
use wprof_jit::module::Entity;
use wprof_jit::plan::FunctionPlan;
use wprof_jit::reoptimize::Advice;
use wprof_profiler::ExtendedPaths;

use super::abi::{VmFuncImport, VmFuncRef};
use super::loaded::LoadedModule;
use super::vmctx::VmCtx;
use crate::runtime::burst::call_targets::TargetTable;
use crate::runtime::counts::path_table::PathTable;
use crate::runtime::counts::unfinished::{Stopped, Unfinished};

/// An instance. Its items are named by their indices in the store.
pub struct InstanceData {
    /// Its module.
    pub module: Arc<dyn LoadedModule>,
    /// The handle of the layer above for its module.
    pub handle: Box<dyn Any + Send + Sync>,
    /// Whether everything that its code uses is in place, and its segments have been copied. Until then nobody is
    /// given the instance, because machine code assumes that memories have their base.
    pub is_ready: bool,
    /// The context that its machine code works on.
    pub vmctx: VmCtx,
    /// Store index of each memory, imports first.
    pub memories: Vec<u32>,
    /// Store index of each table.
    pub tables: Vec<u32>,
    /// Store index of each global.
    pub globals: Vec<u32>,
    /// Store index of each tag.
    pub tags: Vec<u32>,
    /// Two bytes per segment index: data segment dropped, element segment dropped. The vmctx points here.
    pub dropped: Box<[AtomicU8]>,
    /// Element segments whose elements are created only once, because they are new objects.
    pub elements: HashMap<u32, Vec<u64>>,
    /// Frames of its functions that ended early, when profiling.
    pub unfinished: Unfinished,
    /// Paths that burst code has cut at a check, by function, the check's block, and the path register there.
    pub cut: HashMap<(u32, u32, u64), Stopped>,
    /// Frames that overflowed the stack before the function executed anything.
    pub overflowed: HashMap<Origin, u64>,
    /// The paths of functions that have too many paths for one counter each.
    pub paths: PathTable,
    /// The extended paths seen in bursts, if they are counted.
    pub extended: Option<ExtendedPaths>,
    /// The callees of indirect calls, except the last ones.
    pub targets: TargetTable,
    /// The advice of bursts when hot functions were last looked for.
    pub advice: Option<Arc<Advice>>,
}

impl InstanceData {
    /// Returns the function value of function `func`, which must be imported or escaping.
    pub fn func_ref(&self, func: u32) -> NonNull<VmFuncRef> {
        let module = &self.module;
        if module.info().is_imported_func(func) {
            let import = self.vmctx.at::<VmFuncImport>(module.layout().func_import(func));
            // SAFETY: instantiation has filled it; imports do not change.
            let pointer = unsafe { import.read() }.func_ref;
            return NonNull::new(pointer).expect("imports have function values");
        }
        let escaped = module.info().escaped_index(func).expect("only escaping functions are used as values");
        self.vmctx.at(module.layout().func_ref(escaped))
    }

    /// Returns the current counters of a function.
    pub fn counters(&self, version: &FunctionPlan) -> Vec<u64> {
        let layout = self.module.layout();
        let range = version.first_counter..version.first_counter + version.own_counters();
        range.map(|i| self.vmctx.counter(layout.counter(i))).collect()
    }

    /// Returns the export called `name`.
    pub fn export(&self, name: &str) -> Option<Entity> {
        self.module.info().export_index.get(name).copied()
    }

    /// Returns the byte range of a data segment in the module; empty if the segment was dropped.
    pub fn data_segment(&self, segment: u32) -> Range<usize> {
        let bytes = self.module.info().data[segment as usize].bytes.clone();
        match self.dropped[2 * segment as usize].load(Ordering::Relaxed) {
            0 => bytes,
            _ => bytes.start..bytes.start,
        }
    }

    /// Returns whether an element segment was dropped.
    pub fn is_elem_dropped(&self, segment: u32) -> bool {
        self.dropped[2 * segment as usize + 1].load(Ordering::Relaxed) != 0
    }

    /// Drops a data segment.
    pub fn drop_data(&self, segment: u32) {
        self.dropped[2 * segment as usize].store(1, Ordering::Relaxed);
    }

    /// Drops an element segment.
    pub fn drop_elem(&self, segment: u32) {
        self.dropped[2 * segment as usize + 1].store(1, Ordering::Relaxed);
    }

    /// Lowers the heat of a function that waits for a better version, so that it does not ask all the time.
    pub fn cool_down(&self, func: u32) {
        let module = &self.module;
        let Some((counter, hot)) = module.heat(func) else { return };
        let cell = module.layout().counter(counter);
        let calls = self.vmctx.counter(cell) / heat::CALL * heat::CALL;
        self.vmctx.set_counter(cell, calls + u64::from(hot - hot.div_ceil(heat::ASKS)));
    }

    /// Returns how often baseline code of a function was called.
    pub fn calls_in_baseline(&self, func: u32) -> u64 {
        let module = &self.module;
        let cell = module.heat(func).map(|(counter, _)| module.layout().counter(counter));
        cell.map_or(0, |cell| self.vmctx.counter(cell) / heat::CALL)
    }
}
