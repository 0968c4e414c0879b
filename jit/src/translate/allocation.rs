//! Allocations: reports to the runtime about allocators and about objects that code allocates.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Translator;
use crate::abi::{Builtin, TrapCode};
use crate::module::{Allocator, NewBlock};

impl Translator<'_> {
    /// Reports the request of an allocator.
    pub(super) fn enter_allocator(&mut self, of: &Allocator) {
        let behind = match of.new {
            NewBlock::Behind(argument) => Some(argument),
            NewBlock::None | NewBlock::Result => None,
        };
        let size = self.argument_or(of.size, 0);
        let count = self.argument_or(of.count, 1);
        let old = self.argument_or(of.freed.or(behind), 0);
        let record = self.own_record();
        self.tell(Builtin::EnterAllocator, &[record, size, count, old]);
    }

    /// Reports the result of an allocator that returns.
    pub(super) fn leave_allocator(&mut self, new: NewBlock) {
        let result = match (new, self.leaving.first()) {
            (NewBlock::None, _) | (_, None) => self.builder.ins().iconst(types::I64, 0),
            (_, Some(&result)) => self.wide(result),
        };
        let record = self.own_record();
        let new = self.builder.ins().iconst(types::I32, i64::from(new.code()));
        self.tell(Builtin::LeaveAllocator, &[record, new, result]);
    }

    /// Reports the allocation of an object of this type, if allocations are counted.
    pub(super) fn count_object(&mut self, ty: u32, bytes: Value) {
        if self.options.allocations {
            let record = self.own_record();
            let [func, ty] =
                [self.cfg.func, ty].map(|index| self.builder.ins().iconst(types::I32, i64::from(index)));
            self.tell(Builtin::CountObject, &[record, func, ty, bytes]);
        }
    }

    fn tell(&mut self, builtin: Builtin, args: &[Value]) {
        let status = self.builtin(builtin, args);
        self.builder.ins().trapnz(status, TrapCode::Host.to_clif());
    }

    fn argument_or(&mut self, argument: Option<u32>, otherwise: i64) -> Value {
        match argument {
            Some(local) => {
                let value = self.read_local(local);
                self.wide(value)
            }
            None => self.builder.ins().iconst(types::I64, otherwise),
        }
    }

    fn wide(&mut self, value: Value) -> Value {
        match self.builder.func.dfg.value_type(value) {
            types::I32 => self.builder.ins().uextend(types::I64, value),
            _ => value,
        }
    }
}
