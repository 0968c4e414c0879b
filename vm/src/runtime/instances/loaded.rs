//! The runtime's view of a module: the data that its code needs to run, and requests to compile it. The layer above
//! owns the modules, compiles their functions and decides which version runs.
//!
//! Invariant: a module with code on the stack, or with an instance in a store, is alive: its data stays in place, and
//! each address that it returns is that of runnable code of the requested function.

use std::any::Any;
use std::fmt::Debug;
use std::ptr;
use std::sync::{Arc, Weak};

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::Origin;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{FunctionContexts, FunctionPlan};
use wprof_profiler::Side;

use crate::Result;
use crate::runtime::code::CodeSlots;
use crate::runtime::linear_memory::image::Image;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::values::type_ids::TypeEntry;

/// A parsed and validated module that can be instantiated and run.
pub trait LoadedModule: Any + Debug + Send + Sync {
    /// Returns the parsed module.
    fn info(&self) -> &ModuleInfo;

    /// Returns the layout of its instances' vmctxs.
    fn layout(&self) -> &VmLayout;

    /// Returns its types, by type index.
    fn types(&self) -> &[Arc<TypeEntry>];

    /// Returns the rows through which its functions are called.
    fn slots(&self) -> &CodeSlots;

    /// Returns the image of its file, which provides the late bytes; `None` if none are late.
    fn image(&self) -> Option<&Arc<Image>>;

    /// Returns the initial images of the memories that it defines, if known; created on first use.
    fn memory_images(&self) -> Option<&[Arc<MemoryImage>]>;

    /// Returns the number of counters that an instance has room for.
    fn counter_capacity(&self) -> u64;

    /// Returns the name of a function.
    fn func_name(&self, func: u32) -> Option<&str>;

    /// Returns the calls in a function, including tail calls, in bytecode order, and their callee slots.
    fn call_sites(&self, func: u32) -> Arc<FunctionContexts>;

    /// Returns the plan of a function, compiled or not; `None` if it cannot be planned.
    fn any_plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>>;

    /// Returns the compiled functions.
    fn compiled_functions(&self) -> Vec<u32>;

    /// Returns the correction of each event counter for a frame that stopped at `place`.
    ///
    /// # Errors
    /// Fails if the function exceeds a limit.
    fn event_corrections(&self, place: &Origin) -> Result<Vec<i64>>;

    /// Returns the corrections for a frame that stopped at the only place with a budget check; `None` anywhere else.
    ///
    /// # Errors
    /// Fails as [`Self::event_corrections`] does.
    fn events_owed_before(&self, place: &Origin) -> Result<Option<Vec<i64>>>;

    /// Returns the index of the heat counter of a function, and the value from which it is hot.
    fn heat(&self, func: u32) -> Option<(u32, u32)>;

    /// Returns the code of a row of code slots, compiled now if necessary; `None` if `is_over` ends the wait first.
    ///
    /// # Errors
    /// Fails if the code cannot be compiled.
    fn code_unless(self: Arc<Self>, row: u32, is_over: &dyn Fn() -> bool) -> Result<Option<usize>>;

    /// Handles a report that baseline code of a function, with `calls` calls, is hot, at the loop header `block` or, if
    /// that is 0, at its entry. Orders better versions; returns the address of one that resumes at `block`, if
    /// available.
    fn request_promotion(self: Arc<Self>, func: u32, block: u32, calls: u64) -> Option<usize>;

    /// Returns burst code of a function, entered at `block`, a loop header or 0 for its entry; `None` if not available
    /// yet.
    fn burst_code(self: Arc<Self>, func: u32, block: u32) -> Option<usize>;

    /// Returns code of a function for the time between bursts, entered likewise; a frame that `is_stuck` needs it
    /// urgently.
    fn checking_code(self: Arc<Self>, func: u32, block: u32, is_stuck: bool) -> Option<usize>;

    /// Lets calls in bursts request code again that they did not get, and be noted as not counted.
    fn ask_again(&self);

    /// Reports whether a frame at a loop header has code to continue in after a burst.
    fn comes_back(self: Arc<Self>, func: u32, header: u32, is_baseline: bool) -> bool;

    /// Returns which version of a function the next call is to time, if two are compared.
    fn next_in_trial(&self, func: u32) -> Option<Side>;

    /// Records the cycles of a timed call of one version.
    fn add_to_trial(&self, func: u32, side: Side, cycles: u64);
}

/// A weak reference to a module, and the index of a function in it.
pub type Owner = (Weak<dyn LoadedModule>, u32);

/// Reports whether both are the same module.
pub fn same(a: &Arc<dyn LoadedModule>, b: &Arc<dyn LoadedModule>) -> bool {
    ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}
