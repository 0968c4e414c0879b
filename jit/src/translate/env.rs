//! The surroundings of a module's code.

use crate::abi::VmLayout;
use crate::events::EventModel;
use crate::module::ModuleInfo;

/// The surroundings of one module's code.
#[derive(Clone, Copy)]
pub struct ModuleEnv<'a> {
    /// The module.
    pub info: &'a ModuleInfo,
    /// The layout of its vmctx.
    pub layout: &'a VmLayout,
    /// The engine-wide id of each type of `info.types`.
    pub type_ids: &'a [u32],
    /// The kinds of events that are counted, by number.
    pub events: &'a [EventModel],
    /// The address of the module's code slots: one `abi::code_slots` row per function index.
    pub slots: u64,
    /// The address of the module's dispatch cells, if it has them.
    pub dispatch_cells: Option<u64>,
}
