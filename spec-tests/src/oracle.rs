//! The independent, stupid profile: a module that counts itself.
//!
//! Input: a module. Output: the same module with a global for each block, each way out of a block and, for small
//! modules, each instruction; a global is incremented right before what it counts. Any engine can run it, also one
//! that knows nothing of profiles: that its counts agree with a [`Profile`](wprof_profiler::Profile) is the proof of
//! the profile ([`compare`]).
//! Where a block begins and ends is taken from the `Cfg` under test; that it is entered, which way it is left and
//! which instructions are executed is not. A block boundary too few or an edge too many shows as counts that differ.
//! Source: Ball & Larus 1994, section 3: the redundant counters that a plan of fewer must agree with.

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

/// How much is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Blocks and the ways out of them.
    Blocks,
    /// And each instruction.
    Instructions,
}

/// What one global counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub func: u32,
    /// What in it.
    pub what: What,
}

/// A thing that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The instruction at a byte offset, dead ones included.
    Instruction(u32),
    /// Entering a block.
    Block(u32),
    /// Leaving a block by one of its edges; an edge that several cases of a switch share has several globals.
    Edge(u32, u32),
}

/// A module that counts itself.
#[derive(Debug)]
pub struct Oracle {
    /// The module; global number k is exported as [`counter_name`] of k.
    pub wasm: Vec<u8>,
    /// What each global counts.
    pub places: Vec<Place>,
    /// The blocks of each defined function.
    cfgs: Vec<Cfg>,
}

/// The name by which the k-th global is exported.
pub fn counter_name(k: usize) -> String {
    format!("wprof.count.{k}")
}

impl Oracle {
    /// Makes a module count itself.
    ///
    /// # Errors
    /// If the module is not valid.
    pub fn new(wasm: &[u8], detail: Detail) -> Result<Oracle, String> {
        let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
        let mut writer = Writer::new(wasm).map_err(|e| e.to_string())?;
        let mut cfgs = Vec::new();
        for func in info.imported_funcs..info.funcs.len() as u32 {
            cfgs.push(writer.function(&info, func, detail)?);
        }
        Ok(Oracle { wasm: writer.splice.apply(), places: writer.places, cfgs })
    }

    /// The same for a profile of the module that counts itself, whose blocks are the same but elsewhere. Then both
    /// kinds of counts are of one run, and it does not matter where that ends.
    ///
    /// # Errors
    /// If instructions are counted: they are elsewhere too.
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

/// The module as far as it is rewritten.
struct Writer<'a> {
    splice: Splice<'a>,
    places: Vec<Place>,
    /// Where a branch's operand is kept while it is counted.
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

    /// Counts the edges of a block right before the instruction that ends it.
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

    /// Code that counts.
    fn count(&mut self, func: u32, what: What) -> Vec<u8> {
        let mut code = Vec::new();
        count::one(&mut code, self.counter(func, what));
        code
    }

    /// The global that counts.
    fn counter(&mut self, func: u32, what: What) -> u32 {
        self.places.push(Place { func, what });
        self.splice.i64_global(counter_name(self.places.len() - 1))
    }
}

/// Whether the ways out of a block can be counted before it ends: not where a callee decides, or the type of an operand.
fn counts_edges(how: &End) -> bool {
    !matches!(how, End::Call(_) | End::Throw(..) | End::NullBranch | End::CastBranch)
}

/// Instructions that are not executed: what the product counts is defined anew here.
fn is_structure(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Block { .. } | Operator::Loop { .. } | Operator::Else | Operator::End)
}
