//! Pairs of functions that do the same, and pairs that do not. Most are a few lines that differ in one.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, AbiParam, Block, BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, Function,
    InstBuilder, MemFlagsData, Signature, SourceLoc, StackSlotData, StackSlotKind, TrapCode, Type,
    UserFuncName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::check;
use crate::options::CompilerOptions;
use crate::target::{self, isa};

type Builder<'a, 'b> = &'a mut FunctionBuilder<'b>;

/// Builds a function of an address and two numbers (`i64`, `i32` and `i32`), whose first block `build` writes.
fn function(build: impl FnOnce(Builder<'_, '_>, [Value; 3])) -> Function {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([types::I64, types::I32, types::I32].map(AbiParam::new));
    let mut func = Function::with_name_signature(UserFuncName::default(), signature);
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    build(&mut builder, [params[0], params[1], params[2]]);
    builder.seal_all_blocks();
    let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
    builder.finalize(isa.frontend_config());
    func
}

fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

fn store(builder: Builder<'_, '_>, value: Value, address: Value) {
    builder.ins().store(trusted(), value, address, 0);
}

/// Builds a function that stores the computed value.
fn stores(compute: impl FnOnce(Builder<'_, '_>, [Value; 3]) -> Value) -> Function {
    function(|builder, params| {
        let value = compute(builder, params);
        store(builder, value, params[0]);
        builder.ins().return_(&[]);
    })
}

#[track_caller]
fn accept(before: &Function, after: &Function) {
    if let Err(report) = check(before, after) {
        panic!("{report}\n{before}\n{after}");
    }
}

#[track_caller]
fn refuse(before: &Function, after: &Function) {
    assert!(check(before, after).is_err(), "{before}\n{after}");
}

fn number(builder: Builder<'_, '_>, ty: Type, number: i64) -> Value {
    builder.ins().iconst(ty, number)
}

#[test]
fn stores_are_the_same_in_the_same_order() {
    let two = |order: [usize; 2], offset: i32, location: u32| {
        function(|builder, params| {
            builder.set_srcloc(SourceLoc::new(location));
            for at in order {
                builder.ins().store(trusted(), params[1 + at], params[0], 8 * at as i32 + offset);
            }
            builder.ins().return_(&[]);
        })
    };
    accept(&two([0, 1], 0, 1), &two([0, 1], 0, 1));
    refuse(&two([0, 1], 0, 1), &two([1, 0], 0, 1));
    refuse(&two([0, 1], 0, 1), &two([0, 1], 4, 1));
    refuse(&two([0, 1], 0, 1), &two([0, 1], 0, 2));
    let one = stores(|_, params| params[1]);
    let none = function(|builder, _| _ = builder.ins().return_(&[]));
    refuse(&one, &none);
    refuse(&none, &one);
    refuse(&one, &stores(|_, params| params[2]));
}

#[test]
fn shifts_take_as_much_of_their_distance_as_there_are_bits() {
    let masked = |mask: i64| {
        stores(|builder, [_, a, b]| {
            let mask = number(builder, types::I32, mask);
            let by = builder.ins().band(b, mask);
            builder.ins().ishl(a, by)
        })
    };
    let plain = stores(|builder, [_, a, b]| builder.ins().ishl(a, b));
    accept(&masked(31), &plain);
    accept(&masked(63), &plain);
    refuse(&masked(15), &plain);
    refuse(&masked(30), &plain);
}

#[test]
fn the_lowest_byte_may_be_compared_alone() {
    let masked = |cond, mask: i64| {
        stores(|builder, [_, a, _]| {
            let mask = number(builder, types::I32, mask);
            let byte = builder.ins().band(a, mask);
            let ten = number(builder, types::I32, 200);
            builder.ins().icmp(cond, byte, ten)
        })
    };
    let alone = |cond| {
        stores(|builder, [_, a, _]| {
            let byte = builder.ins().ireduce(types::I8, a);
            let ten = number(builder, types::I8, 200);
            builder.ins().icmp(cond, byte, ten)
        })
    };
    for cond in [IntCC::UnsignedLessThan, IntCC::Equal, IntCC::UnsignedGreaterThanOrEqual] {
        accept(&masked(cond, 255), &alone(cond));
        refuse(&masked(cond, 127), &alone(cond));
    }
    refuse(&masked(IntCC::SignedLessThan, 255), &alone(IntCC::SignedLessThan));
    refuse(&masked(IntCC::Equal, 255), &alone(IntCC::NotEqual));
}

#[test]
fn products_are_sums_and_upper_halves_shifts() {
    for (factor, shift) in [(3, 1), (5, 2), (9, 3), (5, 1)] {
        let product = stores(|builder, [_, a, _]| {
            let factor = number(builder, types::I32, factor);
            builder.ins().imul(a, factor)
        });
        let sum = stores(|builder, [_, a, _]| {
            let by = number(builder, types::I8, shift);
            let shifted = builder.ins().ishl(a, by);
            builder.ins().iadd(a, shifted)
        });
        if factor == 1 + (1 << shift) { accept(&product, &sum) } else { refuse(&product, &sum) }
    }
    let half = |is_signed: bool, factor: i64, by: i64| {
        stores(|builder, [_, a, _]| {
            let factor = number(builder, types::I32, factor);
            let by = number(builder, types::I32, by);
            if is_signed {
                let half = builder.ins().smulhi(a, factor);
                builder.ins().sshr(half, by)
            } else {
                let half = builder.ins().umulhi(a, factor);
                builder.ins().ushr(half, by)
            }
        })
    };
    let whole = |is_signed: bool, factor: i64, by: i64| {
        stores(|builder, [_, a, _]| {
            let (wide, factor) = match is_signed {
                true => (builder.ins().sextend(types::I64, a), i64::from(factor as i32)),
                false => (builder.ins().uextend(types::I64, a), i64::from(factor as u32)),
            };
            let factor = number(builder, types::I64, factor);
            let product = builder.ins().imul(wide, factor);
            let by = number(builder, types::I8, 32 + by);
            let shifted =
                if is_signed { builder.ins().sshr(product, by) } else { builder.ins().ushr(product, by) };
            builder.ins().ireduce(types::I32, shifted)
        })
    };
    for is_signed in [false, true] {
        for factor in [0x5555_5556, -0x3333_3333] {
            accept(&half(is_signed, factor, 3), &whole(is_signed, factor, 3));
            accept(&half(is_signed, factor, 0), &whole(is_signed, factor, 0));
            refuse(&half(is_signed, factor, 3), &whole(is_signed, factor, 2));
            refuse(&half(is_signed, factor, 3), &whole(!is_signed, factor, 3));
            refuse(&half(is_signed, factor, 3), &whole(is_signed, factor + 1, 3));
        }
    }
}

#[test]
fn loads_may_extend_what_they_load() {
    let separate = |is_signed: bool| {
        stores(|builder, [address, ..]| {
            let byte = builder.ins().load(types::I8, trusted(), address, 4);
            if is_signed {
                builder.ins().sextend(types::I64, byte)
            } else {
                builder.ins().uextend(types::I64, byte)
            }
        })
    };
    let merged = |is_signed: bool, offset: i32| {
        stores(|builder, [address, ..]| match is_signed {
            true => builder.ins().sload8(types::I64, trusted(), address, offset),
            false => builder.ins().uload8(types::I64, trusted(), address, offset),
        })
    };
    for is_signed in [false, true] {
        accept(&separate(is_signed), &merged(is_signed, 4));
        refuse(&separate(is_signed), &merged(!is_signed, 4));
        refuse(&separate(is_signed), &merged(is_signed, 5));
    }
    // A load that was guarded by an earlier possible trap must not move before it.
    let guarded = |is_behind: bool| {
        function(|builder, [address, a, _]| {
            let early = (!is_behind).then(|| builder.ins().load(types::I32, trusted(), address, 0));
            builder.ins().trapz(a, TrapCode::unwrap_user(1));
            let value = early.unwrap_or_else(|| builder.ins().load(types::I32, trusted(), address, 0));
            store(builder, value, address);
            builder.ins().return_(&[]);
        })
    };
    accept(&guarded(false), &guarded(true));
    refuse(&guarded(true), &guarded(false));
    // A load must not be added.
    let loads = function(|builder, [address, ..]| {
        builder.ins().load(types::I64, trusted(), address, 0);
        builder.ins().return_(&[]);
    });
    let none = function(|builder, _| _ = builder.ins().return_(&[]));
    accept(&loads, &none);
    refuse(&none, &loads);
}

#[test]
fn what_is_loaded_depends_on_stores_before() {
    let loads = |is_late: bool| {
        function(|builder, [address, a, _]| {
            let early = builder.ins().load(types::I32, trusted(), address, 0);
            store(builder, a, address);
            let late = builder.ins().load(types::I32, trusted(), address, 0);
            builder.ins().store(trusted(), if is_late { late } else { early }, address, 8);
            builder.ins().return_(&[]);
        })
    };
    accept(&loads(true), &loads(true));
    refuse(&loads(true), &loads(false));
}

#[test]
fn traps_stay_where_they_were() {
    let divides = |is_first: bool, is_there: bool| {
        function(|builder, [address, a, b]| {
            if is_first {
                store(builder, a, address);
            }
            if is_there {
                builder.ins().udiv(a, b);
            }
            if !is_first {
                store(builder, a, address);
            }
            builder.ins().return_(&[]);
        })
    };
    accept(&divides(true, true), &divides(true, true));
    refuse(&divides(true, true), &divides(false, true));
    refuse(&divides(true, true), &divides(true, false));
    let traps = |code| {
        function(|builder, [_, a, _]| {
            builder.ins().trapz(a, TrapCode::unwrap_user(code));
            builder.ins().return_(&[]);
        })
    };
    accept(&traps(1), &traps(1));
    refuse(&traps(1), &traps(2));
}

/// Builds a loop that counts an index from the first number to the second, stores there, and begins with the result of
/// `before`; its block takes the index as 64 bits if it `is_wide`.
fn counts(is_wide: bool, step: i64, extend: impl Fn(Builder<'_, '_>, Value) -> Value) -> Function {
    function(|builder, [address, from, to]| {
        let [round, end] = [(); 2].map(|()| builder.create_block());
        let ty = if is_wide { types::I64 } else { types::I32 };
        let param = builder.append_block_param(round, ty);
        let first = if is_wide { extend(builder, from) } else { from };
        builder.ins().jump(round, &[first.into()]);
        builder.switch_to_block(round);
        let (index, wide) = match is_wide {
            true => (builder.ins().ireduce(types::I32, param), param),
            false => (param, builder.ins().uextend(types::I64, param)),
        };
        let place = builder.ins().iadd(address, wide);
        store(builder, index, place);
        let step = number(builder, types::I32, step);
        let next = builder.ins().iadd(index, step);
        let is_more = builder.ins().icmp(IntCC::UnsignedLessThan, next, to);
        let again = if is_wide { extend(builder, next) } else { next };
        builder.ins().brif(is_more, round, &[again.into()], end, &[]);
        builder.switch_to_block(end);
        builder.ins().return_(&[]);
    })
}

#[test]
fn indexes_may_be_wide_if_they_have_zeros_above() {
    let unsigned = |builder: Builder<'_, '_>, value| builder.ins().uextend(types::I64, value);
    let signed = |builder: Builder<'_, '_>, value| builder.ins().sextend(types::I64, value);
    accept(&counts(false, 1, unsigned), &counts(true, 1, unsigned));
    accept(&counts(true, 1, unsigned), &counts(false, 1, unsigned));
    refuse(&counts(false, 1, unsigned), &counts(true, 1, signed));
    refuse(&counts(false, 1, unsigned), &counts(true, 2, unsigned));
}

/// Builds a loop with two parameters, which passes itself these new values, and stores the second.
fn round(
    given: impl Fn([Value; 3], [Value; 2]) -> Value,
    stored: impl Fn([Value; 3], [Value; 2]) -> Value,
) -> Function {
    function(|builder, params| {
        let [round, end] = [(); 2].map(|()| builder.create_block());
        let own = [(); 2].map(|()| builder.append_block_param(round, types::I32));
        builder.ins().jump(round, &[params[1].into(), params[2].into()]);
        builder.switch_to_block(round);
        let value = stored(params, own);
        store(builder, value, params[0]);
        let one = number(builder, types::I32, -1);
        let next = builder.ins().iadd(own[0], one);
        let second = given(params, own);
        builder.ins().brif(next, round, &[next.into(), second.into()], end, &[]);
        builder.switch_to_block(end);
        builder.ins().return_(&[]);
    })
}

#[test]
fn a_parameter_that_is_always_another_value_is_that() {
    let param = |_: [Value; 3], own: [Value; 2]| own[1];
    let outer = |params: [Value; 3], _: [Value; 2]| params[2];
    accept(&round(param, param), &round(param, outer));
    accept(&round(outer, param), &round(param, outer));
    // The argument differs, or is the first parameter's value of the previous round.
    refuse(&round(|params, _| params[1], param), &round(|params, _| params[1], outer));
    let first = |_: [Value; 3], own: [Value; 2]| own[0];
    refuse(&round(first, param), &round(first, first));
    refuse(&round(first, param), &round(first, outer));
}

/// Writes a value to a place of its own, runs `between`, and stores the value read back.
fn spilled(between: impl Fn(Builder<'_, '_>, [Value; 3], Value)) -> Function {
    function(|builder, params| {
        let slot = builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
        let place = builder.ins().stack_addr(types::I64, slot, 0);
        store(builder, params[1], place);
        between(builder, params, place);
        let read = builder.ins().load(types::I32, trusted(), place, 0);
        store(builder, read, params[0]);
        builder.ins().return_(&[]);
    })
}

#[test]
fn places_of_the_frame_are_variables_if_nothing_else_knows_them() {
    let plain = stores(|_, params| params[1]);
    accept(&plain, &spilled(|_, _, _| ()));
    refuse(&plain, &spilled(|builder, params, place| store(builder, params[2], place)));
    // Half of the place is written, or its neighbour.
    refuse(
        &plain,
        &spilled(|builder, params, place| _ = builder.ins().istore8(trusted(), params[1], place, 0)),
    );
    refuse(
        &plain,
        &spilled(|builder, params, place| _ = builder.ins().store(trusted(), params[1], place, 4)),
    );
    // Other code knows its address.
    let twice = function(|builder, params| {
        builder.ins().store(trusted(), params[0], params[0], 8);
        store(builder, params[1], params[0]);
        builder.ins().return_(&[]);
    });
    refuse(
        &twice,
        &spilled(|builder, params, place| _ = builder.ins().store(trusted(), place, params[0], 8)),
    );
}

/// Writes to a place on one path or on both, and stores the value read where they meet.
#[test]
fn places_hold_what_was_written_on_all_ways() {
    let ways = |written: Option<[usize; 2]>| {
        function(|builder, params| {
            let blocks: [Block; 3] = [(); 3].map(|()| builder.create_block());
            let place = written.map(|_| {
                let slot =
                    builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
                builder.ins().stack_addr(types::I64, slot, 0)
            });
            builder.ins().brif(params[2], blocks[0], &[], blocks[1], &[]);
            for at in 0..2 {
                builder.switch_to_block(blocks[at]);
                if let Some((place, written)) = place.zip(written) {
                    store(builder, params[written[at]], place);
                }
                builder.ins().jump(blocks[2], &[]);
            }
            builder.switch_to_block(blocks[2]);
            let read = place.map_or(params[1], |place| builder.ins().load(types::I32, trusted(), place, 0));
            store(builder, read, params[0]);
            builder.ins().return_(&[]);
        })
    };
    accept(&ways(None), &ways(Some([1, 1])));
    refuse(&ways(None), &ways(Some([1, 2])));
    refuse(&ways(None), &ways(Some([2, 1])));
}

#[test]
fn control_goes_where_it_went() {
    let branches = |is_turned: bool, through: bool| {
        function(|builder, params| {
            let [one, other] = [(); 2].map(|()| builder.create_block());
            let way = through.then(|| builder.create_block());
            let (one, other) = if is_turned { (other, one) } else { (one, other) };
            builder.ins().brif(params[1], way.unwrap_or(one), &[], other, &[]);
            for (block, at) in [(one.min(other), 1), (one.max(other), 2)] {
                builder.switch_to_block(block);
                store(builder, params[at], params[0]);
                builder.ins().return_(&[]);
            }
            if let Some(way) = way {
                builder.switch_to_block(way);
                builder.ins().jump(one, &[]);
            }
        })
    };
    accept(&branches(false, false), &branches(false, true));
    refuse(&branches(false, false), &branches(true, false));
    refuse(&branches(false, false), &branches(true, true));
}

/// Builds a call of the address that passes `arg`, and stores what it returns, or what the exception brings that leaves
/// it, plus `behind`.
fn catches(arg: usize, [returned, thrown]: [i64; 2], tag: Option<u32>) -> Function {
    function(|builder, params| {
        let mut signature = Signature::new(CallConv::Tail);
        signature.params.push(AbiParam::new(types::I32));
        signature.returns.push(AbiParam::new(types::I32));
        let signature = builder.import_signature(signature);
        let [back, landing] = [(); 2].map(|()| builder.create_block());
        let (result, exception) =
            (builder.append_block_param(back, types::I32), builder.append_block_param(landing, types::I64));
        let pool = &mut builder.func.dfg.value_lists;
        let normal = BlockCall::new(back, [BlockArg::TryCallRet(0)], pool);
        let caught = BlockCall::new(landing, [BlockArg::TryCallExn(0)], pool);
        let item = match tag {
            Some(tag) => ExceptionTableItem::Tag(ir::ExceptionTag::from_u32(tag), caught),
            None => ExceptionTableItem::Default(caught),
        };
        let table =
            builder.func.dfg.exception_tables.push(ExceptionTableData::new(signature, normal, [item]));
        builder.ins().try_call_indirect(params[0], &[params[arg]], table);
        for (block, value, behind) in [(back, result, returned), (landing, exception, thrown)] {
            builder.switch_to_block(block);
            let ty = builder.func.dfg.value_type(value);
            let behind = number(builder, ty, behind);
            let sum = builder.ins().iadd(value, behind);
            store(builder, sum, params[0]);
            builder.ins().return_(&[]);
        }
    })
}

#[test]
fn calls_that_exceptions_leave_are_the_same() {
    accept(&catches(1, [1, 2], None), &catches(1, [1, 2], None));
    let mut other = catches(1, [1, 2], None);
    // An instruction that nothing needs: the functions are not equal, but do the same.
    let entry = other.layout.entry_block().expect("it has code");
    FuncCursor::new(&mut other).at_first_inst(entry).ins().iconst(types::I32, 7);
    accept(&catches(1, [1, 2], None), &other);
    refuse(&catches(1, [1, 2], None), &catches(2, [1, 2], None));
    refuse(&catches(1, [1, 2], None), &catches(1, [3, 2], None));
    refuse(&catches(1, [1, 2], None), &catches(1, [1, 3], None));
    refuse(&catches(1, [1, 2], None), &catches(1, [1, 2], Some(1)));
}
