//! What is needed of each value, found out before any code is written.
//!
//! Blocks of which each falls through into the next, which has no other predecessor, are a *run*: registers keep what
//! they hold from one to the other. A value that is used in another run than where it comes from *crosses*: it has a
//! place in the frame for all of the function.
//!
//! Output: the blocks in the order in which they are written, and the uses of values. Instructions that nobody needs
//! are marked, and what they use does not count.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, BlockCall, Function, Inst, Value};

/// A block in the order of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    pub block: Block,
    /// Whether registers hold there what they held at the end of the one before.
    pub goes_on: bool,
}

/// How a value is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// How often; while code is written, how often it still will be.
    pub count: u32,
    /// The run that it comes from, from one on.
    run: u32,
    pub crosses: bool,
}

/// What is found out about a function.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub blocks: Vec<Ordered>,
    pub values: SecondaryMap<Value, Use>,
    /// Instructions that are left out.
    pub is_dead: SecondaryMap<Inst, bool>,
    /// By block, how many edges lead there.
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
        // Room for all at once; it would come one by one.
        self.values.clear();
        self.values.resize(func.dfg.num_values());
        self.is_dead.clear();
        self.is_dead.resize(func.dfg.num_insts());
        self.predecessors.clear();
        self.predecessors.resize(func.dfg.num_blocks());
    }

    /// Whether any edge leads to a block.
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
        for index in 0..self.blocks.len() {
            let Ordered { block, goes_on } = self.blocks[index];
            run += u32::from(!goes_on);
            for &param in func.dfg.block_params(block) {
                self.values[param].run = run;
                // Whoever leads there stores it in the frame.
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
        // What is not there yet comes from elsewhere.
        value.crosses |= value.run != run;
    }

    /// Marks what nobody needs.
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

/// Whether an instruction does nothing but compute its result.
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

/// What a block passes to others.
fn arguments(func: &Function, block: Block) -> impl Iterator<Item = Value> {
    let pool = &func.dfg.value_lists;
    calls(func, block).iter().flat_map(|call| call.args(pool)).filter_map(|arg| arg.as_value())
}

/// Where the edges of a block lead.
fn destinations(func: &Function, block: Block) -> impl Iterator<Item = Block> {
    calls(func, block).iter().map(|call| call.block(&func.dfg.value_lists))
}

fn calls(func: &Function, block: Block) -> &[BlockCall] {
    let data = func.layout.last_inst(block).map(|last| &func.dfg.insts[last]);
    data.map(|data| data.branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables))
        .unwrap_or_default()
}
