//! Relaxed instructions: the specification allows several results, and the cheapest of them on this machine is taken.
//!
//! Invariant: the choice depends only on the machine and on the options, so all versions of a function agree.

use cranelift_codegen::ir::{InstBuilder, Type, Value};
use wasmparser::Operator;

use super::{F32X4, F64X2, I8X16, I16X8, I32X4, I64X2, Translator};

/// Pops two vectors as `$ty`, pushes `$native` of them if `$has`, else `$portable` of them.
macro_rules! native_or {
    ($self:ident, $ty:expr, $has:expr, $native:ident, $portable:ident) => {
        match $has {
            true => binary!($self, $ty, $native),
            false => binary!($self, $ty, $portable),
        }
    };
}

impl Translator<'_> {
    pub(super) fn relaxed(&mut self, op: &Operator<'_>) -> bool {
        let isa = self.input.isa();
        match op {
            Operator::I8x16RelaxedSwizzle => {
                native_or!(self, I8X16, isa.has_x86_pshufb_lowering(), x86_pshufb, swizzle)
            }
            Operator::I16x8RelaxedQ15mulrS => {
                native_or!(self, I16X8, isa.has_x86_pmulhrsw_lowering(), x86_pmulhrsw, sqmul_round_sat)
            }
            Operator::I8x16RelaxedLaneselect => self.laneselect(I8X16),
            Operator::I16x8RelaxedLaneselect => self.laneselect(I16X8),
            Operator::I32x4RelaxedLaneselect => self.laneselect(I32X4),
            Operator::I64x2RelaxedLaneselect => self.laneselect(I64X2),
            Operator::I32x4RelaxedTruncF32x4S => self.relaxed_truncate_floats(),
            Operator::I32x4RelaxedTruncF32x4U => convert!(self, F32X4, fcvt_to_uint_sat, I32X4),
            Operator::I32x4RelaxedTruncF64x2SZero => self.relaxed_truncate_doubles(),
            Operator::I32x4RelaxedTruncF64x2UZero => self.truncate_doubles_unsigned(),
            Operator::F32x4RelaxedMadd => self.madd(F32X4),
            Operator::F64x2RelaxedMadd => self.madd(F64X2),
            Operator::F32x4RelaxedNmadd => self.nmadd(F32X4),
            Operator::F64x2RelaxedNmadd => self.nmadd(F64X2),
            Operator::F32x4RelaxedMin => self.relaxed_min(F32X4),
            Operator::F64x2RelaxedMin => self.relaxed_min(F64X2),
            Operator::F32x4RelaxedMax => self.relaxed_max(F32X4),
            Operator::F64x2RelaxedMax => self.relaxed_max(F64X2),
            Operator::I16x8RelaxedDotI8x16I7x16S => self.relaxed_dot(),
            Operator::I32x4RelaxedDotI8x16I7x16AddS => self.relaxed_dot_add(),
            _ => return false,
        }
        true
    }

    /// Reports whether instructions may be used that every x64 processor has, and no other.
    fn is_x64(&self) -> bool {
        self.input.isa().name() == "x64"
    }

    /// Selects lanes. Where a lane of the mask is neither all ones nor zero: by its top bit, or bit by bit.
    fn laneselect(&mut self, ty: Type) {
        let (mask, otherwise, value) = (self.pop_lanes(ty), self.pop_lanes(ty), self.pop_lanes(ty));
        let chosen = match self.input.isa().has_blendv_lowering(ty) {
            true => self.builder.ins().blendv(mask, value, otherwise),
            false => self.builder.ins().bitselect(mask, value, otherwise),
        };
        self.push_lanes(chosen);
    }

    /// Truncates floats. NaN and values out of range become `i32::MIN`, or 0 and the nearest number.
    fn relaxed_truncate_floats(&mut self) {
        match self.is_x64() {
            true => convert!(self, F32X4, x86_cvtt2dq, I32X4),
            false => convert!(self, F32X4, fcvt_to_sint_sat, I32X4),
        }
    }

    /// Like [`Self::relaxed_truncate_floats`], of two doubles; x64 has a rule for the pair only.
    fn relaxed_truncate_doubles(&mut self) {
        let a = self.pop_lanes(F64X2);
        let wide = match self.is_x64() {
            true => self.builder.ins().x86_cvtt2dq(I64X2, a),
            false => self.builder.ins().fcvt_to_sint_sat(I64X2, a),
        };
        let result = self.narrow_with_zero(wide);
        self.push_lanes(result);
    }

    /// Computes `a * b + c`, rounded once if the machine does.
    fn madd(&mut self, ty: Type) {
        let (c, b, a) = (self.pop_lanes(ty), self.pop_lanes(ty), self.pop_lanes(ty));
        let result = self.multiply_add(a, b, c);
        self.push_lanes(result);
    }

    /// Computes `-(a * b) + c`.
    fn nmadd(&mut self, ty: Type) {
        let (c, b, a) = (self.pop_lanes(ty), self.pop_lanes(ty), self.pop_lanes(ty));
        let minus_a = self.builder.ins().fneg(a);
        let result = self.multiply_add(minus_a, b, c);
        self.push_lanes(result);
    }

    fn multiply_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.input.isa().has_native_fma() {
            return self.builder.ins().fma(a, b, c);
        }
        let product = self.builder.ins().fmul(a, b);
        self.builder.ins().fadd(product, c)
    }

    /// Computes the minimum. For NaN and a number, or two zeros: the second operand, or the result of the strict
    /// instruction.
    fn relaxed_min(&mut self, ty: Type) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = match self.has_native_extremes() {
            true => self.native_min(a, b),
            false => self.builder.ins().fmin(a, b),
        };
        self.push_lanes(result);
    }

    /// Like [`Self::relaxed_min`], for the maximum.
    fn relaxed_max(&mut self, ty: Type) {
        let (b, a) = (self.pop_lanes(ty), self.pop_lanes(ty));
        let result = match self.has_native_extremes() {
            true => self.native_max(a, b),
            false => self.builder.ins().fmax(a, b),
        };
        self.push_lanes(result);
    }

    /// Reports whether the native instructions may be used: they propagate NaNs unchanged, which breaks the promise of
    /// `canonical_nans`.
    fn has_native_extremes(&self) -> bool {
        self.is_x64() && !self.input.options().canonical_nans
    }

    fn relaxed_dot(&mut self) {
        let (b, a) = (self.pop_lanes(I8X16), self.pop_lanes(I8X16));
        let result = self.dot_bytes(a, b);
        self.push_lanes(result);
    }

    fn relaxed_dot_add(&mut self) {
        let (c, b, a) = (self.pop_lanes(I32X4), self.pop_lanes(I8X16), self.pop_lanes(I8X16));
        let pairs = self.dot_bytes(a, b);
        let low = self.builder.ins().swiden_low(pairs);
        let high = self.builder.ins().swiden_high(pairs);
        let dot = self.builder.ins().iadd_pairwise(low, high);
        let result = self.builder.ins().iadd(dot, c);
        self.push_lanes(result);
    }

    /// Sums products of neighbouring bytes as i16 lanes. Where a byte of `b` has its top bit set: unsigned, and the sum
    /// saturates; or signed, and it wraps.
    fn dot_bytes(&mut self, a: Value, b: Value) -> Value {
        match self.input.isa().has_x86_pmaddubsw_lowering() {
            true => self.builder.ins().x86_pmaddubsw(a, b),
            false => self.pairwise_dot(a, b),
        }
    }
}
