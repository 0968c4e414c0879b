//! What the runtime asks of a module: what its code needs to run, and that it be compiled. The layer above has the
//! modules, compiles their functions and decides which version is run.
//!
//! Invariant: a module that has code on the stack, or an instance in a store, is alive: its data stays where it is, and
//! each address that it gives is of runnable code of the function that was asked for.

use std::any::Any;
use std::fmt::Debug;
use std::ptr;
use std::sync::{Arc, Weak};

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::Origin;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{ContextSite, FunctionPlan};
use wprof_profiler::Side;

use crate::Result;
use crate::runtime::code::CodeSlots;
use crate::runtime::linear_memory::image::Image;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::values::types::TypeEntry;

/// A module that was parsed and validated, and can be instantiated and run.
pub trait LoadedModule: Any + Debug + Send + Sync {
    /// What was parsed.
    fn info(&self) -> &ModuleInfo;

    /// Where what is in a vmctx of its instances.
    fn layout(&self) -> &VmLayout;

    /// Its types, by type index.
    fn types(&self) -> &[Arc<TypeEntry>];

    /// The rows through which its functions are called.
    fn slots(&self) -> &CodeSlots;

    /// Its bytes again, with those that are read late; nothing if none are.
    fn image(&self) -> Option<&Arc<Image>>;

    /// What the memories that it defines hold from the start, if that is known; made when somebody asks.
    fn memory_images(&self) -> Option<&[Arc<MemoryImage>]>;

    /// How many counters an instance has room for.
    fn counter_capacity(&self) -> u64;

    /// The name of a function.
    fn func_name(&self, func: u32) -> Option<&str>;

    /// The calls that a function makes, tail calls too, in bytecode order.
    fn call_sites(&self, func: u32) -> Arc<[ContextSite]>;

    /// The plan of a function, which may have been compiled or not; `None` if it cannot be.
    fn any_plan_of(&self, func: u32) -> Option<Arc<FunctionPlan>>;

    /// The functions that have been compiled.
    fn compiled_functions(&self) -> Vec<u32>;

    /// What a frame that stopped at `place` has to add to the counter of each kind of events.
    ///
    /// # Errors
    /// If the function exceeds a limit.
    fn event_corrections(&self, place: &Origin) -> Result<Vec<i64>>;

    /// The same for a frame that was stopped at the one place where a budget is checked; `None` anywhere else.
    ///
    /// # Errors
    /// As there.
    fn events_owed_before(&self, place: &Origin) -> Result<Option<Vec<i64>>>;

    /// Index of the counter of a function's heat, and its value from which on it is hot.
    fn heat(&self, func: u32) -> Option<(u32, u32)>;

    /// The code behind a row of code slots, compiled now if there is none; `None` if `is_over` says so before there is.
    ///
    /// # Errors
    /// If it cannot be compiled.
    fn code_unless(self: Arc<Self>, row: u32, is_over: &dyn Fn() -> bool) -> Result<Option<usize>>;

    /// Baseline code of a function, which was called `calls` times, is hot, at the loop header `block` or, if that is 0,
    /// at its entry. Orders better versions; gives the address of one that resumes at `block` if there is one.
    fn request_promotion(self: Arc<Self>, func: u32, block: u32, calls: u64) -> Option<usize>;

    /// Code of a function for bursts, entered at `block`, a loop header or 0 for its entry; `None` if there is none, yet.
    fn burst_code(self: Arc<Self>, func: u32, block: u32) -> Option<usize>;

    /// Code of a function for the time between bursts, entered likewise; it is wanted badly by a frame that `is_stuck`.
    fn checking_code(self: Arc<Self>, func: u32, block: u32, is_stuck: bool) -> Option<usize>;

    /// Has calls in bursts ask again for code that was not afforded.
    fn ask_again(&self);

    /// Whether a frame at a loop header has code to go on in when a burst is over.
    fn comes_back(self: Arc<Self>, func: u32, header: u32, is_baseline: bool) -> bool;

    /// Which version of a function the next call is to be timed of, if it is tried.
    fn next_in_trial(&self, func: u32) -> Option<Side>;

    /// A call of that version has taken so many cycles.
    fn add_to_trial(&self, func: u32, side: Side, cycles: u64);
}

/// A reference to a module that does not keep it, and the index of a function there.
pub type Owner = (Weak<dyn LoadedModule>, u32);

/// Whether both are the same module.
pub fn same(a: &Arc<dyn LoadedModule>, b: &Arc<dyn LoadedModule>) -> bool {
    ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}
