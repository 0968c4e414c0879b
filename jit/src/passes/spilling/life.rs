//! Live ranges of values, and the calls that they cross.
//!
//! Places are numbered: a block begins at the place of its first instruction, and an instruction reads its operands at
//! its own place and defines its results at the next one. A value that is only the low part of another value shares its
//! register, and counts as that value.

use std::ops::Range;

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Type, Value, types};

use super::super::constants::clobbers;
use super::Preserved;
use super::flow::Flow;

/// The maximum number of visited blocks per block of a function: it bounds the search for values that are live in very
/// many blocks.
const MOST_VISITS: usize = 256;

/// The register classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Integer,
    Float,
}

impl Class {
    /// `None` for types that are left to the register allocator: Cranelift can select some vector instructions only
    /// where it sees the definitions of their operands.
    fn new(ty: Type) -> Option<Class> {
        match ty {
            _ if ty.is_int() && ty.bits() <= 64 => Some(Class::Integer),
            types::F32 | types::F64 => Some(Class::Float),
            _ => None,
        }
    }
}

/// The live range of a value that is live across a call.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub value: Value,
    pub class: Class,
    /// The block that defines the value.
    pub home: Block,
    /// The number of calls before the definition.
    pub calls_before: u32,
    /// From the first place of the live range to the last one, in block layout order.
    pub hull: Range<u32>,
    /// The calls across which the value is live, as ranges of numbers; ascending and disjoint.
    pub calls: Vec<Range<u32>>,
    /// The numbers of the blocks in which the value is live; ascending.
    pub blocks: Vec<u32>,
}

/// The values of a function that are live across calls.
pub(super) struct Lives {
    pub all: Vec<Life>,
    /// The calls that preserve few registers.
    calls: Vec<Inst>,
    uses: Uses,
    /// The start and the end of each block.
    blocks: SecondaryMap<Block, (Point, Point)>,
    insts: SecondaryMap<Inst, Point>,
}

/// A place in the code, and the number of calls before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    at: u32,
    calls: u32,
}

impl Lives {
    /// Computes the live ranges; `None` if that takes too many visits.
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

    /// Numbers all places, and finds the calls.
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

    /// Returns the point behind an instruction.
    fn behind(&self, inst: Inst) -> Point {
        let Point { at, calls } = self.insts[inst];
        let is_call = self.calls.get(calls as usize) == Some(&inst);
        Point { at: at + 1, calls: calls + u32::from(is_call) }
    }

    /// Reports whether more values are live across a call than it preserves.
    pub(super) fn exceeds(&self, preserved: Preserved) -> bool {
        [Class::Integer, Class::Float]
            .iter()
            .any(|&class| self.pressure(class).iter().any(|&alive| alive > preserved.of_class(class)))
    }

    /// Returns the number of values of a class that are live across each call.
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

    /// Returns the uses of a value, in layout order.
    pub(super) fn uses(&self, value: Value) -> &[(Block, Inst)] {
        self.uses.uses(value)
    }

    /// Returns a call by its number.
    pub(super) fn call(&self, number: u32) -> Inst {
        self.calls[number as usize]
    }

    /// Returns the number of calls before an instruction.
    pub(super) fn calls_before(&self, inst: Inst) -> u32 {
        self.insts[inst].calls
    }

    /// Returns the numbers of the calls in a block.
    pub(super) fn calls_in(&self, block: Block) -> Range<u32> {
        let (start, end) = self.blocks[block];
        start.calls..end.calls
    }
}

/// Returns the value of which an instruction takes the low part, which shares its register.
fn whole(func: &Function, inst: Inst) -> Option<Value> {
    let data = &func.dfg.insts[inst];
    let arg = || func.dfg.inst_args(inst)[0];
    (data.opcode() == Opcode::Ireduce).then(arg).filter(|&arg| func.dfg.value_type(arg).bits() <= 64)
}

/// Returns the value that shares a value's register, because the latter is only its low part; otherwise the value
/// itself.
pub(super) fn root(func: &Function, mut value: Value) -> Value {
    while let Some(whole) = func.dfg.value_def(value).inst().and_then(|inst| whole(func, inst)) {
        value = whole;
    }
    value
}

/// The uses of each value: instructions with their blocks, in layout order.
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

    fn uses(&self, value: Value) -> &[(Block, Inst)] {
        let at = value.as_u32() as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// A walk from the uses of a value back to its definition.
struct Walk<'a> {
    lives: &'a Lives,
    flow: &'a Flow,
    /// The last value found to be live at the beginning of each block, and at its end.
    at_begin: SecondaryMap<Block, Option<Value>>,
    at_end: SecondaryMap<Block, Option<Value>>,
    visits_left: usize,
    /// The result for the current value: its first and last place, and the calls and blocks in between.
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

    /// Returns the live range of a value that is defined in `home` before `made`, if it crosses a call. The outer
    /// `None` means that too many visits are needed.
    fn life(&mut self, func: &Function, value: Value, home: Block, made: Point) -> Option<Option<Life>> {
        let Some(class) = Class::new(func.dfg.value_type(value)) else { return Some(None) };
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

    /// Finds the live range of a value outside of its defining block, and returns its end inside that block.
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

    /// Adds a new part of the live range.
    fn note(&mut self, alive: Range<Point>) {
        self.hull = self.hull.start.min(alive.start.at)..self.hull.end.max(alive.end.at);
        if alive.start.calls < alive.end.calls {
            self.calls.push(alive.start.calls..alive.end.calls);
        }
    }

    /// Returns the calls, in order.
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
