//! The frame, blocks, branches, calls and traps.
//!
//! A frame, from its top: the return address; the caller's frame pointer, to which the frame pointer points; stack
//! slots and places of values; outgoing stack arguments.

use cranelift_codegen::ir::{
    self, BlockArg, BlockCall, Inst, InstructionData, JumpTable, Opcode, SigRef, Value,
};
use cranelift_codegen::isa::CallConv;
use smallvec::SmallVec;

use super::abi::{self, Place, Places};
use super::assembler::{Alu, Cc, Label, Mem, Operand, RAX, RBP, RSP, Reg, SCRATCH, Shift, Unary, Width, op};
use super::compare::Condition;
use super::registers::Kind;
use super::uses::Ordered;
use super::{Emitter, LARGEST_FRAME, LARGEST_UNTOUCHED, Unsupported};

/// The number of instructions between the load of a callee and its call that are searched.
const FARTHEST_CALL: usize = 32;

/// The length of the instruction that allocates the frame.
const FRAME_BYTES: u32 = 7;

/// Bytes of the return address and the frame pointer.
const ABOVE_FRAME: i32 = 16;

impl Emitter<'_> {
    pub(super) fn function(&mut self) -> Result<(), Unsupported> {
        self.assembler.push(RBP);
        self.assembler.mov(Width::W64, RBP, RSP);
        let size_at = self.make_frame();
        self.keep_preserved();
        self.parameters()?;
        for index in 0..self.uses.blocks.len() {
            let Ordered { block, goes_on } = self.uses.blocks[index];
            if index > 0 {
                self.enter(block, goes_on);
            }
            let next = self.uses.blocks.get(index + 1).map(|next| next.block);
            self.block(block, next)?;
        }
        self.check_places()?;
        let size = (self.frame + self.outgoing).next_multiple_of(16);
        if size > LARGEST_FRAME {
            return Err(Unsupported);
        }
        self.claims.frame = size;
        self.landings(size)?;
        debug_assert_eq!(size, (self.frame + self.outgoing).next_multiple_of(16));
        match size <= LARGEST_UNTOUCHED {
            true => self.assembler.patch(size_at, size as i32),
            false => self.touch_pages(size_at, size),
        }
        Ok(())
    }

    /// Allocates a large frame in steps no larger than a page, and touches each: a frame that does not fit must fault
    /// in the guard page, not behind it. This code goes behind all other code, because only then the size is known.
    fn touch_pages(&mut self, size_at: u32, size: u32) {
        let (start, behind) = (self.assembler.here(), size_at + 4);
        for _ in 0..size / LARGEST_UNTOUCHED {
            self.assembler.alu_constant(Alu::Sub, Width::W64, RSP, LARGEST_UNTOUCHED as i32);
            self.touched.push(self.assembler.here());
            self.assembler.op(op::TEST, Width::W32, RSP, Mem::at(RSP, 0));
        }
        self.assembler.alu_constant(Alu::Sub, Width::W64, RSP, (size % LARGEST_UNTOUCHED) as i32);
        self.assembler.jump_back(behind);
        self.assembler.jump_from(behind - FRAME_BYTES, start, FRAME_BYTES);
    }

    /// Allocates a frame whose size is patched in at the end; returns the place of the size.
    fn make_frame(&mut self) -> u32 {
        // A number too large for a byte, so that its encoding has four.
        self.assembler.alu_constant(Alu::Sub, Width::W64, RSP, i32::MAX);
        self.assembler.here() - 4
    }

    fn parameters(&mut self) -> Result<(), Unsupported> {
        let places = abi::arguments(&self.func.signature)?;
        self.incoming = places.stack;
        // Arguments are in registers, so no edge may lead to the entry block, and no code may precede it.
        let is_first =
            |entry: &ir::Block| self.uses.blocks[0].block == *entry && !self.uses.is_target(*entry);
        let entry = self.func.layout.entry_block().filter(is_first).ok_or(Unsupported)?;
        let params = self.func.dfg.block_params(entry);
        for (&param, place) in params.iter().zip(places.all) {
            match place {
                Place::Reg(reg) => self.define(param, reg),
                Place::Stack(offset) => self.values[param].place = ABOVE_FRAME + offset as i32,
            }
        }
        Ok(())
    }

    pub(super) fn label_of(&mut self, block: ir::Block) -> Label {
        *self.blocks[block].get_or_insert_with(|| self.assembler.label())
    }

    fn enter(&mut self, block: ir::Block, goes_on: bool) {
        let label = self.label_of(block);
        self.assembler.bind(label);
        // Jumps to the block bring other flags.
        self.counted = None;
        if !goes_on {
            self.forget_registers();
        }
        for &param in self.func.dfg.block_params(block) {
            self.place_of(param);
            self.values[param].is_stored = true;
        }
    }

    fn block(&mut self, block: ir::Block, next: Option<ir::Block>) -> Result<(), Unsupported> {
        let last = self.func.layout.last_inst(block).ok_or(Unsupported)?;
        for inst in self.func.layout.block_insts(block) {
            if inst == last {
                self.registers.unlock_all();
                self.note_location(inst);
                self.terminator(inst, next)?;
            } else {
                self.instruction(inst)?;
            }
        }
        Ok(())
    }

    fn terminator(&mut self, inst: Inst, next: Option<ir::Block>) -> Result<(), Unsupported> {
        match self.func.dfg.insts[inst] {
            InstructionData::Jump { destination, .. } => {
                self.pass_arguments(destination)?;
                self.jump(destination.block(&self.func.dfg.value_lists), next);
                Ok(())
            }
            InstructionData::Brif { arg, blocks, .. } => self.branch(arg, blocks, next),
            InstructionData::BranchTable { arg, table, .. } => self.switch(arg, table),
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => self.leave_function(inst),
            InstructionData::CallIndirect { opcode: Opcode::ReturnCallIndirect, sig_ref, .. } => {
                self.tail_call(inst, sig_ref)
            }
            InstructionData::TryCallIndirect { exception, .. } => {
                let back = self.try_call(inst, exception)?;
                self.jump(back.block(&self.func.dfg.value_lists), next);
                Ok(())
            }
            InstructionData::Trap { code, .. } => {
                self.trap_site(code, self.location());
                self.assembler.ud2();
                Ok(())
            }
            _ => Err(Unsupported),
        }
    }

    fn jump(&mut self, to: ir::Block, next: Option<ir::Block>) {
        let label = self.label_of(to);
        if next != Some(to) {
            self.assembler.jump(label);
        }
    }

    /// Stores the arguments of an edge into the parameters of its target block.
    fn pass_arguments(&mut self, call: BlockCall) -> Result<(), Unsupported> {
        let args: SmallVec<[Value; 4]> = self.arguments_of(call)?;
        let to = call.block(&self.func.dfg.value_lists);
        let params = self.func.dfg.block_params(to);
        for &arg in &args {
            self.compute(arg)?;
        }
        if let ([arg], [param]) = (&args[..], params) {
            let place = self.place_of(*param);
            self.copy_to(Mem::at(RBP, place), *arg)?;
        } else {
            // An argument may lie where another one is to be stored.
            let between: SmallVec<[i32; 4]> = args.iter().map(|_| self.free_place()).collect();
            for (&arg, &place) in args.iter().zip(&between) {
                self.copy_to(Mem::at(RBP, place), arg)?;
            }
            for (&param, &from) in params.iter().zip(&between) {
                let place = self.place_of(param);
                self.assembler.mov(Width::W64, SCRATCH, Mem::at(RBP, from));
                self.assembler.op(op::STORE, Width::W64, SCRATCH, Mem::at(RBP, place));
            }
            self.free_places.extend(between);
        }
        args.into_iter().for_each(|arg| self.use_up(arg));
        Ok(())
    }

    fn arguments_of(&self, call: BlockCall) -> Result<SmallVec<[Value; 4]>, Unsupported> {
        let value = |arg| match arg {
            BlockArg::Value(value) if !self.func.dfg.value_type(value).is_vector() => Ok(value),
            _ => Err(Unsupported),
        };
        call.args(&self.func.dfg.value_lists).map(value).collect()
    }

    /// Stores eight bytes of a value, and changes no register that holds a value.
    fn copy_to(&mut self, to: Mem, value: Value) -> Result<(), Unsupported> {
        self.compute(value)?;
        let reg = match self.values[value].reg {
            Some(reg) => reg,
            None => {
                self.load_into(SCRATCH, value)?;
                SCRATCH
            }
        };
        self.store_at(to, reg);
        Ok(())
    }

    fn has_arguments(&self, call: BlockCall) -> bool {
        call.args(&self.func.dfg.value_lists).len() > 0
    }

    fn branch(
        &mut self,
        condition: Value,
        [yes, no]: [BlockCall; 2],
        next: Option<ir::Block>,
    ) -> Result<(), Unsupported> {
        let pool = &self.func.dfg.value_lists;
        let (to_yes, to_no) = (yes.block(pool), no.block(pool));
        // Deferred values are computed here, not on one of the paths.
        for call in [yes, no] {
            for arg in self.arguments_of(call)? {
                self.compute(arg)?;
            }
        }
        let condition = self.condition(condition)?;
        if !self.has_arguments(yes) && (next != Some(to_yes) || self.has_arguments(no)) {
            let label = self.label_of(to_yes);
            self.branch_if(condition, label);
            self.pass_arguments(no)?;
            self.jump(to_no, next);
        } else if !self.has_arguments(no) && !self.has_arguments(yes) {
            let label = self.label_of(to_no);
            self.branch_unless(condition, label);
            self.jump(to_yes, next);
        } else {
            let other = self.assembler.label();
            self.branch_unless(condition, other);
            self.pass_arguments(yes)?;
            self.jump(to_yes, None);
            self.assembler.bind(other);
            self.pass_arguments(no)?;
            self.jump(to_no, next);
        }
        Ok(())
    }

    fn branch_if(&mut self, condition: Condition, to: Label) {
        match condition {
            Condition::One(cc) => self.assembler.branch(cc, to),
            Condition::UnequalOrUnordered => {
                self.assembler.branch(Cc::PARITY, to);
                self.assembler.branch(Cc::NOT_EQUAL, to);
            }
            Condition::EqualAndOrdered => {
                let not = self.assembler.label();
                self.assembler.branch(Cc::PARITY, not);
                self.assembler.branch(Cc::EQUAL, to);
                self.assembler.bind(not);
            }
        }
    }

    fn branch_unless(&mut self, condition: Condition, to: Label) {
        match condition {
            Condition::One(cc) => self.branch_if(Condition::One(cc.not()), to),
            Condition::EqualAndOrdered => self.branch_if(Condition::UnequalOrUnordered, to),
            Condition::UnequalOrUnordered => self.branch_if(Condition::EqualAndOrdered, to),
        }
    }

    /// Jumps through a table whose last entry stands for all larger indices: so there is nothing to speculate on.
    fn switch(&mut self, index: Value, table: JumpTable) -> Result<(), Unsupported> {
        let table = &self.func.dfg.jump_tables[table];
        let calls = table.as_slice().iter().copied().chain([table.default_block()]);
        let calls: Vec<BlockCall> = calls.collect();
        if calls.iter().any(|&call| self.has_arguments(call)) {
            return Err(Unsupported);
        }
        let labels: Vec<Label> =
            calls.iter().map(|call| self.label_of(call.block(&self.func.dfg.value_lists))).collect();
        let operand = self.operand(index)?;
        let at = self.fresh(false)?;
        let width = self.width(index)?;
        self.assembler.mov(width, at, operand);
        self.assembler.constant(SCRATCH, labels.len() as i64 - 1);
        self.assembler.alu(Alu::Cmp, Width::W64, at, SCRATCH);
        self.assembler.cmov(Cc::ABOVE, Width::W64, at, SCRATCH);
        let entries = self.assembler.label();
        self.assembler.address_of(SCRATCH, entries);
        // at = table + entry[at]
        let entry = Mem { base: SCRATCH, index: Some(at), offset: 0 };
        self.assembler.shift_constant(Shift::Left, Width::W64, at, 2);
        self.assembler.op(op::MOVSX_DOUBLE, Width::W64, at, entry);
        self.assembler.alu(Alu::Add, Width::W64, at, SCRATCH);
        self.assembler.unary(Unary::Jump, Width::W32, at);
        self.use_up(index);
        self.assembler.bind(entries);
        let start = self.assembler.here();
        labels.into_iter().for_each(|label| self.assembler.entry(label, start));
        self.code.data.push((start, self.assembler.here()));
        Ok(())
    }

    fn leave_function(&mut self, inst: Inst) -> Result<(), Unsupported> {
        let results = self.func.dfg.inst_args(inst);
        let signature = &self.func.signature;
        let places = abi::results(signature)?;
        self.pass(&moves(results, &places.all))?;
        self.restore_preserved();
        self.assembler.leave();
        let is_tail = signature.call_conv == CallConv::Tail;
        let popped = if is_tail { self.incoming } else { 0 };
        self.assembler.ret(u16::try_from(popped).map_err(|_| Unsupported)?);
        results.iter().for_each(|&result| self.use_up(result));
        Ok(())
    }

    fn tail_call(&mut self, inst: Inst, signature: SigRef) -> Result<(), Unsupported> {
        let func = self.func;
        let [callee, ref args @ ..] = *func.dfg.inst_args(inst) else { return Err(Unsupported) };
        let places = abi::arguments(&func.dfg.signatures[signature])?;
        if places.stack > 0 {
            return Err(Unsupported);
        }
        self.leave_pinned()?;
        let mut moves = moves(args, &places.all);
        moves.push((callee, RAX));
        self.pass(&moves)?;
        self.restore_preserved();
        self.assembler.leave();
        if self.incoming > 0 {
            // The callee has no stack arguments to pop.
            let incoming = self.incoming as i32;
            self.assembler.mov(Width::W64, SCRATCH, Mem::at(RSP, 0));
            self.assembler.op(op::STORE, Width::W64, SCRATCH, Mem::at(RSP, incoming));
            self.assembler.alu_constant(Alu::Add, Width::W64, RSP, incoming);
        }
        self.assembler.unary(Unary::Jump, Width::W32, RAX);
        self.use_up(callee);
        args.iter().for_each(|&arg| self.use_up(arg));
        Ok(())
    }

    fn call(&mut self, inst: Inst, signature: SigRef) -> Result<(), Unsupported> {
        let results = self.call_out(inst, signature)?;
        for (&result, place) in self.func.dfg.inst_results(inst).iter().zip(results.all) {
            if let Place::Reg(reg) = place {
                self.define(result, reg);
            }
        }
        Ok(())
    }

    /// Writes a call, and returns the places of its results. No register holds anything else.
    pub(super) fn call_out(&mut self, inst: Inst, signature: SigRef) -> Result<Places, Unsupported> {
        let func = self.func;
        let [callee, ref args @ ..] = *func.dfg.inst_args(inst) else { return Err(Unsupported) };
        let signature = &func.dfg.signatures[signature];
        let places = abi::arguments(signature)?;
        let results = abi::results(signature)?;
        self.outgoing = self.outgoing.max(places.stack);
        self.leave_pinned()?;
        for (&arg, &place) in args.iter().zip(&places.all) {
            if let Place::Stack(offset) = place {
                self.copy_to(Mem::at(RSP, offset as i32), arg)?;
            }
        }
        // If the load of the callee is deferred, its base takes the place of the callee.
        let (from, operand) = match self.deferred_load(callee) {
            Some((base, offset)) => (base, Mem::at(RAX, offset).into()),
            None => (callee, Operand::Reg(RAX)),
        };
        let mut moves = moves(args, &places.all);
        moves.push((from, RAX));
        self.save_beyond(args, from)?;
        self.pass(&moves)?;
        self.assembler.unary(Unary::Call, Width::W32, operand);
        self.call_site();
        if from != callee {
            self.use_up(from);
        }
        if signature.call_conv == CallConv::Tail && places.stack > 0 {
            // The callee popped its stack arguments.
            self.assembler.alu_constant(Alu::Sub, Width::W64, RSP, places.stack as i32);
        }
        func.dfg.inst_args(inst).iter().for_each(|&arg| self.use_up(arg));
        self.forget_registers();
        Ok(results)
    }

    /// Spills the values that are live across a call.
    fn save_beyond(&mut self, args: &[Value], callee: Value) -> Result<(), Unsupported> {
        let used = || args.iter().chain([&callee]);
        for &value in used() {
            self.compute(value)?;
        }
        self.save_registers(|emitter, value| {
            let used_here = used().filter(|&&used| used == value).count() as u32;
            emitter.left(value) > used_here
        });
        Ok(())
    }

    /// Reports whether a non-trapping load reads the callee of a later call, with no store in between except to the
    /// frame.
    pub(super) fn loads_callee(&self, inst: Inst) -> bool {
        let dfg = &self.func.dfg;
        let InstructionData::Load { opcode: Opcode::Load, flags, .. } = dfg.insts[inst] else { return false };
        if dfg.mem_flags[flags].trap_code().is_some() {
            return false;
        }
        let loaded = dfg.first_result(inst);
        let mut behind = std::iter::successors(Some(inst), |&inst| self.func.layout.next_inst(inst)).skip(1);
        let user = behind.by_ref().take(FARTHEST_CALL).find(|&inst| !self.leaves_memory(inst));
        user.is_some_and(|user| self.calls_indirectly(user) && dfg.inst_args(user).first() == Some(&loaded))
    }

    /// Reports whether an instruction writes no memory outside the frame.
    fn leaves_memory(&self, inst: Inst) -> bool {
        let dfg = &self.func.dfg;
        match dfg.insts[inst] {
            InstructionData::Store { args: [_, base], .. } => {
                let from = dfg.value_def(base).inst();
                from.is_some_and(|from| dfg.insts[from].opcode() == Opcode::StackAddr)
            }
            ref data => matches!(data.opcode(), Opcode::StackAddr | Opcode::Iconst),
        }
    }

    /// Returns base and offset of a deferred load.
    fn deferred_load(&self, value: Value) -> Option<(Value, i32)> {
        let Kind::Deferred(inst) = self.values[value].kind else { return None };
        match self.func.dfg.insts[inst] {
            InstructionData::Load { arg, offset, .. } => Some((arg, offset.into())),
            _ => None,
        }
    }

    /// Writes the remaining instructions: calls and conditional traps.
    pub(super) fn control(&mut self, inst: Inst) -> Result<(), Unsupported> {
        match self.func.dfg.insts[inst] {
            InstructionData::CallIndirect { opcode: Opcode::CallIndirect, sig_ref, .. } => {
                self.call(inst, sig_ref)
            }
            InstructionData::CondTrap { opcode, arg, code } => {
                let label = self.trap_label(code);
                let condition = self.condition(arg)?;
                match opcode {
                    Opcode::Trapnz => self.branch_if(condition, label),
                    _ => self.branch_unless(condition, label),
                }
                Ok(())
            }
            _ => Err(Unsupported),
        }
    }
}

/// Pairs values with their registers; leaves out those on the stack.
fn moves(values: &[Value], places: &[Place]) -> SmallVec<[(Value, Reg); 8]> {
    let in_register = |place: &Place| match *place {
        Place::Reg(reg) => Some(reg),
        Place::Stack(_) => None,
    };
    values.iter().zip(places).filter_map(|(&value, place)| Some((value, in_register(place)?))).collect()
}
