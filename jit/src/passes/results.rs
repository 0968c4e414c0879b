//! Copies results that are computed in loops, where they are returned.
//!
//! A function returns its results in fixed registers. Cranelift's register allocator requests such a register for the
//! whole live range, and if it is taken, splits the live range, after a few tries at each use. So a counter that is
//! returned in the end would be moved back and forth in each round (interp's, with checks: a tenth of all
//! instructions). With a copy the loop may keep it in any register.
//!
//! Input: an optimised function. Output: the same function with copies.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value};

use super::merged::Merged;
use super::params::for_each_arg;
use crate::clif::copy;

/// Copies the results of `return`s outside of loops if they, or values merged into them, are used in loops.
pub(super) fn add_copies(context: &mut Context) {
    if context.loop_analysis.loops().len() == 0 {
        return;
    }
    let mut webs = Webs::new(context);
    let (func, loops) = (&mut context.func, &context.loop_analysis);
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in blocks.into_iter().filter(|&block| loops.innermost_loop(block).is_none()) {
        let end = func.layout.last_inst(block).expect("blocks have an end");
        if func.dfg.insts[end].opcode() == Opcode::Return {
            copy_args(func, end, &mut webs);
        }
    }
}

fn copy_args(func: &mut Function, inst: Inst, webs: &mut Webs) {
    for at in 0..func.dfg.inst_args(inst).len() {
        let value = func.dfg.inst_args(inst)[at];
        if webs.are_in_loops(func.dfg.resolve_aliases(value)) {
            let copied = copy(&mut FuncCursor::new(func).at_inst(inst), value);
            func.dfg.inst_args_mut(inst)[at] = copied;
        }
    }
}

/// Values merged by block parameters, which the register allocator prefers to keep in one register.
struct Webs {
    merged: Merged,
    /// The representatives of webs with a member in a loop.
    in_loops: EntitySet<Value>,
}

impl Webs {
    fn new(context: &Context) -> Webs {
        let (func, loops) = (&context.func, &context.loop_analysis);
        let mut webs = Webs { merged: Merged::default(), in_loops: EntitySet::new() };
        for block in func.layout.blocks() {
            let is_in_loop = loops.innermost_loop(block).is_some();
            for inst in func.layout.block_insts(block) {
                if is_in_loop {
                    let values =
                        func.dfg.inst_values(inst).chain(func.dfg.inst_results(inst).iter().copied());
                    values.for_each(|value| webs.note_loop(func.dfg.resolve_aliases(value)));
                }
            }
            for_each_arg(func, block, |param, arg| {
                if let Some(value) = arg.as_value() {
                    webs.merge(func.dfg.resolve_aliases(value), param);
                }
            });
        }
        webs
    }

    fn are_in_loops(&mut self, value: Value) -> bool {
        let value = self.merged.find(value);
        self.in_loops.contains(value)
    }

    fn note_loop(&mut self, value: Value) {
        let value = self.merged.find(value);
        self.in_loops.insert(value);
    }

    fn merge(&mut self, value: Value, with: Value) {
        let (value, with) = (self.merged.find(value), self.merged.find(with));
        if value != with {
            self.merged.merge(value, with);
            if self.in_loops.contains(value) {
                self.in_loops.insert(with);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::target::{self, isa};

    /// Builds a function of two parameters that counts the first down to zero and returns both; reports which of its
    /// results are copies.
    fn copied() -> Vec<bool> {
        let mut context = Context::new();
        let signature = &mut context.func.signature;
        signature.params.extend([AbiParam::new(types::I32); 2]);
        signature.returns.extend([AbiParam::new(types::I32); 2]);
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
        let [entry, again, out] = [(); 3].map(|()| builder.create_block());
        builder.append_block_params_for_function_params(entry);
        let (count, left) =
            (builder.append_block_param(again, types::I32), builder.append_block_param(out, types::I32));
        builder.switch_to_block(entry);
        let [first, second] = [0, 1].map(|at| builder.block_params(entry)[at]);
        builder.ins().jump(again, &[first.into()]);
        builder.switch_to_block(again);
        let less = builder.ins().iadd_imm_s(count, -1);
        builder.ins().brif(less, again, &[less.into()], out, &[less.into()]);
        builder.switch_to_block(out);
        let end = builder.ins().return_(&[left, second]);
        builder.seal_all_blocks();
        let isa =
            isa::best(target::plain(), &crate::options::CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        context.compute_cfg();
        context.compute_domtree();
        context.compute_loop_analysis();
        add_copies(&mut context);
        context
            .func
            .dfg
            .inst_args(end)
            .iter()
            .zip([left, second])
            .map(|(&now, before)| now != before)
            .collect()
    }

    #[test]
    fn what_a_loop_computes_is_copied_where_it_is_returned() {
        // The count reaches the return through a parameter of the block behind the loop; the other result is not used
        // in the loop.
        assert_eq!(copied(), [true, false]);
    }
}
