//! Instructions that treat a v128 as 128 bits.

use cranelift_codegen::ir::InstBuilder;
use wasmparser::Operator;

use super::{I8X16, Translator};

impl Translator<'_> {
    pub(super) fn bitwise(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::V128Not => unary!(self, I8X16, bnot),
            Operator::V128And => binary!(self, I8X16, band),
            Operator::V128AndNot => binary!(self, I8X16, band_not),
            Operator::V128Or => binary!(self, I8X16, bor),
            Operator::V128Xor => binary!(self, I8X16, bxor),
            Operator::V128Bitselect => self.bitselect(),
            Operator::V128AnyTrue => self.any_true(),
            _ => return false,
        }
        true
    }

    fn bitselect(&mut self) {
        let (mask, otherwise, value) = (self.pop(), self.pop(), self.pop());
        let chosen = self.builder.ins().bitselect(mask, value, otherwise);
        self.push(chosen);
    }

    fn any_true(&mut self) {
        let a = self.pop();
        let any = self.builder.ins().vany_true(a);
        self.push_bool(any);
    }
}
