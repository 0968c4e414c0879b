//! Maps the parts of a trace to the module: their calls and call sites.

use std::collections::HashMap;

use wasmparser::{BinaryReader, Operator, OperatorsReader};
use wprof::Module;
use wprof_jit::cfg::{End, build};
use wprof_jit::module::{Entity, ModuleInfo};
use wprof_jit::plan::SplitCfg;
use wprof_profiler::{BlockId, Callee, Routine};

/// The target of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fixed host function, by module and name.
    Host(String, String),
    /// The runtime, which finds the handler of an exception: traces have it as a call of the host.
    Throw,
    /// A function of the module, or a table element.
    Other,
}

/// A call: the byte offset of its instruction, and its target.
type CallAt = (u32, Kind);

/// The calls of the functions that were looked up.
pub struct Names {
    module: Module,
    known: HashMap<u32, Vec<Option<(CallAt, bool)>>>,
}

impl Names {
    pub fn new(module: &Module) -> Names {
        Names { module: module.clone(), known: HashMap::new() }
    }

    /// Returns a function of the module.
    pub fn function(&self, index: u32) -> Callee {
        Callee::Function { index, name: self.module.func_name(index).map(str::to_string) }
    }

    /// Returns the call that ends a part.
    pub fn call(&mut self, func: u32, part: BlockId) -> Result<CallAt, String> {
        let call = self.part(func, part).map(|(call, _)| call);
        call.ok_or_else(|| format!("{part} of function {func} makes no call"))
    }

    /// Reports whether a part ends in a tail call.
    pub fn is_tail_call(&mut self, func: u32, part: BlockId) -> Result<bool, String> {
        Ok(self.part(func, part).is_some_and(|(_, is_tail)| is_tail))
    }

    /// Returns the name of a callee for readers of the tree.
    pub fn routine(&self, callee: &Callee) -> Routine {
        let sites = match callee {
            Callee::Function { index, .. } => {
                let calls = parts(self.module.info(), *index).into_iter().flatten().map(|(call, _)| call);
                calls.filter(|(_, kind)| *kind != Kind::Throw).map(|(at, _)| at).collect()
            }
            _ => Vec::new(),
        };
        Routine { callee: callee.clone(), sites }
    }

    fn part(&mut self, func: u32, part: BlockId) -> Option<(CallAt, bool)> {
        let module = &self.module;
        let parts = self.known.entry(func).or_insert_with(|| parts(module.info(), func));
        parts.get(part.index()).cloned().flatten()
    }
}

/// Returns, for each part, its call and whether that is a tail call.
fn parts(info: &ModuleInfo, func: u32) -> Vec<Option<(CallAt, bool)>> {
    let cfg = build(info, func).expect("it ran");
    let split = SplitCfg::new(info, &cfg).expect("it ran");
    let call = |(index, part): (usize, &wprof_jit::plan::Part)| {
        let block = &cfg.blocks[part.block as usize];
        let is_last = split.parts.get(index + 1).is_none_or(|next| next.block != part.block);
        let is_tail = is_last && block.how == End::TailCall;
        let at = part.call.or(is_tail.then_some(block.end))?;
        Some(((at, kind(info, at)), is_tail))
    };
    split.parts.iter().enumerate().map(call).collect()
}

fn kind(info: &ModuleInfo, at: u32) -> Kind {
    let bytes = BinaryReader::new(&info.bytes[at as usize..], u64::from(at));
    match OperatorsReader::new(bytes).read() {
        Ok(Operator::Call { function_index } | Operator::ReturnCall { function_index })
            if info.is_imported_func(function_index) =>
        {
            let imports = info.imports.iter().filter(|import| matches!(import.entity, Entity::Func(_)));
            let import = imports.into_iter().nth(function_index as usize).expect("it is one");
            Kind::Host(import.module.clone(), import.name.clone())
        }
        Ok(Operator::Throw { .. } | Operator::ThrowRef | Operator::Rethrow { .. }) => Kind::Throw,
        _ => Kind::Other,
    }
}
