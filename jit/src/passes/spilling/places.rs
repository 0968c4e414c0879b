//! Spill code: stores to places in the frame, and reloads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Function, Inst, InstBuilder, MemFlagsData, SourceLoc, StackSlot, StackSlotData, StackSlotKind, Type,
    Value, ValueDef, types,
};

use super::choice::Chosen;
use super::is_constant;
use super::life::root;
use super::traffic::{Name, Traffic};
use crate::code::{Fact, Origins};

/// Stores the chosen values to their places, and makes their users behind calls take the reloads. Constants are
/// rematerialized instead.
pub(super) fn fill(func: &mut Function, mut chosen: Vec<Chosen<'_>>, origins: &Origins) {
    chosen.sort_unstable_by_key(|chosen| (chosen.life.hull.start, chosen.life.value));
    let mut places = Places::default();
    let mut filling = Filling { func, origins };
    for Chosen { life, traffic } in chosen {
        let is_constant = is_constant(filling.func, life.value);
        let slot = (!is_constant).then(|| places.take(filling.func, life.hull.clone()));
        filling.fill(life.value, slot, traffic);
    }
}

/// The names of a value: its own, and its reloads.
struct Names {
    own: Value,
    reads: Vec<Value>,
}

impl Names {
    fn value(&self, name: Name) -> Value {
        match name {
            Name::Own => self.own,
            Name::Read(at) => self.reads[at],
        }
    }
}

/// The allocated eight-byte places, by the end of the hull of each place's last value.
#[derive(Default)]
struct Places(BinaryHeap<Reverse<(u32, StackSlot)>>);

impl Places {
    /// Returns a place for a value with this hull; values with disjoint hulls may share one. The caller passes hulls in
    /// ascending order.
    fn take(&mut self, func: &mut Function, hull: Range<u32>) -> StackSlot {
        let is_over = self.0.peek().is_some_and(|Reverse((end, _))| *end < hull.start);
        let free = if is_over { self.0.pop() } else { None };
        let slot = free.map_or_else(
            || func.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3)),
            |Reverse((_, slot))| slot,
        );
        self.0.push(Reverse((hull.end, slot)));
        slot
    }
}

/// Returns the instruction behind the definition of a value.
fn where_made(func: &Function, value: Value) -> Inst {
    let behind = match func.dfg.value_def(value) {
        ValueDef::Result(inst, _) => func.layout.next_inst(inst),
        ValueDef::Param(block, _) => func.layout.first_inst(block),
        ValueDef::Union(..) => None,
    };
    behind.expect("values are made in front of the end of a block")
}

/// A function that receives spill code.
struct Filling<'a> {
    func: &'a mut Function,
    origins: &'a Origins,
}

impl Filling<'_> {
    /// Inserts the spill code of one value.
    fn fill(&mut self, value: Value, slot: Option<StackSlot>, traffic: Traffic) {
        let names = self.names(value, slot, &traffic);
        if let Some(slot) = slot {
            if traffic.is_written_early {
                let made = where_made(self.func, value);
                self.write(value, slot, made);
            }
            for (place, name) in traffic.writes {
                self.write(names.value(name), slot, place.before);
            }
        }
        for (inst, name) in traffic.uses {
            rename(self.func, inst, value, names.value(name));
        }
    }

    fn names(&mut self, own: Value, slot: Option<StackSlot>, traffic: &Traffic) -> Names {
        let ty = self.func.dfg.value_type(own);
        let reads = traffic.reads.iter().map(|place| match slot {
            Some(slot) => self.read(ty, slot, place.before),
            None => self.copy_constant(own, place.before),
        });
        Names { own, reads: reads.collect() }
    }

    fn write(&mut self, value: Value, slot: StackSlot, before: Inst) {
        let made = self.func.dfg.value_def(value).inst();
        let mut pos = self.before_inst(before, made);
        let place = pos.ins().stack_addr(types::I64, slot, 0);
        pos.ins().store(MemFlagsData::trusted(), value, place, 0);
    }

    fn read(&mut self, ty: Type, slot: StackSlot, before: Inst) -> Value {
        let mut pos = self.before_inst(before, None);
        let place = pos.ins().stack_addr(types::I64, slot, 0);
        pos.ins().load(ty, MemFlagsData::trusted(), place, 0)
    }

    fn copy_constant(&mut self, value: Value, before: Inst) -> Value {
        let made = self.func.dfg.value_def(value).inst().expect("constants are made by instructions");
        let copy = self.func.dfg.clone_inst(made);
        self.before_inst(before, None).insert_inst(copy);
        self.func.dfg.first_result(copy)
    }

    /// Returns a cursor before an instruction, at its source location, but behind another instruction. It goes in front
    /// of instructions that change the pinned register in place, so that these stay together, if that is possible.
    fn before_inst(&mut self, mut inst: Inst, behind: Option<Inst>) -> FuncCursor<'_> {
        let mut location = self.func.srcloc(inst);
        if self.origins.has(location, Fact::InPlace) {
            location = SourceLoc::default();
            while let Some(before) = self.func.layout.prev_inst(inst).filter(|&before| {
                Some(before) != behind && self.origins.has(self.func.srcloc(before), Fact::InPlace)
            }) {
                inst = before;
            }
        }
        FuncCursor::new(self.func).at_inst(inst).with_srcloc(location)
    }
}

/// Replaces a value by `name` in an instruction, and the value's low part by that of `name`.
fn rename(func: &mut Function, inst: Inst, value: Value, name: Value) {
    let taken: Vec<Value> = func.dfg.inst_values(inst).collect();
    let mut renamed = Vec::with_capacity(taken.len());
    for taken in taken {
        renamed.push(match root(func, taken) == value {
            false => taken,
            true if taken == value => name,
            true => {
                let ty = func.dfg.value_type(taken);
                FuncCursor::new(func).at_inst(inst).ins().ireduce(ty, name)
            }
        });
    }
    func.dfg.overwrite_inst_values(inst, renamed.into_iter());
}
