//! Upper bounds of values, to find sums and shifts that cannot wrap.
//!
//! Wasm adds and shifts indices in 32 bits, which may wrap; processors compute addresses in 64 bits, which may not. So
//! each access would compute its index separately, although an index made of a byte, a masked or a shifted value mostly
//! lies far below 4 GiB. Where that is known, the constant of a sum becomes the access's own offset, and a shift part
//! of the address. Source: Harrison, *Compiler Analysis of the Value Ranges for Variables*, IEEE TSE 3(3), 1977,
//! reduced to upper bounds.
//! Example: the address of `i32.load (i32.add (i32.shl (i32.load8_u …) 2) 4096)` is `base + 4 * byte + 4096`.

use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value, types};

use super::Translator;
use crate::options::Pass;

/// The depth to which definitions of values are followed.
const DEEPEST: u32 = 6;

impl Translator<'_> {
    fn knows_ranges(&self) -> bool {
        self.input.is_optimised() && self.input.has(Pass::Ranges)
    }

    /// Splits an index into a value and a constant whose sum does not wrap. Baseline code, which has computed the sum
    /// by then, keeps it.
    pub(super) fn as_sum(&self, index: Value) -> (Value, u64) {
        let sum = match self.definition(index) {
            Some(&InstructionData::Binary { opcode: Opcode::Iadd, args }) if self.knows_ranges() => args,
            _ => return (index, 0),
        };
        let (value, constant) = match sum.map(|of| self.constant_of(of)) {
            [None, Some(constant)] => (sum[0], constant),
            [Some(constant), None] => (sum[1], constant),
            _ => return (index, 0),
        };
        let constant = u64::from(constant as u32);
        match self.most(value, DEEPEST) + constant <= u64::from(u32::MAX) {
            true => (value, constant),
            false => (index, 0),
        }
    }

    /// Zero-extends an index to 64 bits. If the index is a shift that does not wrap, extends its operand and shifts
    /// that.
    pub(super) fn extend_shifted(&mut self, index: Value) -> Value {
        let shift = match self.definition(index) {
            Some(&InstructionData::Binary { opcode: Opcode::Ishl, args: [value, by] }) => {
                self.constant_of(by).map(|by| (value, by & 31)).filter(|_| self.knows_ranges())
            }
            _ => None,
        };
        match shift {
            Some((value, by)) if self.most(value, DEEPEST) << by <= u64::from(u32::MAX) => {
                let extended = self.extend_index(value, false);
                let by = self.builder.ins().iconst(types::I64, by as i64);
                self.builder.ins().ishl(extended, by)
            }
            _ => self.extend_index(index, false),
        }
    }

    /// Returns an upper bound of a value, as an unsigned number.
    fn most(&self, value: Value, deep: u32) -> u64 {
        let bits = self.builder.func.dfg.value_type(value).bits();
        let all = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let Some(definition) = self.definition(value).filter(|_| deep > 0) else { return all };
        let most = |value| self.most(value, deep - 1);
        let bound = match *definition {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => imm.bits() as u64,
            InstructionData::Unary { opcode: Opcode::Uextend | Opcode::Ireduce, arg } => most(arg),
            InstructionData::IntCompare { .. } | InstructionData::FloatCompare { .. } => 1,
            InstructionData::Ternary { opcode: Opcode::Select, args: [_, a, b] } => most(a).max(most(b)),
            InstructionData::Binary { opcode, args: [a, b] } => {
                match (opcode, self.constant_of(b).map(|by| by & all)) {
                    (Opcode::Band, _) => most(a).min(most(b)),
                    (Opcode::Bor | Opcode::Bxor, _) => {
                        // All bits below the highest may be set.
                        u64::MAX.checked_shr((most(a) | most(b)).leading_zeros()).unwrap_or(0)
                    }
                    (Opcode::Ushr, Some(by)) => most(a) >> (by & u64::from(bits - 1)),
                    (Opcode::Urem, Some(by)) if by != 0 => by - 1,
                    (Opcode::Udiv, Some(by)) if by != 0 => most(a) / by,
                    (Opcode::Ishl, Some(by)) if bits <= 32 => most(a) << (by & u64::from(bits - 1)),
                    (Opcode::Iadd, _) => most(a).saturating_add(most(b)),
                    (Opcode::Imul, _) => most(a).saturating_mul(most(b)),
                    _ => all,
                }
            }
            _ => all,
        };
        if bound <= all { bound } else { all }
    }
}
