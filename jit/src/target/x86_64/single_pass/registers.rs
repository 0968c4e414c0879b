//! Register allocation.
//!
//! A value is in a register, in the frame, or in both; or it is a constant, or is computed where it is used. Registers
//! are allocated as instructions come; if none is free, the least recently used one is spilled. At the start of a run
//! of blocks the registers are empty: values from other runs are in the frame.
//!
//! An instruction takes three steps: its operands are brought into place, which locks their registers; the instruction
//! is written; its operands are used up, and its result is defined.

use cranelift_codegen::ir::{Function, Inst, InstructionData, Opcode, Value};

use super::assembler::{
    Mem, Operand, PINNED, R8, R9, R10, RAX, RBP, RCX, RDI, RDX, RSI, Reg, SCRATCH, Width, XMM_SCRATCH, op,
};
use super::{Emitter, Unsupported};

/// The kind of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// In a register or in the frame.
    #[default]
    Held,
    /// A constant with these bits, also for a float.
    Constant(i64),
    /// The address that many bytes from the frame pointer.
    Frame(i32),
    /// Computed by its only user.
    Deferred(Inst),
    /// In the pinned register, until that register is written.
    Pinned,
}

/// The state of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub kind: Kind,
    pub reg: Option<Reg>,
    /// The value's place in the frame, relative to the frame pointer; 0 if it has none.
    pub place: i32,
    /// Whether code stores the value at its place.
    pub is_stored: bool,
    /// Whether the register bits above those of its type are zero.
    pub is_clean: bool,
}

/// The registers that are allocated, those with short encodings first.
const GENERAL: [Reg; 8] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10];
const VECTORS: u8 = 15;

const fn bit(reg: Reg) -> u32 {
    1 << reg.0
}

/// The registers of a function.
#[derive(Debug, Default)]
pub(super) struct Registers {
    holds: [Option<Value>; 32],
    /// The time of each register's last use.
    used: [u32; 32],
    clock: u32,
    /// The registers that the current instruction needs.
    locked: u32,
}

impl Registers {
    /// Starts an instruction.
    pub(super) fn unlock_all(&mut self) {
        self.locked = 0;
        self.clock += 1;
    }

    pub(super) fn unlock(&mut self, reg: Reg) {
        self.locked &= !bit(reg);
    }

    pub(super) fn lock(&mut self, reg: Reg) {
        self.locked |= bit(reg);
        self.used[reg.0 as usize] = self.clock;
    }

    fn is_locked(&self, reg: Reg) -> bool {
        self.locked & bit(reg) != 0
    }

    pub(super) fn holds(&self, reg: Reg) -> Option<Value> {
        self.holds[reg.0 as usize]
    }

    /// Chooses a free register of a class, or else its least recently used one.
    fn choose(&self, is_xmm: bool) -> Result<Reg, Unsupported> {
        let vectors = (0..VECTORS).map(Reg::xmm);
        match is_xmm {
            true => self.choose_among(vectors),
            false => self.choose_among(GENERAL.into_iter()),
        }
    }

    fn choose_among(&self, registers: impl Iterator<Item = Reg>) -> Result<Reg, Unsupported> {
        let unlocked = registers.filter(|&reg| !self.is_locked(reg));
        let age = |reg: &Reg| self.holds(*reg).map(|_| self.used[reg.0 as usize] + 1).unwrap_or(0);
        unlocked.min_by_key(age).ok_or(Unsupported)
    }
}

impl Emitter<'_> {
    /// Returns how many uses of a value are still to be written.
    pub(super) fn left(&self, value: Value) -> u32 {
        self.uses.values[value].count
    }

    /// Reports whether a value that is now being defined has users. Users in other runs may have been written before: a
    /// cold block follows its only predecessor only if that is cold, too.
    fn is_used(&self, value: Value) -> bool {
        self.left(value) > 0 || self.uses.values[value].crosses
    }

    pub(super) fn is_float(&self, value: Value) -> bool {
        self.func.dfg.value_type(value).is_float()
    }

    /// Returns the kind of a value.
    pub(super) fn kind(&mut self, value: Value) -> Kind {
        let held = self.values[value];
        if held.kind == Kind::Held && held.reg.is_none() && held.place == 0 {
            // A constant may be defined in a block that is written later.
            if let Some(kind) = self.constant_kind(value) {
                self.values[value].kind = kind;
                return kind;
            }
        }
        held.kind
    }

    fn constant_kind(&self, value: Value) -> Option<Kind> {
        kind_of(self.func, self.slots, self.func.dfg.value_def(value).inst()?)
    }

    /// Returns the bits of a constant, as a number of its width.
    pub(super) fn constant(&mut self, value: Value) -> Option<i64> {
        match self.kind(value) {
            Kind::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns the bits of a constant that fits into an instruction.
    pub(super) fn small_constant(&mut self, value: Value) -> Option<i32> {
        let bits = self.constant(value)?;
        match self.func.dfg.value_type(value).bits() {
            64 => i32::try_from(bits).ok(),
            _ => Some(bits as i32),
        }
    }

    /// Returns the place of a value in the frame, without storing it.
    pub(super) fn place_of(&mut self, value: Value) -> i32 {
        if self.values[value].place == 0 {
            let crosses = self.uses.values[value].crosses;
            self.values[value].place = if crosses { self.new_place() } else { self.free_place() };
        }
        self.values[value].place
    }

    /// Returns a place that may have held another value before, in the same run.
    pub(super) fn free_place(&mut self) -> i32 {
        self.free_places.pop().unwrap_or_else(|| self.new_place())
    }

    fn new_place(&mut self) -> i32 {
        if let Some(nearest) = self.nearest.take() {
            return nearest;
        }
        self.frame += 8;
        -(self.frame as i32)
    }

    fn store_home(&mut self, value: Value, reg: Reg) {
        let place = self.place_of(value);
        self.store_at(Mem::at(RBP, place), reg);
        self.values[value].is_stored = true;
    }

    /// Checks that each value that is read from the frame in another run than its own has been stored there. Otherwise
    /// the function would read, or call, whatever the slot of its frame happens to hold.
    pub(super) fn check_places(&self) -> Result<(), Unsupported> {
        let is_lost = |value: Value| {
            let held = self.values[value];
            self.uses.values[value].crosses && held.place < 0 && !held.is_stored
        };
        let lost = self.func.dfg.values().find(|&value| is_lost(value));
        debug_assert_eq!(lost, None, "a value that crosses is not in the frame");
        lost.map_or(Ok(()), |_| Err(Unsupported))
    }

    /// Stores a whole general register, or the low eight bytes of a vector register, which hold a float.
    pub(super) fn store_at(&mut self, mem: Mem, reg: Reg) {
        match reg.is_xmm() {
            true => self.assembler.op(op::STORE_F64, Width::W32, reg, mem),
            false => self.assembler.op(op::STORE, Width::W64, reg, mem),
        }
    }

    /// Frees a register; its value is in the frame afterwards.
    fn evict(&mut self, reg: Reg) {
        let Some(value) = self.registers.holds(reg) else { return };
        if self.values[value].place == 0 {
            self.store_home(value, reg);
        }
        self.detach(value);
    }

    /// Frees the register of a value, if it has one.
    pub(super) fn detach(&mut self, value: Value) {
        if let Some(reg) = self.values[value].reg.take() {
            self.registers.holds[reg.0 as usize] = None;
        }
    }

    /// Frees all registers, whether or not the frame holds the values that are needed later.
    pub(super) fn forget_registers(&mut self) {
        for index in 0..32 {
            if let Some(value) = self.registers.holds[index].take() {
                self.values[value].reg = None;
            }
        }
    }

    /// Spills the values that are needed later.
    pub(super) fn save_registers(&mut self, is_needed: impl Fn(&Self, Value) -> bool) {
        for index in 0..32 {
            if let Some(value) = self.registers.holds[index]
                && self.values[value].place == 0
                && is_needed(self, value)
            {
                self.store_home(value, Reg(index as u8));
            }
        }
    }

    /// Returns a locked register that may be written.
    pub(super) fn fresh(&mut self, is_xmm: bool) -> Result<Reg, Unsupported> {
        let reg = self.registers.choose(is_xmm)?;
        self.evict(reg);
        self.registers.lock(reg);
        Ok(reg)
    }

    /// Locks a given register for writing. The value that it holds moves elsewhere.
    pub(super) fn claim(&mut self, reg: Reg) -> Result<(), Unsupported> {
        if let Some(value) = self.registers.holds(reg) {
            self.registers.lock(reg);
            let other = self.registers.choose(reg.is_xmm())?;
            // Only a free register is better than the frame.
            if self.registers.holds(other).is_none() && self.values[value].place == 0 {
                self.move_between(other, reg);
                self.detach(value);
                self.attach(value, other);
            } else {
                self.evict(reg);
            }
        }
        self.registers.lock(reg);
        Ok(())
    }

    fn attach(&mut self, value: Value, reg: Reg) {
        self.registers.holds[reg.0 as usize] = Some(value);
        self.registers.used[reg.0 as usize] = self.registers.clock;
        self.values[value].reg = Some(reg);
    }

    /// Copies a register into another of its class.
    pub(super) fn move_between(&mut self, to: Reg, from: Reg) {
        match (to == from, to.is_xmm()) {
            (true, _) => {}
            (false, true) => self.assembler.op(op::MOVAPS, Width::W32, to, from),
            (false, false) => self.assembler.mov(Width::W64, to, from),
        }
    }

    /// Copies a value into a register. No flag changes unless the value is deferred.
    pub(super) fn load_into(&mut self, reg: Reg, value: Value) -> Result<(), Unsupported> {
        self.compute(value)?;
        match self.kind(value) {
            Kind::Constant(bits) => self.load_constant(reg, bits),
            Kind::Frame(offset) => self.assembler.op(op::LEA, Width::W64, reg, Mem::at(RBP, offset)),
            Kind::Pinned => self.assembler.mov(Width::W64, reg, PINNED),
            Kind::Held | Kind::Deferred(_) => match self.values[value].reg {
                Some(from) => self.move_between(reg, from),
                None => self.load_place(reg, value),
            },
        }
        Ok(())
    }

    fn load_place(&mut self, reg: Reg, value: Value) {
        let mem = Mem::at(RBP, self.place_of(value));
        match reg.is_xmm() {
            true => self.assembler.op(op::LOAD_F64, Width::W32, reg, mem),
            false => self.assembler.mov(Width::W64, reg, mem),
        }
    }

    fn load_constant(&mut self, reg: Reg, bits: i64) {
        if !reg.is_xmm() {
            self.assembler.constant(reg, bits);
        } else if bits == 0 {
            self.assembler.op(op::XORPS, Width::W32, reg, reg);
        } else {
            self.assembler.constant(SCRATCH, bits);
            self.assembler.op(op::MOV_TO_XMM, Width::W64, reg, SCRATCH);
        }
    }

    /// Computes a deferred value.
    pub(super) fn compute(&mut self, value: Value) -> Result<(), Unsupported> {
        if let Kind::Deferred(inst) = self.values[value].kind {
            self.values[value].kind = Kind::Held;
            let locked = self.registers.locked;
            self.lower(inst)?;
            self.registers.locked = locked;
        }
        Ok(())
    }

    /// Returns a locked register with a value, which must not be written.
    pub(super) fn reg(&mut self, value: Value) -> Result<Reg, Unsupported> {
        self.compute(value)?;
        let kind = self.kind(value);
        if kind == Kind::Pinned {
            return Ok(PINNED);
        }
        if let Some(reg) = self.values[value].reg {
            self.registers.lock(reg);
            return Ok(reg);
        }
        let reg = self.fresh(self.is_float(value))?;
        self.load_into(reg, value)?;
        if kind == Kind::Held {
            self.attach(value, reg);
        }
        Ok(reg)
    }

    /// Returns a value as an operand: a locked register, or its place in the frame.
    pub(super) fn operand(&mut self, value: Value) -> Result<Operand, Unsupported> {
        self.compute(value)?;
        let held = self.values[value];
        match (self.kind(value), held.reg) {
            (Kind::Held, None) => Ok(Mem::at(RBP, self.place_of(value)).into()),
            _ => Ok(self.reg(value)?.into()),
        }
    }

    /// Returns a locked register with a value, which the result may overwrite.
    pub(super) fn take(&mut self, value: Value) -> Result<Reg, Unsupported> {
        self.compute(value)?;
        if let Some(reg) = self.values[value].reg.filter(|_| self.left(value) == 1) {
            self.detach(value);
            self.registers.lock(reg);
            return Ok(reg);
        }
        let reg = self.fresh(self.is_float(value))?;
        self.load_into(reg, value)?;
        Ok(reg)
    }

    /// Records that an operand has been read.
    pub(super) fn use_up(&mut self, value: Value) {
        let left = &mut self.uses.values[value].count;
        *left -= 1;
        if *left == 0 {
            self.detach(value);
            let place = self.values[value].place;
            if place < 0 && !self.uses.values[value].crosses {
                self.free_places.push(place);
                self.values[value].place = 0;
            }
        }
    }

    /// Records that a register holds a new value.
    pub(super) fn define(&mut self, value: Value, reg: Reg) {
        if !self.is_used(value) {
            return;
        }
        debug_assert_eq!(self.registers.holds(reg), None);
        self.attach(value, reg);
        if self.uses.values[value].crosses {
            self.store_home(value, reg);
        }
    }

    /// Copies the value of the pinned register to another register, if it is still needed, before the pinned register
    /// is written.
    pub(super) fn leave_pinned(&mut self) -> Result<(), Unsupported> {
        let Some(value) = self.pinned.take().filter(|&value| self.is_used(value)) else { return Ok(()) };
        let reg = self.fresh(false)?;
        self.assembler.mov(Width::W64, reg, PINNED);
        self.values[value].kind = Kind::Held;
        self.define(value, reg);
        Ok(())
    }

    /// Puts values into given registers, as one parallel move, and uses the values up.
    pub(super) fn pass(&mut self, moves: &[(Value, Reg)]) -> Result<(), Unsupported> {
        for &(value, _) in moves {
            self.compute(value)?;
        }
        let in_register = |emitter: &Self, value: Value| match emitter.values[value].kind {
            Kind::Pinned => Some(PINNED),
            _ => emitter.values[value].reg,
        };
        let from_registers = moves.iter().filter_map(|&(value, to)| Some((in_register(self, value)?, to)));
        let mut pending: smallvec::SmallVec<[(Reg, Reg); 8]> = from_registers.collect();
        pending.retain(|(from, to)| from != to);
        while let Some(&(from, to)) = pending.first() {
            let is_source = |reg: Reg| pending.iter().any(|&(from, _)| from == reg);
            if let Some(ready) = pending.iter().position(|&(_, to)| !is_source(to)) {
                let (from, to) = pending.swap_remove(ready);
                self.move_between(to, from);
                continue;
            }
            // Only cycles are left.
            let scratch = if to.is_xmm() { XMM_SCRATCH } else { SCRATCH };
            self.move_between(scratch, from);
            for (other, _) in pending.iter_mut().filter(|(other, _)| *other == from) {
                *other = scratch;
            }
        }
        for &(value, to) in moves {
            if in_register(self, value).is_none() {
                self.load_into(to, value)?;
            }
        }
        Ok(())
    }
}

/// Returns the kind of a result that needs no code.
pub(super) fn kind_of(func: &Function, slots: &[i32], inst: Inst) -> Option<Kind> {
    match func.dfg.insts[inst] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
            let bits = func.dfg.value_type(func.dfg.first_result(inst)).bits();
            let unused = 64 - bits;
            Some(Kind::Constant((imm.bits().cast_unsigned() << unused >> unused).cast_signed()))
        }
        InstructionData::UnaryIeee32 { imm, .. } => Some(Kind::Constant(i64::from(imm.bits()))),
        InstructionData::UnaryIeee64 { imm, .. } => Some(Kind::Constant(imm.bits().cast_signed())),
        InstructionData::StackAddr { stack_slot, offset, .. } => {
            Some(Kind::Frame(slots[stack_slot.as_u32() as usize] + i32::from(offset)))
        }
        _ => None,
    }
}
