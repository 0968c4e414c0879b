//! Pieces of CLIF that both the translator and the passes write, and what changes CLIF.

pub(crate) mod check;
pub(crate) mod trace;

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The same integer in a register of its own. The optimiser, which would find that out, is done. What takes its
/// operand's register would not do, as both were given the same one; and a sum with zero would become part of what
/// computes the value, whose operands then had to be kept as well.
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

/// Zero of a type that wasm values have.
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

/// Takes an instruction away, whose result is `value`.
pub(crate) fn replace(func: &mut Function, inst: Inst, value: Value) {
    let result = func.dfg.first_result(inst);
    func.dfg.clear_results(inst);
    func.dfg.change_to_alias(result, value);
    func.layout.remove_inst(inst);
}

/// Lets instructions take values themselves instead of other names for them.
pub(crate) fn resolve_aliases(func: &mut Function) {
    let values = &mut func.dfg;
    if values.values().any(|value| values.value_is_alias(value)) {
        values.resolve_all_aliases();
    }
}
