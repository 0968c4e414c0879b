//! What is needed of each value, found out before any code is written.
//!
//! Blocks of which each falls through into the next, which has no other predecessor, are a *run*: registers keep what they
//! hold from one to the other. A value that is used in another run than where it comes from *crosses*: it has a place in the
//! frame for all of the function.
//!
//! Output: the blocks in the order in which they are written, and the uses of values. Instructions that nobody needs are
//! marked, and what they use does not count.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value};

/// A block in the order of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    pub block: Block,
    /// Whether registers hold there what they held at the end of the one before.
    pub goes_on: bool,
}

/// What is found out about a function.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub blocks: Vec<Ordered>,
    /// By value, how often it is used.
    pub counts: SecondaryMap<Value, u32>,
    /// By value, whether it crosses.
    pub crosses: SecondaryMap<Value, bool>,
    /// Instructions that are left out.
    pub is_dead: SecondaryMap<Inst, bool>,
    /// By value, the run that it comes from, from one on.
    runs: SecondaryMap<Value, u32>,
    /// By block, how many edges lead there.
    predecessors: SecondaryMap<Block, u32>,
}

impl Uses {
    pub(super) fn find(&mut self, func: &Function) {
        self.clear();
        self.count_predecessors(func);
        self.order(func);
        self.count(func);
        self.leave_out(func);
    }

    /// Whether any edge leads to a block.
    pub(super) fn is_target(&self, block: Block) -> bool {
        self.predecessors[block] > 0
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.counts.clear();
        self.crosses.clear();
        self.is_dead.clear();
        self.runs.clear();
        self.predecessors.clear();
    }

    fn count_predecessors(&mut self, func: &Function) {
        for block in func.layout.blocks() {
            for call in destinations(func, block) {
                self.predecessors[call] += 1;
            }
        }
    }

    /// Cold blocks come last.
    fn order(&mut self, func: &Function) {
        let of = |cold: bool| func.layout.blocks().filter(move |&block| func.layout.is_cold(block) == cold);
        let mut before = None;
        for block in of(false).chain(of(true)) {
            let falls_through = before.is_some_and(|before| destinations(func, before).any(|to| to == block));
            let goes_on = falls_through && self.predecessors[block] == 1;
            self.blocks.push(Ordered { block, goes_on });
            before = Some(block);
        }
    }

    fn count(&mut self, func: &Function) {
        let mut run = 0;
        for &Ordered { block, goes_on } in &self.blocks {
            run += u32::from(!goes_on);
            for &param in func.dfg.block_params(block) {
                self.runs[param] = run;
                // Whoever leads there stores it in the frame.
                self.crosses[param] = Some(block) != func.layout.entry_block();
            }
            for inst in func.layout.block_insts(block) {
                for value in func.dfg.inst_values(inst) {
                    self.counts[value] += 1;
                    // What is not there yet comes from elsewhere.
                    self.crosses[value] |= self.runs[value] != run;
                }
                for &result in func.dfg.inst_results(inst) {
                    self.runs[result] = run;
                }
            }
        }
    }

    /// Marks what nobody needs.
    fn leave_out(&mut self, func: &Function) {
        for &Ordered { block, .. } in self.blocks.iter().rev() {
            let mut next = func.layout.last_inst(block);
            while let Some(inst) = next {
                let [result] = *func.dfg.inst_results(inst) else {
                    next = func.layout.prev_inst(inst);
                    continue;
                };
                if self.counts[result] == 0 && has_no_effect(func.dfg.insts[inst].opcode()) {
                    self.is_dead[inst] = true;
                    for value in func.dfg.inst_values(inst) {
                        self.counts[value] -= 1;
                    }
                }
                next = func.layout.prev_inst(inst);
            }
        }
    }
}

/// Whether an instruction does nothing but compute its result.
fn has_no_effect(opcode: Opcode) -> bool {
    !(opcode.can_load()
        || opcode.can_store()
        || opcode.can_trap()
        || opcode.other_side_effects()
        || opcode.is_call()
        || opcode.is_terminator())
}

/// Where the edges of a block lead.
fn destinations(func: &Function, block: Block) -> impl Iterator<Item = Block> {
    let last = func.layout.last_inst(block);
    let data = last.map(|last| &func.dfg.insts[last]);
    let calls = data.map(|data| data.branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables));
    calls.unwrap_or_default().iter().map(|call| call.block(&func.dfg.value_lists))
}
