//! Pieces of CLIF that both the translator and the passes write, and changes to CLIF.

pub(crate) mod check;
pub(crate) mod explicit_traps;
pub(crate) mod trace;

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

/// Copies an integer to a register of its own. The optimiser would fold the copy, but has already run. An instruction
/// that reuses its operand's register would not do, because then both would be in the same one; and a sum with zero
/// would be folded into the computation of the value, whose operands would then stay live.
pub(crate) fn copy(pos: &mut FuncCursor<'_>, value: Value) -> Value {
    match pos.func.dfg.value_type(value) {
        types::I32 => {
            let extended = pos.ins().sextend(types::I64, value);
            pos.ins().ireduce(types::I32, extended)
        }
        types::I64 => pos.ins().rotr_imm_u(value, 0),
        _ => value,
    }
}

/// Returns zero of a wasm value type.
pub(crate) fn zero(builder: &mut FunctionBuilder<'_>, ty: Type) -> Value {
    match ty {
        types::F32 => builder.ins().f32const(0.0),
        types::F64 => builder.ins().f64const(0.0),
        types::I8X16 => {
            let constant = builder.func.dfg.constants.insert([0u8; 16].as_slice().into());
            builder.ins().vconst(types::I8X16, constant)
        }
        _ => builder.ins().iconst(ty, 0),
    }
}

/// Removes an instruction and makes its result an alias of `value`.
pub(crate) fn replace(func: &mut Function, inst: Inst, value: Value) {
    let result = func.dfg.first_result(inst);
    func.dfg.clear_results(inst);
    func.dfg.change_to_alias(result, value);
    func.layout.remove_inst(inst);
}

/// Replaces aliases in the operands of instructions.
pub(crate) fn resolve_aliases(func: &mut Function) {
    let values = &mut func.dfg;
    if values.values().any(|value| values.value_is_alias(value)) {
        values.resolve_all_aliases();
    }
}
