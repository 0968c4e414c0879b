//! Arrays. Operations on many elements call the runtime.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use wasmparser::{Operator, StorageType};

use super::Extend;
use crate::abi::object::{self, ALIGN, FIELDS};
use crate::abi::{Builtin, TrapCode};
use crate::translate::Translator;

impl Translator<'_> {
    pub(super) fn array(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::ArrayNew { array_type_index } => {
                let (length, value) = (self.pop(), self.pop());
                let array = self.new_array(array_type_index, length);
                let zero = self.index(0);
                self.fill_array(array_type_index, [array, zero, value, length]);
                self.push(array);
            }
            Operator::ArrayNewDefault { array_type_index } => {
                let length = self.pop();
                let array = self.new_array(array_type_index, length);
                self.push(array);
            }
            Operator::ArrayNewFixed { array_type_index, array_size } => {
                self.new_fixed(array_type_index, array_size);
            }
            Operator::ArrayNewData { array_type_index, array_data_index } => {
                self.new_from(Builtin::ArrayNewData, array_type_index, array_data_index);
            }
            Operator::ArrayNewElem { array_type_index, array_elem_index } => {
                self.new_from(Builtin::ArrayNewElem, array_type_index, array_elem_index);
            }
            Operator::ArrayGet { array_type_index } => self.read_element(array_type_index, Extend::No),
            Operator::ArrayGetS { array_type_index } => self.read_element(array_type_index, Extend::Signed),
            Operator::ArrayGetU { array_type_index } => self.read_element(array_type_index, Extend::Unsigned),
            Operator::ArraySet { array_type_index } => {
                let (value, index, array) = (self.pop(), self.pop(), self.pop());
                let storage = self.element_of(array_type_index);
                let address = self.element_address(storage, array, index);
                self.store_field(storage, value, address, FIELDS as i32);
            }
            Operator::ArrayLen => {
                let array = self.pop();
                let length = self.length(array);
                self.push(length);
            }
            _ => return self.many_elements(op),
        }
        true
    }

    /// Translates instructions that change many elements.
    fn many_elements(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::ArrayFill { array_type_index } => {
                let (length, value) = (self.pop(), self.pop());
                let (start, array) = (self.pop(), self.pop());
                self.check_null(array);
                self.fill_array(array_type_index, [array, start, value, length]);
            }
            Operator::ArrayCopy { .. } => {
                let operands = self.pop_many(5);
                self.check_null(operands[0]);
                self.check_null(operands[2]);
                self.fallible(Builtin::ArrayCopy, &operands);
            }
            Operator::ArrayInitData { array_data_index, .. } => {
                self.init_array(Builtin::ArrayInitData, array_data_index);
            }
            Operator::ArrayInitElem { array_elem_index, .. } => {
                self.init_array(Builtin::ArrayInitElem, array_elem_index);
            }
            _ => return false,
        }
        true
    }

    fn init_array(&mut self, builtin: Builtin, segment: u32) {
        let operands = self.pop_many(4);
        self.check_null(operands[0]);
        let segment = self.index(segment);
        self.fallible(builtin, &[operands[0], segment, operands[1], operands[2], operands[3]]);
    }

    fn fill_array(&mut self, ty: u32, [array, start, value, length]: [Value; 4]) {
        let storage = self.element_of(ty);
        let [low, high] = self.halves(storage, value);
        self.fallible(Builtin::ArrayFill, &[array, start, low, high, length]);
    }

    fn new_array(&mut self, ty: u32, length: Value) -> Value {
        let size = self.size_of_array(ty, length);
        self.allocate(ty, length, size)
    }

    /// Returns the size in bytes of an array of this length.
    fn size_of_array(&mut self, ty: u32, length: Value) -> Value {
        let element = object::size_of(self.element_of(ty));
        let wide = self.builder.ins().uextend(types::I64, length);
        let bytes = self.scale(wide, element);
        let bytes = self.builder.ins().iadd_imm_s(bytes, i64::from(FIELDS + ALIGN - 1));
        self.builder.ins().band_imm_s(bytes, -i64::from(ALIGN))
    }

    /// Multiplies an index by the size of an element.
    fn scale(&mut self, index: Value, element: u32) -> Value {
        let shift = self.builder.ins().iconst(types::I64, i64::from(element.trailing_zeros()));
        self.builder.ins().ishl(index, shift)
    }

    fn new_fixed(&mut self, ty: u32, count: u32) {
        let values = self.pop_many(count as usize);
        let storage = self.element_of(ty);
        let element = object::size_of(storage);
        let length = self.index(count);
        let size = (FIELDS + element * count).next_multiple_of(ALIGN);
        let size = self.builder.ins().iconst(types::I64, i64::from(size));
        let array = self.allocate(ty, length, size);
        for (value, index) in values.into_iter().zip(0..) {
            self.store_field(storage, value, array, (FIELDS + element * index) as i32);
        }
        self.push(array);
    }

    /// Creates an array from a part of a segment.
    fn new_from(&mut self, builtin: Builtin, ty: u32, segment: u32) {
        let (length, start) = (self.pop(), self.pop());
        let id = self.index(self.input.env().type_ids[ty as usize]);
        let segment = self.index(segment);
        let array = self.builtin(builtin, &[id, segment, start, length]);
        self.builder.ins().trapz(array, TrapCode::Host.to_clif());
        if self.input.options().allocations {
            let size = self.size_of_array(ty, length);
            self.count_object(ty, size);
        }
        self.push(array);
    }

    /// Returns the length of an array; traps if it is null.
    fn length(&mut self, array: Value) -> Value {
        self.check_null(array);
        let flags = self.head_flags();
        self.builder.ins().load(types::I32, flags, array, object::LENGTH)
    }

    /// Returns the address [`FIELDS`] bytes before an element; traps if there is no such element.
    fn element_address(&mut self, storage: StorageType, array: Value, index: Value) -> Value {
        let length = self.length(array);
        let is_bad = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
        self.builder.ins().trapnz(is_bad, TrapCode::ArrayOutOfBounds.to_clif());
        let index = self.builder.ins().uextend(types::I64, index);
        let offset = self.scale(index, object::size_of(storage));
        self.builder.ins().iadd(array, offset)
    }

    fn read_element(&mut self, ty: u32, extend: Extend) {
        let (index, array) = (self.pop(), self.pop());
        let storage = self.element_of(ty);
        let address = self.element_address(storage, array, index);
        let value = self.load_field(storage, extend, address, FIELDS as i32);
        self.push(value);
    }
}
