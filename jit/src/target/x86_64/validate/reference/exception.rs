//! Calls that an exception may leave.
//!
//! The call is that of any other call. Behind it stands the way to the block where it returns, and behind that the
//! landing, which is the way to the block of the handler. Locations keep what they hold across both; registers do not, not
//! even callee-saved ones: so those are copied to homes where the function begins, and back where it ends.

use cranelift_codegen::ir::{
    BlockArg, BlockCall, ExceptionTable, ExceptionTableItem, Function, Inst, InstructionData,
};
use iced_x86::{Code as Op, Register};

use super::super::machine::{KEPT, PINNED};
use super::control::register;
use super::{Done, Reader};
use crate::code::Landing;

/// Reports whether exceptions land in a function.
pub(super) fn has_landings(func: &Function) -> bool {
    let mut ends = func.layout.blocks().filter_map(|block| func.layout.last_inst(block));
    ends.any(|inst| func.dfg.insts[inst].exception_table().is_some())
}

impl Reader<'_> {
    /// Returns the callee-saved registers with their homes.
    fn callers(&self) -> Vec<(Register, u32)> {
        let registers = KEPT.into_iter().filter(|&location| location != PINNED || !self.is_pinned);
        registers.zip(self.homes.callers()).map(|(location, home)| (register(location), home)).collect()
    }

    /// Copies the callee-saved registers to their homes, if exceptions land in the function.
    pub(super) fn keep_callers(&mut self) {
        self.callers().into_iter().for_each(|(register, home)| self.code.put(home, register));
    }

    /// Copies them back.
    pub(super) fn restore_callers(&mut self) {
        self.callers().into_iter().for_each(|(register, home)| self.code.get(register, home));
    }

    /// Reads a call that ends its block.
    pub(super) fn try_call(&mut self, inst: Inst, table: ExceptionTable) -> Done {
        let InstructionData::TryCallIndirect { .. } = self.func.dfg.insts[inst] else {
            return Err("a call of a named function is not read".into());
        };
        let table = &self.func.dfg.exception_tables[table];
        let results = self.call_out(inst, table.signature())?;
        let return_pc = self.code.last_return();
        self.go_with(*table.normal_return(), |arg| match arg {
            BlockArg::TryCallRet(at) => results.get(at as usize).map(|&(location, _)| register(location)),
            _ => None,
        })?;
        for item in table.items() {
            let ExceptionTableItem::Default(to) = item else {
                return Err("a handler of some exceptions only is not read".into());
            };
            let landing = Landing { return_pc, pc: self.code.here(), frame: self.claims.frame };
            self.code.landing(landing);
            self.go_with(to, |arg| (arg == BlockArg::TryCallExn(0)).then_some(Register::RAX))?;
        }
        Ok(())
    }

    /// Goes along an edge, some of whose arguments are in registers.
    fn go_with(&mut self, call: BlockCall, brought: impl Fn(BlockArg) -> Option<Register>) -> Done {
        let args: Vec<BlockArg> = call.args(&self.func.dfg.value_lists).collect();
        for (number, &arg) in args.iter().enumerate() {
            if let Some(register) = brought(arg) {
                let between = self.homes.scratch(number);
                self.code.put(between, register);
            }
        }
        for (number, &arg) in args.iter().enumerate().filter(|&(_, &arg)| brought(arg).is_none()) {
            let BlockArg::Value(value) = arg else { return Err("an argument is brought by nothing".into()) };
            self.get(Register::RAX, value)?;
            let between = self.homes.scratch(number);
            self.code.put(between, Register::RAX);
        }
        self.arrive(call)
    }

    /// Goes along an edge.
    pub(super) fn go(&mut self, call: BlockCall) -> Done {
        self.go_with(call, |_| None)
    }

    /// Copies what stands between to the homes of the parameters, all at once, and goes to the block.
    fn arrive(&mut self, call: BlockCall) -> Done {
        let block = call.block(&self.func.dfg.value_lists);
        for (number, &param) in self.func.dfg.block_params(block).iter().enumerate() {
            let (between, home) = (self.homes.scratch(number), self.homes.location(param)?);
            self.code.get(Register::RAX, between);
            self.code.put(home, Register::RAX);
        }
        let label = self.block_label(block);
        self.code.jump(label);
        Ok(())
    }

    /// Leaves the frame.
    pub(super) fn leave_frame(&mut self) {
        self.restore_callers();
        self.code.plain(Op::Leaveq);
    }
}
