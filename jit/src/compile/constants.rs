//! Constants behind calls: made anew.
//!
//! A call leaves few registers as they were, so what is needed behind it waits in the frame. A constant takes one
//! instruction to make, as it does to read it back; so it is not worth being kept, and the registers that calls leave
//! are for what is.
//!
//! Input: an optimised function. Output: the same, in which no constant of a block is used behind a call if it was
//! made before. Cranelift's optimiser makes constants anew in each block that uses them (its `remat` rules), but not
//! within.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value};
use cranelift_codegen::isa::CallConv;
use hashbrown::HashMap;

/// By constant of a block: how many calls there were before it was made last, and what it is called since then.
type Made = HashMap<Value, (u32, Value)>;

/// Makes constants anew behind calls.
pub(super) fn renew(func: &mut Function) {
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in blocks {
        renew_in(func, block);
    }
}

fn renew_in(func: &mut Function, block: Block) {
    let insts: Vec<Inst> = func.layout.block_insts(block).collect();
    if !insts.iter().any(|&inst| clobbers(func, inst)) {
        return;
    }
    let mut made = Made::new();
    let mut calls = 0;
    for inst in insts {
        if is_constant(func, inst) {
            let value = func.dfg.first_result(inst);
            made.insert(value, (calls, value));
            continue;
        }
        let is_renewed = |value| made.get(&value).is_some_and(|&(since, now)| since < calls || now != value);
        if !made.is_empty() && func.dfg.inst_values(inst).any(is_renewed) {
            let values: Vec<Value> = func.dfg.inst_values(inst).collect();
            let values: Vec<Value> =
                values.into_iter().map(|value| renewed(func, inst, value, calls, &mut made)).collect();
            func.dfg.overwrite_inst_values(inst, values.into_iter());
        }
        calls += u32::from(clobbers(func, inst));
    }
}

/// What a value is called at `inst`, `calls` calls from the beginning of its block.
fn renewed(func: &mut Function, inst: Inst, value: Value, calls: u32, made: &mut Made) -> Value {
    let Some(&(since, now)) = made.get(&value) else { return value };
    if since == calls {
        return now;
    }
    let constant = func.dfg.value_def(value).inst().expect("constants are made by instructions");
    let copy = func.dfg.clone_inst(constant);
    FuncCursor::new(func).at_inst(inst).insert_inst(copy);
    let copy = func.dfg.first_result(copy);
    made.insert(value, (calls, copy));
    copy
}

pub(super) fn is_constant(func: &Function, inst: Inst) -> bool {
    matches!(func.dfg.insts[inst].opcode(), Opcode::Iconst | Opcode::F32const | Opcode::F64const)
}

/// Whether an instruction is a call that leaves few registers as they were.
pub(super) fn clobbers(func: &Function, inst: Inst) -> bool {
    let Some(signature) = func.dfg.call_signature(inst) else { return false };
    func.dfg.signatures[signature].call_conv != CallConv::PreserveAll
}
