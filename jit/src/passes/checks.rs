//! Checks in optimised code.
//!
//! Cranelift hoists no computation out of a loop past an exit, and the edge of a check to another version is an exit.
//! So while the optimiser runs, a check is a call without an exit, the *mark*, whose arguments are the state that the
//! other version takes over. This pass replaces marks by checks, and sinks computations that only marks need into the
//! cold code.
//!
//! Input: an optimised function with marks. Output: the same with checks, ready for machine code.
//! Invariant: except for the two instructions of each check (`pinned.rs`) the hot code is the same as without checks,
//! as far as Cranelift's register allocator allows: the cold code preserves all registers
//! (`abi::check_pinned_signature`, `abi::leave_signature`).
//! Source: Hirzel & Chilimbi, FDDO 2001, section 2; the instructions that `cold` finds would be dead code without the
//! marks.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir::{
    Block, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode, SourceLoc, Value, types,
};
use hashbrown::HashMap;

use super::constants::is_constant;
use crate::abi::{store_context, vmctx};
use crate::clif::check::{Check, ask_runtime_pinned, check_of, fires, go_on_in, trap_if_told};
use crate::clif::copy;
use crate::code::{Fact, Origins};

/// Replaces the marks of `checks` by checks.
pub(super) fn insert(func: &mut Function, checks: &[Check], origins: &mut Origins) {
    let marks = marks(func);
    let cold = cold(func, &marks);
    let guarded = guarded(func, marks.iter().filter(|(_, index)| checks[*index].is_guarded));
    for (inst, index) in marks {
        let args = func.dfg.inst_args(inst).to_vec();
        let signature = func.dfg.call_signature(inst).expect("marks are calls");
        let in_place = origins.with(func.srcloc(inst), Fact::InPlace);
        let mut insertion = Insertion { func, cold: &cold, in_place };
        match guarded.get(&inst) {
            Some(&other) => insertion.check_again_in(other, inst),
            None => insertion.check(inst, &checks[index], &args),
        }
        // The mark is gone, so the code generator need not lay out its arguments.
        func.dfg.signatures[signature].params.clear();
    }
    // Sunk originals would keep their operands live and read from the frame, although their results are dead.
    cold.iter().for_each(|inst| func.layout.remove_inst(inst));
}

/// Returns the marks, each with the index of its check.
fn marks(func: &Function) -> Vec<(Inst, usize)> {
    let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    insts.filter_map(|inst| Some((inst, check_of(func, inst)?))).collect()
}

/// Returns the other target of the guard before a mark, for marks that follow their guard: where the optimiser has left
/// the guard recognisable, and nothing has an effect between the guard and the mark.
fn guarded<'a>(func: &Function, marks: impl Iterator<Item = &'a (Inst, usize)>) -> HashMap<Inst, Block> {
    let mut marks = marks.peekable();
    if marks.peek().is_none() {
        return HashMap::new();
    }
    // The branch to each block, if there is only one.
    let mut branches: SecondaryMap<Block, Option<Option<Inst>>> = SecondaryMap::new();
    for inst in func.layout.blocks().filter_map(|block| func.layout.last_inst(block)) {
        let tables = (&func.dfg.jump_tables, &func.dfg.exception_tables);
        for to in func.dfg.insts[inst].branch_destination(tables.0, tables.1) {
            let branch = &mut branches[to.block(&func.dfg.value_lists)];
            *branch = Some(if branch.is_none() { Some(inst) } else { None });
        }
    }
    let other_of = |&(mark, _): &(Inst, usize)| {
        let block = func.layout.inst_block(mark)?;
        let mut before = func.layout.block_insts(block).take_while(|&inst| inst != mark);
        let InstructionData::Brif { blocks, .. } = func.dfg.insts[branches[block]??] else { return None };
        let is_last = before.all(|inst| only_computes(func, inst));
        let [other, behind] =
            blocks.map(|to| (to.block(&func.dfg.value_lists), to.len(&func.dfg.value_lists)));
        (is_last && behind == (block, 0) && other.1 == 0).then_some((mark, other.0))
    };
    marks.filter_map(other_of).collect()
}

/// Returns the instructions whose results only marks need.
fn cold(func: &Function, marks: &[(Inst, usize)]) -> EntitySet<Inst> {
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        func.dfg.inst_values(inst).for_each(|value| uses[value] += 1);
    }
    let mut cold = EntitySet::new();
    let mut unneeded: Vec<Value> =
        marks.iter().flat_map(|&(inst, _)| func.dfg.inst_args(inst)).copied().collect();
    while let Some(value) = unneeded.pop() {
        uses[value] -= 1;
        if let (0, Some(inst)) = (uses[value], func.dfg.value_def(value).inst())
            && only_computes(func, inst)
            && cold.insert(inst)
        {
            unneeded.extend(func.dfg.inst_values(inst));
        }
    }
    cold
}

/// Reports whether an instruction only computes one value from others.
pub(super) fn only_computes(func: &Function, inst: Inst) -> bool {
    let opcode: Opcode = func.dfg.insts[inst].opcode();
    let acts = opcode.is_terminator() || opcode.is_call() || opcode.other_side_effects();
    let touches = opcode.can_load() || opcode.can_store() || opcode.can_trap();
    !acts && !touches && func.dfg.inst_results(inst).len() == 1
}

struct Insertion<'a> {
    func: &'a mut Function,
    cold: &'a EntitySet<Inst>,
    /// The source location of code that counts in place.
    in_place: SourceLoc,
}

impl Insertion<'_> {
    fn check(&mut self, mark: Inst, check: &Check, args: &[Value]) {
        let location = self.func.srcloc(mark);
        let (go_on, [ask, back, leave]) = self.split(mark);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(ask);
        let leaves = ask_runtime_pinned(&mut pos, args[0]);
        pos.ins().brif(leaves, leave, &[], back, &[]);
        // Without a cold block of its own on this edge, moves of the register allocator on the way back would be hot
        // code.
        pos.goto_bottom(back);
        pos.ins().jump(go_on, &[]);
        self.leave(leave, location, check, args);
    }

    /// Replaces a mark by the countdown of a check. Returns the block behind it and new cold blocks; a check that fires
    /// jumps to the first of these.
    fn split<const N: usize>(&mut self, mark: Inst) -> (Block, [Block; N]) {
        let mut pos = FuncCursor::new(self.func).at_inst(mark);
        let block = pos.current_block().expect("marks are in the layout");
        pos.remove_inst();
        let behind = pos.current_inst().expect("a mark does not end its block");
        let go_on = self.func.dfg.make_block();
        self.func.layout.split_block(go_on, behind);
        let cold = [(); N].map(|()| self.func.dfg.make_block());
        for block in cold {
            self.func.layout.append_block(block);
            self.func.layout.set_cold(block);
        }
        let mut pos = FuncCursor::new(self.func).with_srcloc(self.in_place).at_bottom(block);
        let fires = fires(&mut pos);
        pos.ins().brif(fires, cold[0], &[], go_on, &[]);
        (go_on, cold)
    }

    /// Makes a check fire in the other copy of the loop, so that only one copy contains the code to leave.
    fn check_again_in(&mut self, other: Block, mark: Inst) {
        let location = self.in_place;
        let (_, [back]) = self.split(mark);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(back);
        let count = pos.ins().get_pinned_reg(types::I64);
        let before = pos.ins().iadd_imm_s(count, 1);
        pos.ins().set_pinned_reg(before);
        pos.ins().jump(other, &[]);
    }

    /// Continues in the version that the runtime names. The fewer registers this code takes, the fewer values are
    /// spilled for it: the allocator splits their live ranges twice, and then at each use, wherever that is.
    fn leave(&mut self, block: Block, location: SourceLoc, check: &Check, args: &[Value]) {
        let trusted = MemFlagsData::trusted();
        let (context, state) = (args[0], &args[1..]);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(block);
        let version = go_on_in(&mut pos, context);
        trap_if_told(&mut pos, version);
        let signature = pos.func.import_signature(check.signature.clone());
        let Some(places) = &check.places else {
            let state = self.sink(block, state);
            let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(block);
            // Arguments are in fixed registers; copies free the values from that constraint.
            let context = copy(&mut pos, context);
            let args: Vec<Value> = state.iter().map(|&value| copy(&mut pos, value)).collect();
            pos.ins().return_call_indirect(signature, version, &[&[context; 2], &args[..]].concat());
            return;
        };
        let has_results_in_memory = !check.signature.params.is_empty();
        let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
        if !has_results_in_memory {
            pos.ins().store(trusted, context, store, store_context::LEAVING);
            pos.ins().set_pinned_reg(store);
        }
        let buffer = pos.ins().load(types::I64, trusted, store, store_context::OSR_BUFFER);
        self.store(block, location, buffer, places, state);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(block);
        if has_results_in_memory {
            let version = go_on_in(&mut pos, context);
            pos.ins().return_call_indirect(signature, version, &[context, context]);
        } else {
            let store = pos.ins().get_pinned_reg(types::I64);
            let leave = pos.ins().load(types::I64, trusted, store, store_context::LEAVE);
            pos.ins().return_call_indirect(signature, leave, &[]);
        }
    }

    /// Stores the state of the frame where the other version expects it: values that exist first, then those that are
    /// computed here.
    fn store(&mut self, block: Block, location: SourceLoc, buffer: Value, places: &[i32], state: &[Value]) {
        let mut sunk = HashMap::new();
        for is_computed in [false, true] {
            for (&place, &value) in places.iter().zip(state) {
                if self.sunk_inst(value).is_some() == is_computed {
                    let value = self.sink_value(block, value, &mut sunk);
                    let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(block);
                    pos.ins().store(MemFlagsData::trusted(), value, buffer, place);
                }
            }
        }
    }

    /// Computes sunk values at the end of a block; constants are always rematerialized.
    fn sink(&mut self, block: Block, values: &[Value]) -> Vec<Value> {
        let mut sunk: HashMap<Inst, Value> = HashMap::new();
        let state = values.iter().map(|&value| self.sink_value(block, value, &mut sunk));
        state.collect()
    }

    /// Returns the instruction that computes a value, if it is sunk to the value's use.
    fn sunk_inst(&self, value: Value) -> Option<Inst> {
        let is_sunk = |inst: &Inst| self.cold.contains(*inst) || is_constant(self.func, *inst);
        self.func.dfg.value_def(value).inst().filter(is_sunk)
    }

    fn sink_value(&mut self, block: Block, value: Value, sunk: &mut HashMap<Inst, Value>) -> Value {
        let Some(inst) = self.sunk_inst(value) else { return value };
        if let Some(&copy) = sunk.get(&inst) {
            return copy;
        }
        let args = self.func.dfg.inst_args(inst).to_vec();
        let args: Vec<Value> = args.into_iter().map(|arg| self.sink_value(block, arg, sunk)).collect();
        let copy = self.func.dfg.clone_inst(inst);
        self.func.dfg.inst_args_mut(copy).copy_from_slice(&args);
        self.func.layout.append_inst(copy, block);
        let result = self.func.dfg.first_result(copy);
        sunk.insert(inst, result);
        result
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::condcodes::IntCC;
    use cranelift_codegen::ir::{AbiParam, ExtFuncData, ExternalName, Signature};
    use cranelift_codegen::isa::CallConv;
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::clif::check::mark;
    use crate::target::{self, isa};

    fn signature(params: &[types::Type]) -> Signature {
        let mut signature = Signature::new(CallConv::Tail);
        signature.params.extend(params.iter().copied().map(AbiParam::new));
        signature
    }

    /// Builds a function with the vmctx and a number as parameters.
    fn function(build: impl FnOnce(&mut FunctionBuilder<'_>)) -> Function {
        let mut func = Function::new();
        func.signature = signature(&[types::I64, types::I32]);
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        build(&mut builder);
        builder.seal_all_blocks();
        let isa =
            isa::best(target::plain(), &crate::options::CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        func
    }

    fn leave_mark(builder: &mut FunctionBuilder<'_>, index: usize, args: &[Value]) {
        let types: Vec<_> = args.iter().map(|&value| builder.func.dfg.value_type(value)).collect();
        let signature = builder.import_signature(signature(&types));
        let name = ExternalName::user(builder.func.declare_imported_user_function(mark(index)));
        let mark =
            builder.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
        builder.ins().call(mark, args);
    }

    /// Builds a loop with a mark whose arguments are the vmctx, a sum that nothing else needs, and the loop's count.
    fn marked() -> (Function, [Check; 1]) {
        let func = function(|builder| {
            let [entry, again, out] = [(); 3].map(|()| builder.create_block());
            builder.append_block_params_for_function_params(entry);
            let count = builder.append_block_param(again, types::I32);
            let [context, first] = [0, 1].map(|at| builder.block_params(entry)[at]);
            builder.switch_to_block(entry);
            builder.ins().jump(again, &[first.into()]);
            builder.switch_to_block(again);
            let unneeded = builder.ins().iadd_imm_s(first, 80);
            leave_mark(builder, 0, &[context, unneeded, count]);
            let less = builder.ins().iadd_imm_s(count, -1);
            builder.ins().brif(less, again, &[less.into()], out, &[]);
            builder.switch_to_block(out);
            builder.ins().return_(&[]);
        });
        (func, [Check { signature: signature(&[]), places: Some(vec![0, 16]), is_guarded: false }])
    }

    #[test]
    fn what_only_the_other_version_needs_is_computed_on_the_way_there() {
        let (mut func, checks) = marked();
        insert(&mut func, &checks, &mut Origins::default());
        let options = crate::options::CompilerOptions { checked: true, ..Default::default() };
        let isa = isa::rest(target::plain(), &options).expect("this machine");
        verify_function(&func, &*isa).expect("valid");
        let sums = |is_cold: bool| {
            let blocks = func.layout.blocks().filter(|&block| func.layout.is_cold(block) == is_cold);
            let insts = blocks.flat_map(|block| func.layout.block_insts(block));
            insts.filter(|&inst| func.dfg.insts[inst].opcode() == Opcode::Iadd).count()
        };
        // The counts of rounds and of checks.
        assert_eq!((sums(false), sums(true)), (2, 1), "{func}");
        assert!(marks(&func).is_empty(), "{func}");
    }

    #[test]
    fn what_is_read_from_memory_is_read_before_the_check() {
        let mut func = function(|builder| {
            let entry = builder.create_block();
            builder.append_block_params_for_function_params(entry);
            let [context, count] = [0, 1].map(|at| builder.block_params(entry)[at]);
            builder.switch_to_block(entry);
            let read = builder.ins().load(types::I32, MemFlagsData::trusted(), context, 8);
            leave_mark(builder, 0, &[context, read, count]);
            builder.ins().store(MemFlagsData::trusted(), count, context, 8);
            builder.ins().return_(&[]);
        });
        let check = Check { signature: signature(&[]), places: Some(vec![0, 16]), is_guarded: false };
        insert(&mut func, &[check], &mut Origins::default());
        let entry = func.layout.entry_block().expect("it has blocks");
        let mut opcodes = func.layout.block_insts(entry).map(|inst| func.dfg.insts[inst].opcode());
        assert_eq!(opcodes.next(), Some(Opcode::Load), "{func}");
    }

    #[test]
    fn what_is_there_is_stored_before_anything_is_computed() {
        let (mut func, checks) = marked();
        insert(&mut func, &checks, &mut Origins::default());
        let blocks = func.layout.blocks().filter(|&block| func.layout.is_cold(block));
        let insts = blocks.flat_map(|block| func.layout.block_insts(block));
        let opcodes: Vec<Opcode> = insts.map(|inst| func.dfg.insts[inst].opcode()).collect();
        let at = opcodes.iter().position(|&opcode| opcode == Opcode::Iadd).expect("the sum");
        let stores = |opcodes: &[Opcode]| opcodes.iter().filter(|&&opcode| opcode == Opcode::Store).count();
        // The vmctx and the count come first; then the sum.
        assert_eq!((stores(&opcodes[..at]), stores(&opcodes[at..])), (2, 1), "{func}");
    }

    /// Builds two copies of a loop, each with a mark: one behind a guard, which leads to the other. With `is_late`, a
    /// store precedes the first mark.
    fn guarded_marks(is_late: bool) -> (Function, [Check; 2]) {
        let func = function(|builder| {
            let [entry, many, behind, lacking, few, out] = [(); 6].map(|()| builder.create_block());
            builder.append_block_params_for_function_params(entry);
            let [context, first] = [0, 1].map(|at| builder.block_params(entry)[at]);
            let [left, last] = [many, few].map(|block| builder.append_block_param(block, types::I32));
            builder.switch_to_block(entry);
            builder.ins().jump(many, &[first.into()]);
            builder.switch_to_block(many);
            let is_lacking = builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, left, 15);
            builder.ins().brif(is_lacking, lacking, &[], behind, &[]);
            builder.switch_to_block(lacking);
            builder.ins().jump(few, &[left.into()]);
            builder.switch_to_block(behind);
            if is_late {
                builder.ins().store(MemFlagsData::trusted(), left, context, 0);
            }
            leave_mark(builder, 0, &[context, left]);
            let less = builder.ins().iadd_imm_s(left, -4);
            builder.ins().jump(many, &[less.into()]);
            builder.switch_to_block(few);
            leave_mark(builder, 1, &[context, last]);
            let less = builder.ins().iadd_imm_s(last, -1);
            builder.ins().brif(less, few, &[less.into()], out, &[]);
            builder.switch_to_block(out);
            builder.ins().return_(&[]);
        });
        let check = |is_guarded| Check { signature: signature(&[]), places: Some(vec![0]), is_guarded };
        (func, [check(true), check(false)])
    }

    #[test]
    fn checks_behind_a_guard_fire_where_it_leads_to() {
        for is_late in [false, true] {
            let (mut func, checks) = guarded_marks(is_late);
            insert(&mut func, &checks, &mut Origins::default());
            let options = crate::options::CompilerOptions { checked: true, ..Default::default() };
            let isa = isa::rest(target::plain(), &options).expect("this machine");
            verify_function(&func, &*isa).expect("valid");
            let count = |opcode: Opcode| {
                let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
                insts.filter(|&inst| func.dfg.insts[inst].opcode() == opcode).count()
            };
            // The store must not run twice, so this check leaves on its own.
            let ways = if is_late { 2 } else { 1 };
            let found = (count(Opcode::CallIndirect), count(Opcode::ReturnCallIndirect));
            assert_eq!(found, (ways, ways), "{func}");
            // Each check counts; then one takes its count back, or the register gets the store's context, twice.
            assert_eq!(count(Opcode::SetPinnedReg), if is_late { 6 } else { 5 }, "{func}");
            assert!(marks(&func).is_empty(), "{func}");
        }
    }
}
