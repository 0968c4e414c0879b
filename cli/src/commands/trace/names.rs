//! Functions and blocks of a trace as they are shown.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use wprof::Module;
use wprof_jit::cfg;
use wprof_jit::plan::SplitCfg;
use wprof_profiler::{BlockId, TraceHead};

use crate::modules::ModuleOption;
use crate::names;

/// Names from a module, or numbers without one.
pub struct Names {
    module: Option<Module>,
    functions: HashMap<u32, Function>,
}

struct Function {
    name: String,
    /// By block: where its code begins.
    starts: Vec<u32>,
}

impl Names {
    /// Names of the given module, or else of the one that ran if it can be found.
    ///
    /// # Errors
    /// If the given one is not the module that ran.
    pub fn new(head: &TraceHead, trace: &Path, given: &ModuleOption) -> Result<Self> {
        let module = given.of_record((head.module_hash, &head.program), trace)?;
        Ok(Self { module, functions: HashMap::new() })
    }

    /// Whether a module was found.
    pub fn are_known(&self) -> bool {
        self.module.is_some()
    }

    /// The module, if one was found.
    pub fn module(&self) -> Option<&Module> {
        self.module.as_ref()
    }

    /// The name of a function.
    pub fn function(&mut self, index: u32) -> &str {
        &self.get(index).name
    }

    /// A block: the byte in the module where it begins, or its number.
    pub fn block(&mut self, function: u32, block: BlockId) -> String {
        match self.get(function).starts.get(block.index()) {
            Some(start) => format!("{start:#x}"),
            None => block.to_string(),
        }
    }

    fn get(&mut self, index: u32) -> &Function {
        let module = self.module.as_ref();
        self.functions.entry(index).or_insert_with(|| {
            let name = names::shown(index, module.and_then(|module| module.func_name(index)));
            Function { name, starts: module.and_then(|module| starts(module, index)).unwrap_or_default() }
        })
    }
}

fn starts(module: &Module, function: u32) -> Option<Vec<u32>> {
    let info = module.info();
    let split = SplitCfg::new(info, &cfg::build(info, function).ok()?).ok()?;
    Some(split.parts.iter().map(|part| part.start).collect())
}
