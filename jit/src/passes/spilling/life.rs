//! Where values are alive, and across which calls.
//!
//! Places are numbered: a block begins at the place of its first instruction, and an instruction takes its operands at
//! its own place and has its results at the next one. What is only the low part of another value is in the same
//! register, and counts as that value.

use std::ops::Range;

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Type, Value, types};

use super::super::constants::clobbers;
use super::Preserved;
use super::flow::Flow;

/// How many blocks are looked at for each block of a function, at most: values that are alive in very many are not
/// looked for without end.
const MOST_VISITS: usize = 256;

/// The kinds of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Integer,
    Float,
}

impl Class {
    /// `None` for what is left to the register allocator: Cranelift makes code of some vector instructions only where
    /// it sees what their operands come from.
    fn of(ty: Type) -> Option<Class> {
        match ty {
            _ if ty.is_int() && ty.bits() <= 64 => Some(Class::Integer),
            types::F32 | types::F64 => Some(Class::Float),
            _ => None,
        }
    }
}

/// Where a value is alive that is so across a call.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub value: Value,
    pub class: Class,
    /// The block that it is made in.
    pub home: Block,
    /// How many calls lie before the point where it is made.
    pub calls_before: u32,
    /// From the first place of its life to the last one, in the order in which blocks lie.
    pub hull: Range<u32>,
    /// The calls that it is alive across, by their numbers; ascending, and apart.
    pub calls: Vec<Range<u32>>,
    /// The blocks that it is alive in, by their numbers; ascending.
    pub blocks: Vec<u32>,
}

/// The values of a function that are alive across calls.
pub(super) struct Lives {
    pub all: Vec<Life>,
    /// The calls that leave few registers as they were.
    calls: Vec<Inst>,
    uses: Uses,
    /// By block: where it begins, and where it ends.
    blocks: SecondaryMap<Block, (Point, Point)>,
    insts: SecondaryMap<Inst, Point>,
}

/// A point of the code, and how many calls lie before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    at: u32,
    calls: u32,
}

impl Lives {
    /// `None` if too much would have to be looked at.
    pub(super) fn new(func: &Function, flow: &Flow) -> Option<Lives> {
        let mut lives = Lives {
            all: Vec::new(),
            calls: Vec::new(),
            uses: Uses::new(func),
            blocks: SecondaryMap::new(),
            insts: SecondaryMap::new(),
        };
        lives.number(func);
        let mut walk = Walk::new(&lives, flow);
        let mut all = Vec::new();
        for block in func.layout.blocks() {
            for &value in func.dfg.block_params(block) {
                all.extend(walk.life(func, value, block, lives.blocks[block].0)?);
            }
            for inst in func.layout.block_insts(block).filter(|&inst| whole(func, inst).is_none()) {
                let behind = lives.behind(inst);
                for &value in func.dfg.inst_results(inst) {
                    all.extend(walk.life(func, value, block, behind)?);
                }
            }
        }
        lives.all = all;
        Some(lives)
    }

    /// Gives everything its point, and finds the calls.
    fn number(&mut self, func: &Function) {
        let mut next = Point::default();
        for block in func.layout.blocks() {
            let start = next;
            for inst in func.layout.block_insts(block) {
                self.insts[inst] = next;
                next.at += 1;
                if clobbers(func, inst) && !func.dfg.insts[inst].opcode().is_terminator() {
                    self.calls.push(inst);
                    next.calls += 1;
                }
            }
            self.blocks[block] = (start, next);
        }
    }

    /// The point behind an instruction.
    fn behind(&self, inst: Inst) -> Point {
        let Point { at, calls } = self.insts[inst];
        let is_call = self.calls.get(calls as usize) == Some(&inst);
        Point { at: at + 1, calls: calls + u32::from(is_call) }
    }

    /// Whether more values are alive across a call than are preserved.
    pub(super) fn exceeds(&self, preserved: Preserved) -> bool {
        [Class::Integer, Class::Float]
            .iter()
            .any(|&class| self.pressure(class).iter().any(|&alive| alive > preserved.of_class(class)))
    }

    /// How many values of a class are alive across each call.
    pub(super) fn pressure(&self, class: Class) -> Vec<u32> {
        let mut changes = vec![0i32; self.calls.len() + 1];
        for calls in self.all.iter().filter(|life| life.class == class).flat_map(|life| &life.calls) {
            changes[calls.start as usize] += 1;
            changes[calls.end as usize] -= 1;
        }
        changes.pop();
        let alive = changes.iter().scan(0, |alive, change| {
            *alive += change;
            Some(*alive as u32)
        });
        alive.collect()
    }

    /// Where a value is used, as it lies.
    pub(super) fn uses(&self, value: Value) -> &[(Block, Inst)] {
        self.uses.of(value)
    }

    /// A call, by its number.
    pub(super) fn call(&self, number: u32) -> Inst {
        self.calls[number as usize]
    }

    /// How many calls lie before an instruction.
    pub(super) fn calls_before(&self, inst: Inst) -> u32 {
        self.insts[inst].calls
    }

    /// The calls of a block.
    pub(super) fn calls_in(&self, block: Block) -> Range<u32> {
        let (start, end) = self.blocks[block];
        start.calls..end.calls
    }
}

/// The value of which an instruction takes the low part, which is in the same register.
fn whole(func: &Function, inst: Inst) -> Option<Value> {
    let data = &func.dfg.insts[inst];
    let arg = || func.dfg.inst_args(inst)[0];
    (data.opcode() == Opcode::Ireduce).then(arg).filter(|&arg| func.dfg.value_type(arg).bits() <= 64)
}

/// The value that is in the same register, if another one is meant by it: what it is the low part of.
pub(super) fn root(func: &Function, mut value: Value) -> Value {
    while let Some(whole) = func.dfg.value_def(value).inst().and_then(|inst| whole(func, inst)) {
        value = whole;
    }
    value
}

/// Where values are used, by value: instructions with their blocks, as they lie.
#[derive(Default)]
struct Uses {
    starts: Vec<u32>,
    all: Vec<(Block, Inst)>,
}

impl Uses {
    fn new(func: &Function) -> Uses {
        let mut by_value: Vec<(Value, (Block, Inst))> = Vec::new();
        let mut starts = vec![0; func.dfg.num_values() + 1];
        for block in func.layout.blocks() {
            for inst in func.layout.block_insts(block).filter(|&inst| whole(func, inst).is_none()) {
                for value in func.dfg.inst_values(inst) {
                    let value = root(func, value);
                    starts[value.as_u32() as usize + 1] += 1;
                    by_value.push((value, (block, inst)));
                }
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut all = vec![(Block::from_u32(0), Inst::from_u32(0)); by_value.len()];
        for (value, used) in by_value {
            let next = &mut next[value.as_u32() as usize];
            all[*next as usize] = used;
            *next += 1;
        }
        Uses { starts, all }
    }

    fn of(&self, value: Value) -> &[(Block, Inst)] {
        let at = value.as_u32() as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Walks from the uses of a value back to where it is made.
struct Walk<'a> {
    lives: &'a Lives,
    flow: &'a Flow,
    /// The value that was last found to be alive at the beginning of a block, and at its end.
    at_begin: SecondaryMap<Block, Option<Value>>,
    at_end: SecondaryMap<Block, Option<Value>>,
    visits_left: usize,
    /// What the walk has found of a value: where it begins, where it ends, and the calls and blocks in between.
    hull: Range<u32>,
    calls: Vec<Range<u32>>,
    blocks: Vec<Block>,
}

impl<'a> Walk<'a> {
    fn new(lives: &'a Lives, flow: &'a Flow) -> Self {
        Walk {
            lives,
            flow,
            at_begin: SecondaryMap::new(),
            at_end: SecondaryMap::new(),
            visits_left: flow.len() * MOST_VISITS,
            hull: 0..0,
            calls: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Where a value is alive that is made in `home` before `made`, if it is alive across a call. The outer `None` if
    /// too much would have to be looked at.
    fn life(&mut self, func: &Function, value: Value, home: Block, made: Point) -> Option<Option<Life>> {
        let Some(class) = Class::of(func.dfg.value_type(value)) else { return Some(None) };
        self.hull = made.at..made.at;
        self.calls.clear();
        self.blocks.clear();
        let until = self.walk(value, home, made)?;
        self.note(made..until);
        if self.calls.is_empty() {
            return Some(None);
        }
        self.blocks.push(home);
        let mut blocks: Vec<u32> = self.blocks.iter().filter_map(|&block| self.flow.order(block)).collect();
        blocks.sort_unstable();
        let (hull, calls) = (self.hull.clone(), self.calls_across());
        Some(Some(Life { value, class, home, calls_before: made.calls, hull, calls, blocks }))
    }

    /// Finds where a value is alive outside of the block that it is made in, and gives until where it is so there.
    fn walk(&mut self, value: Value, home: Block, made: Point) -> Option<Point> {
        let uses = self.lives.uses(value);
        let mut until = made;
        for &(block, inst) in uses {
            if block == home {
                until = until.max(self.lives.insts[inst]);
            } else if self.at_begin[block].replace(value) != Some(value) {
                self.blocks.push(block);
            }
        }
        let mut next = 0;
        while let Some(&block) = self.blocks.get(next) {
            next += 1;
            for &from in self.flow.from(block) {
                self.visits_left = self.visits_left.checked_sub(1)?;
                let (start, end) = self.lives.blocks[from];
                if from == home {
                    until = end;
                    continue;
                }
                if self.at_end[from].replace(value) != Some(value) {
                    self.note(start..end);
                }
                if self.at_begin[from].replace(value) != Some(value) {
                    self.blocks.push(from);
                }
            }
        }
        for of_block in uses.chunk_by(|a, b| a.0 == b.0) {
            let (block, last) = of_block[of_block.len() - 1];
            if block != home && self.at_end[block] != Some(value) {
                self.note(self.lives.blocks[block].0..self.lives.insts[last]);
            }
        }
        Some(until)
    }

    /// The value is alive there, and there was nothing known of that.
    fn note(&mut self, alive: Range<Point>) {
        self.hull = self.hull.start.min(alive.start.at)..self.hull.end.max(alive.end.at);
        if alive.start.calls < alive.end.calls {
            self.calls.push(alive.start.calls..alive.end.calls);
        }
    }

    /// The calls, in order.
    fn calls_across(&mut self) -> Vec<Range<u32>> {
        self.calls.sort_unstable_by_key(|calls| calls.start);
        let mut merged: Vec<Range<u32>> = Vec::new();
        for calls in &self.calls {
            match merged.last_mut() {
                Some(last) if last.end == calls.start => last.end = calls.end,
                _ => merged.push(calls.clone()),
            }
        }
        merged
    }
}
