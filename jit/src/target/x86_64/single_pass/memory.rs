//! Loads and stores.

use cranelift_codegen::ir::{Inst, MemFlags, Opcode, Type, Value, types};

use super::assembler::{Mem, Op, RBP, Width, op};
use super::registers::Kind;
use super::{Emitter, Unsupported};

impl Emitter<'_> {
    /// Returns the address of an access. Its operands are used up, but stay locked.
    pub(super) fn address(&mut self, base: Value, offset: i32) -> Result<Mem, Unsupported> {
        match self.kind(base) {
            Kind::Frame(place) => {
                self.use_up(base);
                return Ok(Mem::at(RBP, place + offset));
            }
            Kind::Deferred(sum) => {
                if let Some(mem) = self.sum_address(sum, offset)? {
                    self.use_up(base);
                    return Ok(mem);
                }
            }
            _ => {}
        }
        let reg = self.reg(base)?;
        self.use_up(base);
        Ok(Mem::at(reg, offset))
    }

    /// Returns the address given by a deferred sum; `None` if the offset does not fit.
    fn sum_address(&mut self, sum: Inst, offset: i32) -> Result<Option<Mem>, Unsupported> {
        let [a, b] = *self.func.dfg.inst_args(sum) else { return Ok(None) };
        if let Some(constant) = self.small_constant(b) {
            let Some(offset) = offset.checked_add(constant) else { return Ok(None) };
            let base = self.reg(a)?;
            self.use_up(a);
            self.use_up(b);
            return Ok(Some(Mem::at(base, offset)));
        }
        let (base, index) = (self.reg(a)?, self.reg(b)?);
        self.use_up(a);
        self.use_up(b);
        Ok(Some(Mem { base, index: Some(index), offset }))
    }

    pub(super) fn load(
        &mut self,
        inst: Inst,
        opcode: Opcode,
        base: Value,
        flags: MemFlags,
        offset: i32,
    ) -> Result<(), Unsupported> {
        let result = self.func.dfg.first_result(inst);
        let (op, width) = loading(opcode, self.func.dfg.value_type(result))?;
        let mem = self.address(base, offset)?;
        for reg in std::iter::once(mem.base).chain(mem.index) {
            // Operands that are used up may be overwritten.
            if self.registers.holds(reg).is_none() {
                self.registers.unlock(reg);
            }
        }
        let to = self.fresh(self.is_float(result))?;
        self.may_trap(self.func.dfg.mem_flags[flags].trap_code());
        self.assembler.op(op, width, to, mem);
        self.define(result, to);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        opcode: Opcode,
        [value, base]: [Value; 2],
        flags: MemFlags,
        offset: i32,
    ) -> Result<(), Unsupported> {
        let ty = self.func.dfg.value_type(value);
        let bytes = stored_bytes(opcode, ty)?;
        let code = self.func.dfg.mem_flags[flags].trap_code();
        // Where the host lets code continue after a store, the store is not of a constant (`translate/probe.rs`).
        let constant = if ty.is_float() { None } else { self.small_constant(value) };
        if let Some(constant) = constant {
            let mem = self.address(base, offset)?;
            self.may_trap(code);
            self.assembler.store_constant(bytes, mem, constant);
        } else {
            let reg = self.reg(value)?;
            let mem = self.address(base, offset)?;
            self.may_trap(code);
            self.assembler.op(storing(bytes, ty), wide(bytes == 8 && !ty.is_float()), reg, mem);
        }
        self.use_up(value);
        Ok(())
    }
}

fn wide(is_wide: bool) -> Width {
    if is_wide { Width::W64 } else { Width::W32 }
}

fn loading(opcode: Opcode, ty: Type) -> Result<(Op, Width), Unsupported> {
    let signed = wide(ty == types::I64);
    Ok(match (opcode, ty) {
        (Opcode::Load, types::I8) | (Opcode::Uload8, _) => (op::MOVZX_BYTE, Width::W32),
        (Opcode::Load, types::I16) | (Opcode::Uload16, _) => (op::MOVZX_WORD, Width::W32),
        (Opcode::Load, types::I32) | (Opcode::Uload32, _) => (op::MOV, Width::W32),
        (Opcode::Load, types::I64) => (op::MOV, Width::W64),
        (Opcode::Load, types::F32) => (op::LOAD_F32, Width::W32),
        (Opcode::Load, types::F64) => (op::LOAD_F64, Width::W32),
        (Opcode::Sload8, _) => (op::MOVSX_BYTE, signed),
        (Opcode::Sload16, _) => (op::MOVSX_WORD, signed),
        (Opcode::Sload32, _) => (op::MOVSX_DOUBLE, signed),
        _ => return Err(Unsupported),
    })
}

fn stored_bytes(opcode: Opcode, ty: Type) -> Result<u32, Unsupported> {
    match opcode {
        Opcode::Store if ty.bytes() <= 8 && !ty.is_vector() => Ok(ty.bytes()),
        Opcode::Istore8 => Ok(1),
        Opcode::Istore16 => Ok(2),
        Opcode::Istore32 => Ok(4),
        _ => Err(Unsupported),
    }
}

fn storing(bytes: u32, ty: Type) -> Op {
    match (bytes, ty) {
        (_, types::F32) => op::STORE_F32,
        (_, types::F64) => op::STORE_F64,
        (1, _) => op::STORE_BYTE,
        (2, _) => op::STORE_WORD,
        _ => op::STORE,
    }
}
