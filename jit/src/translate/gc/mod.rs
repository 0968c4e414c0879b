//! Garbage-collected objects: structures, arrays, i31, casts.
//!
//! `abi::object` describes the layout of objects. Code allocates by advancing the cursor of the store's heap, and calls
//! the runtime when the hole is full. The runtime may collect without help from this code: it scans the frames of
//! machine code conservatively, and addresses derived from those of objects are roots too.

mod array;
mod cast;
mod structure;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use wasmparser::{CompositeInnerType, FieldType, Operator, StorageType, ValType};

use super::Translator;
use super::region::Region;
use crate::abi::object::{self, StructLayout};
use crate::abi::{Builtin, TrapCode, clif_type, store_context};

/// The extension of a field or element that is narrower than its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extend {
    No,
    Signed,
    Unsigned,
}

impl Translator<'_> {
    pub(super) fn gc(&mut self, op: &Operator<'_>) -> bool {
        self.structure(op) || self.array(op) || self.cast(op)
    }

    /// Returns the fields of a structure type.
    fn fields(&self, ty: u32) -> &[FieldType] {
        match &self.input.env().info.types.get(ty).composite_type.inner {
            CompositeInnerType::Struct(of) => &of.fields,
            other => unreachable!("validated: {other:?} is a structure"),
        }
    }

    fn layout_of(&self, ty: u32) -> StructLayout {
        StructLayout::new(self.fields(ty))
    }

    /// Returns the storage type of an array type's elements.
    fn element_of(&self, ty: u32) -> StorageType {
        match &self.input.env().info.types.get(ty).composite_type.inner {
            CompositeInnerType::Array(of) => of.0.element_type,
            other => unreachable!("validated: {other:?} is an array"),
        }
    }

    /// Traps if a reference is null.
    fn check_null(&mut self, reference: Value) {
        self.builder.ins().trapz(reference, TrapCode::NullReference.to_clif());
    }

    /// Returns the flags of accesses to objects, which are mapped, and aligned up to 8 bytes.
    fn object_flags(&mut self, storage: StorageType) -> MemFlagsData {
        let flags = MemFlagsData::new().with_notrap();
        let flags = self.interned.flags(flags, Region::Objects, self.builder.func);
        if object::size_of(storage) <= object::ALIGN { flags.with_aligned() } else { flags }
    }

    /// Returns the flags of accesses to an object's immutable head. Not movable: the reference may be null before its
    /// check.
    fn head_flags(&mut self) -> MemFlagsData {
        self.interned.flags(MemFlagsData::trusted(), Region::Heads, self.builder.func)
    }

    fn load_field(&mut self, storage: StorageType, extend: Extend, base: Value, offset: i32) -> Value {
        let flags = self.object_flags(storage);
        let ins = self.builder.ins();
        match (storage, extend) {
            (StorageType::I8, Extend::Signed) => ins.sload8(types::I32, flags, base, offset),
            (StorageType::I8, _) => ins.uload8(types::I32, flags, base, offset),
            (StorageType::I16, Extend::Signed) => ins.sload16(types::I32, flags, base, offset),
            (StorageType::I16, _) => ins.uload16(types::I32, flags, base, offset),
            (StorageType::Val(ty), _) => ins.load(clif_type(ty), flags, base, offset),
        }
    }

    fn store_field(&mut self, storage: StorageType, value: Value, base: Value, offset: i32) {
        let flags = self.object_flags(storage);
        let ins = self.builder.ins();
        match storage {
            StorageType::I8 => ins.istore8(flags, value, base, offset),
            StorageType::I16 => ins.istore16(flags, value, base, offset),
            StorageType::Val(_) => ins.store(flags, value, base, offset),
        };
    }

    /// Allocates an object of `size` bytes, zero except for its head.
    fn allocate(&mut self, ty: u32, length: Value, size: Value) -> Value {
        let store = self.store_context();
        let flags = self.counter_flags();
        let cursor = self.builder.ins().load(types::I64, flags, store, store_context::HEAP_CURSOR);
        let limit = self.builder.ins().load(types::I64, flags, store, store_context::HEAP_LIMIT);
        let end = self.builder.ins().iadd(cursor, size);
        let is_full = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        let [slow, fast, done] = [(); 3].map(|()| self.builder.create_block());
        let object = self.builder.append_block_param(done, types::I64);
        self.builder.ins().brif(is_full, slow, &[], fast, &[]);

        self.builder.switch_to_block(fast);
        self.builder.seal_block(fast);
        self.builder.ins().store(flags, end, store, store_context::HEAP_CURSOR);
        self.write_head(ty, length, cursor);
        self.builder.ins().jump(done, &[cursor.into()]);

        self.builder.switch_to_block(slow);
        self.builder.seal_block(slow);
        self.builder.set_cold_block(slow);
        let id = self.builder.ins().iconst(types::I32, i64::from(self.input.env().type_ids[ty as usize]));
        let new = self.builtin(Builtin::Allocate, &[id, length]);
        self.builder.ins().trapz(new, TrapCode::Host.to_clif());
        self.builder.ins().jump(done, &[new.into()]);

        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
        self.count_object(ty, size);
        object
    }

    fn write_head(&mut self, ty: u32, length: Value, object: Value) {
        let flags = self.head_flags();
        let is_array =
            matches!(self.input.env().info.types.get(ty).composite_type.inner, CompositeInnerType::Array(_));
        let word = object::type_word(self.input.env().type_ids[ty as usize], is_array);
        let word = self.builder.ins().iconst(types::I32, i64::from(word));
        self.builder.ins().store(flags, word, object, object::TYPE);
        self.builder.ins().store(flags, length, object, object::LENGTH);
    }

    /// Returns the two halves of a value, as the runtime takes them.
    fn halves(&mut self, storage: StorageType, value: Value) -> [Value; 2] {
        let zero = self.builder.ins().iconst(types::I64, 0);
        let bits = MemFlagsData::new();
        match storage {
            StorageType::I8 | StorageType::I16 | StorageType::Val(ValType::I32) => {
                [self.builder.ins().uextend(types::I64, value), zero]
            }
            StorageType::Val(ValType::F32) => {
                let value = self.builder.ins().bitcast(types::I32, bits, value);
                [self.builder.ins().uextend(types::I64, value), zero]
            }
            StorageType::Val(ValType::F64) => [self.builder.ins().bitcast(types::I64, bits, value), zero],
            StorageType::Val(ValType::I64 | ValType::Ref(_)) => [value, zero],
            StorageType::Val(ValType::V128) => {
                let little = bits.with_endianness(cranelift_codegen::ir::Endianness::Little);
                let lanes = self.builder.ins().bitcast(types::I64X2, little, value);
                [0, 1].map(|lane| self.builder.ins().extractlane(lanes, lane))
            }
        }
    }
}
