//! Structures.

use cranelift_codegen::ir::{InstBuilder, types};
use wasmparser::Operator;

use super::Extend;
use crate::translate::Translator;

impl Translator<'_> {
    pub(super) fn structure(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::StructNew { struct_type_index } => self.new_structure(struct_type_index, true),
            Operator::StructNewDefault { struct_type_index } => self.new_structure(struct_type_index, false),
            Operator::StructGet { struct_type_index, field_index } => {
                self.read_field((struct_type_index, field_index), Extend::No);
            }
            Operator::StructGetS { struct_type_index, field_index } => {
                self.read_field((struct_type_index, field_index), Extend::Signed);
            }
            Operator::StructGetU { struct_type_index, field_index } => {
                self.read_field((struct_type_index, field_index), Extend::Unsigned);
            }
            Operator::StructSet { struct_type_index, field_index } => {
                let (value, object) = (self.pop(), self.pop());
                self.check_null(object);
                let (storage, offset) = self.field((struct_type_index, field_index));
                self.store_field(storage, value, object, offset);
            }
            _ => return false,
        }
        true
    }

    fn field(&self, (ty, field): (u32, u32)) -> (wasmparser::StorageType, i32) {
        let storage = self.fields(ty)[field as usize].element_type;
        (storage, self.layout_of(ty).offsets[field as usize] as i32)
    }

    fn read_field(&mut self, field: (u32, u32), extend: Extend) {
        let object = self.pop();
        self.check_null(object);
        let (storage, offset) = self.field(field);
        let value = self.load_field(storage, extend, object, offset);
        self.push(value);
    }

    fn new_structure(&mut self, ty: u32, has_values: bool) {
        let layout = self.layout_of(ty);
        let count = layout.offsets.len();
        let values = if has_values { self.pop_many(count) } else { Vec::new() };
        let size = self.builder.ins().iconst(types::I64, i64::from(layout.size));
        let no_length = self.builder.ins().iconst(types::I32, 0);
        let object = self.allocate(ty, no_length, size);
        for (index, value) in values.into_iter().enumerate() {
            let storage = self.fields(ty)[index].element_type;
            self.store_field(storage, value, object, layout.offsets[index] as i32);
        }
        self.push(object);
    }
}
