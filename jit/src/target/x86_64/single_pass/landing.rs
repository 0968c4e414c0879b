//! Calls to which exceptions may come back.
//!
//! Such a call ends its block. Behind all other code stands a landing for each: it stores the exception where the block
//! behind takes it from, and goes on there. Nothing else is in a register then, not even what callees preserve, as the
//! frames that an exception drops do not restore it: so a function with landings keeps its caller's values in its frame,
//! and takes them back wherever it is left.

use cranelift_codegen::ir::{
    BlockArg, BlockCall, ExceptionTable, ExceptionTableItem, Inst, InstructionData, Opcode,
};

use super::abi::Place;
use super::assembler::{Mem, Operand, PINNED, RAX, RBP, RBX, Reg, Width, op};
use super::{Emitter, Unsupported};
use crate::code::Landing;

/// What callees preserve besides the frame pointer, but for the register that may be pinned.
const PRESERVED: [Reg; 4] = [RBX, Reg(12), Reg(13), Reg(14)];

/// A landing that is not written yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handler {
    /// Where the call returns to.
    return_pc: u32,
    /// Where it goes on.
    to: BlockCall,
}

impl Emitter<'_> {
    /// If the function has landings: leaves what its caller has in registers in the frame.
    pub(super) fn keep_preserved(&mut self) {
        let layout = &self.func.layout;
        let mut ends = layout.blocks().filter_map(|block| layout.last_inst(block));
        if !ends.any(|inst| self.func.dfg.insts[inst].opcode() == Opcode::TryCallIndirect) {
            return;
        }
        let others = (!self.features.is_pinned).then_some(PINNED);
        for reg in PRESERVED.into_iter().chain(others) {
            self.frame += 8;
            let place = -(self.frame as i32);
            self.assembler.op(op::STORE, Width::W64, reg, Mem::at(RBP, place));
            self.preserved.push((reg, place));
        }
    }

    /// The function is left.
    pub(super) fn restore_preserved(&mut self) {
        for &(reg, place) in &self.preserved {
            self.assembler.mov(Width::W64, reg, Operand::Mem(Mem::at(RBP, place)));
        }
    }

    /// A call that ends its block, and where it goes on if it returns.
    pub(super) fn try_call(&mut self, inst: Inst, table: ExceptionTable) -> Result<BlockCall, Unsupported> {
        let func = self.func;
        let table = &func.dfg.exception_tables[table];
        let results = self.call_out(inst, table.signature())?;
        let return_pc = self.code.calls.last().ok_or(Unsupported)?.return_pc;
        let (pool, back) = (&func.dfg.value_lists, *table.normal_return());
        for (arg, &param) in back.args(pool).zip(func.dfg.block_params(back.block(pool))) {
            let BlockArg::TryCallRet(index) = arg else { return Err(Unsupported) };
            let Place::Reg(reg) = results.all[index as usize] else { return Err(Unsupported) };
            let place = self.place_of(param);
            self.store_at(Mem::at(RBP, place), reg);
        }
        for item in table.items() {
            let ExceptionTableItem::Default(to) = item else { return Err(Unsupported) };
            self.handlers.push(Handler { return_pc, to });
        }
        Ok(back)
    }

    /// Writes the landings, in a frame of this size.
    pub(super) fn landings(&mut self, frame: u32) -> Result<(), Unsupported> {
        for Handler { return_pc, to } in std::mem::take(&mut self.handlers) {
            let pc = self.assembler.here();
            let pool = &self.func.dfg.value_lists;
            let block = to.block(pool);
            for (arg, &param) in to.args(pool).zip(self.func.dfg.block_params(block)) {
                if arg != BlockArg::TryCallExn(0) {
                    return Err(Unsupported);
                }
                let place = self.place_of(param);
                self.store_at(Mem::at(RBP, place), RAX);
            }
            let label = self.label_of(block);
            self.assembler.jump(label);
            self.code.landings.push(Landing { return_pc, pc, frame });
        }
        Ok(())
    }

    /// Whether an instruction calls what it finds in memory.
    pub(super) fn calls_indirectly(&self, inst: Inst) -> bool {
        matches!(
            self.func.dfg.insts[inst],
            InstructionData::CallIndirect { opcode: Opcode::CallIndirect, .. }
                | InstructionData::TryCallIndirect { .. }
        )
    }
}
