//! Merges 8-bit and 16-bit loads with the extensions of their results.
//!
//! The translator emits such a load and its extension as two instructions, so that the optimiser can forward stores to
//! the load. But the optimiser may move the extension elsewhere, and then both the load, like all loads of x86-64, and
//! the second instruction extend. This pass merges them, and users of the unextended value take the lower part, which
//! costs nothing.
//!
//! Input: an optimised function. Output: the same function with other loads. Example: `v1 = load.i16 v0; …; v2 =
//! uextend.i32 v1; store v1, v3` becomes `v2 = uload16.i32 v0; v1 = ireduce.i16 v2; …; store v1, v3`.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, InstructionData, Opcode, Type, Value, types};
use hashbrown::HashMap;

use crate::clif::replace;

/// Merges loads with their extensions.
pub(super) fn extend(func: &mut Function) {
    let extensions = extensions(func);
    for (load, insts) in &extensions {
        merge(func, *load, insts);
    }
    if !extensions.is_empty() {
        func.dfg.resolve_all_aliases();
    }
}

/// Returns the extensions of each load, in the order of the loads.
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

/// Returns the value that an instruction sign- or zero-extends.
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

/// Makes a load extend its result as far as the widest of its extensions, if all extend in the same way.
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

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, MemFlagsData};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// Returns the opcodes of a function that loads a value of a type, and returns it extended in some ways.
    fn merged(narrow: Type, extensions: &[(Opcode, Type)]) -> Vec<Opcode> {
        let mut func = Function::new();
        func.signature.params.push(AbiParam::new(types::I64));
        func.signature.returns.extend(extensions.iter().map(|&(_, ty)| AbiParam::new(ty)));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let place = builder.block_params(entry)[0];
        let loaded = builder.ins().load(narrow, MemFlagsData::trusted(), place, 0);
        let results = extensions.iter().map(|&(opcode, ty)| match opcode {
            Opcode::Sextend => builder.ins().sextend(ty, loaded),
            _ => builder.ins().uextend(ty, loaded),
        });
        let results: Vec<Value> = results.collect();
        builder.ins().return_(&results);
        builder.seal_all_blocks();
        let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        extend(&mut func);
        verify_function(&func, &*isa).expect("valid");
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        insts.map(|inst| func.dfg.insts[inst].opcode()).filter(|&opcode| opcode != Opcode::Return).collect()
    }

    const ZEROS: [(Opcode, Type); 2] = [(Opcode::Uextend, types::I32), (Opcode::Uextend, types::I64)];
    const SIGNS: [(Opcode, Type); 2] = [(Opcode::Sextend, types::I32), (Opcode::Sextend, types::I64)];

    #[test]
    fn a_load_extends_what_is_extended_in_one_way() {
        for (ty, zeros, signs) in
            [(types::I8, Opcode::Uload8, Opcode::Sload8), (types::I16, Opcode::Uload16, Opcode::Sload16)]
        {
            // The unextended value is returned, too.
            assert_eq!(merged(ty, &ZEROS[..1]), [zeros, Opcode::Ireduce]);
            assert_eq!(merged(ty, &SIGNS[..1]), [signs, Opcode::Ireduce]);
            // Narrower results are the lower part of the widest.
            assert_eq!(merged(ty, &ZEROS), [zeros, Opcode::Ireduce, Opcode::Ireduce]);
            assert_eq!(merged(ty, &SIGNS), [signs, Opcode::Ireduce, Opcode::Ireduce]);
        }
    }

    #[test]
    fn a_load_that_is_extended_in_two_ways_stays() {
        for ty in [types::I8, types::I16] {
            for (first, second) in [(ZEROS[0], SIGNS[0]), (SIGNS[0], ZEROS[0]), (SIGNS[1], ZEROS[1])] {
                assert_eq!(merged(ty, &[first, second]), [Opcode::Load, first.0, second.0]);
            }
        }
    }
}
