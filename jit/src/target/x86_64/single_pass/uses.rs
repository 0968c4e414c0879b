//! The uses of each value, counted before any code is written.
//!
//! A *run* is a sequence of blocks, each of which falls through into the next, which has no other predecessor:
//! registers keep their values from one block to the next. A value that is used in another run than its own *crosses*:
//! it has a place in the frame for all of the function.
//!
//! Output: the blocks in the order of the code, and the uses of values. Dead instructions are marked, and their uses do
//! not count.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, BlockCall, Function, Inst, Value};

/// A block in the order of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    pub block: Block,
    /// Whether registers keep the values that they held at the end of the previous block.
    pub goes_on: bool,
}

/// The uses of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// The number of uses; while code is written, the number of uses still to be written.
    pub count: u32,
    /// The run of the definition, counted from one.
    run: u32,
    pub crosses: bool,
}

/// The uses of all values of a function.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub blocks: Vec<Ordered>,
    pub values: SecondaryMap<Value, Use>,
    /// Dead instructions, which are left out.
    pub is_dead: SecondaryMap<Inst, bool>,
    /// The number of edges to each block.
    predecessors: SecondaryMap<Block, u32>,
}

impl Uses {
    pub(super) fn find(&mut self, func: &Function) {
        self.clear(func);
        self.count_predecessors(func);
        self.order(func);
        self.count(func);
        self.leave_out(func);
    }

    fn clear(&mut self, func: &Function) {
        self.blocks.clear();
        // Resizing once is faster than growing one by one.
        self.values.clear();
        self.values.resize(func.dfg.num_values());
        self.is_dead.clear();
        self.is_dead.resize(func.dfg.num_insts());
        self.predecessors.clear();
        self.predecessors.resize(func.dfg.num_blocks());
    }

    /// Reports whether any edge leads to a block.
    pub(super) fn is_target(&self, block: Block) -> bool {
        self.predecessors[block] > 0
    }

    fn count_predecessors(&mut self, func: &Function) {
        for block in func.layout.blocks() {
            for call in destinations(func, block) {
                self.predecessors[call] += 1;
            }
        }
    }

    /// Orders the blocks: cold ones come last.
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
        for index in 0..self.blocks.len() {
            let Ordered { block, goes_on } = self.blocks[index];
            run += u32::from(!goes_on);
            for &param in func.dfg.block_params(block) {
                self.values[param].run = run;
                // Each predecessor stores the parameter in the frame.
                self.values[param].crosses = Some(block) != func.layout.entry_block();
            }
            for inst in func.layout.block_insts(block) {
                func.dfg.inst_args(inst).iter().for_each(|&value| self.count_use(value, run));
                for &result in func.dfg.inst_results(inst) {
                    self.values[result].run = run;
                }
            }
            for value in arguments(func, block) {
                self.count_use(value, run);
            }
        }
    }

    fn count_use(&mut self, value: Value, run: u32) {
        let value = &mut self.values[value];
        value.count += 1;
        // A value that is not defined yet comes from another run.
        value.crosses |= value.run != run;
    }

    /// Marks dead instructions.
    fn leave_out(&mut self, func: &Function) {
        for &Ordered { block, .. } in self.blocks.iter().rev() {
            let mut next = func.layout.last_inst(block);
            while let Some(inst) = next {
                if let [result] = *func.dfg.inst_results(inst)
                    && self.values[result].count == 0
                    && has_no_effect(func, inst)
                {
                    self.is_dead[inst] = true;
                    for &value in func.dfg.inst_args(inst) {
                        self.values[value].count -= 1;
                    }
                }
                next = func.layout.prev_inst(inst);
            }
        }
    }
}

/// Reports whether an instruction does nothing except compute its result.
fn has_no_effect(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.insts[inst].opcode();
    let may_trap = match func.dfg.insts[inst].memflags() {
        Some(flags) => func.dfg.mem_flags[flags].trap_code().is_some(),
        None => opcode.can_trap(),
    };
    !(may_trap
        || opcode.can_store()
        || opcode.other_side_effects()
        || opcode.is_call()
        || opcode.is_terminator())
}

/// Returns the values that a block passes to its successors.
fn arguments(func: &Function, block: Block) -> impl Iterator<Item = Value> {
    let pool = &func.dfg.value_lists;
    calls(func, block).iter().flat_map(|call| call.args(pool)).filter_map(|arg| arg.as_value())
}

/// Returns the targets of a block's edges.
fn destinations(func: &Function, block: Block) -> impl Iterator<Item = Block> {
    calls(func, block).iter().map(|call| call.block(&func.dfg.value_lists))
}

fn calls(func: &Function, block: Block) -> &[BlockCall] {
    let data = func.layout.last_inst(block).map(|last| &func.dfg.insts[last]);
    data.map(|data| data.branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables))
        .unwrap_or_default()
}
