//! Spilling in functions that are built instruction by instruction, each verified.

use cranelift_codegen::ir::{AbiParam, MemFlagsData, Opcode, Signature, Type, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::verifier::verify_function;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::*;
use crate::code::{Fact, Origin};
use crate::target::{self, isa};
use cranelift_codegen::ir::{Block, InstBuilder, SigRef};

/// A function under construction: it takes integers, and calls the address in the first one.
struct Built<'a> {
    builder: FunctionBuilder<'a>,
    params: Vec<Value>,
    callee: SigRef,
    origins: Origins,
}

impl Built<'_> {
    fn call(&mut self) -> Value {
        let callee = self.params[0];
        let call = self.builder.ins().call_indirect(self.callee, callee, &[]);
        self.builder.inst_results(call)[0]
    }

    fn block(&mut self) -> Block {
        self.builder.create_block()
    }

    fn switch_to(&mut self, block: Block) {
        self.builder.switch_to_block(block);
    }

    fn sum(&mut self, values: &[Value]) -> Value {
        let first = values[0];
        values[1..].iter().fold(first, |sum, &value| self.builder.ins().iadd(sum, value))
    }
}

fn isa() -> OwnedTargetIsa {
    isa::rest(target::plain(), &CompilerOptions::default()).expect("this machine")
}

/// Builds a function of `params` integers, and spills until at most `most` integers are live across calls, at any cost.
fn relieved(params: usize, most: u32, build: impl FnOnce(&mut Built<'_>)) -> Function {
    let mut context = Context::new();
    context.func.signature = Signature::new(CallConv::Tail);
    context.func.signature.params.extend(vec![AbiParam::new(types::I64); params]);
    context.func.signature.returns.push(AbiParam::new(types::I64));
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let mut signature = Signature::new(CallConv::Tail);
    signature.returns.push(AbiParam::new(types::I64));
    let callee = builder.import_signature(signature);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    let mut built = Built { builder, params, callee, origins: Origins::default() };
    build(&mut built);
    let Built { mut builder, origins, .. } = built;
    builder.seal_all_blocks();
    let isa = isa();
    builder.finalize(isa.frontend_config());
    context.flowgraph();
    let preserved = Preserved { integers: most, floats: 0, most_cost: AT_ANY_COST };
    relieve(&mut context, preserved, &origins);
    verify_function(&context.func, &*isa).unwrap_or_else(|errors| panic!("{errors}\n{}", context.func));
    context.flowgraph();
    let flow = Flow::new(&context.cfg, &context.domtree);
    let lives = Lives::new(&context.func, &flow).expect("small enough");
    assert!(!lives.exceeds(preserved), "{}", context.func);
    context.func
}

/// Counts the instructions with an opcode in a block, or in all.
fn count(func: &Function, block: Option<Block>, opcode: Opcode) -> usize {
    let blocks = func.layout.blocks().filter(|&other| block.is_none_or(|block| block == other));
    let insts = blocks.flat_map(|block| func.layout.block_insts(block));
    insts.filter(|&inst| func.dfg.insts[inst].opcode() == opcode).count()
}

#[test]
fn what_is_too_much_across_a_call_waits_in_the_frame() {
    let build = |built: &mut Built<'_>| {
        built.call();
        let params = built.params.clone();
        let sum = built.sum(&params);
        built.builder.ins().return_(&[sum]);
    };
    // Four integers are live across the call, of which `most` may stay.
    for (most, stored) in [(0, 4), (1, 3), (3, 1), (4, 0)] {
        let func = relieved(4, most, build);
        let found = (count(&func, None, Opcode::Store), count(&func, None, Opcode::Load));
        assert_eq!(found, (stored, stored), "{most}: {func}");
    }
}

#[test]
fn constants_are_made_anew() {
    let func = relieved(1, 0, |built| {
        let constant = built.builder.ins().iconst(types::I64, 7);
        let (first, second) = (built.call(), constant);
        let end = built.block();
        built.builder.ins().jump(end, &[]);
        built.switch_to(end);
        let sum = built.sum(&[first, second]);
        built.builder.ins().return_(&[sum]);
    });
    assert_eq!((count(&func, None, Opcode::Iconst), count(&func, None, Opcode::Store)), (2, 0));
}

#[test]
fn what_is_read_is_known_until_the_next_call() {
    // Three uses between two calls, in two blocks.
    let func = relieved(2, 0, |built| {
        let param = built.params[1];
        built.call();
        let twice = built.sum(&[param, param]);
        let next = built.block();
        built.builder.ins().jump(next, &[]);
        built.switch_to(next);
        let sum = built.sum(&[twice, param]);
        let result = built.call();
        let all = built.sum(&[result, sum]);
        built.builder.ins().return_(&[all]);
    });
    // The parameter once, the callee once, and the sum.
    assert_eq!(count(&func, None, Opcode::Load), 3);
}

#[test]
fn the_way_without_calls_neither_writes_nor_reads() {
    let mut fast = None;
    let func = relieved(3, 0, |built| {
        let [_, condition, param] = built.params[..] else { unreachable!("three") };
        let (slow, quick) = (built.block(), built.block());
        fast = Some(quick);
        built.builder.ins().brif(condition, slow, &[], quick, &[]);
        built.switch_to(quick);
        let twice = built.sum(&[param, param]);
        built.builder.ins().return_(&[twice]);
        built.switch_to(slow);
        // The slow path seldom runs.
        built.builder.set_cold_block(slow);
        let result = built.call();
        let sum = built.sum(&[result, param]);
        built.builder.ins().return_(&[sum]);
    });
    let entry = func.layout.entry_block();
    for block in [entry, fast] {
        assert_eq!((count(&func, block, Opcode::Store), count(&func, block, Opcode::Load)), (0, 0));
    }
    assert_eq!((count(&func, None, Opcode::Store), count(&func, None, Opcode::Load)), (1, 1));
}

#[test]
fn where_ways_meet_the_value_has_been_written_on_each() {
    let mut fast = None;
    let func = relieved(3, 0, |built| {
        let [_, condition, param] = built.params[..] else { unreachable!("three") };
        let (slow, quick, end) = (built.block(), built.block(), built.block());
        fast = Some(quick);
        built.builder.ins().brif(condition, slow, &[], quick, &[]);
        built.switch_to(quick);
        built.builder.ins().jump(end, &[]);
        built.switch_to(slow);
        built.builder.set_cold_block(slow);
        built.call();
        built.builder.ins().jump(end, &[]);
        built.switch_to(end);
        built.builder.ins().return_(&[param]);
    });
    let stores = |block| count(&func, block, Opcode::Store);
    // Stored either at its definition, or on both paths.
    assert!(stores(func.layout.entry_block()) == 1 || (stores(fast) == 1 && stores(None) == 2), "{func}");
    assert_eq!(count(&func, None, Opcode::Load), 1);
}

#[test]
fn a_loop_without_calls_reads_before_it() {
    let mut round = None;
    let func = relieved(3, 0, |built| {
        let [_, param, bound] = built.params[..] else { unreachable!("three") };
        let (again, end) = (built.block(), built.block());
        round = Some(again);
        let sum = built.builder.append_block_param(again, types::I64);
        let first = built.call();
        built.builder.ins().jump(again, &[first.into()]);
        built.switch_to(again);
        let next = built.sum(&[sum, param, bound]);
        built.builder.ins().brif(next, again, &[next.into()], end, &[]);
        built.switch_to(end);
        built.builder.ins().return_(&[next]);
    });
    assert_eq!((count(&func, round, Opcode::Load), count(&func, None, Opcode::Load)), (0, 2));
}

#[test]
fn a_loop_without_uses_has_the_register_for_others() {
    let (mut round, mut last) = (None, None);
    let func = relieved(3, 0, |built| {
        let [_, param, bound] = built.params[..] else { unreachable!("three") };
        let (again, end) = (built.block(), built.block());
        (round, last) = (Some(again), Some(end));
        let count = built.builder.append_block_param(again, types::I64);
        let result = built.call();
        // The value is known here, and needed once more behind the loop.
        let first = built.sum(&[result, param]);
        built.builder.ins().jump(again, &[first.into()]);
        built.switch_to(again);
        let next = built.sum(&[count, bound]);
        built.builder.ins().brif(next, again, &[next.into()], end, &[]);
        built.switch_to(end);
        let all = built.sum(&[next, param]);
        built.builder.ins().return_(&[all]);
    });
    let loads = |block| count(&func, block, Opcode::Load);
    assert_eq!((loads(round), loads(last), loads(None)), (0, 1, 3), "{func}");
}

#[test]
fn the_low_part_of_a_value_is_in_its_place() {
    let func = relieved(2, 0, |built| {
        let param = built.params[1];
        let low = built.builder.ins().ireduce(types::I32, param);
        built.call();
        let wide = built.builder.ins().sextend(types::I64, low);
        let sum = built.sum(&[wide, param]);
        built.builder.ins().return_(&[sum]);
    });
    assert_eq!(func.sized_stack_slots.len(), 1);
    assert_eq!(count(&func, None, Opcode::Store), 1);
}

#[test]
fn values_that_are_not_alive_together_share_a_place() {
    let func = relieved(1, 0, |built| {
        // Each result is live across one call, the callee across all.
        let mut last = built.call();
        for _ in 0..3 {
            let next = built.call();
            last = built.sum(&[next, last]);
        }
        built.builder.ins().return_(&[last]);
    });
    assert_eq!(func.sized_stack_slots.len(), 2, "{func}");
}

#[test]
fn floats_wait_as_well_but_not_vectors() {
    let load = |built: &mut Built<'_>, ty: Type| {
        let place = built.params[1];
        built.builder.ins().load(ty, MemFlagsData::trusted(), place, 0)
    };
    let func = relieved(2, 9, |built| {
        let values = [types::F32, types::F64, types::I8X16].map(|ty| load(built, ty));
        let result = built.call();
        for value in values {
            let place = built.params[1];
            built.builder.ins().store(MemFlagsData::trusted(), value, place, 16);
        }
        built.builder.ins().return_(&[result]);
    });
    assert_eq!((count(&func, None, Opcode::Store), count(&func, None, Opcode::Load)), (5, 5));
    let sizes: Vec<u32> = func.sized_stack_slots.values().map(|slot| slot.size).collect();
    assert_eq!(sizes, [8, 8]);
}

#[test]
fn what_is_made_in_place_is_written_behind_that() {
    // The second of three instructions that stay together defines a value that is live across a call.
    let func = relieved(1, 0, |built| {
        let origin = Origin { func: 0, frame: 0, block: 0, rounds: 0, path: None, offset: 1 };
        let location = built.origins.at(origin);
        built.builder.set_srcloc(built.origins.with(location, Fact::InPlace));
        let param = built.params[0];
        let first = built.builder.ins().ineg(param);
        let second = built.builder.ins().bnot(first);
        let third = built.builder.ins().ineg(second);
        built.builder.set_srcloc(location);
        let result = built.call();
        let sum = built.sum(&[result, second, third]);
        built.builder.ins().return_(&[sum]);
    });
    assert_eq!(count(&func, None, Opcode::Store), 2);
}

#[test]
fn a_loop_that_calls_reads_in_each_round() {
    // The value used before the call is known before the loop, and would have to stay in a register through all rounds.
    let func = relieved(2, 0, |built| {
        let param = built.params[1];
        let (again, end) = (built.block(), built.block());
        let count = built.builder.append_block_param(again, types::I64);
        built.builder.ins().jump(again, &[param.into()]);
        built.switch_to(again);
        let sum = built.sum(&[count, param]);
        let result = built.call();
        built.builder.ins().brif(result, again, &[result.into()], end, &[]);
        built.switch_to(end);
        let all = built.sum(&[sum, result]);
        built.builder.ins().return_(&[all]);
    });
    assert!(count(&func, None, Opcode::Load) > 0, "{func}");
}

#[test]
fn a_value_is_written_on_each_way_to_a_call() {
    // Where P1 and a path with a call meet, the value is stored at the end of P1; where P1 and P2 meet it is not yet
    // stored on the path from P2. In either order of the blocks.
    for is_turned in [false, true] {
        let func = relieved(5, 0, |built| {
            let [_, first, second, third, param] = built.params[..] else { unreachable!("five") };
            let [start, out, inner, slow, p1, p2, join, both] = [(); 8].map(|()| built.block());
            // This path runs so seldom that the value is not stored earlier.
            built.builder.ins().brif(third, start, &[], out, &[]);
            built.switch_to(out);
            built.builder.ins().return_(&[first]);
            built.switch_to(start);
            built.builder.ins().brif(first, inner, &[], slow, &[]);
            built.switch_to(inner);
            built.builder.ins().brif(second, p1, &[], p2, &[]);
            built.switch_to(p1);
            let (then, otherwise) = if is_turned { (both, join) } else { (join, both) };
            built.builder.ins().brif(param, then, &[], otherwise, &[]);
            built.switch_to(p2);
            built.builder.ins().jump(both, &[]);
            built.switch_to(slow);
            built.builder.set_cold_block(slow);
            built.call();
            built.builder.ins().jump(join, &[]);
            built.switch_to(join);
            built.builder.ins().return_(&[param]);
            built.switch_to(both);
            let result = built.call();
            let sum = built.sum(&[result, param]);
            built.builder.ins().return_(&[sum]);
        });
        assert_eq!(count(&func, None, Opcode::Store), 3, "{func}");
    }
}
