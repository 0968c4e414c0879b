//! Loads, stores and atomic instructions. The address is in `rcx`, what is loaded or stored in `rax` or `xmm0`.

use cranelift_codegen::ir::{self, AtomicRmwOp, Inst, MemFlags, Opcode, Type, Value, types};
use iced_x86::{Code as Op, Register};

use super::listing::{Operand, cc};
use super::{Done, Reader};
use crate::abi::TrapCode;
use crate::code::TrapSite;
use Register::{AL, AX, DL, DX, EAX, EDX, R11, R11D, R11L, R11W, RAX, RCX, RDX, XMM0};

/// Returns the form of an instruction for operands of that many bytes.
fn form<T>(bytes: u32, [one, two, four, eight]: [T; 4]) -> T {
    match bytes {
        1 => one,
        2 => two,
        4 => four,
        _ => eight,
    }
}

impl Reader<'_> {
    /// Records that the next instruction may trap.
    pub(super) fn may_trap(&mut self, code: Option<ir::TrapCode>) {
        if let Some(code) = code {
            self.trap_site(code, self.location);
        }
    }

    pub(super) fn trap_site(&mut self, code: ir::TrapCode, location: u32) {
        if let Some(known) = TrapCode::from_clif(code) {
            let origin = self.origins.of_trap(Some(location), location, code);
            self.code.trap(TrapSite { pc: self.code.here(), code: known, origin });
        }
    }

    fn trap_of(&self, flags: MemFlags) -> Option<ir::TrapCode> {
        self.func.dfg.mem_flags[flags].trap_code()
    }

    pub(super) fn load(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        base: Value,
        flags: MemFlags,
        offset: i32,
    ) -> Done {
        let ty = self.type_of(self.func.dfg.first_result(inst));
        let is_long = ty == types::I64;
        let (op, to) = match (opcode, ty) {
            (Opcode::Load, types::I8) | (Opcode::Uload8, _) => (Op::Movzx_r32_rm8, EAX),
            (Opcode::Load, types::I16) | (Opcode::Uload16, _) => (Op::Movzx_r32_rm16, EAX),
            (Opcode::Load, types::I32) | (Opcode::Uload32, _) => (Op::Mov_r32_rm32, EAX),
            (Opcode::Load, types::I64) => (Op::Mov_r64_rm64, RAX),
            (Opcode::Load, types::F32) => (Op::Movss_xmm_xmmm32, XMM0),
            (Opcode::Load, types::F64) => (Op::Movsd_xmm_xmmm64, XMM0),
            (Opcode::Sload8, _) if is_long => (Op::Movsx_r64_rm8, RAX),
            (Opcode::Sload8, _) => (Op::Movsx_r32_rm8, EAX),
            (Opcode::Sload16, _) if is_long => (Op::Movsx_r64_rm16, RAX),
            (Opcode::Sload16, _) => (Op::Movsx_r32_rm16, EAX),
            (Opcode::Sload32, _) => (Op::Movsxd_r64_rm32, RAX),
            _ => return Err(format!("{opcode} of {ty} is not read")),
        };
        self.get(RCX, base)?;
        self.may_trap(self.trap_of(flags));
        self.code.two(op, to, Operand::At(RCX, offset.into()));
        self.put(inst, if ty.is_float() { XMM0 } else { RAX })
    }

    pub(super) fn store(
        &mut self,
        opcode: Opcode,
        [value, base]: [Value; 2],
        flags: MemFlags,
        offset: i32,
    ) -> Done {
        let ty = self.type_of(value);
        let bytes = match opcode {
            Opcode::Istore8 => 1,
            Opcode::Istore16 => 2,
            Opcode::Istore32 => 4,
            _ if ty.bits() <= 64 && !ty.is_vector() => ty.bytes(),
            _ => return Err(format!("{opcode} of {ty} is not read")),
        };
        let (op, from) = match ty {
            types::F32 => (Op::Movss_xmmm32_xmm, XMM0),
            types::F64 => (Op::Movsd_xmmm64_xmm, XMM0),
            _ => {
                let ops = [Op::Mov_rm8_r8, Op::Mov_rm16_r16, Op::Mov_rm32_r32, Op::Mov_rm64_r64];
                (form(bytes, ops), form(bytes, [AL, AX, EAX, RAX]))
            }
        };
        self.get(if ty.is_float() { XMM0 } else { RAX }, value)?;
        self.get(RCX, base)?;
        self.may_trap(self.trap_of(flags));
        self.code.two(op, Operand::At(RCX, offset.into()), from);
        Ok(())
    }

    /// Stores, and lets no later instruction begin before other threads can read that.
    pub(super) fn atomic_store(&mut self, args: [Value; 2], flags: MemFlags) -> Done {
        self.store(Opcode::Store, args, flags, 0)?;
        self.code.plain(Op::Mfence);
        Ok(())
    }

    pub(super) fn atomic_rmw(
        &mut self,
        inst: Inst,
        update: AtomicRmwOp,
        [base, operand]: [Value; 2],
        flags: MemFlags,
    ) -> Done {
        let ty = self.type_of(operand);
        let code = self.trap_of(flags);
        self.get(RCX, base)?;
        self.get(RAX, operand)?;
        let register = form(ty.bytes(), [AL, AX, EAX, RAX]);
        let add = [Op::Xadd_rm8_r8, Op::Xadd_rm16_r16, Op::Xadd_rm32_r32, Op::Xadd_rm64_r64];
        match update {
            AtomicRmwOp::Add => {
                self.may_trap(code);
                self.code.locked(form(ty.bytes(), add), Operand::At(RCX, 0), register);
            }
            AtomicRmwOp::Sub => {
                self.code.one(Op::Neg_rm64, RAX);
                self.may_trap(code);
                self.code.locked(form(ty.bytes(), add), Operand::At(RCX, 0), register);
            }
            AtomicRmwOp::Xchg => {
                let exchange = [Op::Xchg_rm8_r8, Op::Xchg_rm16_r16, Op::Xchg_rm32_r32, Op::Xchg_rm64_r64];
                self.may_trap(code);
                self.code.two(form(ty.bytes(), exchange), Operand::At(RCX, 0), register);
            }
            AtomicRmwOp::And => return self.update(inst, Op::And_r64_rm64, ty, code),
            AtomicRmwOp::Or => return self.update(inst, Op::Or_r64_rm64, ty, code),
            AtomicRmwOp::Xor => return self.update(inst, Op::Xor_r64_rm64, ty, code),
            _ => return Err(format!("{update:?} is not read")),
        }
        self.put(inst, RAX)
    }

    /// Replaces memory by a function of itself and `rax`, again and again until nobody else has changed it meanwhile.
    fn update(&mut self, inst: Inst, op: Op, ty: Type, code: Option<ir::TrapCode>) -> Done {
        self.code.two(Op::Mov_r64_rm64, RDX, RAX);
        let load = [Op::Movzx_r32_rm8, Op::Movzx_r32_rm16, Op::Mov_r32_rm32, Op::Mov_r64_rm64];
        self.may_trap(code);
        self.code.two(form(ty.bytes(), load), form(ty.bytes(), [EAX, EAX, EAX, RAX]), Operand::At(RCX, 0));
        let again = self.code.label();
        self.code.bind(again);
        self.code.two(Op::Mov_r64_rm64, R11, RAX);
        self.code.two(op, R11, RDX);
        self.compare_exchange(ty, form(ty.bytes(), [R11L, R11W, R11D, R11]), code);
        self.code.branch(cc::NOT_EQUAL, again);
        self.put(inst, RAX)
    }

    pub(super) fn atomic_cas(
        &mut self,
        inst: Inst,
        [base, expected, replacement]: [Value; 3],
        flags: MemFlags,
    ) -> Done {
        let ty = self.type_of(replacement);
        self.get(RCX, base)?;
        self.get(RAX, expected)?;
        self.get(RDX, replacement)?;
        self.compare_exchange(ty, form(ty.bytes(), [DL, DX, EDX, RDX]), self.trap_of(flags));
        self.put(inst, RAX)
    }

    /// Writes a register to memory if `rax` is there, and puts what was there into `rax`.
    fn compare_exchange(&mut self, ty: Type, with: Register, code: Option<ir::TrapCode>) {
        let ops = [Op::Cmpxchg_rm8_r8, Op::Cmpxchg_rm16_r16, Op::Cmpxchg_rm32_r32, Op::Cmpxchg_rm64_r64];
        self.may_trap(code);
        self.code.locked(form(ty.bytes(), ops), Operand::At(RCX, 0), with);
    }
}
