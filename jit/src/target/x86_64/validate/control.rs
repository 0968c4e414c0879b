//! Jumps through tables, calls, returns and traps.
//!
//! Invariant: the values of an event include all that a callee, a caller or a trap handler may read.

use iced_x86::OpKind;
use smallvec::smallvec;

use super::convention::Convention;
use super::machine::{Cpu, Done, FLAGS, KEPT, LOCATIONS, PINNED, RBP, RSP};
use crate::validate::{Args, Op, Term};
use crate::validate::{Event, Exit, Place, Step, What};

/// An index with at most this many values needs no bounds test.
const LONGEST_TABLE: u64 = 1 << 16;

impl Cpu<'_, '_> {
    pub(super) fn jump(&mut self) -> Done<Step> {
        if self.inst.op0_kind() == OpKind::NearBranch64 {
            self.run.place = self.inst.near_branch64() as Place;
            return Ok(Step::On);
        }
        let target = self.read(0)?;
        if let Some((table, entry)) = self.terms.split_place(target) {
            let entry = self.terms.as_entry(entry).filter(|&(of, _)| of == table);
            return match entry {
                Some((_, distance)) => self.switch(table, distance),
                None => self.refused("a jump"),
            };
        }
        let number = match self.peer.get(self.run.events.len()) {
            Some(&Event { what: What::TailCall(number), .. }) if self.is_new => number,
            _ => self.x86.conventions.of_tail_call(self.inst.ip() as u32),
        };
        let convention = self.x86.conventions.get(number);
        let mut values: Args = smallvec![target];
        self.arguments(convention, &mut values);
        values.extend(KEPT.map(|location| self.run.values[location]));
        self.note(What::TailCall(number), values);
        Ok(Step::End)
    }

    fn switch(&mut self, table: Place, distance: Term) -> Done<Step> {
        let Some(index) = self.terms.divided(distance, 4) else { return self.refused("an index") };
        let entry = |at: u64| {
            let place = u64::from(table) + 4 * at;
            let number = self.image.number(u32::try_from(place).ok()?)?;
            Some(table.wrapping_add_signed(number))
        };
        let entries = |count: u64| (0..count).map(entry).collect::<Option<Vec<Place>>>();
        let (selector, count, is_clamped) = match self.terms.as_at_most(index) {
            Some((selector, most)) => (selector, most.saturating_add(1), true),
            None => (index, self.terms.most(index).saturating_add(1), false),
        };
        match entries(count.min(LONGEST_TABLE)).filter(|_| count <= LONGEST_TABLE) {
            Some(places) => Ok(Step::Switch { selector, places, is_clamped }),
            None => self.refused("a jump table"),
        }
    }

    pub(super) fn trap(&mut self) -> Done<Step> {
        let shown = self.shown();
        self.note(What::Trap, shown);
        Ok(Step::End)
    }

    /// Adds the registers that a callee reads, and the stack registers.
    fn arguments(&mut self, convention: &Convention, values: &mut Args) {
        let mut arguments = self.parts(&convention.reads);
        for &(place, bits) in &convention.on_stack {
            let address = self.terms.add_constant(self.run.values[RSP], place.into());
            let value = self.run.memory.load(self.terms, address, 8);
            arguments.push(self.terms.low(bits, value));
        }
        if arguments.iter().any(|&argument| self.terms.is_of_frame(argument)) {
            self.share();
        }
        values.extend(arguments);
        values.extend(self.shown());
    }

    /// Returns the lowest bits of locations.
    fn parts(&mut self, locations: &[(usize, u8)]) -> Vec<Term> {
        locations.iter().map(|&(location, bits)| self.terms.low(bits, self.run.values[location])).collect()
    }

    pub(super) fn call(&mut self) -> Done {
        if self.inst.op0_kind() == OpKind::NearBranch64 {
            return self.refused("a target");
        }
        self.mark.call = self.image.call(&self.inst);
        let target = self.read(0)?;
        let number = match self.peer.get(self.run.events.len()) {
            Some(&Event { what: What::Call(number), .. }) if self.is_new => number,
            _ => {
                let back = self.image.offset(self.inst.ip() as u32).unwrap_or(0) + self.inst.len() as u32;
                self.x86.conventions.of_call(back)
            }
        };
        let convention = self.x86.conventions.get(number);
        let mut values: Args = smallvec![target];
        self.arguments(convention, &mut values);
        let event = self.run.events.len() as u32;
        self.note(What::Call(number), values);
        let top = self.run.values[RSP];
        let args = self.terms.as_frame(top).map(|top| top + i64::from(convention.stack));
        self.run.memory.call(args);
        self.leave(event, convention.preserves_all);
        if let Some((place, frame)) = self.image.landing(&self.inst) {
            self.land(event, (place, frame), convention.preserves_all)?;
        }
        self.run.values[RSP] = self.terms.add_constant(top, convention.pops.into());
        Ok(())
    }

    /// Sets the registers to their state after a call.
    fn leave(&mut self, event: u32, preserves_all: bool) {
        let is_shared = self.run.memory.is_shared;
        for location in 0..LOCATIONS {
            let is_kept = match location {
                RSP | RBP => true,
                PINNED => !self.x86.is_pinned,
                FLAGS => false,
                _ => preserves_all || KEPT.contains(&location),
            };
            if !is_kept {
                let left = Op::Left { event, location: location as u32 };
                self.run.values[location] = self.terms.apply_of_frame(left, &[], is_shared);
            }
        }
    }

    /// Adds the exit of the call with this number among the events, whose effects have been applied: the runtime resumes
    /// the frame at `place`, `frame` bytes below the frame pointer, with the exception in a result register. Nobody
    /// restores callee-saved registers, so what they hold may be what this version left there.
    fn land(&mut self, event: u32, (place, frame): (Place, u32), preserves_all: bool) -> Done {
        let pointer = self.run.values[RBP];
        if preserves_all || self.terms.as_frame(pointer).is_none() {
            return self.refused("the landing of a call");
        }
        let mut values = self.run.values.clone();
        values[RSP] = self.terms.add_constant(pointer, u64::from(frame).wrapping_neg());
        for location in KEPT.into_iter().filter(|&location| location != PINNED || !self.x86.is_pinned) {
            values[location] = self.terms.symbol(u64::MAX, self.run.memory.is_shared);
        }
        let memory = self.run.memory.clone();
        self.run.exits.push(Exit { event, place, values, memory });
        Ok(())
    }

    pub(super) fn ret(&mut self) -> Done<Step> {
        if self.terms.as_frame(self.run.values[RSP]).is_none() {
            return self.refused("the stack pointer");
        }
        let mut shown: Args = self.parts(&self.x86.conventions.own().results).into();
        shown.extend(KEPT.into_iter().chain([RSP, RBP]).map(|location| self.run.values[location]));
        let bytes = if self.inst.op_count() == 1 { u32::from(self.inst.immediate16()) } else { 0 };
        self.note(What::Return(bytes), shown);
        Ok(Step::End)
    }
}
