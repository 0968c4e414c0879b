//! Rematerialization of constants behind calls, and of constant block arguments.
//!
//! Calls preserve few registers, so values that are live across them are spilled. Making a constant takes one
//! instruction, the same as reading it back; so constants are not worth keeping, and callee-saved registers are left
//! for other values.
//!
//! The initial zero of an inner loop would take a register in the outer loop.
//!
//! Input: an optimised function. Output: the same function, in which no constant of a block is used behind a call if it
//! was made before, and no integer constant is a block argument outside of the block that makes it. Cranelift's
//! optimiser rematerializes constants in each block whose instructions use them (its `remat` rules), but not within
//! blocks, nor for block arguments.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, Function, Inst, InstBuilder, InstructionData, Opcode, Value,
};
use cranelift_codegen::isa::CallConv;
use hashbrown::HashMap;

/// For each constant of a block: the number of calls before it was last made, and its current value.
type Made = HashMap<Value, (u32, Value)>;

/// Rematerializes constants behind calls.
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

/// Returns the current value of a constant at `inst`, `calls` calls from the beginning of its block.
fn renewed(func: &mut Function, inst: Inst, value: Value, calls: u32, made: &mut Made) -> Value {
    let Some(&(since, now)) = made.get(&value) else { return value };
    if since == calls {
        return now;
    }
    let constant = func.dfg.value_def(value).inst().expect("constants are made by instructions");
    let copy = copy_before(func, constant, inst);
    made.insert(value, (calls, copy));
    copy
}

/// Rematerializes constants of other blocks that are block arguments, as the optimiser does for instructions: passing
/// them takes an instruction in any case. Reports whether the flow graph has changed.
pub(super) fn renew_arguments(func: &mut Function) -> bool {
    let blocks: Vec<Block> = func.layout.blocks().collect();
    let before = blocks.len();
    for block in blocks {
        let end = func.layout.last_inst(block).expect("blocks have an end");
        match func.dfg.insts[end] {
            InstructionData::Jump { destination, .. } => {
                let renewed = with_constants(func, block, destination, end);
                if let (Some(new), InstructionData::Jump { destination, .. }) =
                    (renewed, &mut func.dfg.insts[end])
                {
                    *destination = new;
                }
            }
            InstructionData::Brif { blocks, .. } => {
                let new =
                    blocks.map(|destination| on_its_way(func, block, destination).unwrap_or(destination));
                if let InstructionData::Brif { blocks, .. } = &mut func.dfg.insts[end] {
                    *blocks = new;
                }
            }
            _ => {}
        }
    }
    func.layout.blocks().count() > before
}

/// Returns a destination whose constants from blocks other than `block` are made before an instruction; `None` if it
/// has none.
fn with_constants(
    func: &mut Function,
    block: Block,
    destination: BlockCall,
    before: Inst,
) -> Option<BlockCall> {
    let mut args: Vec<BlockArg> = destination.args(&func.dfg.value_lists).collect();
    let mut made: Vec<(Value, Value)> = Vec::new();
    for arg in &mut args {
        let BlockArg::Value(value) = arg else { continue };
        let Some(constant) = foreign_constant(func, block, *value) else { continue };
        let known = made.iter().find(|(constant, _)| constant == value).map(|&(_, copy)| copy);
        let copy = known.unwrap_or_else(|| copy_before(func, constant, before));
        made.push((*value, copy));
        *arg = BlockArg::Value(copy);
    }
    let to = destination.block(&func.dfg.value_lists);
    (!made.is_empty()).then(|| BlockCall::new(to, args.iter().copied(), &mut func.dfg.value_lists))
}

/// Returns an edge to a destination through a new block that makes its constants.
fn on_its_way(func: &mut Function, block: Block, destination: BlockCall) -> Option<BlockCall> {
    let args: Vec<BlockArg> = destination.args(&func.dfg.value_lists).collect();
    let is_foreign =
        |arg: &BlockArg| arg.as_value().is_some_and(|arg| foreign_constant(func, block, arg).is_some());
    if !args.iter().any(is_foreign) {
        return None;
    }
    let to = destination.block(&func.dfg.value_lists);
    let way = func.dfg.make_block();
    func.layout.insert_block_after(way, block);
    if func.layout.is_cold(to) || func.layout.is_cold(block) {
        func.layout.set_cold(way);
    }
    let jump = FuncCursor::new(func).at_bottom(way).ins().jump(to, &args);
    if let InstructionData::Jump { destination, .. } = func.dfg.insts[jump]
        && let Some(new) = with_constants(func, way, destination, jump)
        && let InstructionData::Jump { destination, .. } = &mut func.dfg.insts[jump]
    {
        *destination = new;
    }
    Some(BlockCall::new(way, std::iter::empty(), &mut func.dfg.value_lists))
}

/// Returns the instruction that makes a value, if it is an integer constant of another block.
fn foreign_constant(func: &Function, block: Block, value: Value) -> Option<Inst> {
    let is_foreign = |inst: &Inst| {
        func.dfg.insts[*inst].opcode() == Opcode::Iconst && func.layout.inst_block(*inst) != Some(block)
    };
    func.dfg.value_def(value).inst().filter(is_foreign)
}

fn copy_before(func: &mut Function, constant: Inst, before: Inst) -> Value {
    let copy = func.dfg.clone_inst(constant);
    FuncCursor::new(func).at_inst(before).insert_inst(copy);
    func.dfg.first_result(copy)
}

/// A computation on a value and a constant.
pub(super) type Computed = (Opcode, Value, i64);

/// Returns the opcode, the value and the constant of an instruction that has one.
pub(super) fn computed(func: &Function, inst: Inst) -> Option<Computed> {
    let InstructionData::Binary { opcode, args: [left, right] } = func.dfg.insts[inst] else { return None };
    match (integer(func, left), integer(func, right)) {
        (None, Some(constant)) => Some((opcode, left, constant)),
        (Some(constant), None) => Some((opcode, right, constant)),
        _ => None,
    }
}

/// Returns the number that a value always is.
pub(super) fn integer(func: &Function, value: Value) -> Option<i64> {
    match func.dfg.insts[func.dfg.value_def(value).inst()?] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
        _ => None,
    }
}

pub(super) fn is_constant(func: &Function, inst: Inst) -> bool {
    matches!(func.dfg.insts[inst].opcode(), Opcode::Iconst | Opcode::F32const | Opcode::F64const)
}

/// Reports whether an instruction is a call that preserves few registers.
pub(super) fn clobbers(func: &Function, inst: Inst) -> bool {
    let Some(signature) = func.dfg.call_signature(inst) else { return false };
    func.dfg.signatures[signature].call_conv != CallConv::PreserveAll
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, types};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::target::{self, isa};

    /// Builds a loop in a loop, both of which begin with the same zero; the inner one also passes it on at its exit.
    fn loops() -> (Function, Value) {
        let mut func = Function::new();
        func.signature.params.push(AbiParam::new(types::I32));
        func.signature.returns.push(AbiParam::new(types::I32));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let [entry, outer, inner] = [(); 3].map(|()| builder.create_block());
        builder.append_block_params_for_function_params(entry);
        let [round, step] = [outer, inner].map(|block| builder.append_block_param(block, types::I32));
        builder.switch_to_block(entry);
        let most = builder.block_params(entry)[0];
        let zero = builder.ins().iconst(types::I32, 0);
        builder.ins().jump(outer, &[zero.into()]);
        builder.switch_to_block(outer);
        let next = builder.ins().iadd(round, most);
        builder.ins().jump(inner, &[zero.into()]);
        builder.switch_to_block(inner);
        let further = builder.ins().iadd(step, next);
        builder.ins().brif(further, inner, &[further.into()], outer, &[zero.into()]);
        builder.seal_all_blocks();
        let isa =
            isa::best(target::plain(), &crate::options::CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        (func, zero)
    }

    #[test]
    fn what_blocks_begin_with_is_made_where_it_is_passed() {
        let (mut func, zero) = loops();
        assert!(
            renew_arguments(&mut func),
            "the way from the inner to the outer loop has a block of its own"
        );
        let isa =
            isa::best(target::plain(), &crate::options::CompilerOptions::default()).expect("this machine");
        verify_function(&func, &*isa).expect("valid");
        let mut constants = 0;
        for block in func.layout.blocks() {
            for inst in func.layout.block_insts(block) {
                for value in func.dfg.inst_values(inst) {
                    let made = func.dfg.value_def(value).inst().filter(|&made| is_constant(&func, made));
                    assert!(made.is_none_or(|made| func.layout.inst_block(made) == Some(block)), "{func}");
                    constants += usize::from(made.is_some());
                }
            }
        }
        assert_eq!(constants, 3);
        assert!(!renew_arguments(&mut func), "there is nothing left to do");
        assert!(func.dfg.value_def(zero).inst().is_some());
    }
}
