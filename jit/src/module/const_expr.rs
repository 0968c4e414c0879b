//! Constant expressions: initial values of globals, offsets and elements of segments.

use wasmparser::{BinaryReaderError, Operator};

/// One instruction of a constant expression, for a stack machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstOp {
    /// Pushes an i32.
    I32(i32),
    /// Pushes an i64.
    I64(i64),
    /// Pushes an f32, as bits.
    F32(u32),
    /// Pushes an f64, as bits.
    F64(u64),
    /// Pushes a v128.
    V128([u8; 16]),
    /// Pushes the value of an immutable global.
    GlobalGet(u32),
    /// Pushes a null reference.
    RefNull,
    /// Pushes a reference to a function.
    RefFunc(u32),
    /// Applies i32 arithmetic to the two topmost values.
    I32Binary(ConstArith),
    /// Applies i64 arithmetic to the two topmost values.
    I64Binary(ConstArith),
    /// Pushes a new structure of this type, from its fields or their defaults.
    StructNew(u32, Initial),
    /// Pushes a new array of this type, from one element and the length, or from the length.
    ArrayNew(u32, Initial),
    /// Pushes a new array of this type, from that number of elements.
    ArrayNewFixed(u32, u32),
    /// Turns an i32 into an i31.
    RefI31,
}

/// The initial contents of a new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// From operands.
    Given,
    /// Zero or null.
    Default,
}

/// The arithmetic of extended constants; all of it wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstArith {
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Multiplication.
    Mul,
}

/// A validated constant expression in postfix order; leaves exactly one value.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstExpr(pub Vec<ConstOp>);

impl ConstExpr {
    /// Reads an expression. `Ok(None)` if it contains an instruction outside this build's features.
    pub(super) fn read(expr: &wasmparser::ConstExpr<'_>) -> Result<Option<ConstExpr>, BinaryReaderError> {
        let mut ops = Vec::new();
        for op in expr.get_operators_reader() {
            let op = op?;
            if matches!(op, Operator::End) {
                break;
            }
            match const_op(&op) {
                // These conversions do not change the word.
                None if matches!(op, Operator::AnyConvertExtern | Operator::ExternConvertAny) => {}
                Some(op) => ops.push(op),
                None => return Ok(None),
            }
        }
        Ok(Some(ConstExpr(ops)))
    }

    /// Reports whether the expression allocates objects, so that each evaluation yields new ones.
    pub fn allocates(&self) -> bool {
        let allocates = |op: &ConstOp| {
            matches!(op, ConstOp::StructNew(..) | ConstOp::ArrayNew(..) | ConstOp::ArrayNewFixed(..))
        };
        self.0.iter().any(allocates)
    }

    /// Returns the functions that the expression refers to.
    pub fn funcs(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().filter_map(|op| match op {
            ConstOp::RefFunc(f) => Some(*f),
            _ => None,
        })
    }
}

fn const_op(op: &Operator<'_>) -> Option<ConstOp> {
    use ConstArith::{Add, Mul, Sub};
    Some(match *op {
        Operator::I32Const { value } => ConstOp::I32(value),
        Operator::I64Const { value } => ConstOp::I64(value),
        Operator::F32Const { value } => ConstOp::F32(value.bits()),
        Operator::F64Const { value } => ConstOp::F64(value.bits()),
        Operator::V128Const { value } => ConstOp::V128(*value.bytes()),
        Operator::GlobalGet { global_index } => ConstOp::GlobalGet(global_index),
        Operator::RefNull { .. } => ConstOp::RefNull,
        Operator::RefFunc { function_index } => ConstOp::RefFunc(function_index),
        Operator::I32Add => ConstOp::I32Binary(Add),
        Operator::I32Sub => ConstOp::I32Binary(Sub),
        Operator::I32Mul => ConstOp::I32Binary(Mul),
        Operator::I64Add => ConstOp::I64Binary(Add),
        Operator::I64Sub => ConstOp::I64Binary(Sub),
        Operator::I64Mul => ConstOp::I64Binary(Mul),
        Operator::StructNew { struct_type_index } => ConstOp::StructNew(struct_type_index, Initial::Given),
        Operator::StructNewDefault { struct_type_index } => {
            ConstOp::StructNew(struct_type_index, Initial::Default)
        }
        Operator::ArrayNew { array_type_index } => ConstOp::ArrayNew(array_type_index, Initial::Given),
        Operator::ArrayNewDefault { array_type_index } => {
            ConstOp::ArrayNew(array_type_index, Initial::Default)
        }
        Operator::ArrayNewFixed { array_type_index, array_size } => {
            ConstOp::ArrayNewFixed(array_type_index, array_size)
        }
        Operator::RefI31 => ConstOp::RefI31,
        _ => return None,
    })
}
