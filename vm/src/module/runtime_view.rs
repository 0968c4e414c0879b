//! Modules as the lower layers see them: the runtime, and the compiler thread.

use std::any::Any;
use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::Origin;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{FunctionContexts, FunctionPlan};
use wprof_profiler::Side;

use super::{Module, ModuleInner};
use crate::Result;
use crate::background::{Compiles, Promotion};
use crate::runtime::code::CodeSlots;
use crate::runtime::instances::loaded::{LoadedModule, Owner};
use crate::runtime::linear_memory::image::Image;
use crate::runtime::linear_memory::memory_image::{MemoryImage, images_of};
use crate::runtime::values::type_ids::TypeEntry;

impl Module {
    /// Returns the module as the runtime sees it.
    pub(crate) fn loaded(&self) -> Arc<dyn LoadedModule> {
        self.0.clone()
    }

    /// Returns the module of a runtime handle.
    pub(crate) fn from_loaded(loaded: &Arc<dyn LoadedModule>) -> Module {
        let inner: Arc<dyn Any + Send + Sync> = loaded.clone();
        Module(inner.downcast().expect("no other modules are loaded"))
    }
}

impl ModuleInner {
    /// Returns the shared state of a module from a runtime handle.
    pub(crate) fn from_loaded(loaded: &Arc<dyn LoadedModule>) -> &ModuleInner {
        let inner: &dyn Any = &**loaded;
        inner.downcast_ref().expect("no other modules are loaded")
    }

    /// Returns the owner of a piece of code of function `func`.
    pub(super) fn owner(self: &Arc<Self>, func: u32) -> Owner {
        let module: Arc<dyn LoadedModule> = self.clone();
        (Arc::downgrade(&module), func)
    }
}

impl LoadedModule for ModuleInner {
    fn info(&self) -> &ModuleInfo {
        &self.info
    }

    fn layout(&self) -> &VmLayout {
        &self.layout
    }

    fn types(&self) -> &[Arc<TypeEntry>] {
        &self.types
    }

    fn slots(&self) -> &CodeSlots {
        &self.slots
    }

    fn image(&self) -> Option<&Arc<Image>> {
        self.image.as_ref()
    }

    fn memory_images(&self) -> Option<&[Arc<MemoryImage>]> {
        // Data that is read late belongs to the file's image.
        let make = || self.image.is_none().then(|| images_of(&self.info)).flatten();
        self.memory_images.get_or_init(make).as_deref()
    }

    fn counter_capacity(&self) -> u64 {
        ModuleInner::counter_capacity(self)
    }

    fn func_name(&self, func: u32) -> Option<&str> {
        self.names().func(func)
    }

    fn call_sites(&self, func: u32) -> Arc<FunctionContexts> {
        ModuleInner::call_sites(self, func)
    }

    fn any_plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>> {
        ModuleInner::any_plan_of(self, func)
    }

    fn compiled_functions(&self) -> Vec<u32> {
        ModuleInner::compiled_functions(self)
    }

    fn event_corrections(&self, place: &Origin) -> Result<Vec<i64>> {
        ModuleInner::event_corrections(self, place)
    }

    fn events_owed_before(&self, place: &Origin) -> Result<Option<Vec<i64>>> {
        ModuleInner::events_owed_before(self, place)
    }

    fn heat(&self, func: u32) -> Option<(u32, u32)> {
        ModuleInner::heat(self, func)
    }

    fn code_unless(self: Arc<Self>, row: u32, is_over: &dyn Fn() -> bool) -> Result<Option<usize>> {
        ModuleInner::code_unless(&self, row, is_over)
    }

    fn request_promotion(self: Arc<Self>, func: u32, block: u32, calls: u64) -> Option<usize> {
        ModuleInner::request_promotion(&self, func, block, calls)
    }

    fn burst_code(self: Arc<Self>, func: u32, block: u32) -> Option<usize> {
        ModuleInner::burst_code(&self, func, block)
    }

    fn checking_code(self: Arc<Self>, func: u32, block: u32, is_stuck: bool) -> Option<usize> {
        ModuleInner::checking_code(&self, func, block, is_stuck)
    }

    fn ask_again(&self) {
        ModuleInner::ask_again(self);
    }

    fn comes_back(self: Arc<Self>, func: u32, header: u32, is_baseline: bool) -> bool {
        ModuleInner::comes_back(&self, func, header, is_baseline)
    }

    fn next_in_trial(&self, func: u32) -> Option<Side> {
        ModuleInner::next_in_trial(self, func)
    }

    fn add_to_trial(&self, func: u32, side: Side, cycles: u64) {
        ModuleInner::add_to_trial(self, func, side, cycles);
    }
}

impl Compiles for ModuleInner {
    fn promote(self: Arc<Self>, func: u32, promotion: Promotion) -> Result<()> {
        ModuleInner::promote(&self, func, promotion)
    }

    fn compile_ahead(self: Arc<Self>, row: u32) -> Result<()> {
        ModuleInner::compile_ahead(&self, row)
    }

    fn advance_hash(self: Arc<Self>) {
        ModuleInner::advance_hash(&self);
    }

    fn size_of(&self, func: u32) -> usize {
        self.info.body(func).len()
    }

    fn takes_long(&self, row: u32) -> bool {
        ModuleInner::takes_long(self, row)
    }
}
