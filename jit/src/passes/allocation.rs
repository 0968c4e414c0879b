//! Chooses a register allocator for a function.
//!
//! For each value that is live across calls, the allocator that produces good code examines each of these calls, and
//! does so again each time it splits the live range. Where thousands of values are live across thousands of calls, that
//! takes minutes. `spilling` spills such values first, as far as it can follow them; this module measures what is left.
//!
//! Input: a function ready for register allocation. Output: whether its values are live across too many calls.
//! Invariant: linear time. A live range is approximated by all code from its first place to its last one in block
//! layout, which is longer than the live range except in loops, and shorter there by at most one round.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Function, Value};

use super::constants::clobbers;
use crate::limits::{CROSSINGS_ALWAYS, CROSSINGS_PER_INSTRUCTION};

/// Reports whether the allocator that produces good code would take too long.
pub(crate) fn takes_long(func: &Function) -> bool {
    let limit = CROSSINGS_ALWAYS.max(CROSSINGS_PER_INSTRUCTION * func.dfg.num_insts());
    crossings(func) > limit
}

/// Returns the total number of calls within live ranges.
fn crossings(func: &Function) -> usize {
    let mut calls = 0u32;
    // By value, the number of calls before its first place and before its last one.
    let mut lives: SecondaryMap<Value, Option<(u32, u32)>> =
        SecondaryMap::with_capacity(func.dfg.num_values());
    for block in func.layout.blocks() {
        for &value in func.dfg.block_params(block) {
            extend(&mut lives, value, calls);
        }
        for inst in func.layout.block_insts(block) {
            for value in func.dfg.inst_values(inst) {
                extend(&mut lives, value, calls);
            }
            calls += u32::from(clobbers(func, inst));
            for &value in func.dfg.inst_results(inst) {
                extend(&mut lives, value, calls);
            }
        }
    }
    lives.values().flatten().map(|&(first, last)| (last - first) as usize).sum()
}

fn extend(lives: &mut SecondaryMap<Value, Option<(u32, u32)>>, value: Value, calls: u32) {
    let life = &mut lives[value];
    let (first, last) = life.unwrap_or((calls, calls));
    *life = Some((first.min(calls), last.max(calls)));
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::target::{self, isa};

    /// Builds a function of `count` calls; the results of `kept` of them stay live until the end, and they are
    /// divided into `blocks` blocks.
    fn calls(count: usize, kept: usize, blocks: usize) -> Function {
        let mut func = Function::new();
        func.signature = Signature::new(CallConv::Tail);
        func.signature.params.push(AbiParam::new(types::I64));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
        let mut signature = Signature::new(CallConv::Tail);
        signature.returns.push(AbiParam::new(types::I8X16));
        let callee = builder.import_signature(signature);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let address = builder.block_params(entry)[0];
        let mut results = Vec::new();
        for number in 0..count {
            if number % (count / blocks) == 0 {
                let next = builder.create_block();
                builder.ins().jump(next, &[]);
                builder.switch_to_block(next);
            }
            let call = builder.ins().call_indirect(callee, address, &[]);
            results.push(builder.inst_results(call)[0]);
        }
        results[..kept].iter().copied().reduce(|sum, next| builder.ins().bxor(sum, next));
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        builder.finalize(
            isa::rest(target::plain(), &Default::default()).expect("this machine").frontend_config(),
        );
        func
    }

    #[test]
    fn each_value_counts_for_the_calls_in_its_life() {
        // The address is live until the last call. Of the ten results the last one is live across no call.
        assert_eq!(crossings(&calls(10, 0, 1)), 9);
        assert_eq!(crossings(&calls(10, 10, 1)), 9 + 9 * 10 / 2);
        assert_eq!(crossings(&calls(10, 10, 5)), 9 + 9 * 10 / 2, "blocks do not matter");
    }

    #[test]
    fn only_where_many_values_are_alive_across_many_calls_it_takes_long() {
        for (count, kept, expected) in [(1000, 1000, false), (10_000, 100, false), (10_000, 10_000, true)] {
            assert_eq!(takes_long(&calls(count, kept, 10)), expected, "{kept} of {count}");
        }
    }
}
