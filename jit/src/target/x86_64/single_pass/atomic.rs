//! Atomic instructions except loads, which are plain loads on this processor.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, 9.2.2: a locked instruction is
//! ordered with all others; a plain store may be reordered with later loads, so a fence follows it.

use cranelift_codegen::ir::{self, AtomicRmwOp, Inst, MemFlags, Type, Value, types};

use super::assembler::{Alu, Cc, Mem, RAX, Reg, SCRATCH, Unary, Width, op};
use super::{Emitter, Unsupported};

impl Emitter<'_> {
    pub(super) fn fence(&mut self) {
        self.assembler.fence();
    }

    pub(super) fn atomic_store(&mut self, args: [Value; 2], flags: MemFlags) -> Result<(), Unsupported> {
        self.store(ir::Opcode::Store, args, flags, 0)?;
        self.assembler.fence();
        Ok(())
    }

    /// Reads memory, and writes the result of a computation on the old value and an operand.
    pub(super) fn atomic_rmw(
        &mut self,
        inst: Inst,
        update: AtomicRmwOp,
        [base, operand]: [Value; 2],
        flags: MemFlags,
    ) -> Result<(), Unsupported> {
        let ty = self.func.dfg.value_type(operand);
        let code = self.func.dfg.mem_flags[flags].trap_code();
        let alu = match update {
            AtomicRmwOp::Add | AtomicRmwOp::Sub | AtomicRmwOp::Xchg => {
                let to = self.take(operand)?;
                let mem = self.address(base, 0)?;
                if update == AtomicRmwOp::Sub {
                    self.assembler.unary(Unary::Neg, Width::W64, to);
                }
                self.may_trap(code);
                match update {
                    AtomicRmwOp::Xchg => self.assembler.op(op::exchange(bytes(ty)), width(ty), to, mem),
                    _ => self.assembler.locked(op::exchange_and_add(bytes(ty)), width(ty), to, mem),
                }
                self.done(inst, &[operand], to);
                return Ok(());
            }
            AtomicRmwOp::And => Alu::And,
            AtomicRmwOp::Or => Alu::Or,
            AtomicRmwOp::Xor => Alu::Xor,
            _ => return Err(Unsupported),
        };
        self.claim(RAX)?;
        // What the loop needs is in registers, also for its proof: no sum.
        self.compute(base)?;
        let with = self.reg(operand)?;
        let mem = self.address(base, 0)?;
        self.may_trap(code);
        self.assembler.op(op::load(bytes(ty)), width(ty), RAX, mem);
        let again = self.assembler.label();
        self.assembler.bind(again);
        self.assembler.mov(Width::W64, SCRATCH, RAX);
        self.assembler.alu(alu, Width::W64, SCRATCH, with);
        self.compare_exchange(ty, SCRATCH, mem, code);
        self.assembler.branch(Cc::NOT_EQUAL, again);
        self.done(inst, &[operand], RAX);
        Ok(())
    }

    pub(super) fn atomic_cas(
        &mut self,
        inst: Inst,
        [base, expected, replacement]: [Value; 3],
        flags: MemFlags,
    ) -> Result<(), Unsupported> {
        let ty = self.func.dfg.value_type(replacement);
        let code = self.func.dfg.mem_flags[flags].trap_code();
        self.compute(expected)?;
        self.claim(RAX)?;
        self.load_into(RAX, expected)?;
        let with = self.reg(replacement)?;
        let mem = self.address(base, 0)?;
        self.compare_exchange(ty, with, mem, code);
        self.done(inst, &[expected, replacement], RAX);
        Ok(())
    }

    /// Writes `with` to memory if it holds the value in rax, and loads its old value into rax.
    fn compare_exchange(&mut self, ty: Type, with: Reg, mem: Mem, code: Option<ir::TrapCode>) {
        self.may_trap(code);
        self.assembler.locked(op::compare_exchange(bytes(ty)), width(ty), with, mem);
    }
}

fn bytes(ty: Type) -> u32 {
    ty.bytes()
}

fn width(ty: Type) -> Width {
    if ty == types::I64 { Width::W64 } else { Width::W32 }
}
