//! Calls that an exception may return to.
//!
//! Such a call ends its basic block. Behind all other code stands a landing for each such call: it stores the exception
//! into the parameter of the handler block and jumps there. No register holds anything else then, not even a
//! callee-saved one, because the frames that an exception drops do not restore them: so a function with landings saves
//! its caller's callee-saved registers in its frame, and restores them wherever it returns.

use cranelift_codegen::ir::{
    BlockArg, BlockCall, ExceptionTable, ExceptionTableItem, Inst, InstructionData, Opcode,
};

use super::abi::Place;
use super::assembler::{Mem, Operand, PINNED, RAX, RBP, RBX, Reg, Width, op};
use super::{Emitter, Unsupported};
use crate::code::Landing;

/// The callee-saved registers except the frame pointer and the register that may be pinned.
const PRESERVED: [Reg; 4] = [RBX, Reg(12), Reg(13), Reg(14)];

/// A landing that is not written yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handler {
    /// The return address of the call.
    return_pc: u32,
    /// The handler block, with its arguments.
    to: BlockCall,
}

impl Emitter<'_> {
    /// Saves the caller's registers in the frame, if the function has landings.
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

    /// Restores the caller's registers where the function returns.
    pub(super) fn restore_preserved(&mut self) {
        for &(reg, place) in &self.preserved {
            self.assembler.mov(Width::W64, reg, Operand::Mem(Mem::at(RBP, place)));
        }
    }

    /// Writes a call that ends its block; returns the block where execution continues if the call returns.
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

    /// Writes the landings of a function with a frame of that size.
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

    /// Reports whether an instruction is an indirect call.
    pub(super) fn calls_indirectly(&self, inst: Inst) -> bool {
        matches!(
            self.func.dfg.insts[inst],
            InstructionData::CallIndirect { opcode: Opcode::CallIndirect, .. }
                | InstructionData::TryCallIndirect { .. }
        )
    }
}
