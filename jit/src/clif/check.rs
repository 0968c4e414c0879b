//! Checks of whether code should continue in another version, and the marks that stand for them while CLIF is
//! optimised.

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    ExternalName, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Signature, UserExternalName,
    Value, types,
};

use crate::abi::{TrapCode, check, check_pinned_signature, check_signature, store_context, vmctx};

/// The namespace of marks among external functions; a mark's index within it is the index of its check.
const NAMESPACE: u32 = 1;

/// A check, as described by its mark.
pub(crate) struct Check {
    /// The signature of the version in which the frame continues.
    pub signature: Signature,
    /// The byte offsets in the OSR buffer of the mark's arguments behind the vmctx; `None` if the version takes
    /// these arguments directly.
    pub places: Option<Vec<i32>>,
    /// Whether the check comes right behind the guard of a node's copies, which leads to a copy with the same check.
    pub is_guarded: bool,
}

/// Returns the name of the mark of a check.
pub(crate) fn mark(index: usize) -> UserExternalName {
    UserExternalName { namespace: NAMESPACE, index: index as u32 }
}

/// Reports whether an instruction is a mark.
pub(crate) fn is_mark(func: &Function, inst: Inst) -> bool {
    check_of(func, inst).is_some()
}

pub(crate) fn check_of(func: &Function, inst: Inst) -> Option<usize> {
    let InstructionData::Call { func_ref, .. } = func.dfg.insts[inst] else { return None };
    let ExternalName::User(name) = func.dfg.ext_funcs[func_ref].name else { return None };
    let name = &func.params.user_named_funcs()[name];
    (name.namespace == NAMESPACE).then_some(name.index as usize)
}

/// Decrements the count in the pinned register and returns whether the check fires. If this code and the branch on the
/// result are at a location with [`Fact::InPlace`](crate::code::Fact::InPlace), the decrement happens in place.
pub(crate) fn fires(pos: &mut FuncCursor<'_>) -> Value {
    let old = pos.ins().get_pinned_reg(types::I64);
    let new = pos.ins().iadd_imm_s(old, -1);
    pos.ins().set_pinned_reg(new);
    let new = pos.ins().get_pinned_reg(types::I64);
    pos.ins().icmp_imm_s(IntCC::SignedLessThan, new, 0)
}

/// Asks the runtime through the check stub, and returns its answer: see [`store_context::GO_ON`].
pub(crate) fn ask_runtime(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    let code = pos.ins().load(types::I64, trusted, store, store_context::CHECK);
    let signature = pos.func.import_signature(check_signature());
    pos.ins().call_indirect(signature, code, &[store]);
    pos.ins().load(types::I64, trusted, store, store_context::GO_ON)
}

/// Like [`ask_runtime`], for a check that [`fires`].
pub(crate) fn ask_runtime_pinned(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    pos.ins().set_pinned_reg(store);
    let code = pos.ins().load(types::I64, trusted, store, store_context::CHECK_PINNED);
    let signature = pos.func.import_signature(check_pinned_signature());
    pos.ins().call_indirect(signature, code, &[]);
    go_on_in(pos, context)
}

/// Returns the version in which the runtime wants the frame to continue. The store is loaded again rather than kept in
/// a register.
pub(crate) fn go_on_in(pos: &mut FuncCursor<'_>, context: Value) -> Value {
    let trusted = MemFlagsData::trusted();
    let store = pos.ins().load(types::I64, trusted, context, vmctx::STORE);
    pos.ins().load(types::I64, trusted, store, store_context::GO_ON)
}

/// Traps if the runtime's answer says so.
pub(crate) fn trap_if_told(pos: &mut FuncCursor<'_>, version: Value) {
    let is_trap = pos.ins().icmp_imm_s(IntCC::Equal, version, check::TRAP);
    pos.ins().trapnz(is_trap, TrapCode::Host.to_clif());
}
