//! Loads and stores of vectors and of single lanes.

use cranelift_codegen::ir::{InstBuilder, Type};
use wasmparser::{MemArg, Operator};

use super::{I8X16, I16X8, I32X4, I64X2, Translator};

/// Loads eight bytes and widens each lane.
macro_rules! load_widened {
    ($self:ident, $arg:expr, $ins:ident) => {{
        let access = $self.access($arg, 8);
        let result = $self.builder.ins().$ins(access.flags, access.base, access.offset);
        $self.push_lanes(result);
    }};
}

impl Translator<'_> {
    pub(super) fn vector_memory(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::V128Load { memarg } => self.load_vector(memarg),
            Operator::V128Load8x8S { memarg } => load_widened!(self, memarg, sload8x8),
            Operator::V128Load8x8U { memarg } => load_widened!(self, memarg, uload8x8),
            Operator::V128Load16x4S { memarg } => load_widened!(self, memarg, sload16x4),
            Operator::V128Load16x4U { memarg } => load_widened!(self, memarg, uload16x4),
            Operator::V128Load32x2S { memarg } => load_widened!(self, memarg, sload32x2),
            Operator::V128Load32x2U { memarg } => load_widened!(self, memarg, uload32x2),
            Operator::V128Load8Splat { memarg } => self.load_splat(memarg, I8X16),
            Operator::V128Load16Splat { memarg } => self.load_splat(memarg, I16X8),
            Operator::V128Load32Splat { memarg } => self.load_splat(memarg, I32X4),
            Operator::V128Load64Splat { memarg } => self.load_splat(memarg, I64X2),
            Operator::V128Load32Zero { memarg } => self.load_zero(memarg, I32X4),
            Operator::V128Load64Zero { memarg } => self.load_zero(memarg, I64X2),
            Operator::V128Load8Lane { memarg, lane } => self.load_lane(memarg, I8X16, *lane),
            Operator::V128Load16Lane { memarg, lane } => self.load_lane(memarg, I16X8, *lane),
            Operator::V128Load32Lane { memarg, lane } => self.load_lane(memarg, I32X4, *lane),
            Operator::V128Load64Lane { memarg, lane } => self.load_lane(memarg, I64X2, *lane),
            Operator::V128Store { memarg } => self.store_vector(memarg),
            Operator::V128Store8Lane { memarg, lane } => self.store_lane(memarg, I8X16, *lane),
            Operator::V128Store16Lane { memarg, lane } => self.store_lane(memarg, I16X8, *lane),
            Operator::V128Store32Lane { memarg, lane } => self.store_lane(memarg, I32X4, *lane),
            Operator::V128Store64Lane { memarg, lane } => self.store_lane(memarg, I64X2, *lane),
            _ => return false,
        }
        true
    }

    fn load_vector(&mut self, arg: &MemArg) {
        let vector = self.load_value(arg, I8X16);
        self.push(vector);
    }

    fn load_splat(&mut self, arg: &MemArg, ty: Type) {
        let scalar = self.load_value(arg, ty.lane_type());
        let result = self.builder.ins().splat(ty, scalar);
        self.push_lanes(result);
    }

    /// Loads lane 0; the others are zero.
    fn load_zero(&mut self, arg: &MemArg, ty: Type) {
        let scalar = self.load_value(arg, ty.lane_type());
        let result = self.builder.ins().scalar_to_vector(ty, scalar);
        self.push_lanes(result);
    }

    fn load_lane(&mut self, arg: &MemArg, ty: Type, lane: u8) {
        let vector = self.pop_lanes(ty);
        let scalar = self.load_value(arg, ty.lane_type());
        let result = self.builder.ins().insertlane(vector, scalar, lane);
        self.push_lanes(result);
    }

    fn store_vector(&mut self, arg: &MemArg) {
        let vector = self.pop();
        self.store_value(arg, vector);
    }

    fn store_lane(&mut self, arg: &MemArg, ty: Type, lane: u8) {
        let vector = self.pop_lanes(ty);
        let scalar = self.builder.ins().extractlane(vector, lane);
        self.store_value(arg, scalar);
    }
}
