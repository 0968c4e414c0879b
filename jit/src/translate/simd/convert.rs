//! Conversions between integer and float lanes, and between float widths.

use cranelift_codegen::ir::{InstBuilder, Value};
use wasmparser::Operator;

use super::{F32X4, F64X2, I32X4, I64X2, Translator};

/// Pops an i32x4, widens its low half, pushes that as doubles.
macro_rules! convert_low {
    ($self:ident, $widen:ident, $ins:ident) => {{
        let a = $self.pop_lanes(I32X4);
        let low = $self.builder.ins().$widen(a);
        let result = $self.builder.ins().$ins(F64X2, low);
        $self.push_lanes(result);
    }};
}

impl Translator<'_> {
    pub(super) fn lane_conversion(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I32x4TruncSatF32x4S => convert!(self, F32X4, fcvt_to_sint_sat, I32X4),
            Operator::I32x4TruncSatF32x4U => convert!(self, F32X4, fcvt_to_uint_sat, I32X4),
            Operator::I32x4TruncSatF64x2SZero => self.truncate_doubles_signed(),
            Operator::I32x4TruncSatF64x2UZero => self.truncate_doubles_unsigned(),
            Operator::F32x4ConvertI32x4S => convert!(self, I32X4, fcvt_from_sint, F32X4),
            Operator::F32x4ConvertI32x4U => convert!(self, I32X4, fcvt_from_uint, F32X4),
            Operator::F64x2ConvertLowI32x4S => convert_low!(self, swiden_low, fcvt_from_sint),
            Operator::F64x2ConvertLowI32x4U => convert_low!(self, uwiden_low, fcvt_from_uint),
            Operator::F32x4DemoteF64x2Zero => unary!(self, F64X2, fvdemote),
            Operator::F64x2PromoteLowF32x4 => unary!(self, F32X4, fvpromote_low),
            _ => return false,
        }
        true
    }

    /// Saturates twice, to i64 and then to i32; x64 has a rule for the pair only.
    fn truncate_doubles_signed(&mut self) {
        let a = self.pop_lanes(F64X2);
        let wide = self.builder.ins().fcvt_to_sint_sat(I64X2, a);
        let result = self.narrow_with_zero(wide);
        self.push_lanes(result);
    }

    /// Saturates twice, to u64 and then to u32; x64 has a rule for the pair only.
    pub(super) fn truncate_doubles_unsigned(&mut self) {
        let a = self.pop_lanes(F64X2);
        let wide = self.builder.ins().fcvt_to_uint_sat(I64X2, a);
        let zero = self.vector_constant(I64X2, [0; 16]);
        let result = self.builder.ins().uunarrow(wide, zero);
        self.push_lanes(result);
    }

    /// Two i64 lanes saturated to i32, then two zeros.
    pub(super) fn narrow_with_zero(&mut self, wide: Value) -> Value {
        let zero = self.vector_constant(I64X2, [0; 16]);
        self.builder.ins().snarrow(wide, zero)
    }
}
