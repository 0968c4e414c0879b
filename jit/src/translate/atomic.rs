//! Atomic instructions.
//!
//! Each traps if its address is not a multiple of its size, before its bounds are checked. They are sequentially
//! consistent, and Cranelift moves no other access across them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Type, Value, types};
use wasmparser::{MemArgTarget, Operator};

use super::Translator;
use crate::abi::{Builtin, TrapCode, clif_type};
use crate::cfg::{Action, Atomic, Update};

/// The result of [`Builtin::MemoryWait`] if it failed.
const WAIT_FAILED: i64 = 3;
/// The result of [`Builtin::MemoryNotify`] if it failed.
const NOTIFY_FAILED: i64 = -1;

impl Translator<'_> {
    pub(super) fn atomic(&mut self, op: &Operator<'_>) -> bool {
        if let Operator::AtomicFence { .. } = op {
            self.builder.ins().fence();
            return true;
        }
        let Some(atomic) = Atomic::new(op) else { return false };
        match atomic.action {
            Action::Load => {
                let (address, flags) = self.atomic_address(&atomic);
                let value = self.builder.ins().atomic_load(narrow(&atomic), flags, address);
                self.push_wide(&atomic, value);
            }
            Action::Store => {
                let value = self.pop_narrow(&atomic);
                let (address, flags) = self.atomic_address(&atomic);
                self.builder.ins().atomic_store(flags, value, address);
            }
            Action::Update(update) => {
                let operand = self.pop_narrow(&atomic);
                let (address, flags) = self.atomic_address(&atomic);
                let ty = narrow(&atomic);
                let old = self.builder.ins().atomic_rmw(ty, flags, in_clif(update), address, operand);
                self.push_wide(&atomic, old);
            }
            Action::CompareExchange => {
                let (replacement, expected) = (self.pop_narrow(&atomic), self.pop_narrow(&atomic));
                let (address, flags) = self.atomic_address(&atomic);
                let old = self.builder.ins().atomic_cas(flags, address, expected, replacement);
                self.push_wide(&atomic, old);
            }
            Action::Wait => self.wait(&atomic),
            Action::Notify => self.notify(&atomic),
        }
        true
    }

    /// Pops the index of an access, records and checks the access, and returns its address.
    fn atomic_address(&mut self, atomic: &Atomic) -> (Value, MemFlagsData) {
        let index = self.pop();
        self.see_atomic(atomic, index);
        self.check_alignment(atomic, index);
        let access = self.place(&atomic.arg, index, atomic.bytes.into());
        (self.offset_by(access.base, access.offset), access.flags)
    }

    /// Records the instruction's read and its write in traces and the simulated cache.
    fn see_atomic(&mut self, atomic: &Atomic, index: Value) {
        for number in 0..u32::from(atomic.loads()) + u32::from(atomic.stores()) {
            self.see_access(&atomic.arg, index, atomic.bytes.into(), number);
        }
    }

    /// Traps if the address is not a multiple of the access's size.
    fn check_alignment(&mut self, atomic: &Atomic, index: Value) {
        let mask = u64::from(atomic.bytes) - 1;
        let offset = atomic.arg.offset & mask;
        if mask == 0 || self.constant_of(index).is_some_and(|index| index.wrapping_add(offset) & mask == 0) {
            return;
        }
        let address = match offset {
            0 => index,
            _ => self.builder.ins().iadd_imm_s(index, offset as i64),
        };
        let rest = self.builder.ins().band_imm_s(address, mask as i64);
        self.builder.ins().trapnz(rest, TrapCode::UnalignedAtomic.to_clif());
    }

    fn wait(&mut self, atomic: &Atomic) {
        let (timeout, expected) = (self.pop(), self.pop());
        let (memory, address) = self.waiting_place(atomic);
        let bytes = self.builder.ins().iconst(types::I32, i64::from(atomic.bytes));
        let expected = match atomic.bytes {
            8 => expected,
            _ => self.builder.ins().uextend(types::I64, expected),
        };
        let why = self.builtin(Builtin::MemoryWait, &[memory, address, bytes, expected, timeout]);
        self.trap_if_failed(why, WAIT_FAILED);
        self.push(why);
    }

    fn notify(&mut self, atomic: &Atomic) {
        let count = self.pop();
        let (memory, address) = self.waiting_place(atomic);
        let woken = self.builtin(Builtin::MemoryNotify, &[memory, address, count]);
        self.trap_if_failed(woken, NOTIFY_FAILED);
        self.push(woken);
    }

    /// Pops an index; returns the memory, and the address in it, which the runtime checks.
    fn waiting_place(&mut self, atomic: &Atomic) -> (Value, Value) {
        let index = self.pop();
        self.see_atomic(atomic, index);
        let MemArgTarget::Memory(memory) = atomic.arg.target else {
            unreachable!("validated: arrays are not enabled")
        };
        let is_64 = self.input.env().info.memories[memory as usize].memory64;
        let index = self.extend_index(index, is_64);
        let offset = self.builder.ins().iconst(types::I64, atomic.arg.offset as i64);
        let address = match is_64 {
            true => {
                let code = TrapCode::MemoryOutOfBounds.to_clif();
                self.builder.ins().uadd_overflow_trap(index, offset, code)
            }
            false => self.builder.ins().iadd(index, offset),
        };
        (self.builder.ins().iconst(types::I32, i64::from(memory)), address)
    }

    fn trap_if_failed(&mut self, result: Value, failed: i64) {
        let has_failed = self.builder.ins().icmp_imm_s(IntCC::Equal, result, failed);
        self.builder.ins().trapnz(has_failed, TrapCode::Host.to_clif());
    }

    /// Pops a value and returns its low bytes, as wide as the access.
    fn pop_narrow(&mut self, atomic: &Atomic) -> Value {
        let value = self.pop();
        match narrow(atomic) {
            ty if ty == clif_type(atomic.ty) => value,
            ty => self.builder.ins().ireduce(ty, value),
        }
    }

    /// Pushes the loaded value, zero-extended.
    fn push_wide(&mut self, atomic: &Atomic, value: Value) {
        let ty = clif_type(atomic.ty);
        let value = match narrow(atomic) == ty {
            true => value,
            false => self.builder.ins().uextend(ty, value),
        };
        self.push(value);
    }
}

/// Returns the type of the access itself.
fn narrow(atomic: &Atomic) -> Type {
    Type::int_with_byte_size(atomic.bytes.into()).expect("a power of two up to eight")
}

fn in_clif(update: Update) -> AtomicRmwOp {
    match update {
        Update::Add => AtomicRmwOp::Add,
        Update::Sub => AtomicRmwOp::Sub,
        Update::And => AtomicRmwOp::And,
        Update::Or => AtomicRmwOp::Or,
        Update::Xor => AtomicRmwOp::Xor,
        Update::Exchange => AtomicRmwOp::Xchg,
    }
}
