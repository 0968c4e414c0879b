//! Instructions that compute an uninterpreted function of their operands.
//!
//! Invariant: each result of an instruction is a function of all that the instruction reads. An instruction that reads
//! or writes registers that are neither operands nor named by [`implicit`] is refused.

use iced_x86::{EncodingKind, Instruction, Mnemonic, OpAccess, OpKind, Register, RflagsBits};
use smallvec::SmallVec;

use super::machine::{CHANGED, Cpu, Done, FLAGS};
use crate::validate::What;
use crate::validate::{Args, Op, Term};

/// The operands of an instruction, by access.
#[derive(Default)]
struct Operands {
    /// The values that it reads.
    inputs: Args,
    /// The operands that it writes: in registers, and in memory.
    registers: SmallVec<[u32; 2]>,
    memory: Option<u32>,
}

impl Cpu<'_, '_> {
    /// Executes an instruction of which only the operands are known.
    pub(super) fn compute(&mut self) -> Done {
        let inst = self.inst;
        let (access, are_known) = self.usage();
        if !are_known || inst.has_op_mask() {
            return self.refused("a register");
        }
        let mut operands = self.operands(&access)?;
        let (reads, writes) = implicit(&inst);
        for &register in reads {
            operands.inputs.push(self.read_register(register)?);
        }
        let flags = self.run.values[FLAGS];
        if inst.rflags_read() != 0 {
            operands.inputs.push(flags);
        }
        let Operands { mut inputs, registers, memory } = operands;
        let is_effect = registers.is_empty() && writes.is_empty() && inst.rflags_modified() == 0;
        if memory.is_none() && (is_effect || self.mark.trap.is_some()) {
            let values = inputs.iter().copied().chain(self.shown()).collect();
            self.note(What::Other(inst.code() as u32), values);
        }
        if let Some(op) = memory {
            let value = self.result(10, &inputs);
            self.store(self.size(op), value)?;
        }
        let written = registers.iter().map(|&op| (op as u8, inst.op_register(op)));
        for (part, register) in written.chain((11..).zip(writes.iter().copied())) {
            let value = self.result(part, &inputs);
            self.write_register(register, value)?;
        }
        if inst.rflags_modified() != 0 {
            if may_keep_flags(&inst) {
                inputs.push(flags);
            }
            self.run.values[FLAGS] = self.result(9, &inputs);
        }
        Ok(())
    }

    /// Returns one of the results of the instruction.
    fn result(&mut self, part: u8, inputs: &[Term]) -> Term {
        let more = self.size(0) << 8 | u32::from(self.inst.has_lock_prefix());
        self.terms.apply(Op::Instruction { code: code_of(&self.inst), part, more }, inputs)
    }

    /// Sorts the operands of the instruction by how they are accessed.
    fn operands(&mut self, access: &[OpAccess]) -> Done<Operands> {
        let inst = self.inst;
        let mut operands = Operands::default();
        for (op, &access) in (0..inst.op_count()).zip(access) {
            let writes = matches!(
                access,
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            // An operand that is written conditionally, or in part, also counts as read.
            let is_merged = inst.op_kind(op) == OpKind::Register
                && inst.op_register(op).is_vector_register()
                && inst.encoding() == EncodingKind::Legacy;
            let reads = access != OpAccess::Write || is_merged;
            match inst.op_kind(op) {
                OpKind::Memory if access == OpAccess::NoMemAccess => operands.inputs.push(self.address()?),
                _ if reads => {
                    let value = self.read(op)?;
                    operands.inputs.push(if is_distance(&inst, op) {
                        self.terms.low(8, value)
                    } else {
                        value
                    });
                }
                _ => {}
            }
            match inst.op_kind(op) {
                OpKind::Register if writes => operands.registers.push(op),
                OpKind::Memory if writes => operands.memory = Some(op),
                _ => {}
            }
        }
        Ok(operands)
    }

    /// Returns how the operands are accessed, and whether all accessed registers are known.
    fn usage(&self) -> ([OpAccess; 5], bool) {
        let inst = &self.inst;
        let mut usage = self.x86.usage.borrow_mut();
        let info = usage.info(inst);
        let access = [0, 1, 2, 3, 4].map(|op| info.op_access(op));
        let (reads, writes) = implicit(inst);
        let full = Register::full_register;
        let is_known = |register: Register| {
            let is_operand =
                |op| inst.op_kind(op) == OpKind::Register && full(inst.op_register(op)) == register;
            (0..inst.op_count()).any(is_operand)
                || [inst.memory_base(), inst.memory_index()].map(full).contains(&register)
                || reads.iter().chain(writes).any(|&other| full(other) == register)
        };
        let are_known = info.used_registers().iter().all(|used| is_known(full(used.register())));
        let is_plain =
            info.used_memory().len() <= 1 && (0..inst.op_count()).all(|op| is_plain_kind(inst.op_kind(op)));
        (access, are_known && is_plain)
    }
}

/// Reports whether the operand is a shift amount, of which at most 6 bits count.
fn is_distance(inst: &Instruction, op: u32) -> bool {
    op == 2 && matches!(inst.mnemonic(), Mnemonic::Shlx | Mnemonic::Shrx | Mnemonic::Sarx)
}

/// Reports whether some flags may keep their values: not all are written, or none if a shift is by zero.
fn may_keep_flags(inst: &Instruction) -> bool {
    use Mnemonic::{Rcl, Rcr, Rol, Ror, Sar, Shl, Shld, Shr, Shrd};
    let all =
        RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;
    let is_shift = matches!(inst.mnemonic(), Rcl | Rcr | Rol | Ror | Sar | Shl | Shld | Shr | Shrd);
    is_shift || inst.rflags_modified() & all != all
}

fn is_plain_kind(kind: OpKind) -> bool {
    use OpKind::{Immediate8, Immediate8to16, Immediate8to32, Immediate8to64, Immediate16, Immediate32};
    let numbers = [Immediate8, Immediate16, Immediate32, Immediate8to16, Immediate8to32, Immediate8to64];
    let more = [OpKind::Register, OpKind::Memory, OpKind::Immediate32to64, OpKind::Immediate64];
    numbers.contains(&kind) || more.contains(&kind)
}

/// Returns the registers that an instruction reads and writes without naming them as operands.
fn implicit(inst: &Instruction) -> (&'static [Register], &'static [Register]) {
    use Register::{AL, AX, DX, EAX, EDX, RAX, RDX};
    let size = inst.op0_register().size().max(inst.memory_size().size());
    let of_size = |byte, all: [&'static [Register]; 3]| match size {
        1 => byte,
        2 => all[0],
        4 => all[1],
        _ => all[2],
    };
    match inst.mnemonic() {
        Mnemonic::Mul | Mnemonic::Imul if inst.op_count() == 1 => {
            (of_size(&[AL], [&[AX], &[EAX], &[RAX]]), of_size(&[AX], [&[AX, DX], &[EAX, EDX], &[RAX, RDX]]))
        }
        Mnemonic::Div | Mnemonic::Idiv => {
            let both = of_size(&[AX], [&[AX, DX], &[EAX, EDX], &[RAX, RDX]]);
            (both, both)
        }
        Mnemonic::Cbw => (&[AL], &[AX]),
        Mnemonic::Cwde => (&[AX], &[EAX]),
        Mnemonic::Cdqe => (&[EAX], &[RAX]),
        Mnemonic::Cwd => (&[AX], &[DX]),
        Mnemonic::Cdq => (&[EAX], &[EDX]),
        Mnemonic::Cqo => (&[RAX], &[RDX]),
        Mnemonic::Cmpxchg => {
            let old = of_size(&[AL], [&[AX], &[EAX], &[RAX]]);
            (old, old)
        }
        Mnemonic::Mulx if size == 4 => (&[EDX], &[]),
        Mnemonic::Mulx => (&[RDX], &[]),
        _ => (&[], &[]),
    }
}

/// Returns a code for the operation, regardless of the length of its immediate.
fn code_of(inst: &Instruction) -> u32 {
    let has_number = (0..inst.op_count()).any(|op| inst.try_immediate(op).is_ok());
    let is_general = inst.op0_kind() == OpKind::Register && inst.op0_register().is_gpr();
    if has_number && is_general && matches!(inst.mnemonic(), Mnemonic::Adc | Mnemonic::Sbb) {
        CHANGED | inst.mnemonic() as u32
    } else {
        inst.code() as u32
    }
}
