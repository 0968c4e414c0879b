//! Float arithmetic.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use wasmparser::Operator;

use super::{F32X4, F64X2, Translator};

impl Translator<'_> {
    pub(super) fn lane_float(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::F32x4Abs => unary!(self, F32X4, fabs),
            Operator::F32x4Neg => unary!(self, F32X4, fneg),
            Operator::F32x4Sqrt => unary!(self, F32X4, sqrt),
            Operator::F32x4Ceil => unary!(self, F32X4, ceil),
            Operator::F32x4Floor => unary!(self, F32X4, floor),
            Operator::F32x4Trunc => unary!(self, F32X4, trunc),
            Operator::F32x4Nearest => unary!(self, F32X4, nearest),
            Operator::F32x4Add => binary!(self, F32X4, fadd),
            Operator::F32x4Sub => binary!(self, F32X4, fsub),
            Operator::F32x4Mul => binary!(self, F32X4, fmul),
            Operator::F32x4Div => binary!(self, F32X4, fdiv),
            Operator::F32x4Min => binary!(self, F32X4, fmin),
            Operator::F32x4Max => binary!(self, F32X4, fmax),
            Operator::F32x4PMin => self.pseudo_min(F32X4),
            Operator::F32x4PMax => self.pseudo_max(F32X4),
            Operator::F64x2Abs => unary!(self, F64X2, fabs),
            Operator::F64x2Neg => unary!(self, F64X2, fneg),
            Operator::F64x2Sqrt => unary!(self, F64X2, sqrt),
            Operator::F64x2Ceil => unary!(self, F64X2, ceil),
            Operator::F64x2Floor => unary!(self, F64X2, floor),
            Operator::F64x2Trunc => unary!(self, F64X2, trunc),
            Operator::F64x2Nearest => unary!(self, F64X2, nearest),
            Operator::F64x2Add => binary!(self, F64X2, fadd),
            Operator::F64x2Sub => binary!(self, F64X2, fsub),
            Operator::F64x2Mul => binary!(self, F64X2, fmul),
            Operator::F64x2Div => binary!(self, F64X2, fdiv),
            Operator::F64x2Min => binary!(self, F64X2, fmin),
            Operator::F64x2Max => binary!(self, F64X2, fmax),
            Operator::F64x2PMin => self.pseudo_min(F64X2),
            Operator::F64x2PMax => self.pseudo_max(F64X2),
            _ => return false,
        }
        true
    }

    /// `b < a ? b : a`, so `a` if they are equal or one is NaN.
    fn pseudo_min(&mut self, ty: Type) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = self.native_min(b, a);
        self.push_lanes(result);
    }

    /// `a < b ? b : a`, so `a` if they are equal or one is NaN.
    fn pseudo_max(&mut self, ty: Type) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = self.native_max(b, a);
        self.push_lanes(result);
    }

    /// `a < b ? a : b`, which is x64's `minps`.
    pub(super) fn native_min(&mut self, a: Value, b: Value) -> Value {
        let less = self.builder.ins().fcmp(FloatCC::LessThan, a, b);
        self.choose_lanes(less, a, b)
    }

    /// `b < a ? a : b`, which is x64's `maxps`.
    pub(super) fn native_max(&mut self, a: Value, b: Value) -> Value {
        let less = self.builder.ins().fcmp(FloatCC::LessThan, b, a);
        self.choose_lanes(less, a, b)
    }

    fn choose_lanes(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(a);
        let mask = self.cast_lanes(ty, mask);
        self.builder.ins().bitselect(mask, a, b)
    }
}
