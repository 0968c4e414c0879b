//! Addresses in linear memory: bounds checks, and guard pages that make them unnecessary.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use wasmparser::{MemArg, MemArgTarget, MemoryType};

use super::Translator;
use super::region::Region;
use crate::abi::{TrapCode, memory};

/// The address, constant offset and flags of an access.
pub(super) struct Access {
    pub(super) base: Value,
    pub(super) offset: i32,
    pub(super) flags: MemFlagsData,
}

impl Translator<'_> {
    /// Pops the index of an access of `size` bytes, checks it unless guard pages do, and returns the address.
    pub(super) fn access(&mut self, arg: &MemArg, size: u64) -> Access {
        let index = self.pop();
        self.see_access(arg, index, size, 0);
        self.place(arg, index, size)
    }

    /// Checks an access of `size` bytes at an index unless guard pages do, and returns the address.
    pub(super) fn place(&mut self, arg: &MemArg, index: Value, size: u64) -> Access {
        let ty = self.input.env().info.memories[memory_of(arg) as usize];
        let (base, offset) = match self.is_covered_by_guard(&ty, arg.offset.saturating_add(size)) {
            true => self.guarded_address(arg, index),
            false => {
                let index = self.extend_index(index, ty.memory64);
                (self.checked_address(arg, &ty, index, size), 0)
            }
        };
        Access { base, offset, flags: self.heap_flags(memory_of(arg)) }
    }

    /// Returns address and offset of an access that guard pages check; one at a constant index needs no addition.
    fn guarded_address(&mut self, arg: &MemArg, index: Value) -> (Value, i32) {
        let memory = memory_of(arg);
        let (index, constant) = self.as_sum(index);
        let offset = arg.offset + constant;
        if let Some(address) = self.addresses.address(memory, index) {
            return self.fold_offset(address, offset);
        }
        let start = self.memory_base(memory);
        let extended = self.extend_shifted(index);
        let place = self.constant_of(extended).and_then(|index| i32::try_from(index + offset).ok());
        if let Some(place) = place {
            return (start, place);
        }
        let address = self.builder.ins().iadd(start, extended);
        self.addresses.keep_address(memory, index, address);
        self.fold_offset(address, offset)
    }

    /// Records an access in traces, recorded bursts and the simulated cache, even if it will trap. `number` is the
    /// number of the access within the instruction.
    pub(super) fn see_access(&mut self, arg: &MemArg, index: Value, size: u64, number: u32) {
        if !self.input.options().records_references() && self.input.options().cache.is_none() {
            return;
        }
        let memory = memory_of(arg);
        let is_64 = self.input.env().info.memories[memory as usize].memory64;
        let index = self.extend_index(index, is_64);
        self.record_access((index, arg.offset), size, is_64, number);
        if self.input.options().cache.is_some() {
            let start = self.memory_base(memory);
            let (address, rest) = self.fold_offset(index, arg.offset);
            let address = self.offset_by(address, rest);
            self.touch(start, address, size);
        }
    }

    /// Zero-extends an index, size or length of a memory or table to 64 bits.
    pub(super) fn extend_index(&mut self, index: Value, is_64: bool) -> Value {
        match self.constant_of(index) {
            _ if is_64 => index,
            Some(constant) => self.builder.ins().iconst(types::I64, i64::from(constant as u32)),
            None => self.builder.ins().uextend(types::I64, index),
        }
    }

    pub(super) fn heap_flags(&mut self, index: u32) -> MemFlagsData {
        let region = match index < self.input.env().info.imported_memories {
            true => Region::ImportedMemories,
            false => Region::Memory(index),
        };
        let code = self.access_code(TrapCode::MemoryOutOfBounds);
        let flags = MemFlagsData::new()
            .with_endianness(cranelift_codegen::ir::Endianness::Little)
            .with_trap_code(Some(code));
        self.interned.flags(flags, region, self.builder.func)
    }

    /// Reports whether every index plus `end` lies within reservation and guard, so that the hardware checks.
    fn is_covered_by_guard(&self, ty: &MemoryType, end: u64) -> bool {
        let style = &self.input.options().memory;
        let beyond_indices = style.reservation.saturating_add(style.guard).saturating_sub(4 << 30);
        !ty.memory64 && style.is_static() && end <= beyond_indices
    }

    fn fold_offset(&mut self, address: Value, offset: u64) -> (Value, i32) {
        match i32::try_from(offset) {
            Ok(offset) => (address, offset),
            Err(_) => {
                let offset = self.builder.ins().iconst(types::I64, offset as i64);
                (self.builder.ins().iadd(address, offset), 0)
            }
        }
    }

    /// Computes the address of byte `index + offset`, or traps. With Spectre guards an out-of-bounds index yields
    /// address 0 even when mispredicted, and the access itself traps there.
    fn checked_address(&mut self, arg: &MemArg, ty: &MemoryType, index: Value, size: u64) -> Value {
        let out_of_bounds = self.out_of_bounds(arg, ty, index, size);
        if self.input.options().explicit_traps {
            self.builder.ins().trapnz(out_of_bounds, TrapCode::MemoryOutOfBounds.to_clif());
        }
        let start = self.memory_base(memory_of(arg));
        let address = self.builder.ins().iadd(start, index);
        let (address, rest) = self.fold_offset(address, arg.offset);
        let address = self.offset_by(address, rest);
        if self.input.options().spectre_guards {
            let zero = self.builder.ins().iconst(types::I64, 0);
            return self.builder.ins().select_spectre_guard(out_of_bounds, zero, address);
        }
        if !self.input.options().explicit_traps {
            self.builder.ins().trapnz(out_of_bounds, TrapCode::MemoryOutOfBounds.to_clif());
        }
        address
    }

    pub(super) fn offset_by(&mut self, address: Value, offset: i32) -> Value {
        if offset == 0 {
            return address;
        }
        let offset = self.builder.ins().iconst(types::I64, i64::from(offset));
        self.builder.ins().iadd(address, offset)
    }

    /// Tests whether the access reaches beyond the memory's current size.
    fn out_of_bounds(&mut self, arg: &MemArg, ty: &MemoryType, index: Value, size: u64) -> Value {
        let code = TrapCode::MemoryOutOfBounds.to_clif();
        let Some(end) = arg.offset.checked_add(size) else {
            return self.builder.ins().iconst(types::I8, 1);
        };
        let len = self.memory_len(memory_of(arg));
        let least = ty.initial.saturating_mul(1 << 16);
        let end_value = self.builder.ins().iconst(types::I64, end as i64);
        if end <= least {
            // The memory is never smaller than `end`, so the subtraction cannot wrap.
            let last = self.builder.ins().isub(len, end_value);
            return self.builder.ins().icmp(IntCC::UnsignedGreaterThan, index, last);
        }
        let reached = match ty.memory64 {
            true => self.builder.ins().uadd_overflow_trap(index, end_value, code),
            false => self.builder.ins().iadd(index, end_value),
        };
        self.builder.ins().icmp(IntCC::UnsignedGreaterThan, reached, len)
    }

    /// Returns the address of a memory's byte 0.
    pub(super) fn memory_base(&mut self, index: u32) -> Value {
        if let Some(base) = self.addresses.base(index) {
            return base;
        }
        let (definition, offset) = self.memory_definition(index);
        let ty = &self.input.env().info.memories[index as usize];
        if ty.shared || self.input.options().memory.is_static() && !ty.memory64 {
            let base = self.load_constant(types::I64, definition, offset + memory::BASE);
            self.addresses.keep_base(index, base);
            return base;
        }
        let flags = self.definition_flags(Region::MemoryDefinitions);
        self.builder.ins().load(types::I64, flags, definition, offset + memory::BASE)
    }

    /// Returns a memory's size in bytes. Other threads may grow a shared one.
    pub(super) fn memory_len(&mut self, index: u32) -> Value {
        let (definition, offset) = self.memory_definition(index);
        let flags = self.definition_flags(Region::MemoryDefinitions);
        if self.input.env().info.memories[index as usize].shared {
            let address = self.offset_by(definition, offset + memory::LEN);
            return self.builder.ins().atomic_load(types::I64, flags, address);
        }
        self.builder.ins().load(types::I64, flags, definition, offset + memory::LEN)
    }

    pub(super) fn definition_flags(&mut self, region: Region) -> MemFlagsData {
        self.interned.flags(MemFlagsData::trusted(), region, self.builder.func)
    }

    fn memory_definition(&mut self, index: u32) -> (Value, i32) {
        let imported = self.input.env().info.imported_memories;
        match index.checked_sub(imported) {
            Some(own) if self.input.env().info.memories[index as usize].shared => {
                (self.load_constant(types::I64, self.vmctx, self.input.env().layout.memory(own) as i32), 0)
            }
            Some(own) => (self.vmctx, self.input.env().layout.memory(own) as i32),
            None => {
                let at = self.input.env().layout.memory_import(index) as i32;
                (self.load_constant(types::I64, self.vmctx, at), 0)
            }
        }
    }
}

/// Returns the memory that an access names; validation refuses the other kind, arrays.
fn memory_of(arg: &MemArg) -> u32 {
    match arg.target {
        MemArgTarget::Memory(index) => index,
        MemArgTarget::Array(_) => unreachable!("validated: arrays are not enabled"),
    }
}
