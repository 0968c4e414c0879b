//! Integer arithmetic whose results have wider or narrower lanes than its operands.

use cranelift_codegen::ir::{InstBuilder, Value};
use wasmparser::Operator;

use super::{I8X16, I16X8, I32X4, Translator};

/// Pops two vectors as `$ty`, pushes the product of their halves, widened by `$widen`; one instruction on x64.
macro_rules! widening_product {
    ($self:ident, $ty:expr, $widen:ident) => {{
        let (b, a) = ($self.pop_lanes($ty), $self.pop_lanes($ty));
        let a = $self.builder.ins().$widen(a);
        let b = $self.builder.ins().$widen(b);
        let result = $self.builder.ins().imul(a, b);
        $self.push_lanes(result);
    }};
}

/// Pops a vector as `$ty`, pushes the sums of its neighbouring lanes, widened; one multiplication by ones on x64.
macro_rules! pairwise_sum {
    ($self:ident, $ty:expr, $low:ident, $high:ident) => {{
        let a = $self.pop_lanes($ty);
        let low = $self.builder.ins().$low(a);
        let high = $self.builder.ins().$high(a);
        let result = $self.builder.ins().iadd_pairwise(low, high);
        $self.push_lanes(result);
    }};
}

impl Translator<'_> {
    pub(super) fn lane_widening(&mut self, op: &Operator<'_>) -> bool {
        self.narrow(op) || self.extend(op) || self.extended_product(op) || self.extended_sum(op)
    }

    /// Narrows signed lanes with saturation; `U` saturates to the range of unsigned ones.
    fn narrow(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I8x16NarrowI16x8S => binary!(self, I16X8, snarrow),
            Operator::I8x16NarrowI16x8U => binary!(self, I16X8, unarrow),
            Operator::I16x8NarrowI32x4S => binary!(self, I32X4, snarrow),
            Operator::I16x8NarrowI32x4U => binary!(self, I32X4, unarrow),
            _ => return false,
        }
        true
    }

    fn extend(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I16x8ExtendLowI8x16S => unary!(self, I8X16, swiden_low),
            Operator::I16x8ExtendHighI8x16S => unary!(self, I8X16, swiden_high),
            Operator::I16x8ExtendLowI8x16U => unary!(self, I8X16, uwiden_low),
            Operator::I16x8ExtendHighI8x16U => unary!(self, I8X16, uwiden_high),
            Operator::I32x4ExtendLowI16x8S => unary!(self, I16X8, swiden_low),
            Operator::I32x4ExtendHighI16x8S => unary!(self, I16X8, swiden_high),
            Operator::I32x4ExtendLowI16x8U => unary!(self, I16X8, uwiden_low),
            Operator::I32x4ExtendHighI16x8U => unary!(self, I16X8, uwiden_high),
            Operator::I64x2ExtendLowI32x4S => unary!(self, I32X4, swiden_low),
            Operator::I64x2ExtendHighI32x4S => unary!(self, I32X4, swiden_high),
            Operator::I64x2ExtendLowI32x4U => unary!(self, I32X4, uwiden_low),
            Operator::I64x2ExtendHighI32x4U => unary!(self, I32X4, uwiden_high),
            _ => return false,
        }
        true
    }

    fn extended_product(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I16x8ExtMulLowI8x16S => widening_product!(self, I8X16, swiden_low),
            Operator::I16x8ExtMulHighI8x16S => widening_product!(self, I8X16, swiden_high),
            Operator::I16x8ExtMulLowI8x16U => widening_product!(self, I8X16, uwiden_low),
            Operator::I16x8ExtMulHighI8x16U => widening_product!(self, I8X16, uwiden_high),
            Operator::I32x4ExtMulLowI16x8S => widening_product!(self, I16X8, swiden_low),
            Operator::I32x4ExtMulHighI16x8S => widening_product!(self, I16X8, swiden_high),
            Operator::I32x4ExtMulLowI16x8U => widening_product!(self, I16X8, uwiden_low),
            Operator::I32x4ExtMulHighI16x8U => widening_product!(self, I16X8, uwiden_high),
            Operator::I64x2ExtMulLowI32x4S => widening_product!(self, I32X4, swiden_low),
            Operator::I64x2ExtMulHighI32x4S => widening_product!(self, I32X4, swiden_high),
            Operator::I64x2ExtMulLowI32x4U => widening_product!(self, I32X4, uwiden_low),
            Operator::I64x2ExtMulHighI32x4U => widening_product!(self, I32X4, uwiden_high),
            _ => return false,
        }
        true
    }

    fn extended_sum(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I16x8ExtAddPairwiseI8x16S => pairwise_sum!(self, I8X16, swiden_low, swiden_high),
            Operator::I16x8ExtAddPairwiseI8x16U => pairwise_sum!(self, I8X16, uwiden_low, uwiden_high),
            Operator::I32x4ExtAddPairwiseI16x8S => pairwise_sum!(self, I16X8, swiden_low, swiden_high),
            Operator::I32x4ExtAddPairwiseI16x8U => pairwise_sum!(self, I16X8, uwiden_low, uwiden_high),
            Operator::I32x4DotI16x8S => self.dot(),
            _ => return false,
        }
        true
    }

    fn dot(&mut self) {
        let (b, a) = (self.pop_lanes(I16X8), self.pop_lanes(I16X8));
        let result = self.pairwise_dot(a, b);
        self.push_lanes(result);
    }

    /// Sums the products of neighbouring signed lanes, in lanes of twice the width.
    pub(super) fn pairwise_dot(&mut self, a: Value, b: Value) -> Value {
        let (low_a, low_b) = (self.builder.ins().swiden_low(a), self.builder.ins().swiden_low(b));
        let (high_a, high_b) = (self.builder.ins().swiden_high(a), self.builder.ins().swiden_high(b));
        let low = self.builder.ins().imul(low_a, low_b);
        let high = self.builder.ins().imul(high_a, high_b);
        self.builder.ins().iadd_pairwise(low, high)
    }
}
