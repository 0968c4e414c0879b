//! What the code of a module relies on.

use crate::abi::VmLayout;
use crate::events::EventModel;
use crate::module::ModuleInfo;

/// What the code of one module relies on.
#[derive(Clone, Copy)]
pub struct ModuleEnv<'a> {
    /// The module.
    pub info: &'a ModuleInfo,
    /// Its vmctx layout.
    pub layout: &'a VmLayout,
    /// Engine-wide id of each type of `info.types`.
    pub type_ids: &'a [u32],
    /// Kinds of events that are counted, by number.
    pub events: &'a [EventModel],
    /// Address of the module's code slots: one `abi::code_slots` row per function index.
    pub slots: u64,
    /// Address of its dispatch cells, if they are there.
    pub dispatch_cells: Option<u64>,
}
