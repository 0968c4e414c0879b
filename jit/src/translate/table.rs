//! Tables and references.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use wasmparser::Operator;

use super::Translator;
use super::region::Region;
use crate::abi::{Builtin, TrapCode, func_import, table};

impl Translator<'_> {
    pub(super) fn table(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::TableGet { table } => {
                let index = self.pop();
                let value = self.load_element(table, index);
                self.push(value);
            }
            Operator::TableSet { table } => {
                let value = self.pop();
                let index = self.pop();
                let (address, flags) = self.element(table, index);
                self.builder.ins().store(flags, value, address, 0);
            }
            Operator::TableSize { table } => {
                let len = self.table_len(table);
                self.push_size(len, self.input.env().info.tables[table as usize].table64);
            }
            Operator::TableGrow { table } => self.table_grow(table),
            Operator::RefNull { .. } => {
                let null = self.builder.ins().iconst(types::I64, 0);
                self.push(null);
            }
            Operator::RefIsNull => {
                let value = self.pop();
                let is_null = self.compare_with_null(IntCC::Equal, value);
                self.push(is_null);
            }
            Operator::RefAsNonNull => {
                let value = self.pop();
                self.builder.ins().trapz(value, TrapCode::NullReference.to_clif());
                self.push(value);
            }
            Operator::RefFunc { function_index } => {
                let value = self.func_ref(function_index);
                self.push(value);
            }
            _ => return false,
        }
        true
    }

    /// Compares a reference with null; returns an i32.
    pub(super) fn compare_with_null(&mut self, how: IntCC, reference: Value) -> Value {
        let null = self.builder.ins().iconst(types::I64, 0);
        let truth = self.builder.ins().icmp(how, reference, null);
        self.builder.ins().uextend(types::I32, truth)
    }

    /// Loads the element of `table` at `index` (of the table's index type); traps if there is none.
    pub(super) fn load_element(&mut self, table: u32, index: Value) -> Value {
        let (address, flags) = self.element(table, index);
        self.builder.ins().load(types::I64, flags, address, 0)
    }

    /// Returns the address of an element, and the flags to access it. With Spectre guards a bad index yields address 0,
    /// where the access traps.
    fn element(&mut self, table: u32, index: Value) -> (Value, MemFlagsData) {
        let ty = self.input.env().info.tables[table as usize];
        let index = self.extend_index(index, ty.table64);
        let len = self.table_len(table);
        let bad = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        let base = self.table_base(table);
        let three = self.builder.ins().iconst(types::I64, 3);
        let offset = self.builder.ins().ishl(index, three);
        let address = self.builder.ins().iadd(base, offset);
        let code = self.access_code(TrapCode::TableOutOfBounds);
        let flags = MemFlagsData::new().with_aligned().with_trap_code(Some(code));
        let flags = self.interned.flags(flags, Region::Tables, self.builder.func);
        if self.input.options().spectre_guards {
            if self.input.options().explicit_traps {
                self.builder.ins().trapnz(bad, code);
            }
            let zero = self.builder.ins().iconst(types::I64, 0);
            (self.builder.ins().select_spectre_guard(bad, zero, address), flags)
        } else {
            self.builder.ins().trapnz(bad, code);
            (address, flags.with_notrap())
        }
    }

    /// Reports whether a table keeps its size, so that its base and length are constants.
    fn is_fixed(&self, table: u32) -> bool {
        let ty = &self.input.env().info.tables[table as usize];
        ty.maximum == Some(ty.initial)
    }

    fn table_len(&mut self, table: u32) -> Value {
        if self.is_fixed(table) {
            return self
                .builder
                .ins()
                .iconst(types::I64, self.input.env().info.tables[table as usize].initial as i64);
        }
        let (definition, offset) = self.table_definition(table);
        let flags = self.definition_flags(Region::TableDefinitions);
        self.builder.ins().load(types::I64, flags, definition, offset + table::LEN)
    }

    fn table_base(&mut self, table: u32) -> Value {
        let (definition, offset) = self.table_definition(table);
        if self.is_fixed(table) {
            return self.load_constant(types::I64, definition, offset + table::BASE);
        }
        let flags = self.definition_flags(Region::TableDefinitions);
        self.builder.ins().load(types::I64, flags, definition, offset + table::BASE)
    }

    fn table_definition(&mut self, table: u32) -> (Value, i32) {
        match table.checked_sub(self.input.env().info.imported_tables) {
            Some(own) => (self.vmctx, self.input.env().layout.table(own) as i32),
            None => {
                let at = self.input.env().layout.table_import(table) as i32;
                (self.load_constant(types::I64, self.vmctx, at), 0)
            }
        }
    }

    fn table_grow(&mut self, table: u32) {
        let is_64 = self.input.env().info.tables[table as usize].table64;
        let delta = self.pop();
        let value = self.pop();
        let delta = self.extend_index(delta, is_64);
        let table = self.builder.ins().iconst(types::I32, i64::from(table));
        let old = self.builtin(Builtin::TableGrow, &[table, delta, value]);
        self.trap_if_refused(old);
        self.push_size(old, is_64);
    }

    /// Returns the function reference of function `index`.
    pub(super) fn func_ref(&mut self, index: u32) -> Value {
        if self.input.env().info.is_imported_func(index) {
            let at = self.input.env().layout.func_import(index) as i32 + func_import::FUNC_REF;
            return self.load_constant(types::I64, self.vmctx, at);
        }
        let escaped = self.input.env().info.escaped_index(index).expect("validated: ref.func is declared");
        let offset =
            self.builder.ins().iconst(types::I64, i64::from(self.input.env().layout.func_ref(escaped)));
        self.builder.ins().iadd(self.vmctx, offset)
    }
}
