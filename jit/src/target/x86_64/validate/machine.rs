//! Executes x86-64 instructions on terms.
//!
//! What an instruction does is in the files of its kind: `instructions`, `conditions`, `control`, `scalar`, `compute`.
//! Moves, sums, extensions, comparisons and conditions are interpreted; the result of any other instruction is an
//! uninterpreted function of its operands. An instruction that reads or writes anything but its operands is refused,
//! unless it is handled here. Assumed, as `pinned` does: a count in the pinned register that is compared with zero did
//! not overflow when it was changed. So the flags of an addition to it agree with those of its result about the sign.
//! Source: AMD64 Architecture Programmer's Manual, volume 3; operands are those that `iced_x86` decodes.

use std::cell::RefCell;

use iced_x86::{Code, ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::convention::Conventions;
use super::image::{Image, Mark};
use crate::validate::{Event, Machine, Place, SharedPart, Side, Step, SymbolicRun};
use crate::validate::{Op, Term, Terms};

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
    pub reference: Option<Locations>,
}

/// The homes of values in a reference, which are locations behind all others, and the frame of its function.
#[derive(Clone, Debug)]
pub(super) struct Locations {
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

    fn step(
        &self,
        side: Side,
        terms: &mut Terms,
        run: &mut SymbolicRun<Mark>,
        peer: &[Event<Mark>],
    ) -> Done<Step> {
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
fn is_table_jump(inst: &Instruction, terms: &mut Terms, run: &SymbolicRun<Mark>) -> bool {
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
    pub run: &'b mut SymbolicRun<Mark>,
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
}
