//! Bulk operations on memories and tables, all of which call the runtime.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use wasmparser::Operator;

use super::Translator;
use crate::abi::{Builtin, TrapCode};

impl Translator<'_> {
    pub(super) fn bulk(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::MemoryCopy { dst_mem, src_mem } => {
                let (dst, src) = (self.is_memory64(dst_mem), self.is_memory64(src_mem));
                self.copy(Builtin::MemoryCopy, dst_mem, src_mem, dst, src);
            }
            Operator::TableCopy { dst_table, src_table } => {
                let (dst, src) = (self.is_table64(dst_table), self.is_table64(src_table));
                self.copy(Builtin::TableCopy, dst_table, src_table, dst, src);
            }
            Operator::MemoryFill { mem } => self.fill(Builtin::MemoryFill, mem, self.is_memory64(mem)),
            Operator::TableFill { table } => self.fill(Builtin::TableFill, table, self.is_table64(table)),
            Operator::MemoryInit { data_index, mem } => {
                self.init(Builtin::MemoryInit, mem, data_index, self.is_memory64(mem));
            }
            Operator::TableInit { elem_index, table } => {
                self.init(Builtin::TableInit, table, elem_index, self.is_table64(table));
            }
            Operator::DataDrop { data_index } => self.drop_segment(Builtin::DataDrop, data_index),
            Operator::ElemDrop { elem_index } => self.drop_segment(Builtin::ElemDrop, elem_index),
            _ => return false,
        }
        true
    }

    /// Reports whether the length of a bulk operation is an i64.
    pub(super) fn is_length_64(&self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::MemoryCopy { dst_mem, src_mem } => {
                self.is_memory64(dst_mem) && self.is_memory64(src_mem)
            }
            Operator::TableCopy { dst_table, src_table } => {
                self.is_table64(dst_table) && self.is_table64(src_table)
            }
            Operator::MemoryFill { mem } | Operator::MemoryGrow { mem } => self.is_memory64(mem),
            Operator::TableFill { table } | Operator::TableGrow { table } => self.is_table64(table),
            _ => false,
        }
    }

    fn is_memory64(&self, index: u32) -> bool {
        self.input.env().info.memories[index as usize].memory64
    }

    fn is_table64(&self, index: u32) -> bool {
        self.input.env().info.tables[index as usize].table64
    }

    fn copy(&mut self, builtin: Builtin, dst: u32, src: u32, dst_64: bool, src_64: bool) {
        let (len, from, to) = (self.pop(), self.pop(), self.pop());
        let to = self.extend_index(to, dst_64);
        let from = self.extend_index(from, src_64);
        let len = self.extend_index(len, dst_64 && src_64);
        if let Builtin::MemoryCopy = builtin {
            self.empty_simulation_log();
            self.record_bulk(from, len, 0);
            self.record_bulk(to, len, 1);
        }
        let (dst, src) = (self.index(dst), self.index(src));
        self.fallible(builtin, &[dst, src, to, from, len]);
    }

    fn fill(&mut self, builtin: Builtin, target: u32, is_64: bool) {
        let (len, value, to) = (self.pop(), self.pop(), self.pop());
        let to = self.extend_index(to, is_64);
        let len = self.extend_index(len, is_64);
        if let Builtin::MemoryFill = builtin {
            self.empty_simulation_log();
            self.record_bulk(to, len, 0);
        }
        let target = self.index(target);
        self.fallible(builtin, &[target, to, value, len]);
    }

    fn init(&mut self, builtin: Builtin, target: u32, segment: u32, is_64: bool) {
        let (len, from, to) = (self.pop(), self.pop(), self.pop());
        let to = self.extend_index(to, is_64);
        if let Builtin::MemoryInit = builtin {
            self.empty_simulation_log();
            let len = self.extend_index(len, false);
            self.record_bulk(to, len, 0);
        }
        let (target, segment) = (self.index(target), self.index(segment));
        self.fallible(builtin, &[target, segment, to, from, len]);
    }

    fn drop_segment(&mut self, builtin: Builtin, segment: u32) {
        let segment = self.index(segment);
        self.builtin(builtin, &[segment]);
    }

    pub(super) fn index(&mut self, index: u32) -> Value {
        self.builder.ins().iconst(types::I32, i64::from(index))
    }

    /// Calls a builtin that returns a status, and traps if it failed.
    pub(super) fn fallible(&mut self, builtin: Builtin, args: &[Value]) {
        let status = self.builtin(builtin, args);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
    }
}
