//! A module from text, with what its code relies on.

use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::ModuleEnv;
use wprof_jit::module::{self, ModuleInfo};

pub struct Parsed {
    pub info: ModuleInfo,
    pub layout: VmLayout,
    type_ids: Vec<u32>,
}

impl Parsed {
    /// # Panics
    /// If the text is no valid module.
    pub fn new(wat: &str) -> Parsed {
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        let layout = VmLayout::new(&info);
        let type_ids = (0..info.types.len()).collect();
        Parsed { info, layout, type_ids }
    }

    /// With its code slots at address `slots`.
    pub fn env(&self, slots: u64) -> ModuleEnv<'_> {
        let Parsed { info, layout, type_ids } = self;
        ModuleEnv { info, layout, type_ids, events: &[], slots, dispatch_cells: None }
    }
}
