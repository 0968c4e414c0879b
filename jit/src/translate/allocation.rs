//! Allocations: reports to the runtime about allocators and about objects that code allocates.
//!
//! Whether a call of an allocator counts depends on its calling context alone, so the call record says it. Code keeps
//! the request in the store's context, and asks the runtime only when the allocator returns.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

use super::Translator;
use crate::abi::{Builtin, TrapCode, call_record, store_context};
use crate::module::{Allocator, NewBlock};

impl Translator<'_> {
    /// Keeps the request of an allocator, unless another one has called it.
    pub(super) fn enter_allocator(&mut self, of: &Allocator) {
        let behind = match of.new {
            NewBlock::Behind(argument) => Some(argument),
            NewBlock::None | NewBlock::Result => None,
        };
        let size = self.argument_or(of.size, 0);
        let count = self.argument_or(of.count, 1);
        let old = self.argument_or(of.freed.or(behind), 0);
        let (record, context, flags) = (self.own_record(), self.store_context(), self.counter_flags());
        // Locals were read above: their values are known from here on, and so must be defined on all ways.
        let allocates = self.known_allocates(record);
        let after = self.unless_nested(allocates);
        for (word, value) in (0..store_context::ASKED_WORDS).zip([record, size, count, old]) {
            self.builder.ins().store(flags, value, context, store_context::ASKED + 8 * word as i32);
        }
        self.go_on_at(after, &[]);
    }

    /// Reports the result of an allocator that returns, unless another one has called it.
    pub(super) fn leave_allocator(&mut self, new: NewBlock) {
        let result = match (new, self.slots.first_result()) {
            (NewBlock::None, _) | (_, None) => self.builder.ins().iconst(types::I64, 0),
            (_, Some(result)) => self.wide(result),
        };
        let record = self.own_record();
        let number = self.load_allocates(record);
        let after = self.unless_nested(number);
        let new = self.builder.ins().iconst(types::I32, i64::from(new.code()));
        self.tell(Builtin::LeaveAllocator, &[record, number, new, result]);
        self.go_on_at(after, &[]);
    }

    /// Returns whether calls count; the runtime fills it in when the first one comes.
    fn known_allocates(&mut self, record: Value) -> Value {
        const { assert!(call_record::UNKNOWN == 0) };
        let found = self.load_allocates(record);
        let (ask, known) = (self.builder.create_block(), self.builder.create_block());
        let allocates = self.builder.append_block_param(known, types::I64);
        self.builder.ins().brif(found, known, &[found.into()], ask, &[]);
        self.builder.seal_block(ask);
        self.builder.set_cold_block(ask);
        self.builder.switch_to_block(ask);
        self.tell(Builtin::EnterAllocator, &[record]);
        let told = self.load_allocates(record);
        self.go_on_at(known, &[told.into()]);
        allocates
    }

    /// Begins what is done only where calls count. Returns the block behind that.
    fn unless_nested(&mut self, allocates: Value) -> Block {
        let (own, after) = (self.builder.create_block(), self.builder.create_block());
        let nested = call_record::NESTED.cast_signed();
        let is_nested = self.builder.ins().icmp_imm_u(IntCC::Equal, allocates, nested);
        self.builder.ins().brif(is_nested, after, &[], own, &[]);
        self.builder.seal_block(own);
        self.builder.switch_to_block(own);
        after
    }

    fn go_on_at(&mut self, block: Block, values: &[BlockArg]) {
        self.builder.ins().jump(block, values);
        self.builder.seal_block(block);
        self.builder.switch_to_block(block);
    }

    fn load_allocates(&mut self, record: Value) -> Value {
        let (flags, options) = (self.counter_flags(), self.input.options());
        let offset = call_record::allocates(options.metrics, options.events_in_records);
        self.builder.ins().load(types::I64, flags, record, offset)
    }

    /// Reports the allocation of an object of this type, if allocations are counted.
    pub(super) fn count_object(&mut self, ty: u32, bytes: Value) {
        if self.input.options().allocations {
            let record = self.own_record();
            let [func, ty] = [self.position.cfg().func, ty]
                .map(|index| self.builder.ins().iconst(types::I32, i64::from(index)));
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
