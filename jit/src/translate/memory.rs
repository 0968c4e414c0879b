//! Loads, stores, `memory.size`, `memory.grow`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use wasmparser::{MemArg, Operator};

use super::Translator;
use crate::abi::{Builtin, GROW_TRAPS, TrapCode};

const I8: Type = types::I8;
const I16: Type = types::I16;
const I32: Type = types::I32;
const I64: Type = types::I64;

/// The extension of a narrow load to the width of its result.
#[derive(Clone, Copy)]
enum Extension {
    Signed,
    Unsigned,
}

impl Translator<'_> {
    pub(super) fn memory(&mut self, op: &Operator<'_>) -> bool {
        use Extension::{Signed, Unsigned};
        match op {
            Operator::I32Load { memarg } => self.load(memarg, I32),
            Operator::I64Load { memarg } => self.load(memarg, I64),
            Operator::F32Load { memarg } => self.load(memarg, types::F32),
            Operator::F64Load { memarg } => self.load(memarg, types::F64),
            Operator::I32Load8S { memarg } => self.load_narrow(memarg, I8, I32, Signed),
            Operator::I32Load8U { memarg } => self.load_narrow(memarg, I8, I32, Unsigned),
            Operator::I32Load16S { memarg } => self.load_narrow(memarg, I16, I32, Signed),
            Operator::I32Load16U { memarg } => self.load_narrow(memarg, I16, I32, Unsigned),
            Operator::I64Load8S { memarg } => self.load_narrow(memarg, I8, I64, Signed),
            Operator::I64Load8U { memarg } => self.load_narrow(memarg, I8, I64, Unsigned),
            Operator::I64Load16S { memarg } => self.load_narrow(memarg, I16, I64, Signed),
            Operator::I64Load16U { memarg } => self.load_narrow(memarg, I16, I64, Unsigned),
            Operator::I64Load32S { memarg } => self.load_narrow(memarg, I32, I64, Signed),
            Operator::I64Load32U { memarg } => self.load_narrow(memarg, I32, I64, Unsigned),
            Operator::I32Store { memarg } => self.store(memarg, I32),
            Operator::I64Store { memarg } => self.store(memarg, I64),
            Operator::F32Store { memarg } => self.store(memarg, types::F32),
            Operator::F64Store { memarg } => self.store(memarg, types::F64),
            Operator::I32Store8 { memarg } | Operator::I64Store8 { memarg } => self.store(memarg, I8),
            Operator::I32Store16 { memarg } | Operator::I64Store16 { memarg } => self.store(memarg, I16),
            Operator::I64Store32 { memarg } => self.store(memarg, I32),
            Operator::MemorySize { mem } => self.memory_size(*mem),
            Operator::MemoryGrow { mem } => self.memory_grow(*mem),
            _ => return false,
        }
        true
    }

    fn load(&mut self, arg: &MemArg, ty: Type) {
        let value = self.load_value(arg, ty);
        self.push(value);
    }

    /// Pops an index and loads a `ty` from there.
    pub(super) fn load_value(&mut self, arg: &MemArg, ty: Type) -> Value {
        let access = self.access(arg, u64::from(ty.bytes()));
        self.builder.ins().load(ty, access.flags, access.base, access.offset)
    }

    fn load_narrow(&mut self, arg: &MemArg, narrow: Type, wide: Type, extend: Extension) {
        let value = self.load_value(arg, narrow);
        let value = match extend {
            Extension::Signed => self.builder.ins().sextend(wide, value),
            Extension::Unsigned => self.builder.ins().uextend(wide, value),
        };
        self.push(value);
    }

    /// Stores the low part of the popped value that has type `ty`.
    fn store(&mut self, arg: &MemArg, ty: Type) {
        let value = self.pop();
        let narrower = self.builder.func.dfg.value_type(value) != ty;
        let value = if narrower { self.builder.ins().ireduce(ty, value) } else { value };
        self.store_value(arg, value);
    }

    /// Pops an index and stores `value` there.
    pub(super) fn store_value(&mut self, arg: &MemArg, value: Value) {
        let size = self.builder.func.dfg.value_type(value).bytes();
        let access = self.access(arg, u64::from(size));
        self.builder.ins().store(access.flags, value, access.base, access.offset);
    }

    fn memory_size(&mut self, index: u32) {
        let bytes = self.memory_len(index);
        let shift = self.builder.ins().iconst(I64, 16);
        let pages = self.builder.ins().ushr(bytes, shift);
        self.push_size(pages, self.input.env().info.memories[index as usize].memory64);
    }

    fn memory_grow(&mut self, index: u32) {
        let is_64 = self.input.env().info.memories[index as usize].memory64;
        let delta = self.pop();
        let delta = self.extend_index(delta, is_64);
        let memory = self.builder.ins().iconst(I32, i64::from(index));
        let old = self.builtin(Builtin::MemoryGrow, &[memory, delta]);
        self.trap_if_refused(old);
        self.push_size(old, is_64);
    }

    /// Traps if the embedder wants a trap instead of a grown memory or table.
    pub(super) fn trap_if_refused(&mut self, old: Value) {
        let refused = self.builder.ins().icmp_imm_s(IntCC::Equal, old, GROW_TRAPS);
        self.builder.ins().trapnz(refused, TrapCode::Host.to_clif());
    }

    /// Pushes a 64-bit size or -1 as the index type of a memory or table.
    pub(super) fn push_size(&mut self, size: Value, is_64: bool) {
        let size = if is_64 { size } else { self.builder.ins().ireduce(I32, size) };
        self.push(size);
    }
}
