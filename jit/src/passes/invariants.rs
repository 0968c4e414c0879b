//! Loop-invariant computations that Cranelift's optimiser repeats inside loops: hoisted.
//!
//! Sums and masks with a constant are made in each block that needs them (the optimiser's `remat` rules), as that costs
//! one instruction and may save a register. In a loop it costs two per round where the operand itself has to stay, and
//! saves nothing where the operand has no other use: then one of the two takes a register anyway. An example is the `n
//! & -2` that a loop unrolled by a C compiler compares with.
//!
//! Input: an optimised function. Output: the same function, with such instructions hoisted. Invariants: a hoisted
//! instruction only computes, and its operands are known at its new place; each block is examined once, however many
//! loops there are.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value, ValueDef, types};
use cranelift_codegen::loop_analysis::{Loop, LoopAnalysis};
use hashbrown::HashMap;

use super::constants::{Computed, computed, integer};
use crate::clif::check::is_mark;
use crate::clif::{replace, resolve_aliases};

/// Hoists loop invariants out of innermost loops.
pub(super) fn hoist(context: &mut Context) {
    let (func, loops) = (&mut context.func, &context.loop_analysis);
    if loops.loops().len() == 0 {
        return;
    }
    let needed = needed(func);
    for (id, blocks) in innermost(func, loops) {
        let before = context.domtree.idom(loops.loop_header(id));
        if let Some(before) = before.filter(|&before| !loops.is_in_loop(before, id)) {
            Body::new(func, (loops, id), &blocks, &needed).hoist_to(func, before);
        }
    }
    resolve_aliases(func);
}

/// Returns the innermost loops with their hot blocks, in layout order.
fn innermost(func: &Function, loops: &LoopAnalysis) -> Vec<(Loop, Vec<Block>)> {
    let mut parents = EntitySet::new();
    parents.extend(loops.loops().filter_map(|id| loops.loop_parent(id)));
    let mut blocks: SecondaryMap<Loop, Vec<Block>> = SecondaryMap::new();
    for block in func.layout.blocks().filter(|&block| !func.layout.is_cold(block)) {
        if let Some(id) = loops.innermost_loop(block).filter(|&id| !parents.contains(id)) {
            blocks[id].push(block);
        }
    }
    let innermost = loops.loops().filter(|&id| !parents.contains(id));
    innermost.map(|id| (id, std::mem::take(&mut blocks[id]))).collect()
}

/// Returns the values that instructions other than marks use: values that only checks take along are spilled.
fn needed(func: &Function) -> EntitySet<Value> {
    let mut needed = EntitySet::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        if !is_mark(func, inst) {
            func.dfg.inst_values(inst).for_each(|value| _ = needed.insert(value));
        }
    }
    needed
}

/// The invariants of a loop.
struct Body {
    /// The sums and masks of a value from outside the loop and a constant.
    sums: Vec<(Inst, Computed)>,
    /// By such a value: the only computation that needs it; `None` if it has another use, too.
    needed_for: HashMap<Value, Option<Computed>>,
}

impl Body {
    fn new(
        func: &Function,
        (loops, id): (&LoopAnalysis, Loop),
        blocks: &[Block],
        needed: &EntitySet<Value>,
    ) -> Body {
        let hot = blocks.iter().flat_map(|&block| func.layout.block_insts(block));
        let mut body = Body { sums: Vec::new(), needed_for: HashMap::new() };
        for inst in hot.filter(|&inst| !is_mark(func, inst)) {
            let computed = sum(func, inst).filter(|&(_, value, _)| !is_within(func, loops, id, value));
            if computed.is_some() && !needed.contains(func.dfg.first_result(inst)) {
                continue;
            }
            body.sums.extend(computed.map(|computed| (inst, computed)));
            for value in func.dfg.inst_values(inst) {
                let needed_for = body.needed_for.entry(value).or_insert(computed);
                *needed_for = needed_for.filter(|_| *needed_for == computed);
            }
        }
        body
    }

    /// Hoists computations that are the only use of their value to the end of a block before the loop.
    fn hoist_to(self, func: &mut Function, before: Block) {
        let mut hoisted: HashMap<Computed, Value> = HashMap::new();
        for (inst, computed) in self.sums {
            if self.needed_for[&computed.1] == Some(computed) {
                let value = *hoisted.entry(computed).or_insert_with(|| copy(func, inst, before));
                replace(func, inst, value);
            }
        }
    }
}

/// Returns what an instruction computes, if that is a sum or a mask with a constant.
fn sum(func: &Function, inst: Inst) -> Option<Computed> {
    computed(func, inst).filter(|&(opcode, ..)| match opcode {
        // Sums of 64 bits are usually folded into addresses.
        Opcode::Iadd => func.dfg.value_type(func.dfg.first_result(inst)) == types::I32,
        _ => matches!(opcode, Opcode::Band | Opcode::Bor | Opcode::Bxor),
    })
}

fn is_within(func: &Function, loops: &LoopAnalysis, id: Loop, value: Value) -> bool {
    let block = match func.dfg.value_def(value) {
        ValueDef::Result(inst, _) => func.layout.inst_block(inst),
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Union(..) => None,
    };
    block.is_none_or(|block| loops.is_in_loop(block, id))
}

/// Copies an instruction, and its constant operands, to the end of a block.
fn copy(func: &mut Function, inst: Inst, block: Block) -> Value {
    let end = func.layout.last_inst(block).expect("blocks have an end");
    let args = func.dfg.inst_args(inst).to_vec();
    let mut copies = Vec::new();
    for arg in args {
        let made = func.dfg.value_def(arg).inst().filter(|_| integer(func, arg).is_some());
        copies.push(made.map_or(arg, |made| insert(func, made, end)));
    }
    let copy = func.dfg.clone_inst(inst);
    func.dfg.inst_args_mut(copy).copy_from_slice(&copies);
    FuncCursor::new(func).at_inst(end).insert_inst(copy);
    func.dfg.first_result(copy)
}

fn insert(func: &mut Function, inst: Inst, before: Inst) -> Value {
    let copy = func.dfg.clone_inst(inst);
    FuncCursor::new(func).at_inst(before).insert_inst(copy);
    func.dfg.first_result(copy)
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstBuilder, Type};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// Builds a loop that counts its parameter down and adds up what `build` makes of the function's parameter and the
    /// count. Returns the opcodes before the loop, and those in it.
    fn split(
        ty: Type,
        build: impl Fn(&mut FunctionBuilder<'_>, Value, Value) -> Vec<Value>,
    ) -> [Vec<Opcode>; 2] {
        let mut context = Context::new();
        context.func.signature.params.extend([AbiParam::new(ty); 2]);
        context.func.signature.returns.push(AbiParam::new(ty));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
        let [entry, again, out] = [(); 3].map(|()| builder.create_block());
        builder.append_block_params_for_function_params(entry);
        let [count, sum] = [(); 2].map(|()| builder.append_block_param(again, ty));
        builder.switch_to_block(entry);
        let [param, most] = [0, 1].map(|at| builder.block_params(entry)[at]);
        builder.ins().jump(again, &[most.into(), most.into()]);
        builder.switch_to_block(again);
        let made = build(&mut builder, param, count);
        let sum = made.into_iter().fold(sum, |sum, value| builder.ins().bxor(sum, value));
        let less = builder.ins().isub(count, sum);
        builder.ins().brif(less, again, &[less.into(), sum.into()], out, &[]);
        builder.switch_to_block(out);
        builder.ins().return_(&[sum]);
        builder.seal_all_blocks();
        let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        context.compute_cfg();
        context.compute_domtree();
        context.compute_loop_analysis();
        hoist(&mut context);
        verify_function(&context.func, &*isa).expect("valid");
        [entry, again].map(|block| {
            let insts = context.func.layout.block_insts(block);
            insts.map(|inst| context.func.dfg.insts[inst].opcode()).collect()
        })
    }

    /// Counts an opcode before the loop and in it, where the loop computes `build` of the parameter and 7.
    fn hoisted(
        ty: Type,
        opcode: Opcode,
        build: impl Fn(&mut FunctionBuilder<'_>, Value, Value) -> Value,
    ) -> [usize; 2] {
        let opcodes = split(ty, |builder, param, _| {
            let seven = builder.ins().iconst(ty, 7);
            vec![build(builder, param, seven)]
        });
        opcodes.map(|opcodes| opcodes.iter().filter(|&&other| other == opcode).count())
    }

    #[test]
    fn sums_and_masks_with_a_constant_move_before_the_loop() {
        assert_eq!(hoisted(types::I32, Opcode::Iadd, |builder, a, b| builder.ins().iadd(a, b)), [1, 0]);
        assert_eq!(hoisted(types::I32, Opcode::Band, |builder, a, b| builder.ins().band(a, b)), [1, 0]);
        assert_eq!(hoisted(types::I64, Opcode::Bor, |builder, a, b| builder.ins().bor(b, a)), [1, 0]);
    }

    #[test]
    fn what_may_trap_or_is_no_sum_or_mask_stays() {
        assert_eq!(hoisted(types::I32, Opcode::Udiv, |builder, a, b| builder.ins().udiv(b, a)), [0, 1]);
        assert_eq!(hoisted(types::I32, Opcode::Srem, |builder, a, b| builder.ins().srem(a, b)), [0, 1]);
        assert_eq!(hoisted(types::I32, Opcode::Imul, |builder, a, b| builder.ins().imul(a, b)), [0, 1]);
        assert_eq!(hoisted(types::I64, Opcode::Iadd, |builder, a, b| builder.ins().iadd(a, b)), [0, 1]);
    }

    #[test]
    fn differences_the_one_way_and_the_other_are_not_the_same() {
        let [_, inside] = split(types::I32, |builder, param, _| {
            let seven = builder.ins().iconst(types::I32, 7);
            vec![builder.ins().isub(param, seven), builder.ins().isub(seven, param)]
        });
        // One of them counts down.
        assert_eq!(inside.iter().filter(|&&opcode| opcode == Opcode::Isub).count(), 3);
    }

    #[test]
    fn what_changes_in_the_loop_stays() {
        let [before, inside] = split(types::I32, |builder, _, count| {
            let seven = builder.ins().iconst(types::I32, 7);
            vec![builder.ins().band(count, seven)]
        });
        assert!(!before.contains(&Opcode::Band) && inside.contains(&Opcode::Band));
        // The same holds if the value has no other use.
        let [before, inside] = split(types::I32, |builder, _, count| {
            let square = builder.ins().imul(count, count);
            let seven = builder.ins().iconst(types::I32, 7);
            vec![builder.ins().band(square, seven)]
        });
        assert!(!before.contains(&Opcode::Band) && inside.contains(&Opcode::Band));
    }
}
