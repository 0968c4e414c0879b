//! Instructions by their formats, the frame, branches, calls and traps.
//!
//! Source for the places of arguments: as in `convention`, whose places are used here.

use cranelift_codegen::ir::{
    self, BlockCall, Inst, InstructionData, JumpTable, Opcode, SigRef, Signature, Value, types,
};
use cranelift_codegen::isa::CallConv;
use iced_x86::{Code as Op, OpKind, Register};

use super::super::convention::Convention;
use super::super::machine::VECTORS;
use super::integer::by_width;
use super::listing::{Label, Operand, byte, cc, number};
use super::{Done, LINK, Reader};
use crate::abi::TrapCode;
use crate::code::{CallSite, TrapSite};
use Register::{EAX, EDX, R11, RAX, RBP, RDX, RSP, XMM0};

/// A frame whose size is larger than this touches the stack at each of these distances.
const TOUCHED: u32 = 4000;

/// The flags of a true condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    One(usize),
    EqualAndOrdered,
    UnequalOrUnordered,
}

/// Returns the register at a location.
pub(super) fn register(location: usize) -> Register {
    match location.checked_sub(VECTORS) {
        Some(vector) => XMM0 + vector as u32,
        None => RAX + location as u32,
    }
}

impl Reader<'_> {
    /// Makes the frame, and copies arguments from registers to their homes.
    pub(super) fn enter(&mut self) {
        self.code.one(Op::Push_r64, RBP);
        self.code.two(Op::Mov_r64_rm64, RBP, RSP);
        let size = self.claims.frame;
        let mut rest = size;
        if size > TOUCHED {
            for _ in 0..size / TOUCHED {
                self.code.two(Op::Sub_rm64_imm32, RSP, number(64, TOUCHED as i32));
                let (code, origin) = (TrapCode::StackOverflow, self.origins.first_origin());
                self.code.trap(TrapSite { pc: self.code.here(), code, origin });
                self.code.two(Op::Test_rm32_r32, Operand::At(RSP, 0), Register::ESP);
            }
            rest %= TOUCHED;
        }
        self.code.two(Op::Sub_rm64_imm32, RSP, number(64, rest as i32));
        self.keep_callers();
        for (param, location) in self.parameters_in_registers() {
            if let Ok(home) = self.homes.location(param) {
                self.code.put(home, register(location));
            }
        }
    }

    fn parameters(&self) -> &[Value] {
        let entry = self.func.layout.entry_block();
        entry.map_or(&[], |entry| self.func.dfg.block_params(entry))
    }

    fn parameters_in_registers(&self) -> Vec<(Value, usize)> {
        let convention = Convention::exact(&self.func.signature);
        let mut places = Places::new(&convention);
        let all = self.parameters().iter();
        all.filter_map(|&param| match places.next(self.is_float(param)) {
            Place::Register(location) => Some((param, location)),
            Place::Stack(_) => None,
        })
        .collect()
    }

    /// Returns the distances from the frame's top of the arguments on the stack, and their homes.
    pub(super) fn parameters_on_stack(&self) -> Vec<(i64, usize)> {
        let convention = Convention::exact(&self.func.signature);
        let mut places = Places::new(&convention);
        let all = self.parameters().iter();
        all.filter_map(|&param| match places.next(self.is_float(param)) {
            // The return address lies below them.
            Place::Stack(offset) => {
                Some((LINK + 16 + i64::from(offset), self.homes.location(param).ok()? as usize))
            }
            Place::Register(_) => None,
        })
        .collect()
    }

    /// Reads an instruction.
    pub(super) fn instruction(&mut self, inst: Inst) -> Done {
        let data = self.func.dfg.insts[inst];
        match data {
            _ if super::locations::is_remade(self.func, inst) => Ok(()),
            InstructionData::Binary { opcode, args } => match self.is_float(args[0]) {
                true => self.float_binary(inst, opcode, args),
                false => self.integer_binary(inst, opcode, args),
            },
            InstructionData::Unary { opcode: Opcode::SetPinnedReg, arg } => {
                self.get(RAX, arg)?;
                self.code.two(Op::Mov_r64_rm64, Register::R15, RAX);
                Ok(())
            }
            InstructionData::Unary { opcode, arg } => {
                match self.is_float(arg) || self.is_float(self.func.dfg.first_result(inst)) {
                    true => self.float_unary(inst, opcode, arg),
                    false => self.integer_unary(inst, opcode, arg),
                }
            }
            InstructionData::IntCompare { .. } | InstructionData::FloatCompare { .. } => {
                self.comparison(inst)
            }
            InstructionData::Ternary { opcode: Opcode::Select | Opcode::SelectSpectreGuard, args } => {
                self.select(inst, args)
            }
            InstructionData::Load { opcode, arg, flags, offset } => {
                self.load(inst, opcode, arg, flags, offset.into())
            }
            InstructionData::LoadNoOffset { opcode: Opcode::AtomicLoad, arg, flags } => {
                self.load(inst, Opcode::Load, arg, flags, 0)
            }
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => self.bitcast(inst, arg),
            InstructionData::Store { opcode, args, flags, offset } => {
                self.store(opcode, args, flags, offset.into())
            }
            InstructionData::StoreNoOffset { opcode: Opcode::AtomicStore, args, flags } => {
                self.atomic_store(args, flags)
            }
            InstructionData::AtomicRmw { args, flags, op, .. } => self.atomic_rmw(inst, op, args, flags),
            InstructionData::AtomicCas { args, flags, .. } => self.atomic_cas(inst, args, flags),
            InstructionData::NullAry { opcode } => self.nullary(inst, opcode),
            InstructionData::IntAddTrap { args, code, .. } => self.add_or_trap(inst, args, code),
            InstructionData::CondTrap { opcode, arg, code } => self.trap_if(opcode, arg, code),
            InstructionData::CallIndirect { opcode: Opcode::CallIndirect, sig_ref, .. } => {
                self.call(inst, sig_ref)
            }
            _ => self.terminator(inst),
        }
    }

    fn nullary(&mut self, inst: Inst, opcode: Opcode) -> Done {
        match opcode {
            Opcode::Nop | Opcode::SequencePoint => Ok(()),
            Opcode::Fence => {
                self.code.plain(Op::Mfence);
                Ok(())
            }
            Opcode::GetPinnedReg => self.put(inst, Register::R15),
            Opcode::GetStackPointer => self.put(inst, RSP),
            _ => Err(format!("{opcode} is not read")),
        }
    }

    fn bitcast(&mut self, inst: Inst, arg: Value) -> Done {
        let result = self.func.dfg.first_result(inst);
        match (self.is_float(arg), self.is_float(result)) {
            _ if self.type_of(result).is_vector() => Err("a bitcast to a vector is not read".into()),
            (true, false) => {
                let bits = self.float_bits(arg);
                self.get(XMM0, arg)?;
                let to = if bits == 64 { RAX } else { EAX };
                self.code.two(by_width(bits, Op::Movd_rm32_xmm, Op::Movq_rm64_xmm), to, XMM0);
                self.put(inst, RAX)
            }
            (false, true) => {
                let bits = self.width(arg)?;
                self.get(RAX, arg)?;
                let from = if bits == 64 { RAX } else { EAX };
                self.code.two(by_width(bits, Op::Movd_xmm_rm32, Op::Movq_xmm_rm64), XMM0, from);
                self.put(inst, XMM0)
            }
            _ => {
                self.get(RAX, arg)?;
                self.put(inst, RAX)
            }
        }
    }

    // Conditions.

    fn comparison(&mut self, inst: Inst) -> Done {
        if self.fused.contains(&inst) {
            return Ok(());
        }
        let condition = self.compare(inst)?;
        self.truth(inst, condition)
    }

    fn compare(&mut self, inst: Inst) -> Done<Condition> {
        match self.func.dfg.insts[inst] {
            InstructionData::IntCompare { cond, args, .. } => {
                Ok(Condition::One(self.compare_integers(cond, args)?))
            }
            InstructionData::FloatCompare { cond, args, .. } => self.compare_floats(cond, args),
            _ => Err("no comparison is to be made where it is used".into()),
        }
    }

    /// Sets the flags by whether a value is true.
    pub(super) fn condition(&mut self, value: Value) -> Done<Condition> {
        let comparison = self.func.dfg.value_def(value).inst();
        if let Some(comparison) = comparison.filter(|inst| self.fused.contains(inst)) {
            return self.compare(comparison);
        }
        self.get(RDX, value)?;
        match self.type_of(value) {
            types::I8 => self.code.two(Op::Test_rm8_r8, Register::DL, Register::DL),
            types::I32 => self.code.two(Op::Test_rm32_r32, EDX, EDX),
            types::I64 => self.code.two(Op::Test_rm64_r64, RDX, RDX),
            other => return Err(format!("conditions of {other} are not read")),
        }
        Ok(Condition::One(cc::NOT_EQUAL))
    }

    /// Branches if a condition is true.
    fn branch_if(&mut self, condition: Condition, to: Label) {
        match condition {
            Condition::One(cc) => self.code.branch(cc, to),
            Condition::UnequalOrUnordered => {
                self.code.branch(cc::PARITY, to);
                self.code.branch(cc::NOT_EQUAL, to);
            }
            Condition::EqualAndOrdered => {
                let not = self.code.label();
                self.code.branch(cc::PARITY, not);
                self.code.branch(cc::EQUAL, to);
                self.code.bind(not);
            }
        }
    }

    // Traps.

    /// Returns the label of a trap behind all other code.
    pub(super) fn trap_label(&mut self, code: ir::TrapCode) -> Label {
        let label = self.code.label();
        self.traps.push((label, code, self.location));
        label
    }

    pub(super) fn write_traps(&mut self) {
        for (label, code, location) in std::mem::take(&mut self.traps) {
            self.code.bind(label);
            self.trap_site(code, location);
            self.code.plain(Op::Ud2);
        }
    }

    fn trap_if(&mut self, opcode: Opcode, value: Value, code: ir::TrapCode) -> Done {
        let condition = self.condition(value)?;
        let trap = self.trap_label(code);
        if opcode == Opcode::Trapnz {
            self.branch_if(condition, trap);
        } else {
            let behind = self.code.label();
            self.branch_if(condition, behind);
            self.code.jump(trap);
            self.code.bind(behind);
        }
        Ok(())
    }

    // Ends of blocks.

    fn terminator(&mut self, inst: Inst) -> Done {
        match self.func.dfg.insts[inst] {
            InstructionData::Jump { destination, .. } => self.go(destination),
            InstructionData::Brif { arg, blocks: [yes, no], .. } => {
                let condition = self.condition(arg)?;
                let label = self.code.label();
                self.branch_if(condition, label);
                self.go(no)?;
                self.code.bind(label);
                self.go(yes)
            }
            InstructionData::BranchTable { arg, table, .. } => self.switch(arg, table),
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => self.leave(inst),
            InstructionData::CallIndirect { opcode: Opcode::ReturnCallIndirect, sig_ref, .. } => {
                self.tail_call(inst, sig_ref)
            }
            InstructionData::TryCall { exception, .. }
            | InstructionData::TryCallIndirect { exception, .. } => self.try_call(inst, exception),
            InstructionData::Trap { code, .. } => {
                self.trap_site(code, self.location);
                self.code.plain(Op::Ud2);
                Ok(())
            }
            other => Err(format!("{} is not read", other.opcode())),
        }
    }

    /// Jumps through a table whose last entry stands for all larger indices.
    fn switch(&mut self, index: Value, table: JumpTable) -> Done {
        let table = &self.func.dfg.jump_tables[table];
        let calls: Vec<BlockCall> = table.as_slice().iter().copied().chain([table.default_block()]).collect();
        let bits = self.width(index)?;
        self.get(RAX, index)?;
        if bits == 32 {
            self.code.two(Op::Mov_r32_rm32, EAX, EAX);
        }
        self.code.constant(R11, calls.len() as i64 - 1);
        self.code.two(Op::Cmp_r64_rm64, RAX, R11);
        self.code.select(64, cc::ABOVE, RAX, R11);
        let entries: Vec<Label> = calls.iter().map(|_| self.code.label()).collect();
        self.code.table(R11, entries.clone());
        self.code.two(Op::Shl_rm64_imm8, RAX, byte(2));
        self.code.two(Op::Movsxd_r64_rm32, RAX, Operand::Sum(R11, RAX));
        self.code.two(Op::Add_r64_rm64, RAX, R11);
        self.code.one(Op::Jmp_rm64, RAX);
        for (call, entry) in calls.into_iter().zip(entries) {
            self.code.bind(entry);
            self.go(call)?;
        }
        Ok(())
    }

    fn leave(&mut self, inst: Inst) -> Done {
        let own = Convention::exact(&self.func.signature);
        let results = self.func.dfg.inst_args(inst);
        self.pass(results, &own.results)?;
        self.leave_frame();
        match own.pops {
            0 => self.code.plain(Op::Retnq),
            bytes => self.code.one(Op::Retnq_imm16, Operand::Number(OpKind::Immediate16, bytes.into())),
        }
        Ok(())
    }

    /// Copies values to registers, one each.
    fn pass(&mut self, values: &[Value], registers: &[(usize, u8)]) -> Done {
        if values.len() != registers.len() {
            return Err("values in memory are not read".into());
        }
        for (&value, &(location, _)) in values.iter().zip(registers) {
            self.get(register(location), value)?;
        }
        Ok(())
    }

    // Calls.

    fn signature(&self, signature: SigRef) -> Done<(&Signature, Convention)> {
        let signature = &self.func.dfg.signatures[signature];
        let convention = Convention::exact(signature);
        match convention.results.len() == signature.returns.len() {
            true => Ok((signature, convention)),
            false => Err("results in memory are not read".into()),
        }
    }

    /// Copies arguments to their places, and the callee to `rax`.
    fn arguments(&mut self, callee: Value, args: &[Value], convention: &Convention) -> Done {
        let all: Vec<(Value, Place)> = {
            let mut places = Places::new(convention);
            args.iter().map(|&arg| (arg, places.next(self.is_float(arg)))).collect()
        };
        for &(arg, place) in &all {
            if let Place::Stack(offset) = place {
                self.get(RAX, arg)?;
                self.code.two(Op::Mov_rm64_r64, Operand::At(RSP, offset.into()), RAX);
            }
        }
        for &(arg, place) in &all {
            if let Place::Register(location) = place {
                self.get(register(location), arg)?;
            }
        }
        self.get(RAX, callee)
    }

    fn call(&mut self, inst: Inst, signature: SigRef) -> Done {
        let results = self.call_out(inst, signature)?;
        for (&result, (location, _)) in self.func.dfg.inst_results(inst).iter().zip(results) {
            let home = self.homes.location(result)?;
            self.code.put(home, register(location));
        }
        Ok(())
    }

    /// Calls; returns the registers of the results.
    pub(super) fn call_out(&mut self, inst: Inst, signature: SigRef) -> Done<Vec<(usize, u8)>> {
        let is_tail = self.signature(signature)?.0.call_conv == CallConv::Tail;
        let convention = self.signature(signature)?.1;
        let [callee, ref args @ ..] = *self.func.dfg.inst_args(inst) else { return Err("no callee".into()) };
        self.arguments(callee, args, &convention)?;
        self.code.one(Op::Call_rm64, RAX);
        let origin = self.origins.of_number(self.location);
        self.code.call(CallSite { return_pc: self.code.here(), origin });
        self.conventions.add_call(self.code.here(), signature);
        if is_tail && convention.stack > 0 {
            // The callee popped its arguments.
            self.code.two(Op::Sub_rm64_imm32, RSP, number(64, convention.stack.cast_signed()));
        }
        Ok(convention.results)
    }

    fn tail_call(&mut self, inst: Inst, signature: SigRef) -> Done {
        let convention = self.signature(signature)?.1;
        if convention.stack > 0 {
            return Err("a tail call with arguments on the stack is not read".into());
        }
        let [callee, ref args @ ..] = *self.func.dfg.inst_args(inst) else { return Err("no callee".into()) };
        self.arguments(callee, args, &convention)?;
        self.leave_frame();
        let own = Convention::exact(&self.func.signature).stack;
        if own > 0 {
            // The callee has no arguments on the stack to pop, so the return address moves to where they end.
            self.code.two(Op::Mov_r64_rm64, R11, Operand::At(RSP, 0));
            self.code.two(Op::Mov_rm64_r64, Operand::At(RSP, own.into()), R11);
            self.code.two(Op::Add_rm64_imm32, RSP, number(64, own.cast_signed()));
        }
        self.conventions.add_tail_call(self.code.here(), signature);
        self.code.one(Op::Jmp_rm64, RAX);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Register(usize),
    /// Bytes above the stack pointer at the call.
    Stack(u32),
}

/// The places of arguments, one after another.
struct Places {
    general: std::vec::IntoIter<usize>,
    vectors: std::vec::IntoIter<usize>,
    stack: std::vec::IntoIter<u32>,
}

impl Places {
    fn new(convention: &Convention) -> Places {
        let registers = convention.reads.iter().map(|&(location, _)| location);
        let (vectors, general): (Vec<usize>, Vec<usize>) =
            registers.partition(|&location| location >= VECTORS);
        let stack: Vec<u32> = convention.on_stack.iter().map(|&(place, _)| place).collect();
        Places { general: general.into_iter(), vectors: vectors.into_iter(), stack: stack.into_iter() }
    }

    fn next(&mut self, is_float: bool) -> Place {
        let register = if is_float { self.vectors.next() } else { self.general.next() };
        register.map_or_else(|| Place::Stack(self.stack.next().unwrap_or(0)), Place::Register)
    }
}
