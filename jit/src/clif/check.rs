//! Checks, whether code is to go on in another version, and the marks that stand for them while CLIF is optimised.

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    ExternalName, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Signature, UserExternalName,
    Value, types,
};

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
    /// Whether it comes right behind the guard of a node's copies, which leads to a copy with the same check.
    pub is_guarded: bool,
}

/// The name of the mark of a check.
pub(crate) fn mark(index: usize) -> UserExternalName {
    UserExternalName { namespace: NAMESPACE, index: index as u32 }
}

/// Whether an instruction is a mark.
pub(crate) fn is_mark(func: &Function, inst: Inst) -> bool {
    check_of(func, inst).is_some()
}

pub(crate) fn check_of(func: &Function, inst: Inst) -> Option<usize> {
    let InstructionData::Call { func_ref, .. } = func.dfg.insts[inst] else { return None };
    let ExternalName::User(name) = func.dfg.ext_funcs[func_ref].name else { return None };
    let name = &func.params.user_named_funcs()[name];
    (name.namespace == NAMESPACE).then_some(name.index as usize)
}

/// Whether a check fires. The count is kept in the pinned register itself if this, and the branch that uses the
/// result, are at a location with [`Fact::InPlace`](crate::code::Fact::InPlace).
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
    go_on_in(pos, context)
}

/// The version that the runtime says. The store is read once more rather than kept in a register.
pub(crate) fn go_on_in(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    pos.ins().load(types::I64, trusted, store, store_context::GO_ON)
}

/// Traps if that is what the runtime says.
pub(crate) fn trap_if_told(pos: &mut FuncCursor<'_>, version: Value) {
    let is_trap = pos.ins().icmp_imm_s(IntCC::Equal, version, check::TRAP);
    pos.ins().trapnz(is_trap, TrapCode::Host.to_clif());
}
