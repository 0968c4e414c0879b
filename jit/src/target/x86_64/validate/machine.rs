//! Executes x86-64 instructions on terms.
//!
//! Moves, sums, extensions, comparisons and conditions are interpreted; the result of any other instruction is an
//! uninterpreted function of its operands. An instruction that reads or writes anything but its operands is refused,
//! unless it is handled here. Assumed, as `pinned` does: a count in the pinned register that is compared with zero did
//! not overflow when it was changed. So the flags of an addition to it agree with those of its result about the sign.
//! Source: AMD64 Architecture Programmer's Manual, volume 3; operands are those that `iced_x86` decodes.

use std::cell::RefCell;

use iced_x86::{Code, ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use smallvec::{SmallVec, smallvec};

use super::convention::Conventions;
use super::image::{Image, Mark};
use crate::validate::{Args, Op, Term, Terms};
use crate::validate::{Event, Machine, Place, Run, SharedPart, Side, Step, What};

/// The first location of the vector registers; the general registers come before them, by their numbers.
pub(super) const VECTORS: usize = 16;
pub(super) const FLAGS: usize = 32;
pub(super) const LOCATIONS: usize = 33;

/// The bit of an operation's code that is set if the code is a mnemonic, because forms of the instruction do the same.
pub(super) const CHANGED: u32 = 1 << 16;

pub(super) const RSP: usize = 4;
pub(super) const RBP: usize = 5;
pub(super) const PINNED: usize = 15;
/// The callee-saved registers except the stack registers.
pub(super) const KEPT: [usize; 5] = [3, 12, 13, 14, 15];

/// Both versions of a function.
pub(super) struct X86<'a> {
    pub before: Image,
    pub after: Image,
    pub conventions: &'a Conventions,
    /// Whether the function uses the pinned register as such.
    pub is_pinned: bool,
    pub usage: RefCell<InstructionInfoFactory>,
    /// What is known if the old version is a [`reference`](super::reference).
    pub reference: Option<Homes>,
}

/// The homes of values in a reference, which are locations behind all others, and the frame of its function.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    pub count: usize,
    pub shared_part: SharedPart,
    /// The arguments on the stack: their distances from the frame's top, and their homes.
    pub on_stack: Vec<(i64, usize)>,
}

pub(super) type Done<T = ()> = Result<T, String>;

impl X86<'_> {
    pub fn image(&self, side: Side) -> &Image {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }
}

impl Machine for X86<'_> {
    type Mark = Mark;

    fn locations(&self) -> usize {
        LOCATIONS + self.reference.as_ref().map_or(0, |homes| homes.count)
    }

    fn locations_of_both(&self) -> usize {
        LOCATIONS
    }

    fn shared_part(&self) -> Option<SharedPart> {
        self.reference.as_ref().map(|homes| homes.shared_part)
    }

    fn on_stack(&self) -> Vec<(i64, usize)> {
        let all = self.reference.iter().flat_map(|homes| &homes.on_stack);
        all.map(|&(offset, home)| (offset, LOCATIONS + home)).collect()
    }

    fn longest(&self) -> u32 {
        self.before.len().max(self.after.len())
    }

    fn stack_pointer(&self) -> usize {
        RSP
    }

    fn equal_if(&self, terms: &Terms, condition: Term) -> Option<(Term, Term)> {
        let equal = 4;
        let (op, &[flags]) = terms.as_apply(condition)? else { return None };
        match terms.as_apply(flags)? {
            (Op::FlagsOfDifference(8), &[a, b]) if op == Op::Condition(equal) => Some((a, b)),
            _ => None,
        }
    }

    fn step(&self, side: Side, terms: &mut Terms, run: &mut Run<Mark>, peer: &[Event<Mark>]) -> Done<Step> {
        let image = self.image(side);
        let inst = image.decode(run.place)?;
        let is_new = side == Side::After;
        let leaves = inst.mnemonic() == Mnemonic::Call || is_indirect_jump(&inst);
        if leaves && is_new && peer.len() <= run.events.len() && !is_table_jump(&inst, terms, run) {
            return Ok(Step::Wait);
        }
        let mark = image.mark(&inst);
        let traps = mark.trap.is_some();
        let events = run.events.len();
        let mut cpu = Cpu { x86: self, image, inst, mark, is_new, terms, run, peer };
        let step = cpu.execute()?;
        if traps && cpu.run.events.len() == events {
            return Err(format!("the instruction at {:#x} cannot trap", cpu.inst.ip()));
        }
        Ok(step)
    }
}

fn is_indirect_jump(inst: &Instruction) -> bool {
    matches!(inst.code(), Code::Jmp_rm64)
}

/// Reports whether the target of an indirect jump is computed from a place in the code.
fn is_table_jump(inst: &Instruction, terms: &mut Terms, run: &Run<Mark>) -> bool {
    is_indirect_jump(inst)
        && inst.op0_kind() == OpKind::Register
        && terms.split_place(run.values[inst.op0_register().number()]).is_some()
}

/// One step: an instruction of one version, and the state it changes.
pub(super) struct Cpu<'a, 'b> {
    pub x86: &'a X86<'a>,
    pub image: &'a Image,
    pub inst: Instruction,
    pub mark: Mark,
    pub is_new: bool,
    pub terms: &'b mut Terms,
    pub run: &'b mut Run<Mark>,
    pub peer: &'b [Event<Mark>],
}

impl Cpu<'_, '_> {
    fn execute(&mut self) -> Done<Step> {
        let inst = self.inst;
        // The other segments begin at zero.
        let has_segment = matches!(inst.segment_prefix(), Register::FS | Register::GS);
        if has_segment && self.image.is_listing() {
            self.run.place = inst.next_ip() as Place;
            return self.copy_home();
        }
        if inst.has_rep_prefix() || inst.has_repne_prefix() || has_segment {
            return self.refused("a prefix");
        }
        self.run.place = inst.next_ip() as Place;
        match inst.mnemonic() {
            Mnemonic::Nop => {}
            Mnemonic::Jmp => return self.jump(),
            Mnemonic::Call => self.call()?,
            Mnemonic::Ret => return self.ret(),
            Mnemonic::Ud2 => return self.trap(),
            Mnemonic::Push => self.push()?,
            Mnemonic::Pop => self.pop()?,
            Mnemonic::Leave => self.leave_frame()?,
            Mnemonic::Mov => self.mov()?,
            Mnemonic::Movzx => self.extend(false)?,
            Mnemonic::Movsx | Mnemonic::Movsxd => self.extend(true)?,
            Mnemonic::Lea => self.lea()?,
            Mnemonic::Add | Mnemonic::Sub => self.sum()?,
            Mnemonic::Cmp => self.compare()?,
            Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => self.logic()?,
            Mnemonic::Shl if self.is_scale() => self.scale()?,
            Mnemonic::Imul if inst.op_count() > 1 => self.product()?,
            _ if inst.is_jcc_short_or_near() => return Ok(self.branch()),
            _ if inst.condition_code() != ConditionCode::None => self.conditional()?,
            _ if self.x86.reference.is_some() && self.has_vector() => self.scalar()?,
            _ => self.compute()?,
        }
        Ok(Step::On)
    }

    pub fn refused<T>(&self, what: &str) -> Done<T> {
        Err(format!("{what} of {:?} at {:#x} is not understood", self.inst.code(), self.inst.ip()))
    }

    /// Copies a whole register to a home or back: what a reference names by its segment.
    fn copy_home(&mut self) -> Done<Step> {
        let inst = self.inst;
        let home = LOCATIONS + inst.memory_displacement64() as usize;
        if inst.op0_kind() == OpKind::Memory {
            self.run.values[home] = self.run.values[self.location(inst.op1_register())?];
        } else {
            let register = self.location(inst.op0_register())?;
            self.run.values[register] = self.run.values[home];
        }
        Ok(Step::On)
    }

    // Registers.

    pub(super) fn location(&self, register: Register) -> Done<usize> {
        let full = register.full_register();
        match full.number() {
            number if full.is_gpr64() => Ok(number),
            number if full.is_vector_register() && number < VECTORS => Ok(VECTORS + number),
            _ => self.refused(&format!("{register:?}")),
        }
    }

    pub fn read_register(&mut self, register: Register) -> Done<Term> {
        let value = self.run.values[self.location(register)?];
        Ok(match register {
            Register::AH | Register::BH | Register::CH | Register::DH => {
                let high = Op::Instruction { code: Code::INVALID as u32, part: 8, more: 0 };
                let high = self.terms.apply(high, &[value]);
                self.terms.low(8, high)
            }
            _ if register.is_gpr() => self.terms.low(bits(register.size()), value),
            _ => value,
        })
    }

    pub fn write_register(&mut self, register: Register, value: Term) -> Done {
        let location = self.location(register)?;
        let old = self.run.values[location];
        let from =
            if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) { 8 } else { 0 };
        let size = register.size();
        self.run.values[location] = match size {
            1 | 2 => {
                let value = self.terms.low(bits(size), value);
                self.terms.apply(Op::Insert { bits: bits(size), from }, &[old, value])
            }
            4 => self.terms.low(32, value),
            _ => value,
        };
        Ok(())
    }

    // Memory.

    pub fn address(&mut self) -> Done<Term> {
        let inst = self.inst;
        if inst.is_ip_rel_memory_operand() {
            let place = inst.ip_rel_memory_address() as u32;
            return Ok(self.terms.apply(Op::Place { place, is_new: self.is_new }, &[]));
        }
        let mut address = self.terms.constant(inst.memory_displacement64());
        for (register, factor) in [(inst.memory_base(), 1), (inst.memory_index(), inst.memory_index_scale())]
        {
            if register != Register::None {
                if !register.is_gpr64() {
                    return self.refused("an address");
                }
                let value = self.read_register(register)?;
                address = self.terms.add_scaled(address, value, factor.into());
            }
        }
        Ok(address)
    }

    /// Returns what a trap handler can see of this version.
    pub fn shown(&self) -> SmallVec<[Term; 4]> {
        let mut shown: Args = smallvec![self.run.values[RSP], self.run.values[RBP]];
        if self.x86.is_pinned {
            shown.push(self.run.values[PINNED]);
        }
        shown
    }

    pub fn note(&mut self, what: What, values: Args) {
        let (place, accesses) = (self.inst.ip() as Place, self.run.memory.accesses());
        self.run.events.push(Event { what, values, mark: self.mark.clone(), place, accesses });
        if self.mark.trap.is_some() {
            self.run.memory.expose();
        }
    }

    pub fn load(&mut self, bytes: u32) -> Done<Term> {
        if self.inst.is_ip_rel_memory_operand() {
            return self.load_constant(bytes);
        }
        let address = self.address()?;
        self.load_at(address, bytes)
    }

    pub fn load_at(&mut self, address: Term, bytes: u32) -> Done<Term> {
        if self.mark.trap.is_some() {
            let mut values: Args = smallvec![address];
            values.extend(self.shown());
            self.note(What::Load(bytes), values);
        }
        let value = self.run.memory.load(self.terms, address, bytes);
        if self.terms.as_frame(address).is_none() {
            self.terms.note_load(value, self.is_new);
        }
        Ok(value)
    }

    fn load_constant(&mut self, bytes: u32) -> Done<Term> {
        let place = self.inst.ip_rel_memory_address() as u32;
        let Some(constant) = self.image.rest(place).get(..bytes as usize) else {
            return self.refused("a constant");
        };
        let words =
            constant.chunks(8).map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)));
        let words: Args = words.map(|word| self.terms.constant(word)).collect();
        // Some instructions fault on a misaligned 16-byte constant.
        let is_aligned = place.is_multiple_of(16);
        let constant = Op::Constant { bytes, is_aligned };
        Ok(if bytes <= 8 { words[0] } else { self.terms.apply(constant, &words) })
    }

    pub fn store(&mut self, bytes: u32, value: Term) -> Done {
        let address = self.address()?;
        self.store_at(address, bytes, value)
    }

    fn store_at(&mut self, address: Term, bytes: u32, value: Term) -> Done {
        let value = if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value };
        // Code that walks the frames only reads them.
        let is_link = value == self.run.values[RBP] && self.terms.as_frame(value).is_some();
        let is_private = match self.terms.as_frame(address) {
            Some(offset) => self.run.memory.is_private(offset, bytes),
            None => false,
        };
        if is_private && !self.is_allocated(address) {
            return self.refused("a store below the frame");
        }
        if self.terms.is_of_frame(value) && !is_link && !is_private {
            self.share();
        }
        let is_effective = self.run.memory.store(self.terms, address, bytes, value);
        if is_effective || self.mark.trap.is_some() {
            let mut values: Args = smallvec![address, value];
            if self.mark.trap.is_some() {
                values.extend(self.shown());
            }
            self.note(What::Store(bytes), values);
        }
        Ok(())
    }

    /// Reports whether an address in the frame is not below the stack pointer.
    fn is_allocated(&self, address: Term) -> bool {
        let frame = |term| self.terms.as_frame(term);
        frame(address).zip(frame(self.run.values[RSP])).is_some_and(|(address, top)| address >= top)
    }

    /// Records that others may know addresses in the frame from now on. Its contents stay known until others may write
    /// there: at a store to an unknown address, or at a call.
    pub fn share(&mut self) {
        self.run.memory.is_shared = true;
    }

    // Operands.

    /// Returns the size of an operand in bytes.
    pub fn size(&self, op: u32) -> u32 {
        match self.inst.op_kind(op) {
            OpKind::Register => self.inst.op_register(op).size() as u32,
            OpKind::Memory => self.inst.memory_size().size() as u32,
            _ => 0,
        }
    }

    pub fn read(&mut self, op: u32) -> Done<Term> {
        match self.inst.op_kind(op) {
            OpKind::Register => self.read_register(self.inst.op_register(op)),
            OpKind::Memory => self.load(self.size(op)),
            _ => match self.inst.try_immediate(op) {
                Ok(number) if self.inst.op_kind(op) == OpKind::Immediate64 => Ok(self.address_or(number)),
                Ok(number) => Ok(self.terms.constant(number)),
                Err(_) => self.refused("an operand"),
            },
        }
    }

    /// Returns a number, or the address that a relocation writes in its place.
    fn address_or(&mut self, number: u64) -> Term {
        match self.image.reloc(&self.inst) {
            Some(reloc) => {
                let routine = Op::Routine { number: reloc.target as u32, addend: reloc.addend };
                self.terms.apply(routine, &[])
            }
            None => self.terms.constant(number),
        }
    }

    /// Reads an operand of that many bytes, including an immediate.
    fn read_as(&mut self, op: u32, bytes: u32) -> Done<Term> {
        let value = self.read(op)?;
        Ok(if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value })
    }

    fn write(&mut self, op: u32, value: Term) -> Done {
        match self.inst.op_kind(op) {
            OpKind::Register => self.write_register(self.inst.op_register(op), value),
            OpKind::Memory => self.store(self.size(op), value),
            _ => self.refused("an operand"),
        }
    }

    // Instructions.

    fn mov(&mut self) -> Done {
        let value = self.read_as(1, self.size(0))?;
        self.write(0, value)
    }

    fn extend(&mut self, is_signed: bool) -> Done {
        let from = bits(self.size(1) as usize);
        let is_constant = self.inst.is_ip_rel_memory_operand();
        if self.inst.op1_kind() == OpKind::Memory && self.size(1) == 4 && !is_constant {
            let address = self.address()?;
            if let Some((table, distance)) = self.terms.split_place(address) {
                let entry = Op::Entry { table, is_new: self.is_new };
                let entry = self.terms.apply(entry, &[distance]);
                return self.write(0, entry);
            }
        }
        let value = self.read(1)?;
        let value = if is_signed { self.terms.sign_extended(from, value) } else { value };
        self.write(0, value)
    }

    fn lea(&mut self) -> Done {
        let address = self.address()?;
        self.write(0, address)
    }

    fn sum(&mut self) -> Done {
        let bytes = self.size(0);
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        let is_sum = self.inst.mnemonic() == Mnemonic::Add;
        let sum = self.terms.add_scaled(a, b, if is_sum { 1 } else { u64::MAX });
        let sum = self.terms.low(bits(bytes as usize), sum);
        let is_count = self.x86.is_pinned
            && bytes == 8
            && self.inst.op0_kind() == OpKind::Register
            && self.inst.op0_register().number() == PINNED;
        self.run.values[FLAGS] = match (is_sum, is_count) {
            (false, _) => self.terms.apply(Op::FlagsOfDifference(bytes as u8), &[a, b]),
            (true, true) => self.terms.apply(Op::FlagsOfCount, &[sum, a, b]),
            (true, false) => self.terms.apply(Op::FlagsOfSum(bytes as u8), &[a, b]),
        };
        self.write_result(sum)
    }

    /// Writes the first operand, which was read before.
    fn write_result(&mut self, value: Term) -> Done {
        match self.inst.op0_kind() {
            OpKind::Register => self.write_register(self.inst.op0_register(), value),
            _ => self.store(self.size(0), value),
        }
    }

    fn compare(&mut self) -> Done {
        let bytes = self.size(0);
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        // Nothing is carried and nothing overflows if zero is subtracted.
        self.run.values[FLAGS] = match self.terms.as_constant(b) {
            Some(0) => self.terms.apply(Op::FlagsOfResult(bytes as u8), &[a]),
            _ => self.terms.apply(Op::FlagsOfDifference(bytes as u8), &[a, b]),
        };
        Ok(())
    }

    /// Multiplies two numbers, one of which may be an immediate.
    fn product(&mut self) -> Done {
        let bytes = self.size(0);
        let first = self.inst.op_count() - 2;
        let (a, b) = (self.read(first)?, self.read_as(first + 1, bytes)?);
        let args = [a.min(b), a.max(b)];
        let of = |part| Op::Instruction { code: CHANGED | Mnemonic::Imul as u32, part, more: bytes };
        let product = self.terms.apply(of(10), &args);
        self.run.values[FLAGS] = self.terms.apply(of(9), &args);
        self.write(0, product)
    }

    fn logic(&mut self) -> Done {
        let bytes = self.size(0);
        let mnemonic = self.inst.mnemonic();
        let (a, b) = (self.read(0)?, self.read_as(1, bytes)?);
        let value = match mnemonic {
            Mnemonic::Xor if a == b => self.terms.constant(0),
            Mnemonic::And | Mnemonic::Or | Mnemonic::Test if a == b => a,
            _ => {
                // A test computes the same as a mask.
                let code = if mnemonic == Mnemonic::Test { Mnemonic::And } else { mnemonic } as u32;
                self.terms.apply(Op::Bitwise(code), &[a, b])
            }
        };
        self.run.values[FLAGS] = self.terms.apply(Op::FlagsOfResult(bytes as u8), &[value]);
        if mnemonic == Mnemonic::Test { Ok(()) } else { self.write_result(value) }
    }

    /// Reports whether a 64-bit register is shifted by an immediate.
    fn is_scale(&self) -> bool {
        self.inst.code() == Code::Shl_rm64_imm8 && self.inst.op0_kind() == OpKind::Register
    }

    fn scale(&mut self) -> Done {
        let value = self.read(0)?;
        let count = self.inst.immediate8() & 63;
        let scaled = self.terms.scaled(value, 1 << count);
        let number = self.terms.constant(count.into());
        let flags = self.run.values[FLAGS];
        let op = Op::Instruction { code: Mnemonic::Shl as u32, part: 6, more: 8 };
        self.run.values[FLAGS] = self.terms.apply(op, &[value, number, flags]);
        self.write(0, scaled)
    }

    fn push(&mut self) -> Done {
        if self.inst.op0_kind() != OpKind::Register || self.size(0) != 8 {
            return self.refused("an operand");
        }
        let value = self.read(0)?;
        let top = self.terms.add_constant(self.run.values[RSP], 8_u64.wrapping_neg());
        self.run.values[RSP] = top;
        self.store_at(top, 8, value)
    }

    fn pop(&mut self) -> Done {
        if self.inst.op0_kind() != OpKind::Register || self.size(0) != 8 {
            return self.refused("an operand");
        }
        let top = self.run.values[RSP];
        let value = self.load_at(top, 8)?;
        self.run.values[RSP] = self.terms.add_constant(top, 8);
        self.write(0, value)
    }

    fn leave_frame(&mut self) -> Done {
        let top = self.run.values[RBP];
        self.run.values[RBP] = self.load_at(top, 8)?;
        self.run.values[RSP] = self.terms.add_constant(top, 8);
        Ok(())
    }

    // Conditions.

    /// Returns a condition of the flags, and whether it is to be inverted.
    fn condition(&mut self) -> (Term, bool) {
        let number = self.inst.condition_code() as u8 - 1;
        let (mut base, is_opposite) = (number & !1, number & 1 == 1);
        let (equal, sign, less, at_most) = (4, 8, 12, 14);
        let mut flags = self.run.values[FLAGS];
        if let Some((Op::FlagsOfCount, &[sum, ..])) = self.terms.as_apply(flags)
            && [equal, sign, less, at_most].contains(&base)
        {
            flags = self.terms.apply(Op::FlagsOfResult(8), &[sum]);
        }
        // Flags of a result have no overflow, so less is the sign.
        if base == less && matches!(self.terms.as_apply(flags), Some((Op::FlagsOfResult(_), _))) {
            base = sign;
        }
        match self.tested(flags).filter(|_| base == equal) {
            Some((condition, is_zero)) => (condition, is_opposite != is_zero),
            None => (self.terms.apply(Op::Condition(base), &[flags]), is_opposite),
        }
    }

    /// Returns the condition of which flags test the truth value, and whether they say that it is zero if the condition
    /// is false.
    fn tested(&self, flags: Term) -> Option<(Term, bool)> {
        let (Op::FlagsOfResult(_), &[value]) = self.terms.as_apply(flags)? else { return None };
        let (Op::Select, &[condition, yes, no]) = self.terms.as_apply(value)? else { return None };
        match (self.terms.as_constant(yes)?, self.terms.as_constant(no)?) {
            (1.., 0) => Some((condition, true)),
            (0, 1..) => Some((condition, false)),
            _ => None,
        }
    }

    fn branch(&mut self) -> Step {
        let (condition, is_opposite) = self.condition();
        let (taken, next) = (self.inst.near_branch64() as Place, self.inst.next_ip() as Place);
        let places = if is_opposite { [next, taken] } else { [taken, next] };
        Step::Branch { condition, places }
    }

    fn conditional(&mut self) -> Done {
        let (condition, is_opposite) = self.condition();
        let bytes = self.size(0);
        let (then, other) = match self.inst.mnemonic() {
            _ if self.inst.op_count() == 1 => (self.terms.constant(1), self.terms.constant(0)),
            // `cmov`; other instructions are not known.
            _ if self.inst.op0_kind() == OpKind::Register => (self.read(1)?, self.read(0)?),
            _ => return self.refused("an operand"),
        };
        let (yes, no) = if is_opposite { (other, then) } else { (then, other) };
        // What `set` writes is a truth value, even if its numbers are the compared ones.
        let is_move = self.inst.op_count() == 2;
        let clamped = if is_move { self.clamped(condition, yes, no) } else { None };
        let value = match clamped {
            Some(clamped) => clamped,
            None => self.terms.apply(Op::Select, &[condition, yes, no]),
        };
        let value = if bytes < 8 { self.terms.low(bits(bytes as usize), value) } else { value };
        self.write(0, value)
    }

    /// Returns the smaller of a value and a constant, if a selection computes that.
    fn clamped(&mut self, condition: Term, yes: Term, no: Term) -> Option<Term> {
        let (below, below_or_equal) = (2, 6);
        let (Op::Condition(base), &[flags]) = self.terms.as_apply(condition)? else { return None };
        let zero = self.terms.constant(0);
        let (a, b) = match self.terms.as_apply(flags)? {
            (Op::FlagsOfDifference(_), &[a, b]) => (a, b),
            // A comparison with zero.
            (Op::FlagsOfResult(_), &[a]) => (a, zero),
            _ => return None,
        };
        let is_smaller = [below, below_or_equal].contains(&base) && (yes, no) == (a, b);
        let most = self.terms.as_constant(no).filter(|_| is_smaller)?;
        Some(self.terms.apply(Op::AtMost(most), &[yes]))
    }
}

fn bits(bytes: usize) -> u8 {
    8 * bytes.min(8) as u8
}
