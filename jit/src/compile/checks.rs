//! Checks in optimised code.
//!
//! Cranelift moves no computation out of a loop once it has come across a way out of it, and the way of a check into
//! another version is one. So while the optimiser works a check is a call that cannot be left, the *mark*, whose
//! arguments are what the other version takes over. Here marks become what checks are, and what is computed for them
//! only moves to where it is needed.
//!
//! Input: an optimised function with marks. Output: the same with checks, ready for machine code.
//! Invariant: but for the two instructions of each check (`pinned.rs`) the hot code is what it would be without
//! checks, as far as Cranelift's register allocator sees to that: the cold code leaves it all registers
//! (`abi::check_pinned_signature`, `abi::leave_signature`).
//! Source: Hirzel & Chilimbi, FDDO 2001, section 2; what `cold` finds is dead code but for the marks.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, ExternalName, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode, Signature,
    UserExternalName, Value, types,
};
use hashbrown::HashMap;

use super::constants::is_constant;
use super::{copy, in_place};
use crate::abi::{TrapCode, check, check_pinned_signature, check_signature, store_context, vmctx};

/// The namespace of marks among external functions; within it they have the index of their check.
const NAMESPACE: u32 = 1;

/// A check, as its mark has it.
pub(crate) struct Check {
    /// Of the version that the frame goes on in.
    pub signature: Signature,
    /// Where the arguments of the mark behind the vmctx go: to these bytes of the transfer buffer; `None` if they are
    /// arguments of the version, too.
    pub places: Option<Vec<i32>>,
}

/// The name of the mark of a check.
pub(crate) fn mark(index: usize) -> UserExternalName {
    UserExternalName { namespace: NAMESPACE, index: index as u32 }
}

/// Replaces the marks of `checks` by checks.
pub(super) fn insert(func: &mut Function, checks: &[Check]) {
    let marks = marks(func);
    let cold = cold(func, &marks);
    for (inst, index) in marks {
        let args = func.dfg.inst_args(inst).to_vec();
        let signature = func.dfg.call_signature(inst).expect("marks are calls");
        Insertion { func, cold: &cold }.check(inst, &checks[index], &args);
        // Nobody calls it, and there is no need to find out how it would be called.
        func.dfg.signatures[signature].params.clear();
    }
}

/// The marks, and the check of each.
fn marks(func: &Function) -> Vec<(Inst, usize)> {
    let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    insts.filter_map(|inst| Some((inst, check_of(func, inst)?))).collect()
}

/// Whether an instruction is a mark.
pub(super) fn is_mark(func: &Function, inst: Inst) -> bool {
    check_of(func, inst).is_some()
}

fn check_of(func: &Function, inst: Inst) -> Option<usize> {
    let InstructionData::Call { func_ref, .. } = func.dfg.insts[inst] else { return None };
    let ExternalName::User(name) = func.dfg.ext_funcs[func_ref].name else { return None };
    let name = &func.params.user_named_funcs()[name];
    (name.namespace == NAMESPACE).then_some(name.index as usize)
}

/// The instructions of which nothing is needed but for marks.
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
            && is_movable(func, inst)
            && cold.insert(inst)
        {
            unneeded.extend(func.dfg.inst_values(inst));
        }
    }
    cold
}

/// Whether an instruction only computes one value from others.
fn is_movable(func: &Function, inst: Inst) -> bool {
    let opcode: Opcode = func.dfg.insts[inst].opcode();
    let acts = opcode.is_terminator() || opcode.is_call() || opcode.other_side_effects();
    let touches = opcode.can_load() || opcode.can_store() || opcode.can_trap();
    !acts && !touches && func.dfg.inst_results(inst).len() == 1
}

struct Insertion<'a> {
    func: &'a mut Function,
    cold: &'a EntitySet<Inst>,
}

impl Insertion<'_> {
    fn check(&mut self, mark: Inst, check: &Check, args: &[Value]) {
        let location = self.func.srcloc(mark);
        let mut pos = FuncCursor::new(self.func).at_inst(mark);
        let block = pos.current_block().expect("marks are in the layout");
        pos.remove_inst();
        let behind = pos.current_inst().expect("a mark does not end its block");
        let [go_on, ask, back, leave] = [(); 4].map(|()| self.func.dfg.make_block());
        self.func.layout.split_block(go_on, behind);
        for cold in [ask, back, leave] {
            self.func.layout.append_block(cold);
            self.func.layout.set_cold(cold);
        }
        let mut pos = FuncCursor::new(self.func).with_srcloc(in_place(location)).at_bottom(block);
        let fires = fires(&mut pos);
        pos.ins().brif(fires, ask, &[], go_on, &[]);
        pos.set_srcloc(location);
        pos.goto_bottom(ask);
        let leaves = ask_runtime_pinned(&mut pos, args[0]);
        pos.ins().brif(leaves, leave, &[], back, &[]);
        // What the register allocator moves on the way back would be hot code if the edge had no cold block of its own.
        pos.goto_bottom(back);
        pos.ins().jump(go_on, &[]);
        let state = self.sink(leave, &args[1..]);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(leave);
        go_on_in(&mut pos, check, args[0], &state);
    }

    /// Computes values at the end of a block, if that is nowhere done; constants in any case.
    fn sink(&mut self, block: Block, values: &[Value]) -> Vec<Value> {
        let mut sunk: HashMap<Inst, Value> = HashMap::new();
        let state = values.iter().map(|&value| self.sink_value(block, value, &mut sunk));
        state.collect()
    }

    fn sink_value(&mut self, block: Block, value: Value, sunk: &mut HashMap<Inst, Value>) -> Value {
        let is_sunk = |inst: &Inst| self.cold.contains(*inst) || is_constant(self.func, *inst);
        let Some(inst) = self.func.dfg.value_def(value).inst().filter(is_sunk) else {
            return value;
        };
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

/// Whether a check fires. The count is kept in the pinned register itself if this, and the branch that uses the
/// result, are at a location that is [`in_place`].
pub(crate) fn fires(pos: &mut FuncCursor<'_>) -> Value {
    let old = pos.ins().get_pinned_reg(types::I64);
    let new = pos.ins().iadd_imm_s(old, -1);
    pos.ins().set_pinned_reg(new);
    let new = pos.ins().get_pinned_reg(types::I64);
    pos.ins().icmp_imm_s(IntCC::SignedLessThan, new, 0)
}

/// Gives what the runtime says: see [`store_context::GO_ON`].
pub(crate) fn ask_runtime(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    let code = pos.ins().load(types::I64, trusted, store, store_context::CHECK);
    let signature = pos.func.import_signature(check_signature());
    pos.ins().call_indirect(signature, code, &[store]);
    pos.ins().load(types::I64, trusted, store, store_context::GO_ON)
}

/// The same for a check that [`fires`].
pub(crate) fn ask_runtime_pinned(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    pos.ins().set_pinned_reg(store);
    let code = pos.ins().load(types::I64, trusted, store, store_context::CHECK_PINNED);
    let signature = pos.func.import_signature(check_pinned_signature());
    pos.ins().call_indirect(signature, code, &[]);
    pos.ins().load(types::I64, trusted, store, store_context::GO_ON)
}

/// Traps if that is what the runtime says.
pub(crate) fn trap_if_told(pos: &mut FuncCursor<'_>, version: Value) {
    let is_trap = pos.ins().icmp_imm_s(IntCC::Equal, version, check::TRAP);
    pos.ins().trapnz(is_trap, TrapCode::Host.to_clif());
}

/// Leaves the state of the frame where the other version finds it, and goes on there.
fn go_on_in(pos: &mut FuncCursor<'_>, check: &Check, context: Value, state: &[Value]) {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    let version = pos.ins().load(types::I64, trusted, store, store_context::GO_ON);
    trap_if_told(pos, version);
    let signature = pos.func.import_signature(check.signature.clone());
    let Some(places) = &check.places else {
        // Arguments are in certain registers, where these values need not be elsewhere.
        let context = copy(pos, context);
        let args: Vec<Value> = state.iter().map(|&value| copy(pos, value)).collect();
        pos.ins().return_call_indirect(signature, version, &[&[context; 2], &args[..]].concat());
        return;
    };
    let buffer = pos.ins().load(types::I64, trusted, store, store_context::TRANSFER);
    for (&place, &value) in places.iter().zip(state) {
        pos.ins().store(trusted, value, buffer, place);
    }
    if check.signature.params.is_empty() {
        pos.ins().store(trusted, context, store, store_context::LEAVING);
        let leave = pos.ins().load(types::I64, trusted, store, store_context::LEAVE);
        pos.ins().set_pinned_reg(store);
        pos.ins().return_call_indirect(signature, leave, &[]);
    } else {
        pos.ins().return_call_indirect(signature, version, &[context, context]);
    }
}
