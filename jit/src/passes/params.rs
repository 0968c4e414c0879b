//! Removes block parameters that always equal another value.
//!
//! A loop header has parameters for the values that its rounds may change. Where a loop is entered in several ways, or
//! is a copy, it often has more: values that each back edge passes back unchanged. Cranelift removes such parameters
//! only if the value is not a parameter itself. Each of the others is one more value that a loop passes from round to
//! round, that takes a register, and that the optimiser treats as new in each round.
//!
//! Input: a function. Output: the same function without such parameters, and, if there were some, without aliases.
//! Source: trivial φ functions, in Braun, Buchwald, Hack, Leißa, Mallon & Zwinkau, *Simple and Efficient Construction
//! of Static Single Assignment Form*, CC 2013, section 3.1; here once for a whole function. Example: `block1(v1): jump
//! block2(v1); block2(v2): brif v3, block2(v2), block3` becomes `block1(v1): jump block2; block2: brif v3, block2,
//! block3`, with `v1` wherever `v2` was.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, BlockArg, BlockCall, Function, Inst, Value};

use super::merged::Merged;
use crate::clif::resolve_aliases;

/// Removing one parameter may make others removable; after this many rounds the rest stays.
const MOST_ROUNDS: usize = 8;

/// Removes trivial parameters.
pub(super) fn leave_out(func: &mut Function) {
    let mut same = Merged::default();
    let rounds = (0..MOST_ROUNDS).take_while(|_| find_more(func, &mut same)).count();
    if rounds == 0 {
        return;
    }
    let blocks: Vec<Block> = func.layout.blocks().collect();
    blocks.iter().for_each(|&block| leave_out_args(func, block, &same));
    blocks.iter().for_each(|&block| leave_out_params(func, block, &mut same));
    resolve_aliases(func);
}

/// Calls `each` with the parameters of a block's successors and the arguments that the block passes to them.
pub(super) fn for_each_arg(func: &Function, block: Block, mut each: impl FnMut(Value, BlockArg)) {
    let (dfg, pool) = (&func.dfg, &func.dfg.value_lists);
    for call in targets(func, end(func, block)) {
        for (&param, arg) in dfg.block_params(call.block(pool)).iter().zip(call.args(pool)) {
            each(param, arg);
        }
    }
}

/// The values passed to a parameter, except itself.
#[derive(Clone, Copy, Default)]
enum Only {
    #[default]
    None,
    One(Value),
    Many,
}

/// Finds parameters whose only arguments are one value and themselves; reports whether any is new.
fn find_more(func: &Function, same: &mut Merged) -> bool {
    let mut given: SecondaryMap<Value, Only> = SecondaryMap::new();
    let mut params = Vec::new();
    for block in func.layout.blocks() {
        params.extend(func.dfg.block_params(block).iter().filter(|&&param| !same.is_merged(param)));
        for_each_arg(func, block, |param, arg| {
            let value = arg.as_value().map(|value| same.find(func.dfg.resolve_aliases(value)));
            given[param] = match (given[param], value) {
                (only, Some(value)) if value == param => only,
                (Only::None, Some(value)) => Only::One(value),
                (Only::One(one), Some(value)) if one == value => Only::One(one),
                _ => Only::Many,
            };
        });
    }
    let mut found = false;
    for param in params {
        if let Only::One(value) = given[param] {
            // That value may have been merged with the parameter by now.
            let value = same.find(value);
            if value != param {
                same.merge(param, value);
                found = true;
            }
        }
    }
    found
}

/// Removes the arguments that a block passes to trivial parameters.
fn leave_out_args(func: &mut Function, block: Block, same: &Merged) {
    let inst = end(func, block);
    for at in 0..targets(func, inst).len() {
        let target = targets(func, inst)[at];
        let to = target.block(&func.dfg.value_lists);
        let params = func.dfg.block_params(to);
        if params.iter().any(|&param| same.is_merged(param)) {
            let args = target.args(&func.dfg.value_lists).zip(params);
            let kept: Vec<BlockArg> =
                args.filter(|(_, param)| !same.is_merged(**param)).map(|(arg, _)| arg).collect();
            let dfg = &mut func.dfg;
            let call = BlockCall::new(to, kept, &mut dfg.value_lists);
            dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables)[at] =
                call;
        }
    }
}

/// Removes a block's trivial parameters, from the last one on: those behind a removed one move.
fn leave_out_params(func: &mut Function, block: Block, same: &mut Merged) {
    let params = func.dfg.block_params(block).iter().copied();
    let merged: Vec<Value> = params.filter(|&param| same.is_merged(param)).collect();
    for param in merged.into_iter().rev() {
        func.dfg.remove_block_param(param);
        func.dfg.change_to_alias(param, same.find(param));
    }
}

fn end(func: &Function, block: Block) -> Inst {
    func.layout.last_inst(block).expect("blocks have an end")
}

fn targets(func: &Function, inst: Inst) -> &[BlockCall] {
    func.dfg.insts[inst].branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables)
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// Returns how many parameters are left at the headers of an outer and an inner loop, given each parameter's
    /// argument at the loop's entry and at its back edge: `a` or `b`, which the function has; `o0`, the outer loop's
    /// first parameter, and so on; or `0`, the inner one's.
    fn kept(outer: &[[&str; 2]], inner: &[[&str; 2]]) -> [usize; 2] {
        let mut func = Function::new();
        func.signature.params.extend([AbiParam::new(types::I32); 2]);
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let [entry, first, second, latch, end] = [(); 5].map(|()| builder.create_block());
        builder.append_block_params_for_function_params(entry);
        for (block, params) in [(first, outer), (second, inner)] {
            for _ in params {
                builder.append_block_param(block, types::I32);
            }
        }
        let value = |builder: &FunctionBuilder<'_>, own: Block, name: &str| match name {
            "a" => builder.block_params(entry)[0],
            "b" => builder.block_params(entry)[1],
            _ => match name.strip_prefix('o') {
                Some(place) => builder.block_params(first)[place.parse::<usize>().expect("a place")],
                None => builder.block_params(own)[name.parse::<usize>().expect("a place")],
            },
        };
        let args =
            |builder: &FunctionBuilder<'_>, own: Block, params: &[[&str; 2]], at: usize| -> Vec<BlockArg> {
                params.iter().map(|names| value(builder, own, names[at]).into()).collect()
            };
        builder.switch_to_block(entry);
        let condition = builder.block_params(entry)[0];
        let given = args(&builder, first, outer, 0);
        builder.ins().jump(first, &given);
        builder.switch_to_block(first);
        let given = args(&builder, first, inner, 0);
        builder.ins().jump(second, &given);
        builder.switch_to_block(second);
        let given = args(&builder, second, inner, 1);
        builder.ins().brif(condition, second, &given, latch, &[]);
        builder.switch_to_block(latch);
        let given = args(&builder, second, outer, 1);
        builder.ins().brif(condition, first, &given, end, &[]);
        builder.switch_to_block(end);
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        leave_out(&mut func);
        verify_function(&func, &*isa).expect("valid");
        [first, second].map(|block| func.dfg.block_params(block).len())
    }

    #[test]
    fn what_goes_round_as_it_is_is_no_parameter() {
        // The outer loop's value changes; the inner one's does not.
        assert_eq!(kept(&[["a", "b"]], &[["o0", "0"]]), [1, 0]);
        // The value returns to the outer loop only through the inner one.
        assert_eq!(kept(&[["a", "0"]], &[["o0", "0"]]), [0, 0]);
        // Some of several parameters go, and the others keep their order.
        assert_eq!(kept(&[["a", "b"], ["b", "b"]], &[["o0", "0"], ["o0", "2"], ["o1", "1"]]), [1, 2]);
    }

    #[test]
    fn what_changes_is_a_parameter() {
        assert_eq!(kept(&[["a", "b"]], &[["o0", "a"]]), [1, 1]);
        // The parameters swap in each round.
        assert_eq!(kept(&[], &[["a", "1"], ["b", "0"]]), [0, 2]);
    }
}
