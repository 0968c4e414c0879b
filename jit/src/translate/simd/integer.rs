//! Integer arithmetic whose operands and results have the same lanes.

use cranelift_codegen::ir::{InstBuilder, Type, types};
use wasmparser::Operator;

use super::{I8X16, I16X8, I32X4, I64X2, Translator};

/// Pops an amount and a vector as `$ty`, pushes the shifted lanes. CLIF, like wasm, takes the amount modulo the width
/// of a lane.
macro_rules! shift {
    ($self:ident, $ty:expr, $ins:ident) => {{
        let amount = $self.pop();
        let a = $self.pop_lanes($ty);
        let result = $self.builder.ins().$ins(a, amount);
        $self.push_lanes(result);
    }};
}

impl Translator<'_> {
    pub(super) fn lane_integer(&mut self, op: &Operator<'_>) -> bool {
        self.lane_arithmetic(op)
            || self.lane_saturation(op)
            || self.lane_extremes(op)
            || self.lane_shift(op)
            || self.lane_test(op)
    }

    fn lane_arithmetic(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16Abs => unary!(self, I8X16, iabs),
            Operator::I8x16Neg => unary!(self, I8X16, ineg),
            Operator::I8x16Popcnt => unary!(self, I8X16, popcnt),
            Operator::I8x16Add => binary!(self, I8X16, iadd),
            Operator::I8x16Sub => binary!(self, I8X16, isub),
            Operator::I16x8Abs => unary!(self, I16X8, iabs),
            Operator::I16x8Neg => unary!(self, I16X8, ineg),
            Operator::I16x8Add => binary!(self, I16X8, iadd),
            Operator::I16x8Sub => binary!(self, I16X8, isub),
            Operator::I16x8Mul => binary!(self, I16X8, imul),
            Operator::I32x4Abs => unary!(self, I32X4, iabs),
            Operator::I32x4Neg => unary!(self, I32X4, ineg),
            Operator::I32x4Add => binary!(self, I32X4, iadd),
            Operator::I32x4Sub => binary!(self, I32X4, isub),
            Operator::I32x4Mul => binary!(self, I32X4, imul),
            Operator::I64x2Abs => unary!(self, I64X2, iabs),
            Operator::I64x2Neg => unary!(self, I64X2, ineg),
            Operator::I64x2Add => binary!(self, I64X2, iadd),
            Operator::I64x2Sub => binary!(self, I64X2, isub),
            Operator::I64x2Mul => binary!(self, I64X2, imul),
            _ => return false,
        }
        true
    }

    /// Translates saturating and rounding instructions.
    fn lane_saturation(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16AddSatS => binary!(self, I8X16, sadd_sat),
            Operator::I8x16AddSatU => binary!(self, I8X16, uadd_sat),
            Operator::I8x16SubSatS => binary!(self, I8X16, ssub_sat),
            Operator::I8x16SubSatU => binary!(self, I8X16, usub_sat),
            Operator::I8x16AvgrU => binary!(self, I8X16, avg_round),
            Operator::I16x8AddSatS => binary!(self, I16X8, sadd_sat),
            Operator::I16x8AddSatU => binary!(self, I16X8, uadd_sat),
            Operator::I16x8SubSatS => binary!(self, I16X8, ssub_sat),
            Operator::I16x8SubSatU => binary!(self, I16X8, usub_sat),
            Operator::I16x8AvgrU => binary!(self, I16X8, avg_round),
            Operator::I16x8Q15MulrSatS => binary!(self, I16X8, sqmul_round_sat),
            _ => return false,
        }
        true
    }

    fn lane_extremes(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16MinS => binary!(self, I8X16, smin),
            Operator::I8x16MinU => binary!(self, I8X16, umin),
            Operator::I8x16MaxS => binary!(self, I8X16, smax),
            Operator::I8x16MaxU => binary!(self, I8X16, umax),
            Operator::I16x8MinS => binary!(self, I16X8, smin),
            Operator::I16x8MinU => binary!(self, I16X8, umin),
            Operator::I16x8MaxS => binary!(self, I16X8, smax),
            Operator::I16x8MaxU => binary!(self, I16X8, umax),
            Operator::I32x4MinS => binary!(self, I32X4, smin),
            Operator::I32x4MinU => binary!(self, I32X4, umin),
            Operator::I32x4MaxS => binary!(self, I32X4, smax),
            Operator::I32x4MaxU => binary!(self, I32X4, umax),
            _ => return false,
        }
        true
    }

    fn lane_shift(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16Shl => shift!(self, I8X16, ishl),
            Operator::I8x16ShrS => shift!(self, I8X16, sshr),
            Operator::I8x16ShrU => shift!(self, I8X16, ushr),
            Operator::I16x8Shl => shift!(self, I16X8, ishl),
            Operator::I16x8ShrS => shift!(self, I16X8, sshr),
            Operator::I16x8ShrU => shift!(self, I16X8, ushr),
            Operator::I32x4Shl => shift!(self, I32X4, ishl),
            Operator::I32x4ShrS => shift!(self, I32X4, sshr),
            Operator::I32x4ShrU => shift!(self, I32X4, ushr),
            Operator::I64x2Shl => shift!(self, I64X2, ishl),
            Operator::I64x2ShrS => shift!(self, I64X2, sshr),
            Operator::I64x2ShrU => shift!(self, I64X2, ushr),
            _ => return false,
        }
        true
    }

    /// Translates instructions that reduce lanes to one i32.
    fn lane_test(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16AllTrue => self.all_true(I8X16),
            Operator::I16x8AllTrue => self.all_true(I16X8),
            Operator::I32x4AllTrue => self.all_true(I32X4),
            Operator::I64x2AllTrue => self.all_true(I64X2),
            Operator::I8x16Bitmask => self.bitmask(I8X16),
            Operator::I16x8Bitmask => self.bitmask(I16X8),
            Operator::I32x4Bitmask => self.bitmask(I32X4),
            Operator::I64x2Bitmask => self.bitmask(I64X2),
            _ => return false,
        }
        true
    }

    fn all_true(&mut self, ty: Type) {
        let a = self.pop_lanes(ty);
        let all = self.builder.ins().vall_true(a);
        self.push_bool(all);
    }

    /// Pushes the bitmask: bit k of the result is the sign of lane k.
    fn bitmask(&mut self, ty: Type) {
        let a = self.pop_lanes(ty);
        let signs = self.builder.ins().vhigh_bits(types::I32, a);
        self.push(signs);
    }
}
