//! Scalar arithmetic, comparisons and conversions.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use wasmparser::Operator;

use super::Translator;

const I32: Type = types::I32;
const I64: Type = types::I64;
const F32: Type = types::F32;
const F64: Type = types::F64;

/// Pops one operand, pushes `$ins` of it.
macro_rules! unary {
    ($self:ident, $ins:ident) => {{
        let a = $self.pop();
        let result = $self.builder.ins().$ins(a);
        $self.push(result);
    }};
}

/// Pops one operand, pushes its conversion to `$ty`.
macro_rules! convert {
    ($self:ident, $ins:ident, $ty:expr) => {{
        let a = $self.pop();
        let result = $self.builder.ins().$ins($ty, a);
        $self.push(result);
    }};
}

/// Pops two operands, pushes `$ins` of them.
macro_rules! binary {
    ($self:ident, $ins:ident) => {{
        let (b, a) = ($self.pop(), $self.pop());
        let result = $self.builder.ins().$ins(a, b);
        $self.push(result);
    }};
}

impl Translator<'_> {
    pub(super) fn numeric(&mut self, op: &Operator<'_>) -> bool {
        self.constant(op) || self.integer(op) || self.float(op) || self.comparison(op) || self.conversion(op)
    }

    fn constant(&mut self, op: &Operator<'_>) -> bool {
        let value = match *op {
            Operator::I32Const { value } => self.builder.ins().iconst(I32, i64::from(value as u32)),
            Operator::I64Const { value } => self.builder.ins().iconst(I64, value),
            Operator::F32Const { value } => self.builder.ins().f32const(f32::from_bits(value.bits())),
            Operator::F64Const { value } => self.builder.ins().f64const(f64::from_bits(value.bits())),
            _ => return false,
        };
        self.push(value);
        true
    }

    fn integer(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I32Clz | Operator::I64Clz => unary!(self, clz),
            Operator::I32Ctz | Operator::I64Ctz => unary!(self, ctz),
            Operator::I32Popcnt | Operator::I64Popcnt => unary!(self, popcnt),
            Operator::I32Add | Operator::I64Add => binary!(self, iadd),
            Operator::I32Sub | Operator::I64Sub => binary!(self, isub),
            Operator::I32Mul | Operator::I64Mul => binary!(self, imul),
            Operator::I32DivS | Operator::I64DivS => binary!(self, sdiv),
            Operator::I32DivU | Operator::I64DivU => binary!(self, udiv),
            Operator::I32RemS | Operator::I64RemS => binary!(self, srem),
            Operator::I32RemU | Operator::I64RemU => binary!(self, urem),
            Operator::I32And | Operator::I64And => binary!(self, band),
            Operator::I32Or | Operator::I64Or => binary!(self, bor),
            Operator::I32Xor | Operator::I64Xor => binary!(self, bxor),
            Operator::I32Shl | Operator::I64Shl => binary!(self, ishl),
            Operator::I32ShrS | Operator::I64ShrS => binary!(self, sshr),
            Operator::I32ShrU | Operator::I64ShrU => binary!(self, ushr),
            Operator::I32Rotl | Operator::I64Rotl => binary!(self, rotl),
            Operator::I32Rotr | Operator::I64Rotr => binary!(self, rotr),
            _ => return false,
        }
        true
    }

    fn float(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::F32Abs | Operator::F64Abs => unary!(self, fabs),
            Operator::F32Neg | Operator::F64Neg => unary!(self, fneg),
            Operator::F32Ceil | Operator::F64Ceil => unary!(self, ceil),
            Operator::F32Floor | Operator::F64Floor => unary!(self, floor),
            Operator::F32Trunc | Operator::F64Trunc => unary!(self, trunc),
            Operator::F32Nearest | Operator::F64Nearest => unary!(self, nearest),
            Operator::F32Sqrt | Operator::F64Sqrt => unary!(self, sqrt),
            Operator::F32Add | Operator::F64Add => binary!(self, fadd),
            Operator::F32Sub | Operator::F64Sub => binary!(self, fsub),
            Operator::F32Mul | Operator::F64Mul => binary!(self, fmul),
            Operator::F32Div | Operator::F64Div => binary!(self, fdiv),
            Operator::F32Min | Operator::F64Min => binary!(self, fmin),
            Operator::F32Max | Operator::F64Max => binary!(self, fmax),
            Operator::F32Copysign | Operator::F64Copysign => binary!(self, fcopysign),
            _ => return false,
        }
        true
    }

    fn comparison(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I32Eqz | Operator::I64Eqz => self.is_zero(),
            Operator::I32Eq | Operator::I64Eq => self.compare(IntCC::Equal),
            Operator::I32Ne | Operator::I64Ne => self.compare(IntCC::NotEqual),
            Operator::I32LtS | Operator::I64LtS => self.compare(IntCC::SignedLessThan),
            Operator::I32LtU | Operator::I64LtU => self.compare(IntCC::UnsignedLessThan),
            Operator::I32GtS | Operator::I64GtS => self.compare(IntCC::SignedGreaterThan),
            Operator::I32GtU | Operator::I64GtU => self.compare(IntCC::UnsignedGreaterThan),
            Operator::I32LeS | Operator::I64LeS => self.compare(IntCC::SignedLessThanOrEqual),
            Operator::I32LeU | Operator::I64LeU => self.compare(IntCC::UnsignedLessThanOrEqual),
            Operator::I32GeS | Operator::I64GeS => self.compare(IntCC::SignedGreaterThanOrEqual),
            Operator::I32GeU | Operator::I64GeU => self.compare(IntCC::UnsignedGreaterThanOrEqual),
            Operator::F32Eq | Operator::F64Eq => self.compare_floats(FloatCC::Equal),
            Operator::F32Ne | Operator::F64Ne => self.compare_floats(FloatCC::NotEqual),
            Operator::F32Lt | Operator::F64Lt => self.compare_floats(FloatCC::LessThan),
            Operator::F32Gt | Operator::F64Gt => self.compare_floats(FloatCC::GreaterThan),
            Operator::F32Le | Operator::F64Le => self.compare_floats(FloatCC::LessThanOrEqual),
            Operator::F32Ge | Operator::F64Ge => self.compare_floats(FloatCC::GreaterThanOrEqual),
            _ => return false,
        }
        true
    }

    fn is_zero(&mut self) {
        let a = self.pop();
        let is_zero = self.zero_test(a);
        self.push_bool(is_zero);
    }

    fn compare(&mut self, condition: IntCC) {
        let (b, a) = (self.pop(), self.pop());
        let result = self.builder.ins().icmp(condition, a, b);
        self.push_bool(result);
    }

    fn compare_floats(&mut self, condition: FloatCC) {
        let (b, a) = (self.pop(), self.pop());
        let result = self.builder.ins().fcmp(condition, a, b);
        self.push_bool(result);
    }

    /// Pushes a CLIF truth value as the i32 that wasm wants.
    pub(super) fn push_bool(&mut self, value: Value) {
        let value = self.builder.ins().uextend(I32, value);
        self.push(value);
    }

    fn conversion(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I32WrapI64 => convert!(self, ireduce, I32),
            Operator::I64ExtendI32S => convert!(self, sextend, I64),
            Operator::I64ExtendI32U => convert!(self, uextend, I64),
            Operator::I32Extend8S => self.extend_low(types::I8, I32),
            Operator::I32Extend16S => self.extend_low(types::I16, I32),
            Operator::I64Extend8S => self.extend_low(types::I8, I64),
            Operator::I64Extend16S => self.extend_low(types::I16, I64),
            Operator::I64Extend32S => self.extend_low(I32, I64),
            Operator::I32TruncF32S | Operator::I32TruncF64S => convert!(self, fcvt_to_sint, I32),
            Operator::I32TruncF32U | Operator::I32TruncF64U => convert!(self, fcvt_to_uint, I32),
            Operator::I64TruncF32S | Operator::I64TruncF64S => convert!(self, fcvt_to_sint, I64),
            Operator::I64TruncF32U | Operator::I64TruncF64U => convert!(self, fcvt_to_uint, I64),
            Operator::I32TruncSatF32S | Operator::I32TruncSatF64S => convert!(self, fcvt_to_sint_sat, I32),
            Operator::I32TruncSatF32U | Operator::I32TruncSatF64U => convert!(self, fcvt_to_uint_sat, I32),
            Operator::I64TruncSatF32S | Operator::I64TruncSatF64S => convert!(self, fcvt_to_sint_sat, I64),
            Operator::I64TruncSatF32U | Operator::I64TruncSatF64U => convert!(self, fcvt_to_uint_sat, I64),
            Operator::F32ConvertI32S | Operator::F32ConvertI64S => convert!(self, fcvt_from_sint, F32),
            Operator::F32ConvertI32U | Operator::F32ConvertI64U => convert!(self, fcvt_from_uint, F32),
            Operator::F64ConvertI32S | Operator::F64ConvertI64S => convert!(self, fcvt_from_sint, F64),
            Operator::F64ConvertI32U | Operator::F64ConvertI64U => convert!(self, fcvt_from_uint, F64),
            Operator::F32DemoteF64 => convert!(self, fdemote, F32),
            Operator::F64PromoteF32 => convert!(self, fpromote, F64),
            Operator::I32ReinterpretF32 => self.reinterpret(I32),
            Operator::I64ReinterpretF64 => self.reinterpret(I64),
            Operator::F32ReinterpretI32 => self.reinterpret(F32),
            Operator::F64ReinterpretI64 => self.reinterpret(F64),
            _ => return false,
        }
        true
    }

    /// Sign-extends the low part of type `narrow`.
    fn extend_low(&mut self, narrow: Type, wide: Type) {
        let a = self.pop();
        let low = self.builder.ins().ireduce(narrow, a);
        let result = self.builder.ins().sextend(wide, low);
        self.push(result);
    }

    fn reinterpret(&mut self, ty: Type) {
        let a = self.pop();
        let result = self.builder.ins().bitcast(ty, MemFlagsData::new(), a);
        self.push(result);
    }
}
