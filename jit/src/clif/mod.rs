//! Pieces of CLIF that both the translator and the passes write, and changes to CLIF.

pub(crate) mod check;
pub(crate) mod explicit_traps;
pub(crate) mod trace;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Block, Function, Inst, InstBuilder, InstructionData, StackSlot, Type, Value, types,
};
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;

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

/// Computes addresses of stack slots anew in each block that uses them. The first block computes them once for all, and
/// the register allocator would keep each of them alive through all blocks.
pub(crate) fn remake_addresses(func: &mut Function) {
    let mut pos = FuncCursor::new(func);
    // By slot and offset.
    let mut made: HashMap<(StackSlot, i32), Value> = HashMap::new();
    while let Some(block) = pos.next_block() {
        made.clear();
        while let Some(inst) = pos.next_inst() {
            for place in 0..pos.func.dfg.inst_args(inst).len() {
                let value = pos.func.dfg.inst_args(inst)[place];
                let Some((of, ty)) = address(pos.func, value, block) else { continue };
                let here = *made.entry(of).or_insert_with(|| pos.ins().stack_addr(ty, of.0, of.1));
                pos.func.dfg.inst_args_mut(inst)[place] = here;
            }
        }
    }
}

/// Returns the stack slot and the offset of an address that another block computes, and its type.
fn address(func: &Function, value: Value, block: Block) -> Option<((StackSlot, i32), Type)> {
    let inst =
        func.dfg.value_def(value).inst().filter(|&inst| func.layout.inst_block(inst) != Some(block))?;
    match func.dfg.insts[inst] {
        InstructionData::StackAddr { stack_slot, offset, .. } => {
            Some(((stack_slot, offset.into()), func.dfg.value_type(value)))
        }
        _ => None,
    }
}
