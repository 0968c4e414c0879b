//! Instructions that compute, grouped by operand and result types. They never trap.

use wasm_encoder::{Instruction as I, ValType};

use ValType::{F32, F64, I32, I64, V128};

/// The kind of results that may be NaNs whose bits the engine chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nans {
    /// No NaNs.
    None,
    /// A scalar, whose bits only some uses observe.
    Scalar,
    /// Lanes of 32 bits.
    Lanes32,
    /// Lanes of 64 bits.
    Lanes64,
}

/// Instructions with the same type.
#[derive(Debug)]
pub struct Group {
    /// The types of their operands.
    pub params: &'static [ValType],
    /// The type of their result.
    pub result: ValType,
    /// Whether the result may be such a NaN.
    pub nans: Nans,
    /// Whether the result depends on the bits of NaN operands.
    pub tells_nans: bool,
    /// The instructions.
    pub ops: &'static [I<'static>],
    /// Weight among the groups with the same result type.
    pub weight: usize,
}

const fn exact(
    params: &'static [ValType],
    result: ValType,
    weight: usize,
    ops: &'static [I<'static>],
) -> Group {
    Group { params, result, nans: Nans::None, tells_nans: false, ops, weight }
}

const fn telling(
    params: &'static [ValType],
    result: ValType,
    weight: usize,
    ops: &'static [I<'static>],
) -> Group {
    Group { params, result, nans: Nans::None, tells_nans: true, ops, weight }
}

const fn float(
    params: &'static [ValType],
    result: ValType,
    nans: Nans,
    weight: usize,
    ops: &'static [I<'static>],
) -> Group {
    Group { params, result, nans, tells_nans: false, ops, weight }
}

static BINARY32: [I<'static>; 11] = [
    I::I32Add,
    I::I32Sub,
    I::I32Mul,
    I::I32And,
    I::I32Or,
    I::I32Xor,
    I::I32Shl,
    I::I32ShrS,
    I::I32ShrU,
    I::I32Rotl,
    I::I32Rotr,
];
static BINARY64: [I<'static>; 11] = [
    I::I64Add,
    I::I64Sub,
    I::I64Mul,
    I::I64And,
    I::I64Or,
    I::I64Xor,
    I::I64Shl,
    I::I64ShrS,
    I::I64ShrU,
    I::I64Rotl,
    I::I64Rotr,
];
static COMPARE32: [I<'static>; 10] = [
    I::I32Eq,
    I::I32Ne,
    I::I32LtS,
    I::I32LtU,
    I::I32GtS,
    I::I32GtU,
    I::I32LeS,
    I::I32LeU,
    I::I32GeS,
    I::I32GeU,
];
static COMPARE64: [I<'static>; 10] = [
    I::I64Eq,
    I::I64Ne,
    I::I64LtS,
    I::I64LtU,
    I::I64GtS,
    I::I64GtU,
    I::I64LeS,
    I::I64LeU,
    I::I64GeS,
    I::I64GeU,
];
static UNARY32: [I<'static>; 6] =
    [I::I32Clz, I::I32Ctz, I::I32Popcnt, I::I32Extend8S, I::I32Extend16S, I::I32Eqz];
static UNARY64: [I<'static>; 6] =
    [I::I64Clz, I::I64Ctz, I::I64Popcnt, I::I64Extend8S, I::I64Extend16S, I::I64Extend32S];
static EXTEND: [I<'static>; 2] = [I::I64ExtendI32S, I::I64ExtendI32U];
static COMPARE_F32: [I<'static>; 6] = [I::F32Eq, I::F32Ne, I::F32Lt, I::F32Gt, I::F32Le, I::F32Ge];
static COMPARE_F64: [I<'static>; 6] = [I::F64Eq, I::F64Ne, I::F64Lt, I::F64Gt, I::F64Le, I::F64Ge];
static BINARY_F32: [I<'static>; 6] = [I::F32Add, I::F32Sub, I::F32Mul, I::F32Div, I::F32Min, I::F32Max];
static BINARY_F64: [I<'static>; 6] = [I::F64Add, I::F64Sub, I::F64Mul, I::F64Div, I::F64Min, I::F64Max];
static UNARY_F32: [I<'static>; 7] =
    [I::F32Abs, I::F32Neg, I::F32Ceil, I::F32Floor, I::F32Trunc, I::F32Nearest, I::F32Sqrt];
static UNARY_F64: [I<'static>; 7] =
    [I::F64Abs, I::F64Neg, I::F64Ceil, I::F64Floor, I::F64Trunc, I::F64Nearest, I::F64Sqrt];
static VECTORS: [I<'static>; 77] = [
    I::V128And,
    I::V128AndNot,
    I::V128Or,
    I::V128Xor,
    I::I8x16Swizzle,
    I::I8x16Eq,
    I::I8x16LtS,
    I::I8x16GtU,
    I::I8x16LeU,
    I::I8x16NarrowI16x8S,
    I::I8x16NarrowI16x8U,
    I::I8x16Add,
    I::I8x16AddSatS,
    I::I8x16AddSatU,
    I::I8x16Sub,
    I::I8x16SubSatS,
    I::I8x16SubSatU,
    I::I8x16MinS,
    I::I8x16MinU,
    I::I8x16MaxS,
    I::I8x16MaxU,
    I::I8x16AvgrU,
    I::I16x8Eq,
    I::I16x8Ne,
    I::I16x8LtU,
    I::I16x8GeS,
    I::I16x8Q15MulrSatS,
    I::I16x8NarrowI32x4S,
    I::I16x8NarrowI32x4U,
    I::I16x8Add,
    I::I16x8AddSatS,
    I::I16x8AddSatU,
    I::I16x8Sub,
    I::I16x8SubSatS,
    I::I16x8SubSatU,
    I::I16x8Mul,
    I::I16x8MinS,
    I::I16x8MinU,
    I::I16x8MaxS,
    I::I16x8MaxU,
    I::I16x8AvgrU,
    I::I16x8ExtMulLowI8x16S,
    I::I16x8ExtMulHighI8x16S,
    I::I16x8ExtMulLowI8x16U,
    I::I16x8ExtMulHighI8x16U,
    I::I32x4Eq,
    I::I32x4Ne,
    I::I32x4GtS,
    I::I32x4LeU,
    I::I32x4Add,
    I::I32x4Sub,
    I::I32x4Mul,
    I::I32x4MinS,
    I::I32x4MinU,
    I::I32x4MaxS,
    I::I32x4MaxU,
    I::I32x4DotI16x8S,
    I::I32x4ExtMulLowI16x8S,
    I::I32x4ExtMulHighI16x8U,
    I::I64x2Eq,
    I::I64x2Ne,
    I::I64x2LtS,
    I::I64x2GeS,
    I::I64x2Add,
    I::I64x2Sub,
    I::I64x2Mul,
    I::I64x2ExtMulLowI32x4S,
    I::I64x2ExtMulHighI32x4U,
    I::F32x4Eq,
    I::F32x4Lt,
    I::F32x4Ge,
    I::F64x2Ne,
    I::F64x2Gt,
    I::F64x2Le,
    I::F32x4PMin,
    I::F32x4PMax,
    I::F64x2PMax,
];
static VECTOR: [I<'static>; 37] = [
    I::V128Not,
    I::I8x16Abs,
    I::I8x16Neg,
    I::I8x16Popcnt,
    I::I16x8ExtAddPairwiseI8x16S,
    I::I16x8ExtAddPairwiseI8x16U,
    I::I16x8Abs,
    I::I16x8Neg,
    I::I16x8ExtendLowI8x16S,
    I::I16x8ExtendHighI8x16S,
    I::I16x8ExtendLowI8x16U,
    I::I16x8ExtendHighI8x16U,
    I::I32x4ExtAddPairwiseI16x8S,
    I::I32x4ExtAddPairwiseI16x8U,
    I::I32x4Abs,
    I::I32x4Neg,
    I::I32x4ExtendLowI16x8S,
    I::I32x4ExtendHighI16x8S,
    I::I32x4ExtendLowI16x8U,
    I::I32x4ExtendHighI16x8U,
    I::I64x2Abs,
    I::I64x2Neg,
    I::I64x2ExtendLowI32x4S,
    I::I64x2ExtendHighI32x4S,
    I::I64x2ExtendLowI32x4U,
    I::I64x2ExtendHighI32x4U,
    I::I32x4TruncSatF32x4S,
    I::I32x4TruncSatF32x4U,
    I::I32x4TruncSatF64x2SZero,
    I::I32x4TruncSatF64x2UZero,
    I::F32x4ConvertI32x4S,
    I::F32x4ConvertI32x4U,
    I::F64x2ConvertLowI32x4S,
    I::F64x2ConvertLowI32x4U,
    I::F32x4Abs,
    I::F32x4Neg,
    I::F64x2Abs,
];
static SHIFTS: [I<'static>; 12] = [
    I::I8x16Shl,
    I::I8x16ShrS,
    I::I8x16ShrU,
    I::I16x8Shl,
    I::I16x8ShrS,
    I::I16x8ShrU,
    I::I32x4Shl,
    I::I32x4ShrS,
    I::I32x4ShrU,
    I::I64x2Shl,
    I::I64x2ShrS,
    I::I64x2ShrU,
];
static TESTS: [I<'static>; 9] = [
    I::V128AnyTrue,
    I::I8x16AllTrue,
    I::I16x8AllTrue,
    I::I32x4AllTrue,
    I::I64x2AllTrue,
    I::I8x16Bitmask,
    I::I16x8Bitmask,
    I::I32x4Bitmask,
    I::I64x2Bitmask,
];
static LANES_I32: [I<'static>; 6] = [
    I::I8x16ExtractLaneS(3),
    I::I8x16ExtractLaneU(15),
    I::I16x8ExtractLaneS(7),
    I::I16x8ExtractLaneU(2),
    I::I32x4ExtractLane(0),
    I::I32x4ExtractLane(3),
];
static REPLACE_I32: [I<'static>; 4] =
    [I::I8x16ReplaceLane(9), I::I16x8ReplaceLane(4), I::I32x4ReplaceLane(1), I::I32x4ReplaceLane(2)];
static LANES_F32X4: [I<'static>; 9] = [
    I::F32x4Ceil,
    I::F32x4Floor,
    I::F32x4Trunc,
    I::F32x4Nearest,
    I::F32x4Sqrt,
    I::F32x4DemoteF64x2Zero,
    I::F32x4Neg,
    I::F32x4Abs,
    I::F32x4Sqrt,
];
static BINARY_F32X4: [I<'static>; 6] =
    [I::F32x4Add, I::F32x4Sub, I::F32x4Mul, I::F32x4Div, I::F32x4Min, I::F32x4Max];
static LANES_F64X2: [I<'static>; 6] =
    [I::F64x2Ceil, I::F64x2Floor, I::F64x2Trunc, I::F64x2Nearest, I::F64x2Sqrt, I::F64x2PromoteLowF32x4];
static BINARY_F64X2: [I<'static>; 6] =
    [I::F64x2Add, I::F64x2Sub, I::F64x2Mul, I::F64x2Div, I::F64x2Min, I::F64x2Max];
static TRUNCATE_F32_I32: [I<'static>; 2] = [I::I32TruncSatF32S, I::I32TruncSatF32U];
static TRUNCATE_F64_I32: [I<'static>; 2] = [I::I32TruncSatF64S, I::I32TruncSatF64U];
static TRUNCATE_F32_I64: [I<'static>; 2] = [I::I64TruncSatF32S, I::I64TruncSatF32U];
static TRUNCATE_F64_I64: [I<'static>; 2] = [I::I64TruncSatF64S, I::I64TruncSatF64U];
static SHUFFLES: [I<'static>; 3] = [
    I::I8x16Shuffle([0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31]),
    I::I8x16Shuffle([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    I::I8x16Shuffle([4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 28, 29, 30, 31]),
];

/// All groups.
pub static GROUPS: &[Group] = &[
    exact(&[I32, I32], I32, 10, &BINARY32),
    exact(&[I32, I32], I32, 4, &COMPARE32),
    exact(&[I64, I64], I32, 3, &COMPARE64),
    exact(&[I32], I32, 3, &UNARY32),
    exact(&[I64], I32, 2, &[I::I32WrapI64, I::I64Eqz]),
    exact(&[F32, F32], I32, 1, &COMPARE_F32),
    exact(&[F64, F64], I32, 1, &COMPARE_F64),
    exact(&[F32], I32, 1, &TRUNCATE_F32_I32),
    exact(&[F64], I32, 1, &TRUNCATE_F64_I32),
    telling(&[F32], I32, 1, &[I::I32ReinterpretF32]),
    exact(&[V128], I32, 1, &TESTS),
    exact(&[V128], I32, 1, &LANES_I32),
    exact(&[I64, I64], I64, 10, &BINARY64),
    exact(&[I64], I64, 3, &UNARY64),
    exact(&[I32], I64, 4, &EXTEND),
    exact(&[F32], I64, 1, &TRUNCATE_F32_I64),
    exact(&[F64], I64, 1, &TRUNCATE_F64_I64),
    telling(&[F64], I64, 1, &[I::I64ReinterpretF64]),
    exact(&[V128], I64, 1, &[I::I64x2ExtractLane(0), I::I64x2ExtractLane(1)]),
    float(&[F32, F32], F32, Nans::Scalar, 6, &BINARY_F32),
    float(&[F32], F32, Nans::Scalar, 2, &UNARY_F32),
    telling(&[F32, F32], F32, 1, &[I::F32Copysign]),
    float(&[F64], F32, Nans::Scalar, 1, &[I::F32DemoteF64]),
    exact(&[I32], F32, 2, &[I::F32ConvertI32S, I::F32ConvertI32U, I::F32ReinterpretI32]),
    exact(&[I64], F32, 1, &[I::F32ConvertI64S, I::F32ConvertI64U]),
    exact(&[V128], F32, 1, &[I::F32x4ExtractLane(0), I::F32x4ExtractLane(2)]),
    float(&[F64, F64], F64, Nans::Scalar, 6, &BINARY_F64),
    float(&[F64], F64, Nans::Scalar, 2, &UNARY_F64),
    telling(&[F64, F64], F64, 1, &[I::F64Copysign]),
    float(&[F32], F64, Nans::Scalar, 1, &[I::F64PromoteF32]),
    exact(&[I32], F64, 2, &[I::F64ConvertI32S, I::F64ConvertI32U]),
    exact(&[I64], F64, 1, &[I::F64ConvertI64S, I::F64ConvertI64U, I::F64ReinterpretI64]),
    exact(&[V128], F64, 1, &[I::F64x2ExtractLane(0), I::F64x2ExtractLane(1)]),
    exact(&[V128, V128], V128, 8, &VECTORS),
    exact(&[V128], V128, 3, &VECTOR),
    exact(&[V128, I32], V128, 2, &SHIFTS),
    exact(&[V128, V128, V128], V128, 1, &[I::V128Bitselect]),
    exact(&[V128, V128], V128, 2, &SHUFFLES),
    exact(&[I32], V128, 1, &[I::I8x16Splat, I::I16x8Splat, I::I32x4Splat]),
    exact(&[I64], V128, 1, &[I::I64x2Splat]),
    telling(&[F32], V128, 1, &[I::F32x4Splat]),
    telling(&[F64], V128, 1, &[I::F64x2Splat]),
    exact(&[V128, I32], V128, 1, &REPLACE_I32),
    exact(&[V128, I64], V128, 1, &[I::I64x2ReplaceLane(0), I::I64x2ReplaceLane(1)]),
    telling(&[V128, F32], V128, 1, &[I::F32x4ReplaceLane(3)]),
    telling(&[V128, F64], V128, 1, &[I::F64x2ReplaceLane(1)]),
    float(&[V128, V128], V128, Nans::Lanes32, 2, &BINARY_F32X4),
    float(&[V128], V128, Nans::Lanes32, 1, &LANES_F32X4),
    float(&[V128, V128], V128, Nans::Lanes64, 2, &BINARY_F64X2),
    float(&[V128], V128, Nans::Lanes64, 1, &LANES_F64X2),
];

/// The bits of the canonical NaN.
pub const NAN32: u32 = 0x7fc0_0000;
/// The bits of the canonical NaN in 64 bits.
pub const NAN64: u64 = 0x7ff8_0000_0000_0000;
