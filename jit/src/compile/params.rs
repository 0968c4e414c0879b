//! Parameters of blocks that are always the same as another value.
//!
//! A header of a loop takes what its rounds may change. Where a loop is entered in several ways, or is a copy, it often
//! takes more: values that each back edge gives it back as they are. Cranelift leaves such parameters out only if what
//! they are is no parameter itself. Each of the others is one more value that a loop brings along from round to round,
//! which no register is left for, and which its optimiser takes for new in each round.
//!
//! Input: a function. Output: the same without such parameters, and without aliases.
//! Source: trivial φ functions, in Braun, Buchwald, Hack, Leißa, Mallon & Zwinkau, *Simple and Efficient Construction of
//! Static Single Assignment Form*, CC 2013, section 3.1; here once for a whole function.
//! Example: `block1(v1): jump block2(v1); block2(v2): brif v3, block2(v2), block3` becomes `block1(v1): jump block2;
//! block2: brif v3, block2, block3`, with `v1` wherever `v2` was.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, BlockArg, BlockCall, Function, Inst, Value};

use super::merged::Merged;
use super::resolve_aliases;

/// One that is found may let another one be found that was looked at before; after so many rounds the rest stays.
const MOST_ROUNDS: usize = 8;

/// A branch to a block, by its number among those of its instruction.
type Edge = (Inst, usize);

/// Leaves such parameters out.
pub(super) fn leave_out(func: &mut Function) {
    let edges = edges(func);
    let entry = func.layout.entry_block();
    let takes = |&block: &Block| Some(block) != entry && !func.dfg.block_params(block).is_empty();
    let blocks: Vec<Block> = func.layout.blocks().filter(takes).collect();
    let mut same = Merged::default();
    let mut find_more = || {
        let found = blocks.iter().map(|&block| find(func, block, &edges[block], &mut same));
        found.fold(false, |any, found| any | found)
    };
    let _ = (0..MOST_ROUNDS).take_while(|_| find_more()).count();
    for block in blocks {
        leave_out_of(func, block, &edges[block], &mut same);
    }
    resolve_aliases(func);
}

/// The edges with arguments that lead to each block.
fn edges(func: &Function) -> SecondaryMap<Block, Vec<Edge>> {
    let mut edges: SecondaryMap<Block, Vec<Edge>> = SecondaryMap::new();
    for inst in func.layout.blocks().filter_map(|block| func.layout.last_inst(block)) {
        for (at, target) in targets(func, inst).iter().enumerate() {
            if target.len(&func.dfg.value_lists) > 0 {
                edges[target.block(&func.dfg.value_lists)].push((inst, at));
            }
        }
    }
    edges
}

/// Finds parameters of a block that are given one value, and themselves; whether there are any that were not known.
fn find(func: &Function, block: Block, edges: &[Edge], same: &mut Merged) -> bool {
    let mut found = false;
    for (&param, only) in func.dfg.block_params(block).iter().zip(only_values(func, block, edges, same)) {
        if let Only::One(value) = only {
            same.merge(param, value);
            found = true;
        }
    }
    found
}

/// The values that a parameter is given, but for itself.
#[derive(Clone, Copy)]
enum Only {
    None,
    One(Value),
    Many,
}

/// What the parameters of a block are given; nothing of those that are found already.
fn only_values(func: &Function, block: Block, edges: &[Edge], same: &mut Merged) -> Vec<Only> {
    let params = func.dfg.block_params(block);
    let begin = |&param: &Value| if same.is_merged(param) { Only::Many } else { Only::None };
    let mut all: Vec<Only> = params.iter().map(begin).collect();
    for &(inst, at) in edges {
        let args = targets(func, inst)[at].args(&func.dfg.value_lists);
        for ((only, &param), arg) in all.iter_mut().zip(params).zip(args) {
            let value = arg.as_value().map(|value| same.find(func.dfg.resolve_aliases(value)));
            *only = match (*only, value) {
                (Only::Many, _) | (_, None) => Only::Many,
                (_, Some(value)) if value == param => *only,
                (Only::None, Some(value)) => Only::One(value),
                (Only::One(one), Some(value)) if one == value => *only,
                (Only::One(_), Some(_)) => Only::Many,
            };
        }
    }
    all
}

fn leave_out_of(func: &mut Function, block: Block, edges: &[Edge], same: &mut Merged) {
    let params: Vec<Value> = func.dfg.block_params(block).to_vec();
    let kept: Vec<bool> = params.iter().map(|&param| !same.is_merged(param)).collect();
    if kept.iter().all(|&is_kept| is_kept) {
        return;
    }
    edges.iter().for_each(|&edge| keep_args(func, edge, &kept));
    // From the last one on: those behind one that goes change places.
    for (&param, _) in params.iter().zip(&kept).rev().filter(|(_, is_kept)| !**is_kept) {
        func.dfg.remove_block_param(param);
        func.dfg.change_to_alias(param, same.find(param));
    }
}

fn targets(func: &Function, inst: Inst) -> &[BlockCall] {
    func.dfg.insts[inst].branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables)
}

/// Lets a branch give only what is kept.
fn keep_args(func: &mut Function, (inst, at): Edge, kept: &[bool]) {
    let target = targets(func, inst)[at];
    let dfg = &mut func.dfg;
    let args = target.args(&dfg.value_lists).zip(kept).filter(|(_, is_kept)| **is_kept);
    let args: Vec<BlockArg> = args.map(|(arg, _)| arg).collect();
    let call = BlockCall::new(target.block(&dfg.value_lists), args, &mut dfg.value_lists);
    dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables)[at] = call;
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::super::{CompilerOptions, isa};
    use super::*;

    /// How many parameters are left of the headers of a loop and of one in it, given what each is given by the way to the
    /// loop, and by its back edge: `a` or `b`, which the function has, `o0`, which is the outer loop's first parameter,
    /// and so on, or `0`, the inner one's.
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
        let isa = isa::best(&CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        leave_out(&mut func);
        verify_function(&func, &*isa).expect("valid");
        [first, second].map(|block| func.dfg.block_params(block).len())
    }

    #[test]
    fn what_goes_round_as_it_is_is_no_parameter() {
        // The outer loop changes its value; the inner one does not.
        assert_eq!(kept(&[["a", "b"]], &[["o0", "0"]]), [1, 0]);
        // Only by way of the inner one it comes back to the outer one.
        assert_eq!(kept(&[["a", "0"]], &[["o0", "0"]]), [0, 0]);
        // Of several some go, and the others keep their places.
        assert_eq!(kept(&[["a", "b"], ["b", "b"]], &[["o0", "0"], ["o0", "2"], ["o1", "1"]]), [1, 2]);
    }

    #[test]
    fn what_changes_is_a_parameter() {
        assert_eq!(kept(&[["a", "b"]], &[["o0", "a"]]), [1, 1]);
        // They change places in each round.
        assert_eq!(kept(&[], &[["a", "1"], ["b", "0"]]), [0, 2]);
    }
}
