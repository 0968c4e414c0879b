//! The code of a vectorised loop: a guard, the loop over windows, and the way back to the loop that there was.
//!
//! Input: a [`Round`], its [`Accesses`], its [`Window`]. Output: five blocks before the loop. The **guard** computes how
//! many rounds are certain to come, and goes on only if they are enough, so that loops of few rounds pay for nothing
//! else; the **tests** are those that must hold for all of them; the *splats* make the vectors that are the same in all
//! windows; the *windows* do all but at least one of these rounds; the *rest* leads to the loop, with what its parameters
//! would be after as many rounds. If the guard or a test fails, the loop does all.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, Endianness, Function, Inst, InstBuilder, InstructionData, MemFlagsData,
    SourceLoc, Type, Value, types,
};
use hashbrown::HashMap;

use super::access::{Access, Accesses, Class};
use super::pack::{Id, Made, Window};
use super::round::{Round, Test};
use crate::abi::memory;

/// The minimum number of windows: fewer do not repay the guard.
const LEAST_WINDOWS: i64 = 4;
/// The maximum number of rounds at once where 64 bits count them, so that no size overflows. 32 bits never count so many
/// that one does.
const MOST_ROUNDS: i64 = 1 << 31;

/// Writes the vectorised loop before the scalar loop. The instructions `ends` branch to the scalar loop.
pub(super) fn write(
    func: &mut Function,
    (round, ends): (&Round, &[Inst]),
    accesses: &Accesses,
    window: &Window,
) {
    let [guard, tests, splats, windows, rest] = [(); 5].map(|()| {
        let block = func.dfg.make_block();
        func.layout.insert_block(block, round.header);
        block
    });
    let location = func.srcloc(round.end);
    let mut writer = Writer {
        round,
        accesses,
        window,
        location,
        starts: Vec::new(),
        copies: HashMap::new(),
        made: HashMap::new(),
    };
    redirect(func, round, ends, guard);
    writer.take_params(func, guard);
    let rounds = writer.guard(func, guard, tests);
    let addresses = writer.tests(func, tests, splats, rounds);
    let ways = writer.enter(func, splats, windows, rounds);
    writer.windows(func, (windows, rest), &addresses, &ways);
    writer.leave(func, rest, rounds);
}

/// The parameters of the loop over windows. Each is the distance that the addresses of one stride have moved so far.
struct Ways {
    /// The strides, each with its parameter. The first parameter decides when the loop ends.
    strides: Vec<(i64, Value)>,
    /// The value of the first parameter at which the loop ends.
    limit: Value,
}

struct Writer<'a> {
    round: &'a Round,
    accesses: &'a Accesses,
    window: &'a Window,
    location: SourceLoc,
    /// The parameters of the guard, which hold the values of the loop's parameters in the first round.
    starts: Vec<Value>,
    /// The values in the first round, by the values of the loop.
    copies: HashMap<Value, Value>,
    made: HashMap<Id, Value>,
}

/// Redirects all branches from outside of a loop to its guard.
fn redirect(func: &mut Function, round: &Round, ends: &[Inst], guard: Block) {
    let header = round.header;
    for &end in ends.iter().filter(|&&end| end != round.end) {
        let dfg = &mut func.dfg;
        let (tables, exceptions) = (&mut dfg.jump_tables, &mut dfg.exception_tables);
        for call in dfg.insts[end].branch_destination_mut(tables, exceptions) {
            if call.block(&dfg.value_lists) == header {
                let args: Vec<BlockArg> = call.args(&dfg.value_lists).collect();
                *call = BlockCall::new(guard, args, &mut dfg.value_lists);
            }
        }
    }
}

impl Writer<'_> {
    fn at<'f>(&self, func: &'f mut Function, block: Block) -> FuncCursor<'f> {
        FuncCursor::new(func).at_bottom(block).with_srcloc(self.location)
    }

    fn take_params(&mut self, func: &mut Function, guard: Block) {
        for param in func.dfg.block_params(self.round.header).to_vec() {
            let ty = func.dfg.value_type(param);
            let start = func.dfg.append_block_param(guard, ty);
            self.copies.insert(param, start);
            self.starts.push(start);
        }
    }

    /// Returns the value that `value` has in the first round. Code for it goes to the end of `block`, which the guard
    /// dominates.
    fn copy(&mut self, func: &mut Function, block: Block, value: Value) -> Value {
        if let Some(&copy) = self.copies.get(&value) {
            return copy;
        }
        if !self.round.is_made_in(value) {
            return value;
        }
        let inst = func.dfg.value_def(value).inst().expect("parameters have copies");
        let args: Vec<Value> = func.dfg.inst_values(inst).collect();
        let args: Vec<Value> = args.into_iter().map(|arg| self.copy(func, block, arg)).collect();
        let copy: Inst = func.dfg.clone_inst(inst);
        func.dfg.overwrite_inst_values(copy, args.into_iter());
        self.at(func, block).insert_inst(copy);
        let copy = func.dfg.first_result(copy);
        self.copies.insert(value, copy);
        copy
    }

    /// Computes the number of rounds that the windows execute, and branches to the tests if it is large enough.
    fn guard(&mut self, func: &mut Function, guard: Block, tests: Block) -> Value {
        let rounds = self.rounds(func, guard);
        let least = LEAST_WINDOWS * i64::from(self.window.rounds);
        let mut pos = self.at(func, guard);
        let holds = pos.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, rounds, least);
        self.go_on_if(func, guard, holds, tests);
        rounds
    }

    /// Writes the tests of the accesses of these rounds: all lie within memory, no index wraps, and no class that is
    /// stored to overlaps another. Returns the address of each class in the first round.
    fn tests(&mut self, func: &mut Function, tests: Block, splats: Block, rounds: Value) -> Vec<Value> {
        let base = self.copy(func, tests, self.accesses.base);
        let len = self.len(func, tests);
        let (mut holding, mut ranges) = (Vec::new(), Vec::new());
        let mut addresses = Vec::new();
        for class in &self.accesses.classes {
            let address = self.copy(func, tests, class.address);
            let (range, holds) = range(&mut self.at(func, tests), class, address, rounds, (base, len));
            holding.extend(holds);
            ranges.push(range);
            addresses.push(address);
        }
        let mut pos = self.at(func, tests);
        for (a, b) in self.pairs() {
            let before = pos.ins().icmp(IntCC::UnsignedLessThanOrEqual, ranges[a].1, ranges[b].0);
            let behind = pos.ins().icmp(IntCC::UnsignedLessThanOrEqual, ranges[b].1, ranges[a].0);
            holding.push(pos.ins().bor(before, behind));
        }
        let all = holding.into_iter().reduce(|all, holds| pos.ins().band(all, holds));
        self.go_on_if(func, tests, all.expect("a class has a range"), splats);
        addresses
    }

    /// Ends a block with a branch: to `next` if the test holds, otherwise to the scalar loop.
    fn go_on_if(&self, func: &mut Function, block: Block, holds: Value, next: Block) {
        let starts = self.starts.iter().map(|&start| BlockArg::Value(start));
        let starts: Vec<BlockArg> = starts.collect();
        self.at(func, block).ins().brif(holds, next, &[], self.round.header, &starts);
    }

    /// Returns the pairs of classes of which at least one is stored to.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let classes = &self.accesses.classes;
        let all = (0..classes.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        all.filter(|&(a, b)| classes[a].is_stored || classes[b].is_stored).collect()
    }

    /// Loads the length of the memory, which is stored beside the address of its byte 0.
    fn len(&mut self, func: &mut Function, guard: Block) -> Value {
        let inst = func.dfg.value_def(self.accesses.base).inst().expect("it is loaded");
        let InstructionData::Load { arg, offset, .. } = func.dfg.insts[inst] else {
            unreachable!("it is loaded")
        };
        let definition = self.copy(func, guard, arg);
        let offset = i32::from(offset) - memory::BASE + memory::LEN;
        self.at(func, guard).ins().load(types::I64, MemFlagsData::trusted(), definition, offset)
    }

    /// Computes the number of rounds that the windows execute: a multiple of the rounds of one window, and fewer than
    /// the rounds that are certain to follow.
    fn rounds(&mut self, func: &mut Function, guard: Block) -> Value {
        let Test { tested, step, bound, .. } = self.round.test;
        let ty = func.dfg.value_type(tested);
        let first = self.copy(func, guard, tested);
        let bound = bound.map(|bound| self.copy(func, guard, bound));
        let mut pos = self.at(func, guard);
        let bound = bound.unwrap_or_else(|| pos.ins().iconst(ty, 0));
        let distance = distance(&mut pos, &self.round.test, first, bound);
        let rounds = divided(&mut pos, distance, step.unsigned_abs());
        let rounds = if ty == types::I64 { at_most(&mut pos, rounds, MOST_ROUNDS) } else { rounds };
        match self.window.rounds {
            1 => rounds,
            several => pos.ins().band_imm_s(rounds, -i64::from(several)),
        }
    }

    /// Creates the parameters of the loop over windows, and enters the loop.
    fn enter(&mut self, func: &mut Function, splats: Block, windows: Block, rounds: Value) -> Ways {
        let mut strides: Vec<(i64, Value)> = Vec::new();
        for stride in self.accesses.classes.iter().map(|class| class.stride) {
            if stride != 0 && strides.iter().all(|&(known, _)| known != stride) {
                strides.push((stride, func.dfg.append_block_param(windows, types::I64)));
            }
        }
        if strides.is_empty() {
            strides.push((1, func.dfg.append_block_param(windows, types::I64)));
        }
        let mut pos = self.at(func, splats);
        let limit = times(&mut pos, rounds, strides[0].0);
        let zero = pos.ins().iconst(types::I64, 0);
        let args = vec![BlockArg::Value(zero); strides.len()];
        pos.ins().jump(windows, &args);
        Ways { strides, limit }
    }

    /// Writes the loop over windows. The block before it computes the vectors that are the same in all windows.
    fn windows(
        &mut self,
        func: &mut Function,
        (windows, rest): (Block, Block),
        first: &[Value],
        ways: &Ways,
    ) {
        let before = func.layout.prev_block(windows).expect("the splats");
        let mut addresses = Vec::new();
        for (class, &address) in self.accesses.classes.iter().zip(first) {
            let way = ways.strides.iter().find(|&&(stride, _)| stride == class.stride);
            let moved = |&(_, way): &(i64, Value)| self.at(func, windows).ins().iadd(address, way);
            addresses.push(way.filter(|_| class.stride != 0).map_or(address, moved));
        }
        for store in &self.window.stores {
            self.make(func, (before, windows), (first, &addresses), store.vector);
        }
        for store in &self.window.stores {
            let access = &self.accesses.all[store.access];
            let vector = self.made[&store.vector];
            let flags = func.dfg.mem_flags[access.flags];
            let mut pos = self.at(func, windows);
            pos.set_srcloc(pos.func.srcloc(access.inst));
            pos.ins().store(flags, vector, addresses[access.class], store.at as i32);
        }
        let mut pos = self.at(func, windows);
        let step = i64::from(self.window.rounds);
        let next: Vec<Value> =
            ways.strides.iter().map(|&(stride, way)| pos.ins().iadd_imm_s(way, stride * step)).collect();
        let goes_on = pos.ins().icmp(IntCC::NotEqual, next[0], ways.limit);
        let args: Vec<BlockArg> = next.into_iter().map(BlockArg::Value).collect();
        pos.ins().brif(goes_on, windows, &args, rest, &[]);
    }

    /// Computes a vector and its operands: before the windows if it is the same in all windows, otherwise in the
    /// window.
    fn make(
        &mut self,
        func: &mut Function,
        blocks: (Block, Block),
        addresses: (&[Value], &[Value]),
        id: Id,
    ) -> Value {
        if let Some(&made) = self.made.get(&id) {
            return made;
        }
        let vector = self.window.vectors[id];
        let operands: Vec<Value> =
            vector.made.operands().into_iter().map(|id| self.make(func, blocks, addresses, id)).collect();
        let copied = match vector.made {
            Made::Splat(value) => Some(self.copy_to_end(func, blocks.0, value)),
            _ => None,
        };
        let mut pos = match vector.is_invariant {
            true => before_end(func, blocks.0).with_srcloc(self.location),
            false => self.at(func, blocks.1),
        };
        let addresses = if vector.is_invariant { addresses.0 } else { addresses.1 };
        let loaded = |access: &Access| addresses[access.class];
        let ty = vector.ty;
        let made = match vector.made {
            Made::Splat(_) => splat(&mut pos, ty, copied.expect("it is copied")),
            Made::SplatLoad(access, at) => {
                let access = &self.accesses.all[access];
                let flags = pos.func.dfg.mem_flags[access.flags];
                pos.set_srcloc(pos.func.srcloc(access.inst));
                let lane = pos.ins().load(ty.lane_type(), flags, loaded(access), at as i32);
                pos.ins().splat(ty, lane)
            }
            Made::Load(access, at) => {
                let access = &self.accesses.all[access];
                let flags = pos.func.dfg.mem_flags[access.flags];
                pos.set_srcloc(pos.func.srcloc(access.inst));
                pos.ins().load(ty, flags, loaded(access), at as i32)
            }
            made => compute(&mut pos, ty, made, &operands),
        };
        self.made.insert(id, made);
        made
    }

    /// Returns a loop-invariant value. If the loop computes it, the code for it is inserted before the end of `block`.
    fn copy_to_end(&mut self, func: &mut Function, block: Block, value: Value) -> Value {
        let end = func.layout.last_inst(block).expect("it jumps");
        func.layout.remove_inst(end);
        let copy = self.copy(func, block, value);
        func.layout.append_inst(end, block);
        copy
    }

    /// Enters the scalar loop with the values that its parameters have after so many rounds.
    fn leave(&self, func: &mut Function, rest: Block, rounds: Value) {
        let mut args = Vec::new();
        for (&(param, next), &start) in self.round.carried.iter().zip(&self.starts) {
            let step =
                if next == param { 0 } else { self.round.step(func, param).expect("it was found before") };
            let ty = func.dfg.value_type(start);
            let mut pos = self.at(func, rest);
            args.push(BlockArg::Value(match step {
                0 => start,
                step => {
                    let way = times(&mut pos, rounds, step);
                    let way = if ty == types::I64 { way } else { pos.ins().ireduce(ty, way) };
                    pos.ins().iadd(start, way)
                }
            }));
        }
        self.at(func, rest).ins().jump(self.round.header, &args);
    }
}

fn before_end(func: &mut Function, block: Block) -> FuncCursor<'_> {
    let end = func.layout.last_inst(block).expect("it jumps");
    FuncCursor::new(func).at_inst(end)
}

fn plus_constant(pos: &mut FuncCursor<'_>, value: Value, constant: i64) -> Value {
    if constant == 0 { value } else { pos.ins().iadd_imm_s(value, constant) }
}

/// Multiplies a number of rounds by a constant.
fn times(pos: &mut FuncCursor<'_>, rounds: Value, by: i64) -> Value {
    match by {
        1 => rounds,
        -1 => pos.ins().ineg(rounds),
        2.. if by.count_ones() == 1 => pos.ins().ishl_imm_u(rounds, i64::from(by.trailing_zeros())),
        _ => pos.ins().imul_imm_s(rounds, by),
    }
}

fn at_most(pos: &mut FuncCursor<'_>, value: Value, most: i64) -> Value {
    let most = pos.ins().iconst(types::I64, most);
    let is_more = pos.ins().icmp(IntCC::UnsignedGreaterThan, value, most);
    pos.ins().select(is_more, most, value)
}

/// Computes the range of addresses of a class in all rounds of the windows. Returns also the conditions under which the
/// accesses are within memory. The range is wrong if there are no rounds; no code uses it then.
fn range(
    pos: &mut FuncCursor<'_>,
    class: &Class,
    address: Value,
    rounds: Value,
    (base, len): (Value, Value),
) -> ((Value, Value), Vec<Value>) {
    let from = plus_constant(pos, address, class.range.0);
    let mut to = plus_constant(pos, address, class.range.1 - class.stride);
    if class.stride != 0 {
        let way = times(pos, rounds, class.stride);
        to = pos.ins().iadd(to, way);
    }
    let end = pos.ins().isub(to, base);
    let mut tests = vec![pos.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, len)];
    if class.nearest < 0 {
        let index = pos.ins().isub(address, base);
        let least = class.beyond - class.nearest;
        tests.push(pos.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, index, least));
    }
    ((from, to), tests)
}

/// Computes the distance from the first tested value to the bound, in the direction of the steps, as an i64; 0 if the
/// value is beyond the bound.
fn distance(pos: &mut FuncCursor<'_>, test: &Test, first: Value, bound: Value) -> Value {
    let (from, to) = if test.step > 0 { (first, bound) } else { (bound, first) };
    if test.condition == IntCC::NotEqual {
        let distance = pos.ins().isub(to, from);
        let is_64 = pos.func.dfg.value_type(distance) == types::I64;
        return if is_64 { distance } else { pos.ins().uextend(types::I64, distance) };
    }
    let is_signed = test.condition != test.condition.unsigned();
    let [from, to] = [from, to].map(|value| match is_signed {
        true => pos.ins().sextend(types::I64, value),
        false => pos.ins().uextend(types::I64, value),
    });
    let distance = pos.ins().isub(to, from);
    let zero = pos.ins().iconst(types::I64, 0);
    let is_beyond = pos.ins().icmp(IntCC::SignedLessThan, distance, zero);
    pos.ins().select(is_beyond, zero, distance)
}

/// Divides a distance by a step; the result may be 2 too small. If the step is no power of two the distance has 32 bits:
/// it is multiplied by the reciprocal, rounded down.
fn divided(pos: &mut FuncCursor<'_>, distance: Value, step: u64) -> Value {
    if step == 1 {
        return distance;
    }
    if step.is_power_of_two() {
        return pos.ins().ushr_imm_u(distance, i64::from(step.trailing_zeros()));
    }
    let reciprocal = (1_u64 << 31) / step;
    let product = pos.ins().imul_imm_u(distance, reciprocal as i64);
    pos.ins().ushr_imm_u(product, 31)
}

fn splat(pos: &mut FuncCursor<'_>, ty: Type, value: Value) -> Value {
    let lane = ty.lane_type();
    let is_wider = pos.func.dfg.value_type(value).bits() > lane.bits();
    let value = if is_wider { pos.ins().ireduce(lane, value) } else { value };
    pos.ins().splat(ty, value)
}

fn compute(pos: &mut FuncCursor<'_>, ty: Type, made: Made, operands: &[Value]) -> Value {
    match made {
        Made::Unary(opcode, _) => {
            let (inst, dfg) = pos.ins().Unary(opcode, ty, operands[0]);
            dfg.first_result(inst)
        }
        Made::Binary(opcode, ..) => {
            let (inst, dfg) = pos.ins().Binary(opcode, ty, operands[0], operands[1]);
            dfg.first_result(inst)
        }
        Made::Shift(opcode, _, by) => {
            let by = pos.ins().iconst(types::I32, by);
            let (inst, dfg) = pos.ins().Binary(opcode, ty, operands[0], by);
            dfg.first_result(inst)
        }
        Made::IntCompare(condition, ..) => pos.ins().icmp(condition, operands[0], operands[1]),
        Made::FloatCompare(condition, ..) => pos.ins().fcmp(condition, operands[0], operands[1]),
        Made::Select(..) => {
            let flags = MemFlagsData::new().with_endianness(Endianness::Little);
            let is_float = ty.lane_type().is_float();
            let mask = if is_float { pos.ins().bitcast(ty, flags, operands[0]) } else { operands[0] };
            pos.ins().bitselect(mask, operands[1], operands[2])
        }
        Made::Splat(_) | Made::SplatLoad(..) | Made::Load(..) => unreachable!("they have no operands"),
    }
}

impl Made {
    fn operands(&self) -> Vec<Id> {
        match *self {
            Made::Splat(_) | Made::SplatLoad(..) | Made::Load(..) => Vec::new(),
            Made::Unary(_, a) | Made::Shift(_, a, _) => vec![a],
            Made::Binary(_, a, b) | Made::IntCompare(_, a, b) | Made::FloatCompare(_, a, b) => vec![a, b],
            Made::Select(a, b, c) => vec![a, b, c],
        }
    }
}
