//! The independent, naive profile: a module that counts itself.
//!
//! Input: a module. Output: the same module with a global for each block, each exit of a block and, for small modules,
//! each instruction; each global is incremented right before the thing that it counts. Any engine can run the module,
//! also one without profiles: a [`Profile`](wprof_profiler::Profile) is correct if it agrees with these counts
//! ([`compare`]).
//! The bounds of blocks come from the `Cfg` under test; the entered blocks, the exits taken and the executed
//! instructions do not. A missing block boundary or a spurious edge shows as differing counts.
//! Source: Ball & Larus 1994, section 3: the redundant counters with which a plan of fewer counters must agree.

pub mod cache;
mod compare;
mod count;
mod paths;
pub mod references;

use std::sync::Arc;

use wasmparser::Operator;
use wprof_jit::cfg::{Cfg, End, build};
use wprof_jit::module::{ModuleInfo, parse};

pub use compare::{Compared, compare};
pub use paths::{ComparedPaths, compare_flow, compare_paths, hot_paths, same_flow};

use crate::splice::{Located, Splice};

/// The granularity of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Blocks and their exits.
    Blocks,
    /// Blocks, their exits, and each instruction.
    Instructions,
}

/// The place that a global counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub func: u32,
    /// The thing in the function.
    pub what: What,
}

/// Something that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The instruction at a byte offset, dead instructions included.
    Instruction(u32),
    /// The entry of a block.
    Block(u32),
    /// The exit of a block by one of its edges; an edge that several cases of a switch share has several globals.
    Edge(u32, u32),
}

/// A module that counts itself.
#[derive(Debug)]
pub struct Oracle {
    /// The module; it exports global number k as [`counter_name`] of k.
    pub wasm: Vec<u8>,
    /// What each global counts.
    pub places: Vec<Place>,
    /// The blocks of each defined function.
    cfgs: Vec<Cfg>,
}

/// Returns the export name of the k-th global.
pub fn counter_name(k: usize) -> String {
    format!("wprof.count.{k}")
}

impl Oracle {
    /// Makes a module that counts itself.
    ///
    /// # Errors
    /// Returns an error if the module is not valid.
    pub fn new(wasm: &[u8], detail: Detail) -> Result<Oracle, String> {
        let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
        let mut writer = Writer::new(wasm).map_err(|e| e.to_string())?;
        let mut cfgs = Vec::new();
        for func in info.imported_funcs..info.funcs.len() as u32 {
            cfgs.push(writer.function(&info, func, detail)?);
        }
        Ok(Oracle { wasm: writer.splice.apply(), places: writer.places, cfgs })
    }

    /// Returns the oracle for a profile of the self-counting module, whose blocks are the same at other offsets. Both
    /// kinds of counts then come from one run, and it does not matter where the run ends.
    ///
    /// # Errors
    /// Returns an error if instructions are counted, because their offsets differ too.
    pub fn of_itself(self) -> Result<Oracle, String> {
        if self.places.iter().any(|place| matches!(place.what, What::Instruction(_))) {
            return Err("count blocks only: instructions are elsewhere".into());
        }
        let info = parse(Arc::from(&*self.wasm)).map_err(|e| e.to_string())?;
        let funcs = info.imported_funcs..info.funcs.len() as u32;
        let cfgs =
            funcs.map(|func| build(&info, func).map_err(|e| e.to_string())).collect::<Result<_, _>>()?;
        Ok(Oracle { cfgs, ..self })
    }
}

/// The module during rewriting.
struct Writer<'a> {
    splice: Splice<'a>,
    places: Vec<Place>,
    /// The global that keeps a branch's operand while the branch is counted.
    scratch: u32,
}

impl<'a> Writer<'a> {
    fn new(wasm: &'a [u8]) -> crate::splice::Result<Writer<'a>> {
        let mut splice = Splice::new(wasm)?;
        let scratch = splice.i32_global(None, 0);
        Ok(Writer { splice, places: Vec::new(), scratch })
    }

    fn function(&mut self, info: &ModuleInfo, func: u32, detail: Detail) -> Result<Cfg, String> {
        let cfg = build(info, func).map_err(|e| e.to_string())?;
        let ops =
            self.splice.instructions((func - info.imported_funcs) as usize).map_err(|e| e.to_string())?;
        for (block, index) in cfg.blocks.iter().zip(0..) {
            let code = self.count(func, What::Block(index));
            self.splice.insert(block.start as usize, code);
        }
        if detail == Detail::Instructions {
            ops.iter()
                .filter(|found| !is_structure(&found.op))
                .for_each(|found| self.instruction(func, found));
        }
        for index in 0..cfg.blocks.len() as u32 {
            self.way_out(func, &cfg, index);
        }
        Ok(cfg)
    }

    fn instruction(&mut self, func: u32, found: &Located<'_>) {
        let code = self.count(func, What::Instruction(found.at as u32));
        self.splice.insert(found.at, code);
    }

    /// Counts the edges of a block, right before the instruction that ends the block.
    fn way_out(&mut self, func: u32, cfg: &Cfg, index: u32) {
        let block = &cfg.blocks[index as usize];
        let mut code = Vec::new();
        match &block.how {
            End::Trap | End::Call(_) | End::Throw(..) | End::NullBranch | End::CastBranch => {}
            End::Jump | End::TailCall => code = self.count(func, What::Edge(index, 0)),
            End::Branch => {
                let [taken, not_taken] = [0, 1].map(|edge| self.counter(func, What::Edge(index, edge)));
                count::branch(&mut code, self.scratch, taken, not_taken);
            }
            End::Switch(table) => {
                let counters: Vec<u32> =
                    table.iter().map(|&edge| self.counter(func, What::Edge(index, edge))).collect();
                count::switch(&mut code, self.scratch, &counters);
            }
        }
        self.splice.insert(block.end as usize, code);
    }

    /// Returns code that counts `what`.
    fn count(&mut self, func: u32, what: What) -> Vec<u8> {
        let mut code = Vec::new();
        count::one(&mut code, self.counter(func, what));
        code
    }

    /// Returns the global that counts `what`.
    fn counter(&mut self, func: u32, what: What) -> u32 {
        self.places.push(Place { func, what });
        self.splice.i64_global(counter_name(self.places.len() - 1))
    }
}

/// Reports whether the exits of a block can be counted before it ends: not if a callee or an operand's type decides.
fn counts_edges(how: &End) -> bool {
    !matches!(how, End::Call(_) | End::Throw(..) | End::NullBranch | End::CastBranch)
}

/// Reports whether an operator is not executed: an independent definition of what the profiler counts.
fn is_structure(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Block { .. } | Operator::Loop { .. } | Operator::Else | Operator::End)
}
