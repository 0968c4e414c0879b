//! Comparisons: all ones in a lane where they hold, zeros elsewhere.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type};
use wasmparser::Operator;

use super::{F32X4, F64X2, I8X16, I16X8, I32X4, I64X2, Translator};

impl Translator<'_> {
    pub(super) fn lane_comparison(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16Eq => self.compare_lanes(I8X16, IntCC::Equal),
            Operator::I8x16Ne => self.compare_lanes(I8X16, IntCC::NotEqual),
            Operator::I8x16LtS => self.compare_lanes(I8X16, IntCC::SignedLessThan),
            Operator::I8x16LtU => self.compare_lanes(I8X16, IntCC::UnsignedLessThan),
            Operator::I8x16GtS => self.compare_lanes(I8X16, IntCC::SignedGreaterThan),
            Operator::I8x16GtU => self.compare_lanes(I8X16, IntCC::UnsignedGreaterThan),
            Operator::I8x16LeS => self.compare_lanes(I8X16, IntCC::SignedLessThanOrEqual),
            Operator::I8x16LeU => self.compare_lanes(I8X16, IntCC::UnsignedLessThanOrEqual),
            Operator::I8x16GeS => self.compare_lanes(I8X16, IntCC::SignedGreaterThanOrEqual),
            Operator::I8x16GeU => self.compare_lanes(I8X16, IntCC::UnsignedGreaterThanOrEqual),
            Operator::I16x8Eq => self.compare_lanes(I16X8, IntCC::Equal),
            Operator::I16x8Ne => self.compare_lanes(I16X8, IntCC::NotEqual),
            Operator::I16x8LtS => self.compare_lanes(I16X8, IntCC::SignedLessThan),
            Operator::I16x8LtU => self.compare_lanes(I16X8, IntCC::UnsignedLessThan),
            Operator::I16x8GtS => self.compare_lanes(I16X8, IntCC::SignedGreaterThan),
            Operator::I16x8GtU => self.compare_lanes(I16X8, IntCC::UnsignedGreaterThan),
            Operator::I16x8LeS => self.compare_lanes(I16X8, IntCC::SignedLessThanOrEqual),
            Operator::I16x8LeU => self.compare_lanes(I16X8, IntCC::UnsignedLessThanOrEqual),
            Operator::I16x8GeS => self.compare_lanes(I16X8, IntCC::SignedGreaterThanOrEqual),
            Operator::I16x8GeU => self.compare_lanes(I16X8, IntCC::UnsignedGreaterThanOrEqual),
            Operator::I32x4Eq => self.compare_lanes(I32X4, IntCC::Equal),
            Operator::I32x4Ne => self.compare_lanes(I32X4, IntCC::NotEqual),
            Operator::I32x4LtS => self.compare_lanes(I32X4, IntCC::SignedLessThan),
            Operator::I32x4LtU => self.compare_lanes(I32X4, IntCC::UnsignedLessThan),
            Operator::I32x4GtS => self.compare_lanes(I32X4, IntCC::SignedGreaterThan),
            Operator::I32x4GtU => self.compare_lanes(I32X4, IntCC::UnsignedGreaterThan),
            Operator::I32x4LeS => self.compare_lanes(I32X4, IntCC::SignedLessThanOrEqual),
            Operator::I32x4LeU => self.compare_lanes(I32X4, IntCC::UnsignedLessThanOrEqual),
            Operator::I32x4GeS => self.compare_lanes(I32X4, IntCC::SignedGreaterThanOrEqual),
            Operator::I32x4GeU => self.compare_lanes(I32X4, IntCC::UnsignedGreaterThanOrEqual),
            Operator::I64x2Eq => self.compare_lanes(I64X2, IntCC::Equal),
            Operator::I64x2Ne => self.compare_lanes(I64X2, IntCC::NotEqual),
            Operator::I64x2LtS => self.compare_lanes(I64X2, IntCC::SignedLessThan),
            Operator::I64x2GtS => self.compare_lanes(I64X2, IntCC::SignedGreaterThan),
            Operator::I64x2LeS => self.compare_lanes(I64X2, IntCC::SignedLessThanOrEqual),
            Operator::I64x2GeS => self.compare_lanes(I64X2, IntCC::SignedGreaterThanOrEqual),
            Operator::F32x4Eq => self.compare_float_lanes(F32X4, FloatCC::Equal),
            Operator::F32x4Ne => self.compare_float_lanes(F32X4, FloatCC::NotEqual),
            Operator::F32x4Lt => self.compare_float_lanes(F32X4, FloatCC::LessThan),
            Operator::F32x4Gt => self.compare_float_lanes(F32X4, FloatCC::GreaterThan),
            Operator::F32x4Le => self.compare_float_lanes(F32X4, FloatCC::LessThanOrEqual),
            Operator::F32x4Ge => self.compare_float_lanes(F32X4, FloatCC::GreaterThanOrEqual),
            Operator::F64x2Eq => self.compare_float_lanes(F64X2, FloatCC::Equal),
            Operator::F64x2Ne => self.compare_float_lanes(F64X2, FloatCC::NotEqual),
            Operator::F64x2Lt => self.compare_float_lanes(F64X2, FloatCC::LessThan),
            Operator::F64x2Gt => self.compare_float_lanes(F64X2, FloatCC::GreaterThan),
            Operator::F64x2Le => self.compare_float_lanes(F64X2, FloatCC::LessThanOrEqual),
            Operator::F64x2Ge => self.compare_float_lanes(F64X2, FloatCC::GreaterThanOrEqual),
            _ => return false,
        }
        true
    }

    fn compare_lanes(&mut self, ty: Type, condition: IntCC) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = self.builder.ins().icmp(condition, a, b);
        self.push_lanes(result);
    }

    fn compare_float_lanes(&mut self, ty: Type, condition: FloatCC) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = self.builder.ins().fcmp(condition, a, b);
        self.push_lanes(result);
    }
}
