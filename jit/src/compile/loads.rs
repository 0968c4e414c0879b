//! Loads of 8 and 16 bits, which extend what they load.
//!
//! The translator loads such a value and extends it by another instruction, so that the optimiser finds what was
//! stored there. But it may put the second one elsewhere, and then the first extends, as all loads of x86-64 do, and
//! so does the second. Here they become one, and who needs what was loaded as it is takes the lower part, which costs
//! nothing.
//!
//! Input: an optimised function. Output: the same with other loads.
//! Example: `v1 = load.i16 v0; …; v2 = uextend.i32 v1; store v1, v3` becomes
//! `v2 = uload16.i32 v0; v1 = ireduce.i16 v2; …; store v1, v3`.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, InstructionData, Opcode, Type, Value, types};
use hashbrown::HashMap;

use super::replace;

/// Merges loads with what extends them.
pub(super) fn extend(func: &mut Function) {
    let extensions = extensions(func);
    for (load, insts) in &extensions {
        merge(func, *load, insts);
    }
    if !extensions.is_empty() {
        func.dfg.resolve_all_aliases();
    }
}

/// By load, in their order: what extends it.
fn extensions(func: &Function) -> Vec<(Inst, Vec<Inst>)> {
    let mut all: Vec<(Inst, Vec<Inst>)> = Vec::new();
    let mut index_of: HashMap<Inst, usize> = HashMap::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        let Some(arg) = extended(func, inst) else { continue };
        let Some(load) = func.dfg.value_def(arg).inst().filter(|&load| is_narrow_load(func, load)) else {
            continue;
        };
        let index = *index_of.entry(load).or_insert(all.len());
        if index == all.len() {
            all.push((load, Vec::new()));
        }
        all[index].1.push(inst);
    }
    all
}

/// What an instruction extends with signs or zeros.
fn extended(func: &Function, inst: Inst) -> Option<Value> {
    match func.dfg.insts[inst] {
        InstructionData::Unary { opcode: Opcode::Uextend | Opcode::Sextend, arg } => {
            matches!(type_of(func, inst), types::I32 | types::I64).then_some(arg)
        }
        _ => None,
    }
}

fn is_narrow_load(func: &Function, inst: Inst) -> bool {
    let is_load = matches!(func.dfg.insts[inst], InstructionData::Load { opcode: Opcode::Load, .. });
    is_load && matches!(type_of(func, inst), types::I8 | types::I16)
}

fn type_of(func: &Function, inst: Inst) -> Type {
    func.dfg.value_type(func.dfg.first_result(inst))
}

/// Has a load extend by itself, if all extend it in the same way: as far as the widest does.
fn merge(func: &mut Function, load: Inst, extensions: &[Inst]) {
    let InstructionData::Load { flags, offset, arg, .. } = func.dfg.insts[load] else { return };
    let all = |opcode| extensions.iter().all(|&inst| func.dfg.insts[inst].opcode() == opcode);
    let is_signed = all(Opcode::Sextend);
    if !is_signed && !all(Opcode::Uextend) {
        return;
    }
    let flags = func.dfg.mem_flags[flags];
    let narrow = type_of(func, load);
    let is_wide = extensions.iter().any(|&inst| type_of(func, inst) == types::I64);
    let ty = if is_wide { types::I64 } else { types::I32 };
    let mut pos = FuncCursor::new(func).at_inst(load);
    pos.use_srcloc(load);
    let wide = match (narrow, is_signed) {
        (types::I8, false) => pos.ins().uload8(ty, flags, arg, offset),
        (types::I8, true) => pos.ins().sload8(ty, flags, arg, offset),
        (_, false) => pos.ins().uload16(ty, flags, arg, offset),
        (_, true) => pos.ins().sload16(ty, flags, arg, offset),
    };
    let lower = pos.ins().ireduce(narrow, wide);
    replace(func, load, lower);
    for &inst in extensions {
        let value = match type_of(func, inst) == ty {
            true => wide,
            false => FuncCursor::new(func).at_inst(inst).ins().ireduce(types::I32, wide),
        };
        replace(func, inst, value);
    }
}
