//! SIMD instructions: fixed-width 128-bit vectors, and the relaxed ones.
//!
//! Input: an operator. Output: CLIF, or `false` for an operator that is no SIMD instruction.
//!
//! Invariant: outside of one instruction a v128 is an `I8X16`, on the operand stack as in locals. An instruction pops
//! it as the lanes it needs ([`Translator::pop_lanes`]) and pushes the lanes it produced ([`Translator::push_lanes`]);
//! both casts are free, and give every block boundary one type.
//!
//! Some match arms are more elaborate than their meaning: Cranelift's x64 back end matches certain trees of
//! instructions (a product of two widened vectors, a narrowing of a conversion with a zero) and has no rule for their
//! parts. Such arms say so.
//!
//! Oracle: the official suite, and `tests/it/simd.rs`, which has a function for each operator that wasmparser knows.

use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use wasmparser::Operator;

use super::Translator;

const I8X16: Type = types::I8X16;
const I16X8: Type = types::I16X8;
const I32X4: Type = types::I32X4;
const I64X2: Type = types::I64X2;
const F32X4: Type = types::F32X4;
const F64X2: Type = types::F64X2;

/// Pops one vector as `$ty`, pushes `$ins` of it.
macro_rules! unary {
    ($self:ident, $ty:expr, $ins:ident) => {{
        let a = $self.pop_lanes($ty);
        let result = $self.builder.ins().$ins(a);
        $self.push_lanes(result);
    }};
}

/// Pops two vectors as `$ty`, pushes `$ins` of them.
macro_rules! binary {
    ($self:ident, $ty:expr, $ins:ident) => {{
        let (b, a) = ($self.pop_lanes($ty), $self.pop_lanes($ty));
        let result = $self.builder.ins().$ins(a, b);
        $self.push_lanes(result);
    }};
}

/// Pops a vector as `$from`, pushes its conversion to `$to`.
macro_rules! convert {
    ($self:ident, $from:expr, $ins:ident, $to:expr) => {{
        let a = $self.pop_lanes($from);
        let result = $self.builder.ins().$ins($to, a);
        $self.push_lanes(result);
    }};
}

mod bitwise;
mod comparison;
mod convert;
mod float;
mod integer;
mod lanes;
mod memory;
mod relaxed;
mod widen;

impl Translator<'_> {
    pub(super) fn simd(&mut self, op: &Operator<'_>) -> bool {
        self.vector_memory(op)
            || self.lanes(op)
            || self.bitwise(op)
            || self.lane_comparison(op)
            || self.lane_integer(op)
            || self.lane_widening(op)
            || self.lane_float(op)
            || self.lane_conversion(op)
            || self.relaxed(op)
    }

    /// Pops a v128 as lanes of type `ty`.
    fn pop_lanes(&mut self, ty: Type) -> Value {
        let vector = self.pop();
        self.cast_lanes(ty, vector)
    }

    /// Pushes a vector with any lane type.
    fn push_lanes(&mut self, vector: Value) {
        let vector = self.cast_lanes(I8X16, vector);
        self.push(vector);
    }

    /// Casts the same 128 bits to lanes of type `ty`; lane 0 is the least significant, as in memory.
    fn cast_lanes(&mut self, ty: Type, vector: Value) -> Value {
        if self.builder.func.dfg.value_type(vector) == ty {
            return vector;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.builder.ins().bitcast(ty, flags, vector)
    }

    fn vector_constant(&mut self, ty: Type, bytes: [u8; 16]) -> Value {
        let constant = self.builder.func.dfg.constants.insert(bytes.as_slice().into());
        self.builder.ins().vconst(ty, constant)
    }
}
