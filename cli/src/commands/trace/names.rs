//! Display names of functions and blocks of a trace.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use wprof::Module;
use wprof_jit::cfg::{self, instruction_offsets};
use wprof_jit::plan::SplitCfg;
use wprof_profiler::{BlockId, TraceHead};
use wprof_report::SourceLine;
use wprof_report::names;

use crate::modules::ModuleOption;

/// The maximum number of a block's instructions that are looked up to find its line.
const MOST_LOOKUPS: usize = 50;

/// Names from a module, or numbers if there is none.
pub struct Names {
    module: Option<Module>,
    functions: HashMap<u32, Function>,
}

struct Function {
    name: String,
    /// By block: the offset of its code.
    starts: Vec<u32>,
    /// By block: the offsets of its instructions.
    instructions: Vec<Vec<u32>>,
}

impl Names {
    /// Takes names from the given module, or else from the module that ran, if it can be found.
    ///
    /// # Errors
    /// Returns an error if the given module is not the one that ran.
    pub fn new(head: &TraceHead, trace: &Path, given: &ModuleOption) -> Result<Self> {
        let module = given.of_record((head.module_hash, &head.program), trace)?;
        Ok(Self { module, functions: HashMap::new() })
    }

    /// Reports whether a module was found.
    pub fn are_known(&self) -> bool {
        self.module.is_some()
    }

    /// Returns the module, if one was found.
    pub fn module(&self) -> Option<&Module> {
        self.module.as_ref()
    }

    /// Returns the name of a function.
    pub fn function(&mut self, index: u32) -> &str {
        &self.get(index).name
    }

    /// Returns the name of a block: the byte in the module where it begins, or its number.
    pub fn block(&mut self, function: u32, block: BlockId) -> String {
        match self.get(function).starts.get(block.index()) {
            Some(start) => format!("{start:#x}"),
            None => block.to_string(),
        }
    }

    /// Returns the number of instructions of a block; 1 if it is unknown.
    pub fn cost(&mut self, function: u32, block: BlockId) -> u64 {
        let of_block = self.get(function).instructions.get(block.index());
        of_block.map_or(1, |instructions| instructions.len() as u64)
    }

    /// Returns the place of a block: its first source line, or else the byte where it begins.
    pub fn place(&mut self, function: u32, block: BlockId) -> String {
        let instructions = self.get(function).instructions.get(block.index()).cloned().unwrap_or_default();
        let line = self.module.as_ref().and_then(|module| {
            instructions.into_iter().take(MOST_LOOKUPS).find_map(|offset| SourceLine::at(module, offset))
        });
        line.map_or_else(|| self.block(function, block), |line| line.to_string())
    }

    /// Describes the code at a byte of the module: its function and source line, or else the byte.
    pub fn site(&self, site: u32) -> String {
        let line = self.module.as_ref().and_then(|module| SourceLine::at(module, site));
        line.map_or_else(|| format!("{site:#x}"), |line| format!("{site:#x} {}", line.with_function()))
    }

    fn get(&mut self, index: u32) -> &Function {
        let module = self.module.as_ref();
        self.functions.entry(index).or_insert_with(|| {
            let name = names::shown(index, module.and_then(|module| module.func_name(index)));
            let (starts, instructions) = module.and_then(|module| blocks(module, index)).unwrap_or_default();
            Function { name, starts, instructions }
        })
    }
}

/// Returns the offset of each block, and the offsets of its instructions.
fn blocks(module: &Module, function: u32) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
    let info = module.info();
    let cfg = cfg::build(info, function).ok()?;
    let split = SplitCfg::new(info, &cfg).ok()?;
    let offsets = instruction_offsets(info, &cfg).ok()?;
    let starts: Vec<u32> = split.parts.iter().map(|part| part.start).collect();
    let instructions = split.parts.iter().zip(1..).map(|(part, next)| {
        let limit = cfg.blocks[part.block as usize].limit;
        let end = split.parts.get(next).map_or(limit, |next| next.start.min(limit));
        offsets.iter().copied().filter(|offset| (part.start..end).contains(offset)).collect()
    });
    let instructions = instructions.collect();
    Some((starts, instructions))
}
