//! Expressions: code that leaves one value.

use wasm_encoder::{BlockType, Instruction as Op, MemArg, MemArgTarget, ValType};

use super::body::Body;
use super::{ELEMENTS, SIGNATURES, UNARY};
use ValType::{I32, I64};

const BINARY32: [Op<'static>; 9] = [
    Op::I32Add,
    Op::I32Sub,
    Op::I32Mul,
    Op::I32And,
    Op::I32Xor,
    Op::I32ShrU,
    Op::I32LtS,
    Op::I32GeU,
    Op::I32Eq,
];
const BINARY64: [Op<'static>; 7] =
    [Op::I64Add, Op::I64Sub, Op::I64Mul, Op::I64Or, Op::I64Xor, Op::I64Shl, Op::I64Rotr];
const COMPARISONS: [Op<'static>; 4] = [Op::I64LtS, Op::I64GtU, Op::I64Eq, Op::I64Ne];
const DIVISIONS: [[Op<'static>; 2]; 2] = [[Op::I32DivS, Op::I32RemU], [Op::I64DivS, Op::I64RemU]];

fn index(ty: ValType) -> usize {
    usize::from(ty == I64)
}

impl Body<'_> {
    /// Emits code that leaves one value of a type, and nests at most `depth` deep.
    pub fn expression(&mut self, ty: ValType, depth: usize) {
        if depth == 0 || self.budget < 0 {
            return self.leaf(ty);
        }
        match self.rng.below(20) {
            0..=3 => self.leaf(ty),
            4..=6 => self.binary(ty, depth),
            7 => self.other_type(ty, depth),
            8 => self.divide(ty, depth),
            9 => self.load(ty, depth),
            10 => self.choose(ty, depth),
            11..=12 => self.either(ty, depth),
            13..=14 => self.early(ty, depth),
            15 => self.rounds(ty, depth),
            16..=17 => self.call_one(ty, depth),
            18 => self.through_table(ty, depth),
            _ => self.rare(ty, depth),
        }
    }

    fn leaf(&mut self, ty: ValType) {
        let op = match self.rng.below(4) {
            0 if ty == I32 => Op::I32Const(self.rng.integer() as i32),
            0 => Op::I64Const(self.rng.integer()),
            1 => Op::GlobalGet(index(ty) as u32),
            _ => Op::LocalGet(self.local(ty)),
        };
        self.push(op);
    }

    fn binary(&mut self, ty: ValType, depth: usize) {
        self.expression(ty, depth - 1);
        self.expression(ty, depth - 1);
        let op = if ty == I32 { &BINARY32[self.rng.below(9)] } else { &BINARY64[self.rng.below(7)] };
        self.push(op.clone());
    }

    fn other_type(&mut self, ty: ValType, depth: usize) {
        let other = if ty == I32 { I64 } else { I32 };
        self.expression(other, depth - 1);
        if ty == I64 {
            return self.push(Op::I64ExtendI32S);
        }
        if self.rng.chance(50) {
            return self.push(Op::I32WrapI64);
        }
        self.expression(I64, depth - 1);
        let op = COMPARISONS[self.rng.below(4)].clone();
        self.push(op);
    }

    /// Emits a division, mostly by a nonzero divisor.
    fn divide(&mut self, ty: ValType, depth: usize) {
        self.expression(ty, depth - 1);
        self.expression(ty, depth - 1);
        if self.rng.chance(90) {
            self.push(if ty == I32 { Op::I32Const(1) } else { Op::I64Const(1) });
            self.push(if ty == I32 { Op::I32Or } else { Op::I64Or });
        }
        let op = DIVISIONS[index(ty)][self.rng.below(2)].clone();
        self.push(op);
    }

    /// Emits an address, mostly within a memory, and returns the memory argument of the access.
    pub fn address(&mut self, depth: usize) -> MemArg {
        let memory = u32::from(self.rng.chance(40));
        let ty = if memory == 1 { I64 } else { I32 };
        self.expression(ty, depth);
        if self.rng.chance(95) {
            let mask = 0xfff8;
            self.push(if ty == I32 { Op::I32Const(mask) } else { Op::I64Const(i64::from(mask)) });
            self.push(if ty == I32 { Op::I32And } else { Op::I64And });
        }
        MemArg {
            offset: self.rng.below(8) as u64,
            align: 0,
            target: MemArgTarget::Memory(memory),
            ordering: None,
        }
    }

    fn load(&mut self, ty: ValType, depth: usize) {
        let from = self.address(depth - 1);
        let op = match (ty, self.rng.chance(50)) {
            (I32, true) => Op::I32Load(from),
            (I32, false) => Op::I32Load8S(from),
            (_, true) => Op::I64Load(from),
            (_, false) => Op::I64Load32U(from),
        };
        self.push(op);
    }

    fn choose(&mut self, ty: ValType, depth: usize) {
        self.values(&[ty, ty]);
        self.expression(I32, depth - 1);
        self.push(Op::Select);
    }

    fn either(&mut self, ty: ValType, depth: usize) {
        self.expression(I32, depth - 1);
        self.nest(Op::If(BlockType::Result(ty)), &[ty], |body| {
            body.statements(depth - 1);
            body.expression(ty, depth - 1);
            body.push(Op::Else);
            body.expression(ty, depth - 1);
        });
    }

    /// Emits a block that branches may leave early with a value.
    fn early(&mut self, ty: ValType, depth: usize) {
        self.nest(Op::Block(BlockType::Result(ty)), &[ty], |body| {
            body.expression(ty, depth - 1);
            body.expression(I32, depth - 1);
            body.push(Op::BrIf(0));
            body.push(Op::Drop);
            body.statements(depth - 1);
            body.expression(ty, depth - 1);
        });
    }

    /// Emits a loop whose back edge carries a value.
    fn rounds(&mut self, ty: ValType, depth: usize) {
        let ty_index = if ty == I32 { UNARY } else { 6 };
        self.expression(ty, depth - 1);
        let counter = self.start_count();
        self.nest(Op::Loop(BlockType::FunctionType(ty_index)), &[ty], |body| {
            let local = body.local(ty);
            body.push(Op::LocalSet(local));
            body.statements(depth - 1);
            body.expression(ty, depth - 1);
            body.count_down(counter);
            body.push(Op::BrIf(0));
        });
    }

    fn call_one(&mut self, ty: ValType, depth: usize) {
        let Some(callee) = self.callee(&[ty]) else { return self.leaf(ty) };
        self.call(callee, depth);
    }

    /// Emits a call of a function with arguments.
    pub fn call(&mut self, callee: u32, depth: usize) {
        for &param in self.functions.signature(callee).0 {
            self.expression(param, depth.saturating_sub(1));
        }
        self.push(Op::Call(callee));
    }

    /// Emits an indirect call, which often finds a function of another type.
    fn through_table(&mut self, ty: ValType, depth: usize) {
        if self.rng.chance(50) {
            return self.leaf(ty);
        }
        let signature = index(ty);
        self.values(SIGNATURES[signature].0);
        self.element_index(depth - 1);
        self.push(Op::CallIndirect { type_index: signature as u32, table_index: 0 });
    }

    /// Emits an index that is mostly within the table.
    pub fn element_index(&mut self, depth: usize) {
        self.expression(I32, depth);
        if self.rng.chance(95) {
            self.push(Op::I32Const(ELEMENTS as i32));
            self.push(Op::I32RemU);
        }
    }

    fn rare(&mut self, ty: ValType, depth: usize) {
        if ty == I64 {
            self.expression(I64, depth - 1);
            let op = [Op::I64Clz, Op::I64Popcnt, Op::I64Extend16S][self.rng.below(3)].clone();
            return self.push(op);
        }
        match self.rng.below(5) {
            0 => {
                self.expression(I32, depth - 1);
                self.push(Op::MemoryGrow(0));
            }
            1 => self.push(Op::MemorySize(0)),
            2 => {
                self.element_index(depth - 1);
                self.push(Op::TableGet(0));
                self.push(Op::RefIsNull);
            }
            3 if self.rng.chance(30) => self.quotient(depth),
            _ => {
                self.expression(I32, depth - 1);
                self.push(Op::I32Eqz);
            }
        }
    }

    /// Emits a float that may be NaN or out of an integer's range.
    fn quotient(&mut self, depth: usize) {
        for ty in [I64, I32] {
            self.expression(ty, depth - 1);
            self.push(if ty == I32 { Op::F64ConvertI32S } else { Op::F64ConvertI64S });
        }
        self.push(Op::F64Div);
        self.push(Op::I32TruncF64S);
    }
}
