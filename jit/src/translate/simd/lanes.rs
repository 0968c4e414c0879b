//! Constants, and moves of lanes: shuffles, splats, and single lanes to and from scalars.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use wasmparser::Operator;

use super::{F32X4, F64X2, I8X16, I16X8, I32X4, I64X2, Translator};

impl Translator<'_> {
    pub(super) fn lanes(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::V128Const { value } => self.v128_const(*value.bytes()),
            Operator::I8x16Shuffle { lanes } => self.shuffle(lanes),
            Operator::I8x16Swizzle => binary!(self, I8X16, swizzle),
            Operator::I8x16Splat => self.splat(I8X16),
            Operator::I16x8Splat => self.splat(I16X8),
            Operator::I32x4Splat => self.splat(I32X4),
            Operator::I64x2Splat => self.splat(I64X2),
            Operator::F32x4Splat => self.splat(F32X4),
            Operator::F64x2Splat => self.splat(F64X2),
            Operator::I8x16ExtractLaneS { lane } => self.extract_narrow_signed(I8X16, lane),
            Operator::I8x16ExtractLaneU { lane } => self.extract_narrow_unsigned(I8X16, lane),
            Operator::I16x8ExtractLaneS { lane } => self.extract_narrow_signed(I16X8, lane),
            Operator::I16x8ExtractLaneU { lane } => self.extract_narrow_unsigned(I16X8, lane),
            Operator::I32x4ExtractLane { lane } => self.extract(I32X4, lane),
            Operator::I64x2ExtractLane { lane } => self.extract(I64X2, lane),
            Operator::F32x4ExtractLane { lane } => self.extract(F32X4, lane),
            Operator::F64x2ExtractLane { lane } => self.extract(F64X2, lane),
            Operator::I8x16ReplaceLane { lane } => self.replace(I8X16, lane),
            Operator::I16x8ReplaceLane { lane } => self.replace(I16X8, lane),
            Operator::I32x4ReplaceLane { lane } => self.replace(I32X4, lane),
            Operator::I64x2ReplaceLane { lane } => self.replace(I64X2, lane),
            Operator::F32x4ReplaceLane { lane } => self.replace(F32X4, lane),
            Operator::F64x2ReplaceLane { lane } => self.replace(F64X2, lane),
            _ => return false,
        }
        true
    }

    fn v128_const(&mut self, bytes: [u8; 16]) {
        let constant = self.vector_constant(I8X16, bytes);
        self.push(constant);
    }

    /// Pushes a shuffle: lane k of the result is byte `lanes[k]` of the 32 bytes of both operands.
    fn shuffle(&mut self, lanes: [u8; 16]) {
        let (b, a) = (self.pop(), self.pop());
        let mask = self.builder.func.dfg.immediates.push(lanes.as_slice().into());
        let result = self.builder.ins().shuffle(a, b, mask);
        self.push(result);
    }

    fn splat(&mut self, ty: Type) {
        let scalar = self.pop_scalar(ty);
        let result = self.builder.ins().splat(ty, scalar);
        self.push_lanes(result);
    }

    fn extract(&mut self, ty: Type, lane: u8) {
        let vector = self.pop_lanes(ty);
        let scalar = self.builder.ins().extractlane(vector, lane);
        self.push(scalar);
    }

    fn extract_narrow_signed(&mut self, ty: Type, lane: u8) {
        let vector = self.pop_lanes(ty);
        let scalar = self.builder.ins().extractlane(vector, lane);
        let scalar = self.builder.ins().sextend(types::I32, scalar);
        self.push(scalar);
    }

    fn extract_narrow_unsigned(&mut self, ty: Type, lane: u8) {
        let vector = self.pop_lanes(ty);
        let scalar = self.builder.ins().extractlane(vector, lane);
        let scalar = self.builder.ins().uextend(types::I32, scalar);
        self.push(scalar);
    }

    fn replace(&mut self, ty: Type, lane: u8) {
        let scalar = self.pop_scalar(ty);
        let vector = self.pop_lanes(ty);
        let result = self.builder.ins().insertlane(vector, scalar, lane);
        self.push_lanes(result);
    }

    /// Pops a scalar as one lane of `ty`: the low part of an i32 if lanes are narrower.
    fn pop_scalar(&mut self, ty: Type) -> Value {
        let scalar = self.pop();
        match ty.lane_bits() < 32 {
            true => self.builder.ins().ireduce(ty.lane_type(), scalar),
            false => scalar,
        }
    }
}
