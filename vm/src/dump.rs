//! What a core dump is made of: the frames of an error, and the items of the store in which it occurred.
//!
//! [`core_dump`](crate::core_dump) writes it.

use std::fmt;

use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::Stored;
use crate::{Error, FrameInfo, Module, Trap};

/// The frames of an error, which can be written together with the state of the store in which it occurred. Writing takes
/// time in proportion to the size of the memories.
///
/// With [`Config::coredump_on_trap`](crate::Config::coredump_on_trap) errors have one: see
/// [`Error::downcast_ref`](crate::Error::downcast_ref).
#[derive(Clone, Debug)]
pub struct WasmCoreDump {
    pub(crate) frames: Vec<FrameInfo>,
    /// Whether a budget is exhausted: the values of the innermost frame may then be known.
    pub(crate) is_out_of_budget: bool,
    modules: Vec<Module>,
    pub(crate) instances: Vec<Stored>,
    pub(crate) memories: Vec<Stored>,
    pub(crate) globals: Vec<Stored>,
}

impl WasmCoreDump {
    /// Creates the core dump of an error; `None` if the error did not end wasm code early, or if the program
    /// exited by itself. This costs next to nothing, because [`serialize`](Self::serialize) reads the rest. It has no lists
    /// of modules, instances, memories and globals; the one that the error has does, if the engine dumps core.
    pub fn new(error: &Error) -> Option<WasmCoreDump> {
        let frames = error.backtrace().filter(|_| error.i32_exit().is_none())?.frames().to_vec();
        let is_out_of_budget = matches!(error.trap(), Some(Trap::OutOfBudget | Trap::OutOfFuel));
        let [instances, memories, globals] = [const { Vec::new() }; 3];
        Some(WasmCoreDump { frames, is_out_of_budget, modules: Vec::new(), instances, memories, globals })
    }

    /// Adds the items that a store has now.
    pub(crate) fn with_store(mut self, store: &StoreOpaque) -> WasmCoreDump {
        let items = &store.items;
        let handles = |count: usize| (0..count as u32).map(|index| items.handle(index)).collect();
        self.modules = modules(items).0.into_iter().cloned().collect();
        self.instances = handles(items.instances().len());
        self.memories = handles(items.memories().len());
        self.globals = handles(items.globals().len());
        self
    }

    /// Returns the frames, innermost first.
    pub fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }

    /// Returns the modules of which the store had instances when the error occurred, if the engine dumps core.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }
}

/// Says in one line how much it has.
impl fmt::Display for WasmCoreDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frames, memories) = (self.frames.len(), self.memories.len());
        write!(f, "core dump of {frames} frames, {} instances and {memories} memories", self.instances.len())
    }
}

impl std::error::Error for WasmCoreDump {}

/// Returns the modules that a store has instances of, and for each instance the index of its module.
pub(crate) fn modules(items: &Items) -> (Vec<&Module>, Vec<usize>) {
    let (mut modules, mut of): (Vec<&Module>, Vec<usize>) = (Vec::new(), Vec::new());
    for instance in items.instances() {
        let is_it = |module: &&Module| loaded::same(&module.loaded(), &instance.module);
        let index = modules.iter().position(is_it).unwrap_or_else(|| {
            modules.push(instance.handle.downcast_ref().expect("instances are made of modules"));
            modules.len() - 1
        });
        of.push(index);
    }
    (modules, of)
}
